"""When relations are kept in a lake, which ones, and how a fleet takes them from there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ettlog import database, fact_files, kept, kept_write, portions, renewal, splice
from ettlog.config import FLAG
from ettlog.relations import checks, relations
from ettlog.renewal import EVENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ettlog.config import Config
    from ettlog.fleet import Fleet
    from ettlog.lake import Lake
    from ettlog.splice import Carried

ROWS = tuple(f"_{name}" for name in ("walk", "line", "pass", "swing", "work", "piece"))
"""Relations with a row for every step line, and steps between: made anew where an answer needs them, never kept."""
BEHIND = ("_phase", "_placed", "_rate", "_save", "_steady")
"""Steps between the public relations that answers read beside them."""


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """Return the relations that are kept: all public ones, and what answers, checks and `ROWS` need beside them."""
    every = relations()
    asking = [*checks().values(), *(every[row] for row in ROWS)]
    wanted = {need for one in asking for need in one.needs} | {name for name in every if not name.startswith("_")}
    wanted |= {*BEHIND, *renewal.KEPT}
    return tuple(name for name in every if name in wanted and name not in ROWS)


def large(lake: Lake) -> bool:
    """Tell whether a lake has so many rows that its relations are worth keeping."""
    return sum(file.rows for _, _, file in lake.state.listed()) >= kept.KEEP_ROWS


@dataclass
class Keeper:
    """The kept relations of an opened lake: read where they fit, made and written where they do not."""

    lake: Lake
    digest: str
    index: kept.Index | None
    may_write: bool
    base: str = ""

    @classmethod
    def of(cls, lake: Lake, config: Config) -> Keeper | None:
        """Return the keeper of a lake; None for a lake that is assembled in no time."""
        if not large(lake):
            return None
        base = kept.base(config, database.engine())
        digest = kept.digest(lake, base)
        # what one call asks for by a flag is not what the next call will ask for
        usual = not any(config.origins.get(key) == FLAG for key in kept.shaping(config))
        return cls(lake, digest, kept.current(lake.path, digest), usual, base)

    def give(self, fleet: Fleet, name: str) -> bool:
        """Put a relation into the fleet's database, if it is kept; make and keep all of them where they are stale."""
        if name not in names():
            return False
        if self.index is None:
            self.index = kept.Index("")
            carried = portions.assemble(fleet, names(), earlier=self._earlier())
            written = self._write(fleet, carried)
            if carried is None:
                return True
            if written is None:
                if lost := splice.settle(fleet, carried):
                    portions.assemble(fleet, lost)
                self._write(fleet, None)
                return True
            splice.end(fleet.connection, carried)
            self.index = written
            if name not in carried.files:
                return True
        if name not in self.index.files:
            return False
        path, types = self.index.path(self.lake.path, name), self.index.files[name].types
        return fact_files.load(fleet.connection, name, path, types)

    def hold(self, fleet: Fleet) -> None:
        """Put the events into the fleet's database from the one file that is kept of them, where that is current."""
        file = self.index.files.get(EVENTS) if self.index else None
        if self.index is None or file is None or not fact_files.fits(EVENTS, file.rows, fleet.memory_mib):
            return
        if fact_files.load(fleet.connection, EVENTS, self.index.path(self.lake.path, EVENTS), file.types):
            fleet.held.add(EVENTS)

    def _earlier(self) -> kept.Index | None:
        """Return the relations of other sources that are kept, where making all of them anew takes long."""
        lines = sum(file.rows for name, _, file in self.lake.state.listed() if name == "step")
        return kept.earlier(self.lake.path, self.base) if lines > kept.RENEW_LINES else None

    def _write(self, fleet: Fleet, carried: Carried | None) -> kept.Index | None:
        if not self.may_write:
            return None
        return kept.write(self.lake, self.digest, self._writings(fleet, carried), self.base)

    def _writings(self, fleet: Fleet, carried: Carried | None) -> Iterator[kept_write.Writing]:
        for name in names():
            if carried and name in carried.files:
                whole = splice.rows(fleet.connection, carried, name)
                yield kept_write.Writing(name, carried.types[name], whole.to_reader)
                continue
            rows = fleet.ordered(name)
            yield kept_write.Writing(name, fleet.shape(name), rows.to_arrow_reader)
        read = fact_files.as_read(fleet.connection, EVENTS)
        yield kept_write.Writing(EVENTS, fleet.shape(EVENTS), fleet.ordered(EVENTS, read).to_arrow_reader)
