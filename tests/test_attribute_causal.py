"""From before and after to cause: against other libraries, known truths, and designs that must not pass."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from ettlog import registry
from ettlog.attribute import attribute_ledger, crosscheck, interrupted, joint, solo, staggered, synthetic
from ettlog.errors import NoDataError, UsageError
from tests.ledgers import ledger, start
from tests.test_attribute_staggered import NEVER, fleet


def ar(rng: np.random.Generator, n: int, rho: float, sd: float = 1.0) -> np.ndarray:
    """Return n values that remember rho of the one before."""
    x = np.zeros(n)
    for index in range(1, n):
        x[index] = rho * x[index - 1] + rng.normal(0, sd)
    return x


# other libraries


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_imputation_is_fepois() -> None:
    """Proportional scaling and pyfixest's Poisson regression with two fixed effects agree to 4e-7."""
    amount, starts, rollout, _ = fleet(3)
    made = staggered.fit(amount, starts, ~staggered.treated(rollout, amount.shape[1]))
    other = crosscheck.fitted(amount, starts, rollout)
    seen = np.isfinite(other)
    assert seen.sum() > 300
    assert (starts * made.unit[:, None] * made.week[None, :])[seen] == pytest.approx(other[seen], rel=4e-7)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_log_imputation_is_did2s() -> None:
    """Gardner's two-stage estimate, to ten digits."""
    amount, starts, rollout, _ = fleet(3)
    found = joint.imputed_log(amount, starts, rollout)
    assert found == pytest.approx(crosscheck.two_stage_log(amount, starts, rollout), abs=1e-10)


def test_without_pyfixest_the_second_opinion_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named; nothing else of ettlog needs it."""
    real = builtins.__import__

    def absent(name: str, *args: Any, **options: Any) -> Any:
        if name == "pyfixest":
            raise ImportError("No module named 'pyfixest'")
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(UsageError) as caught:
        crosscheck.fitted(np.ones((2, 2)), np.ones((2, 2)), np.array([1, NEVER]))
    assert "ettlog[causal]" in caught.value.todo


def test_regression_with_memory_is_statsmodels_glsar() -> None:
    """Coefficients, standard errors and rho of an interrupted series, to five digits."""
    from statsmodels.regression.linear_model import GLSAR

    rng = np.random.default_rng(0)
    time = np.arange(180.0)
    y = ar(rng, 180, 0.4) - (time >= 120)
    x = np.column_stack([np.ones(180), time, time >= 120, np.maximum(time - 120, 0)])
    model = GLSAR(y, x, rho=1)
    theirs = model.iterative_fit(50, rtol=1e-12)
    ours = interrupted.glsar(y, x)
    assert ours.beta == pytest.approx(theirs.params, rel=1e-5)
    assert np.sqrt(np.diag(ours.covariance)) == pytest.approx(theirs.bse, rel=1e-5)
    assert ours.rho == pytest.approx(float(model.rho[0]), rel=1e-5)


# one model only


def test_memory_fools_plain_regression_and_not_glsar() -> None:
    """AR .4, 120 points before and 60 after, no effect: plain t rejects about one in five, GLSAR about one in 20."""
    from scipy import stats

    rng = np.random.default_rng(1)
    time = np.arange(180.0)
    x = np.column_stack([np.ones(180), time, time >= 120, np.maximum(time - 120, 0)])
    edge, plain, careful = float(stats.t.ppf(0.975, 176)), 0, 0
    for _ in range(300):
        y = ar(rng, 180, 0.4)
        beta = np.linalg.lstsq(x, y, rcond=None)[0]
        rest = y - x @ beta
        error = math.sqrt(float(rest @ rest) / 176 * np.linalg.inv(x.T @ x)[2, 2])
        plain += abs(beta[2]) / error > edge
        made = interrupted.glsar(y, x)
        careful += abs(made.beta[2]) / math.sqrt(made.covariance[2, 2]) > edge
    assert plain / 300 > 0.12
    assert 0.02 <= careful / 300 <= 0.09


def test_an_interrupted_series_without_noise_is_exact() -> None:
    """A line of slope one falls by 5 at point 20: mean change -5 against what the line foretells."""
    series = np.arange(40.0) - 5 * (np.arange(40) >= 20)
    found = interrupted.effect(series, 20)
    assert found.change == pytest.approx(-5)
    assert found.expected == pytest.approx(np.arange(20, 40).mean())
    assert (found.before, found.after) == (20, 20)


def test_a_short_series_is_refused() -> None:
    """Seven points before the rollout are too few for level, slope and memory."""
    with pytest.raises(NoDataError, match="too short"):
        interrupted.effect(np.arange(30.0), 7)


def mixture(seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return a treated series and ten donors on logarithms: it is .6 and .4 of two of them, less .5 from point 20."""
    rng = np.random.default_rng(seed)
    donors = np.cumsum(rng.normal(0, 0.2, (40, 10)), axis=0) + rng.normal(6, 0.5, 10)
    target = 0.6 * donors[:, 2] + 0.4 * donors[:, 7] + rng.normal(0, 0.02, 40)
    target[20:] -= 0.5
    return target, donors


