"""MFU over the wall: rates that step lines print, the median time of a step, and the hardware held, by hand."""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import ettlog
from ettlog.fleet import Fleet
from ettlog.terms import terms
from tests.tables import Log, fleet, minute, record

PEAK = {"peak_tflops": 1000.0}


def mfu(made: Fleet, name: str = "mfu", **words: object) -> float | None:
    """Return one definition's value."""
    found = terms(made, "mfu", **words).select("term", "value").rows()  # type: ignore[arg-type]
    value: float | None = dict(found)[name]
    return value


def crashed(*, world: int = 8, gpus: int = 8, minutes: float | None = 1, stall: float = 0) -> Fleet:
    """Return a job of an hour and 20 minutes that fails in step 41, loads step 30, and ends with step 60.

    A GPU makes 400 TFLOP/s, 40 % of 1,000, in steps of a minute: a step is 24,000 TFLOP. The line of step 20 comes late
    by a stall, and its rate is that of step and stall together.
    """
    log = Log()
    log.say(0, "launch", world=world)
    for step in range(1, 41):
        late = stall if step >= 20 else 0
        rate = 400_000_000 / (1 + stall) if step == 20 else 400_000_000
        log.step(5 + step + late, step, minutes, mflops=round(rate), mfu_ppm=round(rate / 1000))
    log.say(45.5 + stall, "failure")
    log.say(46 + stall, "launch", world=world)
    log.say(48 + stall, "load_end", step=30)
    for step in range(31, 61):
        log.step(20 + stall + step, step, minutes, mflops=400_000_000, mfu_ppm=400_000)
    log.say(80 + stall, "exit_ok")
    return fleet(log, alloc=[record(start=0, end=80 + stall, gpus=gpus)])


def test_new_steps_count_at_the_rate_their_lines_print() -> None:
    """60 new steps of a minute at 400 of 1,000 TFLOP/s, of 80 minutes held: 30 %; the ten replayed ones are loss."""
    assert mfu(crashed(), inputs=PEAK) == pytest.approx(60 * 0.4 / 80)


def test_a_printed_share_needs_no_peak() -> None:
    """The same job by the MFU it prints; without the peak there is no number from its rate."""
    assert mfu(crashed(), "mfu-printed") == pytest.approx(60 * 0.4 / 80)
    assert mfu(crashed()) is None


@pytest.mark.parametrize("stall", [4.0, 30.0])
def test_a_stall_is_loss_whatever_the_rate_of_its_line(stall: float) -> None:
    """Lines without durations: the late line prints a low rate over a long time, and a step is worth what it was."""
    made = crashed(minutes=None, stall=stall)
    assert mfu(made, inputs=PEAK) == pytest.approx(60 * 0.4 / (80 + stall))
    assert mfu(made, "mfu-printed") == pytest.approx(60 * 0.4 / (80 + stall))


def test_held_gpus_without_a_process_do_no_work() -> None:
    """A trainer of 8 ranks on 16 GPUs held uses half of what is held, with weight and without."""
    made = crashed(gpus=16)
    assert mfu(made, inputs=PEAK) == pytest.approx(60 * 0.4 / 80 / 2)
    assert mfu(made, "mfu-printed", weight="none") == pytest.approx(60 * 0.4 / 80 / 2)


def test_the_work_of_a_step_that_is_given_goes_before_what_is_printed() -> None:
    """60 steps of 96,000 TFLOP on 8 GPUs of 1,000 TFLOP/s take 12 s each at the peak, of 80 minutes."""
    assert mfu(crashed(), inputs={"step_tflop": 96_000.0, **PEAK}) == pytest.approx(60 * 12 / (80 * 60))


def test_two_windows_add_up_to_both() -> None:
    """The work inside two windows that touch is the work inside both, to a microsecond a window."""
    made = crashed()
    edges = [datetime.fromtimestamp(minute(at) / 1e6, UTC).isoformat() for at in (0, 33.3, 81)]
    hours = [
        terms(made, "mfu", since=since, until=until, inputs=PEAK)["numerator_hours"][0]  # type: ignore[arg-type]
        for since, until in [*itertools.pairwise(edges), (edges[0], edges[-1])]
    ]
    assert hours[0] + hours[1] == pytest.approx(hours[2], abs=1e-8)


def job(*rates: dict[str, int]) -> Fleet:
    """Return a job of one GPU with a step a minute, each with what its line prints."""
    log = Log()
    log.say(0, "launch", world=1)
    for step, told in enumerate(rates, 1):
        log.step(step, step, 1, **told)
    log.say(len(rates), "exit_ok")
    return fleet(log)


