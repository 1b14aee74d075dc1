"""What a page is about: a fleet, a window and filters, and the frames that several sections read."""

from __future__ import annotations

import shlex
from functools import cached_property
from typing import TYPE_CHECKING

import ettlog
from ettlog.errors import NoDataError
from ettlog.ett import describe, load, matching, period

if TYPE_CHECKING:
    import polars as pl

    from ettlog.attribute import Attribution
    from ettlog.ett import Selection
    from ettlog.fleet import Fleet
    from ettlog.windows import Window

FLAGS = {"window": "--window", "since": "--since", "until": "--until", "jobs": "--job", "models": "--model"}


class Scope:
    """A fleet, a window and filters; frames are computed when first asked for."""

    def __init__(self, fleet: Fleet, selection: Selection) -> None:
        """Keep what is asked."""
        self.fleet, self.selection = fleet, selection
        self._frames: dict[str, pl.DataFrame] = {}

    @property
    def narrowed(self) -> bool:
        """Tell whether jobs or models were named."""
        return bool(self.selection.get("jobs") or self.selection.get("models"))

    def options(self, *names: str) -> list[str]:
        """Return the options that repeat the question on the command line, of all or of the named keys."""
        said = []
        for name, flag in FLAGS.items():
            value = self.selection.get(name)
            values = [value] if isinstance(value, str) else list(value or ())  # type: ignore[call-overload]
            said += [word for each in values for word in (flag, str(each))] if name in (names or FLAGS) else []
        return said

    def command(self, *words: str) -> str:
        """Return a command with the options that repeat the question."""
        return shlex.join(["ettlog", *words, *self.options()])

    def command_of(self, command: str, *names: str) -> str:
        """Return a command that knows only the named options of the question."""
        return shlex.join(["ettlog", command, *self.options(*names)])

    def by(self, key: str) -> pl.DataFrame:
        """Return the frame of `ettlog.ett` by one key; an empty key is the whole. Raise NoDataError."""
        if key not in self._frames:
            self._frames[key] = ettlog.ett(self.fleet, by=key or None, **self.selection)
        return self._frames[key]

    def total(self) -> dict[str, float]:
        """Return the one row of the whole. Raise NoDataError when there is no time to count."""
        return self.by("").row(0, named=True)

    def described(self) -> list[str]:
        """Return the sentences about window and conventions; none for a lake without a timeline."""
        try:
            return describe(self.fleet, self.selection)
        except NoDataError:
            return []

    @cached_property
    def window(self) -> Window:
        """The half-open window."""
        return period(load(self.fleet), self.selection)

    @cached_property
    def names(self) -> list[str]:
        """The names of the jobs that match."""
        jobs, models = self.selection.get("jobs"), self.selection.get("models")
        return matching(self.fleet.table("job"), jobs, models)

    def chosen(self, name: str) -> pl.DataFrame:
        """Return a relation, the jobs that match only."""
        import polars as pl

        return self.fleet.table(name).filter(pl.col("job").is_in(self.names))

    @cached_property
    def attribution(self) -> Attribution | NoDataError:
        """What changed in the window and by whom, or why that cannot be told."""
        asked = {name: self.selection.get(name) for name in ("window", "since", "until")}
        try:
            return ettlog.attribute(self.fleet, **asked)  # type: ignore[arg-type]
        except NoDataError as error:
            return error
