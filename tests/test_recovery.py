"""The anatomy of recoveries, for one job and over a fleet by cause."""

from __future__ import annotations

from collections import Counter

import pytest
from click.testing import CliRunner

import ettlog
from ettlog import recovery
from ettlog.cli import app
from ettlog.errors import NoDataError
from ettlog.fleet import Fleet
from ettlog.lifecycle import PARTS, RECOVERY_PHASES
from tests.tables import MINUTE, Log, fleet
from tests.test_golden_timeline import golden

__all__ = ["golden"]


def test_every_part_is_in_exactly_one_phase() -> None:
    """What the phases take adds up to the recovery, whatever it holds."""
    held = Counter(part for row in RECOVERY_PHASES for part in row.parts)
    assert held == Counter(part.part for part in PARTS)


def test_golden_recovery_phase_by_phase(golden: Fleet) -> None:
    """Detection 10, placement 5, init 12, restore 3, compile 8, replay 17: the 55 minutes of TTR."""
    frame = recovery.recoveries(golden, "run")
    taken = {phase: us / MINUTE for phase, us in frame.select("phase", "us").rows() if us}
    assert taken == {"detection": 10, "placement": 5, "init": 12, "restore": 3, "compile": 8, "replay": 17}
    assert sum(taken.values()) == 55
    assert frame["evidence"].null_count() == 0


def two_causes() -> Fleet:
    """Return a job lost to memory twice, the first time for 6 minutes, the second for 4, and one lost to its node."""
    log = Log()
    for begin, back in ((0, 10), (14, 22)):
        log.say(begin, "launch", world=2)
        log.step(begin + 4, begin + 4, 1)
        log.say(begin + 5, "failure", cause="oom")
        assert back > begin
    log.say(22, "launch", world=2)
    log.step(24, 40, 1)
    log.say(25, "exit_ok")
    lone = Log("b", job_name="lone")
    lone.say(0, "launch", world=2)
    lone.step(2, 1, 1)
    lone.say(3, "node_failure")
    lone.say(10, "launch", world=2)
    lone.say(12, "failure", cause="other")
    return fleet(log, lone)


def test_fleet_by_kind_and_cause() -> None:
    """The means are per recovery, and a start that failed again did not come back."""
    frame = recovery.by_cause(two_causes())
    rows = {row["cause"]: row for row in frame.iter_rows(named=True)}
    memory, node = rows["oom"], rows["node"]
    assert (memory["jobs"], memory["recoveries"], memory["came_back"]) == (1, 2, 2)
    assert (node["jobs"], node["recoveries"], node["came_back"]) == (1, 1, 0)
    # 4 to 17 and 18 to 23; a minute of each from the last step to the failure
    assert memory["total_us"] / MINUTE == (13 + 5) / 2
    assert memory["detection"] / MINUTE == 1
    assert memory["gpu_hours"] == pytest.approx(2 * 18 / 60)
    # the second start ended at 12, 2 minutes after its launch, and nothing came after
    assert node["total_us"] / MINUTE == 10


def test_means_add_up_to_the_time_to_recover(golden: Fleet) -> None:
    """The mean of the only recovery is the TTR that `ettlog ett` prints."""
    total = recovery.by_cause(golden)["total_us"][0]
    assert total / (60 * MINUTE) == pytest.approx(ettlog.ett(golden)["ttr_hours"][0])


def test_fleet_without_recoveries_says_so() -> None:
    """No recovery is no table of zeros."""
    log = Log()
    log.say(0, "launch")
    log.step(2, 1, 1)
    log.say(3, "exit_ok")
    with pytest.raises(NoDataError, match="no recovery"):
        recovery.by_cause(fleet(log))


def test_command_shows_one_job_and_the_fleet(golden: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """With JOB the phases with their lines, without it the table by cause."""
    monkeypatch.setattr(ettlog, "open", lambda _path: golden)
    one = CliRunner().invoke(app, ["timeline", "run", "--recoveries"], catch_exceptions=False).stdout
    assert "logs/a.log:" in one
    assert next(line.split()[3] for line in one.splitlines() if line.strip().startswith("1 ")) == "fault"
    whole = CliRunner().invoke(app, ["timeline", "--recoveries"], catch_exceptions=False).stdout
    assert "mean wall time per recovery" in whole
    assert "nccl_timeout" in whole
    assert "00:55:00" in whole


def test_command_needs_a_job_for_segments() -> None:
    """Without JOB and without --recoveries there is nothing to show."""
    result = CliRunner().invoke(app, ["timeline"])
    assert result.exit_code == 2
    assert "Missing argument" in result.output
