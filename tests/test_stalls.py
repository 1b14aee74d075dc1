"""Workers that hang: who reads nothing for long is told from who reads slowly."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from ettlog import stalls

if TYPE_CHECKING:
    import pytest


def test_who_reads_nothing_for_long_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte more begins the ten minutes anew, and so does other work; at exactly the limit nobody is given up."""
    clock, taken = _faked(monkeypatch)
    watch = stalls.Watch()
    verdicts = {}
    for now in range(0, 1160, 10):
        clock[0], taken[0] = float(now), 100 if now < 550 else 101
        verdicts[now] = watch.stalled(7)
    assert [now for now, hangs in verdicts.items() if hangs] == []
    clock[0] = 1150.5
    assert watch.stalled(7)
    watch.forget(7)
    assert not watch.stalled(7)


def test_who_was_stopped_gives_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """When nobody has looked for a minute, the machine may have stood still: the time begins anew."""
    clock, _ = _faked(monkeypatch)
    watch = stalls.Watch()
    verdicts = []
    for now in (0.0, 5.0, 5000.0, 5060.0):
        clock[0] = now
        verdicts.append(watch.stalled(7))
    assert verdicts == [False] * 4


def _faked(monkeypatch: pytest.MonkeyPatch) -> tuple[list[float], list[int]]:
    """Put a clock and what a process has read into lists of one."""
    clock, taken = [0.0], [100]
    monkeypatch.setattr(stalls, "_taken", lambda _pid: taken[0])
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    return clock, taken


def test_where_the_system_does_not_tell_nobody_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an account of what a process reads, no process is ended for reading nothing."""
    monkeypatch.setattr(stalls, "_taken", lambda _pid: None)
    monkeypatch.setattr(stalls, "STALLED_S", -1.0)
    watch = stalls.Watch()
    assert not watch.stalled(7)
    assert not watch.stalled(7)


def test_bytes_read_are_counted_from_this_process() -> None:
    """What the system tells grows by at least what was read; of a process that is not there it tells nothing."""
    before = stalls._taken(os.getpid())
    with open("/dev/zero", "rb", buffering=0) as stream:  # noqa: PTH123
        stream.read(5000)
    after = stalls._taken(os.getpid())
    if before is not None:
        assert after is not None
        assert after - before >= 5000
    assert stalls._taken(2**22 + 1) is None
