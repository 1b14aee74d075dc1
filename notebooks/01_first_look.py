# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # First look at a fleet snapshot
#
# Somebody hands you half a year of logs from a training fleet and asks: *where did the GPU time go?*
#
# This notebook answers in five steps, from the whole fleet down to one line of one log. The logs are the example fleet of
# this repository: six models on two Slurm clusters, invented, but written in the dialects of real trainers.

# %%
import os

import matplotlib.pyplot as plt
import polars as pl

import ettlog
from ettlog import plot

# %matplotlib inline
_ = pl.Config(
    tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=1, thousands_separator=True,
    tbl_cols=12, fmt_str_lengths=80,
)  # fmt: skip

# %% [markdown]
# ## 1. Read the logs
#
# Reading turns logs into a lake: a folder of Parquet files. Doing it again reads only what changed, so this cell is cheap the
# second time.

# %%
lake = os.environ.get("ETTLOG_LAKE", "fleet.lake")
ettlog.ingest(["../fixtures/fleet/logs"], lake)
fleet = ettlog.open(lake)
fleet

# %% [markdown]
# ## 2. One number, and what it is made of
#
# **ETT** is the share of the wall that trained on new data. Everything else has a name and an owner, and the rows add up to
# all GPU time that was held: nothing is estimated to make them fit, and what no log explains would stand in `unknown`.

# %%
whole = ettlog.ett(fleet)
print(f"ETT {100 * whole['ett'].item():.1f} % of {whole['wall_gpu_hours'].item():,.0f} GPU-hours held")
ettlog.ett(fleet, by="component").select(
    "component", pl.col("gpu_hours").alias("GPU-hours"), (100 * pl.col("share")).alias("% of wall")
)

# %% [markdown]
# About a fifth is overhead. Has it always been? Green is training, all other colours are overhead. The fleet got better from
# March on; [the next notebook](02_direct_or_cascade.ipynb) asks whose work that was.

# %%
weeks = ettlog.ett(fleet, by="week")
usual = pl.col("wall_gpu_hours") > 0.05 * pl.col("wall_gpu_hours").median()
_, ax = plt.subplots(figsize=(10, 3.2), layout="constrained")
plot.components(weeks.filter(usual), "week", ax)
ax.legend(
    handles=[plt.Rectangle((0, 0), 1, 1, color=colour) for colour in plot.COLOURS.values()],
    labels=list(plot.COLOURS), ncols=4, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.15), frameon=False,
)  # fmt: skip
_ = ax.set_title("Share of GPU time by component and week", loc="left", fontsize=10)

# %% [markdown]
# ## 3. Which models?
#
# `tts_hours` is the mean time of a cold start, `ttr_hours` that of a recovery. A recovery costs two to four cold starts here,
# and there are about three recoveries to each job: most of the overhead is recovery.

# %%
models = ettlog.ett(fleet, by="model")
models.select(
    "model", "jobs", "starts", "failures", "preemptions",
    pl.col("wall_gpu_hours").alias("GPU-hours"), (100 * pl.col("ett")).alias("ETT %"), "tts_hours", "ttr_hours",
).sort("ETT %")  # fmt: skip

# %% [markdown]
# ## 4. The worst job, moment by moment
#
# A row per start, from the failure before it: red is work that was lost or done again, orange the scheduler, blue and violet
# the trainer coming up. Ticks are committed checkpoints.

# %%
worst = ettlog.jobs(fleet).sort("ett").row(0, named=True)
checkpoints = fleet.table("checkpoint").filter(pl.col("job") == worst["job"])
_, ax = plt.subplots(figsize=(10, 2.8), layout="constrained")
plot.gantt(ettlog.timeline(fleet, worst["job"]), checkpoints, ax)
_ = ax.set_title(f"{worst['job']}: {worst['gpus']} GPUs, ETT {100 * worst['ett']:.1f} %", loc="left", fontsize=10)

# %% [markdown]
# ## 5. Down to the line
#
# Every stretch rests on a line of a log. These are the longest of the overhead of that job's second start, and where each was
# read.

# %%
ettlog.timeline(fleet, worst["job"]).filter(pl.col("start") == 1, pl.col("part") != "step").sort(
    "duration_us", descending=True
).select("part", (pl.col("duration_us") / 60e6).alias("minutes"), "evidence", "inferred").head(6)

# %% [markdown]
# ## What to trust
#
# Every line of every file is accounted for: read, ignored by rule, or not known. Sources whose clock had to be inferred say so.

# %%
status = ettlog.status(fleet)
lines = status.select(
    files=pl.len(), lines=pl.col("n_lines").sum(), known=pl.col("matched").sum(), ignored=pl.col("ignored").sum(),
    not_known=pl.col("unmatched").sum(),
)  # fmt: skip
assert lines["lines"].item() == sum(lines.select("known", "ignored", "not_known").row(0))
lines

# %% [markdown]
# The frames are Polars; `.to_pandas()` gives them to those who prefer pandas.

# %%
models.select("model", "ett", "ttr_hours").to_pandas().set_index("model").round(3)