def test_a_rate_of_two_lines_is_not_known() -> None:
    """The first lines hold the compile: of fewer than three nothing is said."""
    assert mfu(job(*[{"mflops": 500_000_000}] * 2), inputs=PEAK) is None
    assert mfu(job(*[{"mflops": 500_000_000}] * 4), inputs=PEAK) == pytest.approx(0.5)


def test_an_absurd_rate_is_not_believed() -> None:
    """More than 100 PFLOP/s of a GPU, and more than the peak, are no rates: the other lines decide, or none."""
    absurd = {"mflops": 10**15, "mfu_ppm": 1_000_001}
    fine = {"mflops": 250_000_000, "mfu_ppm": 250_000}
    made = job(*[absurd] * 4, *[fine] * 4)
    assert mfu(made, inputs=PEAK) == pytest.approx(0.25)
    assert mfu(made, "mfu-printed") == pytest.approx(0.25)
    assert mfu(job(*[absurd] * 8), inputs=PEAK) is None


def test_a_start_that_prints_none_makes_its_job_unknown() -> None:
    """A job of which no start prints a rate is left out, and counted as left out."""
    frame = terms(job({}, {}, {}, {}), "mfu", inputs=PEAK)  # type: ignore[arg-type]
    assert frame["value"].to_list() == [None, None]
    assert frame["left_out"].to_list() == [1, 1]


def test_lines_of_trainers_are_read_to_the_end(tmp_path: Path) -> None:
    """Megatron-LM prints the rate, torchtitan rate and share, nanoGPT the share: one lake, by job."""
    said = {
        "meg": [
            f" [2031-03-09 11:0{step}:00] iteration {step:8}/      9 | consumed samples: {step * 8:12} | elapsed time"
            f" per iteration (ms): 60000.0 | throughput per GPU (TFLOP/s/GPU): 40{step}.5 | learning rate:"
            " 1.5E-05 | global batch size:     8 | lm loss: 5.1E+00 | loss scale: 1.0 | grad norm: 0.8 | number of"
            " skipped iterations:   0 | number of nan iterations:   0 |"
            for step in range(1, 6)
        ],
        "titan": [
            f"[titan] 2031-03-09 11:0{step}:00,500 - root - INFO - step:  {step}  loss: 12.01377  grad_norm: 88.2500"
            f"  memory: 60.91GiB(76.96%)  tps: 1,310  tflops: 1,01{step}.84  mfu: 4{step}.70%"
            for step in range(1, 6)
        ],
        "nano": [f"iter {step}: loss 6.1250, time 60000.00ms, mfu 3{step}.25%" for step in range(1, 6)],
    }
    for name, lines in said.items():
        (tmp_path / "logs" / name).mkdir(parents=True)
        (tmp_path / "logs" / name / "train.log").write_text("\n".join(lines) + "\n")
    ettlog.ingest([tmp_path / "logs"], tmp_path / "lake")
    rows = ettlog.open(tmp_path / "lake").sql("SELECT step, format, mflops, mfu_ppm FROM step ORDER BY format, step")
    assert rows.filter(rows["step"] == 3).rows() == [
        (3, "megatron_steps", 403_500_000, None),
        (3, "nanogpt", None, 332_500),
        (3, "torchtitan", 1_013_840_000, 437_000),
    ]


@pytest.mark.shared
def test_work_of_a_real_log_is_the_sum_over_its_lines(shared: Path, tmp_path: Path) -> None:
    """GPT-NeoX: rate times time summed over the 512 lines by an expression of this test, of 8 GPUs."""
    folder = shared / "data" / "trainer" / "neox_70m_512step"
    text = "".join(item.read_text(errors="replace") for item in sorted(folder.iterdir()) if item.suffix == ".out")
    line = re.compile(r"elapsed time per iteration \(ms\): ([\d.]+) .*? approx flops per GPU: ([\d.]+)TFLOPS")
    work = sum(float(ms) / 1000 * float(rate) for ms, rate in line.findall(text))
    ettlog.ingest([folder], tmp_path / "lake")
    frame = terms(ettlog.open(tmp_path / "lake"), "mfu", inputs={"peak_tflops": 312.0})
    assert len(line.findall(text)) == 512
    assert frame["numerator_hours"][0] == pytest.approx(work * 8 / 312 / 3600, rel=0.01)
