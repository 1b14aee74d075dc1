"""What happens to a simulated job, start by start, in integer microseconds: the one source of logs and of truth."""

from __future__ import annotations

from typing import NamedTuple

from ettlog.simulate.words import End, P


class Interrupt(NamedTuple):
    """Something that holds the loop behind a step."""

    step: int
    part: P
    us: int
    commit_us: int = 0
    """Of a save: instant at which it is committed; 0 where it never is."""


class Start(NamedTuple):
    """One start. Instants are microseconds since 1970; the path's durations follow `launched_us` without a gap."""

    k: int
    kind: str
    allocation: int
    """Number of the allocation in its job, from 0."""
    gpus: int
    submit_us: int
    """Of the allocation, as its release is; whole seconds."""
    granted_us: int
    launched_us: int
    path: tuple[tuple[P, int], ...]
    excess: int
    """What the first step takes beyond a steady one; 0 where no step is made."""
    resumed: int
    """Step loaded; 0 without a checkpoint."""
    last: int
    """Last step made; `resumed` where none was."""
    high: int
    """Highest step of the starts before."""
    step_us: int
    interrupts: tuple[Interrupt, ...]
    end: End
    cause: str
    node: int
    hang: int
    final_save: int
    publish: int
    teardown: int
    """Up to `done_us`."""
    done_us: int
    """The last of its lines, or the release where the allocation ends with it."""
    releases: bool
    """Whether the allocation ends with this start."""

    @property
    def loop_us(self) -> int:
        """Return the instant at which the loop is entered."""
        return self.launched_us + sum(us for _, us in self.path)

    @property
    def steps(self) -> int:
        """Return the number of steps made."""
        return self.last - self.resumed

    @property
    def progress_us(self) -> int:
        """Return the instant of the last progress: end of the last step or of what held the loop behind it."""
        if not self.steps:
            return self.loop_us
        return self.loop_us + self.excess + self.steps * self.step_us + sum(one.us for one in self.interrupts)

    @property
    def stop_us(self) -> int:
        """Return the instant at which the end is found, or at which the loop is left."""
        return self.progress_us + self.hang

    def at(self, step: int) -> int:
        """Return the instant at which a step ends."""
        held = sum(one.us for one in self.interrupts if one.step < step)
        return self.loop_us + self.excess + (step - self.resumed) * self.step_us + held


class Job(NamedTuple):
    """One job with all its starts."""

    number: int
    name: str
    model: int
    target: int
    starts: tuple[Start, ...]
    protected: int
    """Highest step that a committed or loaded checkpoint held: what is above it is lost if the job never came back."""
    gone: bool
    """Whether it ended without reaching its target."""

    @property
    def begin_us(self) -> int:
        """Return the first submission."""
        return self.starts[0].submit_us