def test_a_synthetic_control_finds_the_mixture_and_the_effect() -> None:
    """About -.5, shares of .6 and .4, and no p below 1/11 with ten donors."""
    found = synthetic.effect(*mixture(), 20)
    assert found.change == pytest.approx(-0.5, abs=0.06)
    assert found.weights[[2, 7]] == pytest.approx([0.6, 0.4], abs=0.1)
    assert found.weights.sum() == pytest.approx(1.0)
    assert found.p == found.floor == pytest.approx(1 / 11)


def test_a_synthetic_control_needs_donors() -> None:
    """Two untreated models make no mixture."""
    target, donors = mixture()
    with pytest.raises(NoDataError, match="mixture"):
        synthetic.effect(target, donors[:, :2], 20)


def test_one_date_for_all_is_an_interrupted_series() -> None:
    """Two models halved in week 12 of 24, 4 starts a week at 100 s: 2 x 12 x 4 x 50 s saved, graded by nobody."""
    starts = np.full((2, 24), 4.0)
    amount = starts * 100 * np.where(np.arange(24) >= 12, 0.5, 1.0)
    found = solo.effect(amount, starts, np.array([12, 12]))
    assert found is not None
    assert (found.estimator, found.models) == ("interrupted series", 2)
    assert found.saved == pytest.approx(2 * 12 * 4 * 50)
    assert found.cut == pytest.approx(0.5)


def test_one_treated_model_is_compared_with_a_mixture() -> None:
    """Five models of one common course, one of them halved from week 10: half of what it would have cost is saved."""
    rng = np.random.default_rng(5)
    course = np.exp(rng.normal(0, 0.3, 24))
    starts = np.full((5, 24), 3.0)
    amount = starts * 100 * course * np.exp(rng.normal(0, 0.01, (5, 24)))
    amount[0, 10:] /= 2
    found = solo.effect(amount, starts, np.array([10, NEVER, NEVER, NEVER, NEVER]))
    assert found is not None
    assert found.estimator == "synthetic control"
    assert found.cut == pytest.approx(0.5, abs=0.02)
    assert found.saved == pytest.approx(amount[0, 10:].sum(), rel=0.04)
    assert "no p below 0.20" in found.why


def test_a_staggered_rollout_needs_no_substitute() -> None:
    """Several dates and untreated models: imputation alone."""
    amount, starts, rollout, _ = fleet(1)
    assert solo.effect(amount, starts, rollout) is None


# why imputation


def test_two_way_fixed_effects_see_half_of_a_growing_effect() -> None:
    """Effects that grow with time since the rollout: the regression with a dummy finds far less than imputation."""
    weeks, rollout = 24, np.resize([7, 12, 18, NEVER], 60)
    rng = np.random.default_rng(8)
    since = np.maximum(np.arange(weeks)[None, :] - rollout[:, None] + 1, 0)
    log_effect = -0.12 * np.minimum(since, 10)
    mask = staggered.treated(rollout, weeks)
    y = (
        rng.normal(5, 0.5, 60)[:, None]
        + rng.normal(0, 0.2, weeks)[None, :]
        + log_effect
        + rng.normal(0, 0.1, (60, weeks))
    )
    truth = float(log_effect[mask].mean())
    amount, starts = np.exp(y), np.ones((60, weeks))
    (dummy,) = joint.effects(amount, starts, {"on": rollout})
    assert joint.imputed_log(amount, starts, rollout) == pytest.approx(truth, abs=0.03)
    assert abs(dummy.log_effect) < 0.7 * abs(truth)


