"""Workers that hang: who reads nothing for long is told from who reads slowly."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from ettlog import stalls

if TYPE_CHECKING:
    import pytest


def test_who_reads_nothing_for_long_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte more begins the time anew; at exactly the limit nobody is given up."""
    clock, taken = [0.0], [100]
    monkeypatch.setattr(stalls, "_taken", lambda _pid: taken[0])
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    watch = stalls.Watch()
    verdicts = []
    for now, read in ((0.0, 100), (599.0, 101), (1199.0, 101), (1199.1, 101)):
        clock[0], taken[0] = now, read
        verdicts.append(watch.stalled(7))
    assert verdicts == [False, False, False, True]
    watch.forget(7)
    assert not watch.stalled(7)


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
