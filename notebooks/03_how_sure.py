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
# # How sure are we?
#
# ETT went up by sixteen points. Before that goes on a slide: how much of it is luck, how much would have happened anyway, and
# what would it take to know better?

# %%
import os

import matplotlib.pyplot as plt
import polars as pl

import ettlog

# %matplotlib inline
_ = pl.Config(
    tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=2, thousands_separator=True,
    fmt_str_lengths=90,
)  # fmt: skip

lake = os.environ.get("ETTLOG_LAKE", "fleet.lake")
ettlog.ingest(["../fixtures/fleet/logs"], lake)
fleet = ettlog.open(lake)

# %% [markdown]
# ## 1. The level: would other jobs have given another number?
#
# Jobs are few and differ. The interval says how far ETT moves when other jobs of the same kind had run; months with few
# GPU-hours have wide ones.

# %%
months = ettlog.ett(fleet, by="month").drop_nulls("ett_low")
_, ax = plt.subplots(figsize=(10, 3), layout="constrained")
ett, low, high = (100 * months[name].to_numpy() for name in ("ett", "ett_low", "ett_high"))
labels = [f"{day:%b}\n{jobs} jobs" for day, jobs in months.select("month", "jobs").iter_rows()]
ax.errorbar(range(len(ett)), ett, yerr=[ett - low, high - ett], fmt="o", color="#0072b2", capsize=4)
ax.set_xticks(range(len(ett)), labels)
ax.set_ylabel("ETT, %")
ax.spines[["top", "right"]].set_visible(False)
_ = ax.set_title("ETT by month, 95 % over jobs", loc="left", fontsize=10)

# %% [markdown]
# ## 2. The change: early against late
#
# Welch over jobs, no model of why. The note below warns that the two sides did not fail equally often: part of any change of ETT
# is more or fewer failures.

# %%
ettlog.compare(fleet, "..2026-02-16", "2026-04-20..")

# %% [markdown]
# ## 3. The credit: whose, with what interval?
#
# Intervals come from drawing jobs again within model and period. A row whose interval holds zero says: not shown.

# %%
found = ettlog.attribute(fleet, window="6mo")
credit = found.credit.filter(pl.col("model") == "all", pl.col("optimization") != "")
credit.select(
    "optimization", "tier", pl.col("saved_gpu_hours").round(0).alias("saved GPU-h"), pl.col("low").round(0),
    pl.col("high").round(0), ((pl.col("low") > 0) | (pl.col("high") < 0)).alias("shown"), "evidence",
)  # fmt: skip

# %% [markdown]
# ## 4. The cause: was it the rollout?
#
# Grade C means before and after: something else may have changed on the same day. Rollouts that came to models at different times
# allow more: models that still waited say what would have happened without. The grade is B only where every gate holds; `why`
# names the one that did not.

# %%
found.effects.select("optimization", "tier", "saved_gpu_hours", "p", "models", "grade", "why")

# %% [markdown]
# Only `ctr-legacy` got nothing, and it does not run every week; a week in which every model had the change cannot tell the
# change from the week. The savings agree with the credit above, and prove less than the credit seems to. With six models, no
# p-value can be very small.

# %% [markdown]
# ## 5. Chance in failures
#
# Failures are counted, and counts scatter. Rates of two models whose bars overlap are not shown to differ.

# %%
rates = ettlog.reliability(fleet).filter(pl.col("event") == "failure").sort("per_1000_gpu_days")
_, ax = plt.subplots(figsize=(10, 2.6), layout="constrained")
rate, low, high = (rates[name].to_numpy() for name in ("per_1000_gpu_days", "low", "high"))
ax.errorbar(rate, range(len(rate)), xerr=[rate - low, high - rate], fmt="o", color="#d55e00", capsize=4)
ax.set_yticks(range(len(rate)), rates["model"])
ax.set_xscale("log")
ax.set_xticks([10, 30, 100, 300], ["10", "30", "100", "300"])
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
_ = ax.set_title("Failures per 1,000 GPU-days, 95 %", loc="left", fontsize=10)

# %% [markdown]
# ## 6. What would settle it: pairs
#
# Two runs of one model, the same kills, one with the change and one without. The spread between jobs says how many pairs it takes.

# %%
plan = ettlog.plan(fleet)
_, ax = plt.subplots(figsize=(10, 2.4), layout="constrained")
ax.bar([f"{gain:g} points" for gain in plan.pairs["effect_points"]], plan.pairs["pairs"], color="#0072b2", width=0.5)
for place, pairs in enumerate(plan.pairs["pairs"]):
    ax.annotate(f"{pairs}", (place, pairs), ha="center", va="bottom")
ax.set_ylabel("pairs needed")
ax.margins(y=0.2)
ax.spines[["top", "right"]].set_visible(False)
_ = ax.set_title("Pairs of runs needed to show a gain (80 % power, 5 % level)", loc="left", fontsize=10)

# %% [markdown]
# A gain of two points would take hundreds of pairs: nobody will run them. A gain of ten can be shown. That is worth knowing before an
# experiment, not after.

# %% [markdown]
# ## 7. Measured, or modelled?
#
# What *would* halving the restore bring? That is no measurement: observed jobs are run again with changed costs, and every row
# says `modelled`.

# %%
ettlog.what_if(fleet, scale={"restore": 0.5}).select(
    "model", pl.col("points"), pl.col("saved_gpu_hours"), pl.col("direct_gpu_hours"), pl.col("cascade_gpu_hours"),
    "evidence",
).head(4)  # fmt: skip

# %% [markdown]
# So, on the slide: *ETT rose by 16 points (12 to 20, over jobs). Most of it came with five rollouts, by before and after; no
# paired experiment has been run.*

# %%
assert round(found.header["points"]) == 16