def test_levels_see_the_tail_that_logarithms_do_not() -> None:
    """Median halved and sigma 1 -> .3: the mean falls to .317 of itself, the geometric mean to .500."""
    assert 0.5 * math.exp((0.3**2 - 1) / 2) == pytest.approx(0.317, abs=5e-4)
    rng = np.random.default_rng(6)
    rollout, weeks = np.resize([8, 14, NEVER], 45), 22
    mask, starts = staggered.treated(rollout, weeks), np.full((45, weeks), 20.0)
    draws = np.where(
        mask[..., None],
        50 * np.exp(rng.normal(0, 0.3, (45, weeks, 20))),
        100 * np.exp(rng.normal(0, 1.0, (45, weeks, 20))),
    )
    won, would, _ = staggered.saved(draws.sum(axis=2), starts, rollout)
    assert 1 - won / would == pytest.approx(0.317, abs=0.02)


# several rollouts on one place


def test_eighty_models_with_dates_of_their_own_tell_three_optimizations_apart() -> None:
    """ln of .5, .4 and .7 are -.693, -.916 and -.357; one regression finds each within three standard errors."""
    rng = np.random.default_rng(7)
    rollouts = {name: rng.integers(4, 30, 80) for name in "abc"}
    truth = dict(zip("abc", np.log([0.5, 0.4, 0.7]), strict=True))
    y = rng.normal(5, 0.5, 80)[:, None] + rng.normal(0, 0.2, 26)[None, :] + rng.normal(0, 0.25, (80, 26))
    for name, weeks in rollouts.items():
        y = y + truth[name] * staggered.treated(weeks, 26)
    found = joint.effects(np.exp(y), np.ones((80, 26)), rollouts)
    assert [len(one.names) for one in found] == [1, 1, 1]
    for one in found:
        (name,) = one.names
        assert one.log_effect == pytest.approx(truth[name], abs=3 * one.error)
        assert one.error < 0.03
        assert one.cut == pytest.approx(1 - math.exp(truth[name]), abs=0.06)


def test_same_dates_leave_only_the_sum() -> None:
    """Three on one date are one bundle with ln(.5 x .4 x .7) = -1.966."""
    rng = np.random.default_rng(8)
    weeks = rng.integers(4, 30, 80)
    y = rng.normal(5, 0.5, 80)[:, None] + rng.normal(0, 0.1, (80, 26)) + math.log(0.14) * staggered.treated(weeks, 26)
    (bundle,) = joint.effects(np.exp(y), np.ones((80, 26)), dict.fromkeys("abc", weeks))
    assert bundle.names == frozenset("abc")
    assert bundle.log_effect == pytest.approx(math.log(0.14), abs=0.03)


# gates


def test_the_event_study_is_flat_before_and_falls_after() -> None:
    """Four weeks before the rollout near zero, all after near the cut of .5."""
    amount, starts, rollout, _ = fleet(1, units=40)
    weeks = staggered.event_study(amount, starts, rollout)
    assert [week for week, _, _ in weeks[:5]] == [-4, -3, -2, -1, 0]
    assert all(abs(share) < 0.2 for week, share, _ in weeks if week < 0)
    after = [share for week, share, cells in weeks if week >= 0 and cells > 10]
    assert all(share == pytest.approx(0.5, abs=0.3) for share in after)
    assert np.mean(after) == pytest.approx(0.5, abs=0.05)


def test_a_negative_control_that_moves_closes_the_gate() -> None:
    """If parts nobody worked on halve at the same dates, the rollout is no cause of either."""
    amount, starts, rollout, _ = fleet(1)
    calm, _, _, _ = fleet(11, cut=0.0)
    calm_p = staggered.estimate(amount, starts, rollout, draws=99, control=calm * starts / starts.mean())
    moved = staggered.estimate(amount, starts, rollout, draws=99, control=amount)
    assert moved.grade == "C"
    assert "negative control" in moved.why
    assert moved.control_p == pytest.approx(0.01)
    assert calm_p.control_p is not None
    assert calm_p.control_p > 0.05


@pytest.mark.parametrize("units", [6, 14])
def test_randomisation_holds_its_level_for_few_models(units: int) -> None:
    """Without an effect about 5 % of the fleets have p <= .05, for 6 models as for 14: at most 10 of 100 (P < .02)."""
    hits = 0
    for seed in range(100):
        amount, starts, rollout, _ = fleet(1000 + seed, units=units, weeks=20, cut=0.0)
        hits += staggered.randomisation_p(amount, starts, rollout, seed=seed, draws=39) <= 0.05
    assert hits <= 10


