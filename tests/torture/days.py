"""Days of a fleet's logs: they arrive, grow, are rotated and packed, and two racing processes ingest them every hour.

At the end the lake must hold what one ingest of the last state holds: every fact once, none lost on the way.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import ettlog
from ettlog.ingest import IngestOptions
from ettlog.lake import Lake
from tests.conftest import ROOT
from tests.ingesting import HEAD, accounting, tree
from tests.torture.nursery import Nursery
from tests.torture.registry import Outcome

if TYPE_CHECKING:
    from tests.torture.registry import Scope

TRAINER = ROOT / "fixtures/tiny/logs/finch-7b-501001.out"
HOURS = 24


class Fleet:
    """The folder of logs, and what is written to it hour by hour."""

    def __init__(self, logs: Path, hours: int) -> None:
        """Begin an empty folder, for so many hours."""
        logs.mkdir(parents=True)
        self.logs, self.hours = logs, hours
        self.lines = TRAINER.read_text().splitlines(keepends=True)

    def hour(self, hour: int) -> None:
        """Write what one hour brings, and at midnight rotate."""
        if hour and hour % HOURS == 0:
            self._midnight(hour // HOURS)
        acct = self.logs / f"acct-{hour // HOURS:02}.txt"
        row = accounting(hour).split("\n", 1)[1]
        with acct.open("a") as stream:
            stream.write(row if stream.tell() else f"{HEAD}\n{row}")
        with (self.logs / "finch-7b-501001.out").open("a") as stream:
            stream.write("".join(self._share(hour)))
        if hour % 5 == 0:
            (self.logs / f"short-{hour}.txt").write_text(accounting(10_000 + hour))

    def _share(self, hour: int) -> list[str]:
        """Return the lines of the trainer that belong to an hour."""
        count = len(self.lines)
        return self.lines[count * hour // self.hours : count * (hour + 1) // self.hours]

    def _midnight(self, day: int) -> None:
        """Rotate the trainer's log, pack the rotation before, and yesterday's accounting."""
        live = self.logs / "finch-7b-501001.out"
        for number in range(day, 1, -1):
            older, plain = live.with_name(f"{live.name}.{number}.gz"), live.with_name(f"{live.name}.{number - 1}")
            packed = plain.with_name(plain.name + ".gz")
            if packed.exists():
                packed.rename(older)
            elif plain.exists():
                older.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
                plain.unlink()
        live.rename(live.with_name(f"{live.name}.1"))
        acct = self.logs / f"acct-{day - 1:02}.txt"
        acct.with_name(acct.name + ".gz").write_bytes(gzip.compress(acct.read_bytes(), mtime=0))
        acct.unlink()


def run(scope: Scope) -> Outcome:
    """Play all days, then hold the lake against that of one ingest at the end."""
    found = Outcome()
    hours = scope.number(24 * HOURS, 3 * HOURS)
    fleet = Fleet(scope.folder / "logs", hours)
    lake = scope.folder / "lake"
    words = ["ingest", str(fleet.logs), "--lake", str(lake), "--workers", "1", "-q"]
    with Nursery(scope.folder / "nursery") as nursery:
        for hour in range(hours):
            fleet.hour(hour)
            # A sample ingests less often, but always before midnight: what grows unseen and is renamed is another log.
            if not scope.full and hour % 4 and hour % HOURS != HOURS - 1:
                continue
            ends = [nursery.wait(child) for child in [nursery.start(words), nursery.start(words)]]
            found.counts["executions"] += len(ends)
            found.failures.extend(f"hour {hour}: exit code {one.code}: {one.err[-200:]!r}" for one in ends if one.code)
        last = nursery.run(words)
        found.expect(last.code == 0, f"the last ingest ended with {last.code}: {last.err[-200:]!r}")
    once = scope.folder / "once"
    ettlog.ingest([fleet.logs], once, options=IngestOptions(workers=1))
    _compare(found, lake, once)
    found.notes.append(f"{hours // HOURS} days of {len(tree(fleet.logs))} logs, two ingests at a time")
    return found


def _compare(found: Outcome, lake: Path, once: Path) -> None:
    """Hold facts, files and the sources that are still there against those of one ingest."""
    facts = [{name: data for name, data in tree(one).items() if "/" in name} for one in (lake, once)]
    found.expect(facts[0] == facts[1], f"facts differ: {len(facts[0])} and {len(facts[1])} data files")
    mine, other = Lake.open(lake, verify=True), Lake.open(once, verify=True)
    found.expect(mine.state.owners.keys() == other.state.owners.keys(), "other sources hold facts")
    for path, entry in other.state.current.items():
        now = mine.state.current.get(path)
        found.expect(now is not None and (now.key, now.digest) == (entry.key, entry.digest), f"{path} differs")
    found.expect(mine.problems() == [], f"problems: {mine.problems()}")
