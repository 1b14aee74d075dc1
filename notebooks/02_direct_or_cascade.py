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
# # Direct or cascade?
#
# Two teams each shorten the start of a training job by ten minutes. One counts ten minutes per job. The other says: jobs fail
# three times on the way, each recovery starts the trainer again, so we saved forty. Who is right?
#
# Both, if recoveries really got shorter by as much as first starts. This notebook measures whether they did.

# %%
import os

import matplotlib.pyplot as plt
import polars as pl

import ettlog
from ettlog import cascade, plot

# %matplotlib inline
_ = pl.Config(
    tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=1, thousands_separator=True
)

lake = os.environ.get("ETTLOG_LAKE", "fleet.lake")
ettlog.ingest(["../fixtures/fleet/logs"], lake)
fleet = ettlog.open(lake)

# %% [markdown]
# ## Three words
#
# * **direct**: first starts x what each saves,
# * **bound**: recoveries x what a *first start* saves; direct + bound is (1 + NoF) x direct, the forty minutes of the claim,
# * **cascade**: recoveries x what a *recovery start* saves, as the logs show it.
#
# On paper, with 3 recoveries a job and a start that goes from 30 to 20 minutes, while recoveries, whose compile cache was warm
# already, only go from 22 to 18:

# %%
saved = cascade.direct(30.0, 20.0)
print(f"direct {saved:.0f} min, bound {cascade.bound(3.0, saved):.0f} min, cascade {cascade.cascade(3.0, 22.0, 18.0):.0f} min")
assert saved + cascade.bound(3.0, saved) == cascade.factor(3.0) * saved

# %% [markdown]
# ## Half a year of the fleet
#
# The registry (`optimizations.toml` beside the logs) says what rolled out where and when. Attribution compares each model before
# and after, splits the change exactly, and leaves what nobody may claim in rows of its own.

# %%
found = ettlog.attribute(fleet, window="6mo")
found

# %% [markdown]
# Blue bars are measured; the line is the interval, the diamond the bound. `parallel-init` did as its bound says.
# `warm-compile-cache` stayed below: recoveries in the same allocation had a warm cache before it came.

# %%
credit = found.credit.filter(pl.col("model") == "all")
_, ax = plt.subplots(figsize=(10, 4), layout="constrained")
plot.credit(credit.filter(pl.col("optimization") != ""), ax)
_ = ax.set_title("Credit by optimization and tier", loc="left", fontsize=10)

# %% [markdown]
# ## The pass-through
#
# Cascade over bound. At one, a recovery saves what a first start saves; the claim of (1 + NoF) holds. Counting the bound in place
# of the cascade would credit the difference to somebody who did not earn it.

# %%
credit.filter(pl.col("tier") == "cascade").select(
    "optimization",
    pl.col("saved_gpu_hours").alias("cascade"),
    pl.col("bound_gpu_hours").alias("bound"),
    (pl.col("saved_gpu_hours") / pl.col("bound_gpu_hours")).round(2).cast(pl.String).alias("pass-through"),
)

# %% [markdown]
# ## Where the points went
#
# From before to after. The optimizations won more than the change: grey is what nobody may claim, above all that recoveries
# came more often than before.

# %%
_, ax = plt.subplots(figsize=(10, 3.6), layout="constrained")
plot.waterfall(credit, found.header["ett_before"], found.header["ett_after"], ax)
_ = ax.set_title("ETT before and after, points by optimization", loc="left", fontsize=10)

# %% [markdown]
# The rows are the change, to the last digit; that is what makes them credit and not estimates beside each other.

# %%
assert abs(credit["points"].sum() - found.header["points"]) < 1e-9
found.summary("owner").select("owner", pl.col("saved_gpu_hours").alias("saved GPU-hours"), (100 * pl.col("share")).alias("% of all"))

# %% [markdown]
# ## See it without the machinery
#
# The same story from the ledger by one query: hours of compilation per first start and per recovery, before and after the
# cache came to `ranker-large` on 16 March.

# %%
fleet.sql("""
    SELECT CASE WHEN launched_us < epoch_us(TIMESTAMP '2026-03-16') THEN '1 before' ELSE '2 after' END AS period,
           kind, count(DISTINCT (job, start)) AS starts,
           sum(us) / 60e6 / count(DISTINCT (job, start)) AS compile_minutes_per_start
    FROM ledger
    WHERE model = 'ranker-large' AND component = 'compilation' AND kind IN ('first', 'failure')
    GROUP BY ALL ORDER BY kind DESC, period
""")