def test_zeros_do_not_make_the_fit_take_for_ever() -> None:
    """A panel with a unit whose cost is zero in some weeks: the quick fit stops after its rounds."""
    amount = np.array([[0.0, 5.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 7.0]])
    made = staggered.fit(amount, np.ones((3, 3)), np.ones((3, 3), dtype=bool), staggered.ROUGH)
    assert np.isfinite(made.unit).all()


# through the engine

WEEKS = [f"2026-{month:02d}-{day:02d}" for month in range(1, 7) for day in (3, 10, 17, 24)]


def staggered_ledger(dates: dict[str, dict[str, str]], cuts: dict[str, float]) -> pl.DataFrame:
    """Return one first start a week and model; each optimization cuts launches from its model's date on."""
    rows = []
    for number, (model, since) in enumerate(sorted(dates.items())):
        for index, day in enumerate(WEEKS):
            left = math.prod(1 - cuts[name] for name, date in since.items() if day >= date)
            launch = (1000 + (37 * index + 11 * number) % 60) * left
            parts = {"launch": round(launch), "data_warmup": 300 + (17 * index + 5 * number) % 40, "step": 5000}
            rows.append(start(f"{model}-{day}", model, day, 0, "first", parts))
    return ledger(*rows)


def registered(dates: dict[str, dict[str, str]]) -> registry.Registry:
    """Return the registry of these dates, all on launches."""
    names = sorted({name for since in dates.values() for name in since})
    texts = []
    for name in names:
        rollouts = ", ".join(
            f"{{ model = '{model}', since = {since[name]} }}" for model, since in dates.items() if name in since
        )
        texts.append(f"[[optimization]]\nname='{name}'\nowner='o'\nparts=['launch']\nrollouts=[{rollouts}]\n")
    return registry.parse("".join(texts))


def test_a_rival_on_the_same_part_is_not_credited_twice() -> None:
    """Cuts of .5 and then .4 at other dates: each effect is its own, from weeks in which it came and the other had not.

    The second is seen alone where it came first.
    """
    early, middle, late = "2026-02-20", "2026-03-25", "2026-05-01"
    dates = {
        **{f"a{i}": {"one": early, "two": late} for i in range(4)},
        **{f"b{i}": {"two": middle, "one": late} for i in range(4)},
        **{f"c{i}": {} for i in range(4)},
    }
    found = attribute_ledger(
        staggered_ledger(dates, {"one": 0.5, "two": 0.4}), registry=registered(dates), replicates=0
    ).effects
    cut = dict(found.filter(pl.col("estimator") == "imputation").select("optimization", "cut").rows())
    assert cut == pytest.approx({"one": 0.5, "two": 0.4}, abs=0.02)


def test_twins_in_every_model_are_one_case() -> None:
    """Two of one part and the same dates everywhere have one row with both names."""
    dates = {
        f"m{i}": {"left": day, "right": day} for i, day in enumerate(["2026-03-01", "2026-04-01", "2026-05-01"] * 3)
    }
    dates |= {f"n{i}": {} for i in range(3)}
    made = attribute_ledger(
        staggered_ledger(dates, {"left": 0.2, "right": 0.375}), registry=registered(dates), replicates=0
    )
    assert made.effects["optimization"].unique().to_list() == ["left + right"]
    assert made.effects["cut"][0] == pytest.approx(0.5, abs=0.02)
    assert made.effects["control_p"].is_not_null().all()
    assert set(made.study["tier"]) == {"direct"}


def test_one_day_everywhere_gets_an_interrupted_series_beside_the_failed_gates() -> None:
    """Three models, one date, 24 weeks: imputation is C with its reasons, and the series has its own row."""
    dates = {f"m{i}": {"one": "2026-04-05"} for i in range(3)}
    found = attribute_ledger(staggered_ledger(dates, {"one": 0.5}), registry=registered(dates), replicates=0).effects
    rows = {row["estimator"]: row for row in found.to_dicts()}
    assert "untreated" in rows["imputation"]["why"]
    assert rows["interrupted series"]["cut"] == pytest.approx(0.5, abs=0.03)
    assert rows["interrupted series"]["p"] < 0.001
    assert set(found["grade"]) == {"C"}
