"""The errors ettlog raises on purpose, each with four parts: what, where, why, what to do."""

from __future__ import annotations


class EttlogError(Exception):
    """Root of all errors a user may meet; carries the four parts and the exit code."""

    exit_code = 1

    def __init__(self, what: str, *, where: str, why: str, todo: str) -> None:
        """Keep the four parts; each is one sentence without a final newline."""
        super().__init__(what)
        self.what, self.where, self.why, self.todo = what, where, why, todo

    def __str__(self) -> str:
        """Return the four parts, one a line."""
        return f"{self.what}\n  where: {self.where}\n  why:   {self.why}\n  do:    {self.todo}"

    def __reduce__(self) -> tuple[object, ...]:
        """Let the error cross a process border with all its parts."""
        return _rebuild, (type(self), self.what, self.where, self.why, self.todo)


def _rebuild(kind: type[EttlogError], what: str, where: str, why: str, todo: str) -> EttlogError:
    return kind(what, where=where, why=why, todo=todo)


class UsageError(EttlogError):
    """The command, an option, the configuration or the registry is wrong."""

    exit_code = 2


class FormatError(UsageError):
    """A format file does not prove itself: file, pattern, sample and how far the match went."""


class LakeError(EttlogError):
    """The lake cannot be read or written as it is."""


class NoDataError(EttlogError):
    """There is nothing in the lake, or in the window, to answer from."""

    exit_code = 5


class EngineError(EttlogError):
    """An engine (Spark, Spark Connect, Sail) is not installed, cannot be reached, or failed at its work."""
