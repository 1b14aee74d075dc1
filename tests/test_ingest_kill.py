"""Ingest under SIGKILL: at every operation on the lake, in the middle of a write, and at random moments.

The first two kinds run in a helper process (this file as a program): it forks a child for each case, and the child
kills itself at its n-th operation. Whatever was left, the same command again must give the bytes of an undisturbed run.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.ingesting import accounting, tree
from tests.torture import lakes, nursery

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
OPERATIONS = ("open", "write", "fsync", "link", "unlink", "rename", "replace", "ftruncate", "mkdir")
SCENARIOS = ("first", "grown")
"""Scenarios of tests/torture/lakes.py; the long run takes all of them."""


def ingest_here(folder: Path, arm: Callable[[], None] | None = None) -> None:
    """Ingest the logs of a folder in this process; `arm` sets a trap first."""
    if arm is not None:
        arm()
    lakes.again(folder)


def in_child(action: Callable[[], None]) -> int:
    """Run something in a forked child and return how that ended."""
    child = os.fork()
    if not child:
        action()
        os._exit(0)
    return os.waitpid(child, 0)[1]


def killing(at: int, half: bool) -> Callable[[], None]:
    """Make the n-th operation on the system the last one; `half` counts writes only, and lets the last take half."""

    def arm() -> None:
        count = 0

        def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **more: Any) -> Any:
                nonlocal count
                counts = name == "write" if half else name != "open" or bool(args[1] & os.O_CREAT)
                count += counts
                if counts and count == at:
                    if half:
                        real(args[0], bytes(args[1])[: len(args[1]) // 2])
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*args, **more)

            return call

        for name in OPERATIONS:
            setattr(os, name, wrapped(name, getattr(os, name)))

    return arm


def every_operation(folder: Path, scenario: str, half: bool) -> dict[str, Any]:
    """Kill an ingest at each of its operations, run it again, and compare; return the count and what broke."""
    start, sound = folder / "start", folder / "sound"
    in_child(lambda: lakes.SCENARIOS[scenario](start))
    shutil.copytree(start, sound)
    assert in_child(lambda: ingest_here(sound)) == 0
    expected = tree(sound / "lake")
    broken: list[int] = []
    case = folder / "case"
    for at in itertools.count(1):
        shutil.rmtree(case, ignore_errors=True)
        shutil.copytree(start, case)
        ended = in_child(functools.partial(ingest_here, case, killing(at, half)))
        if ended == 0:
            return {"cases": at - 1, "broken": broken}
        again = in_child(functools.partial(ingest_here, case))
        if ended != signal.SIGKILL or again != 0 or tree(case / "lake") != expected:
            broken.append(at)
    raise AssertionError  # itertools.count does not end


def random_moments(folder: Path) -> dict[str, Any]:
    """Kill an ingest of 20 files after random times, run it again, and compare; return the count and what broke."""
    sound, chance, rounds = folder / "sound", random.Random(1), 15
    many_files(sound / "logs")
    begun = time.monotonic()
    assert in_child(lambda: ingest_here(sound)) == 0
    took, expected = time.monotonic() - begun, tree(sound / "lake")
    broken: list[int] = []
    for number in range(rounds):
        case = folder / f"case{number}"
        many_files(case / "logs")
        child = os.fork()
        if not child:
            ingest_here(case)
            os._exit(0)
        time.sleep(chance.uniform(0.0, 1.0) * took)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if in_child(functools.partial(ingest_here, case)) != 0 or tree(case / "lake") != expected:
            broken.append(number)
    return {"cases": rounds, "broken": broken}


def many_files(logs: Path) -> None:
    """Write 20 files of accounting into a new folder."""
    logs.mkdir(parents=True)
    for n in range(20):
        (logs / f"{n}.txt").write_text(accounting(*range(50 * n, 50 * n + 50)))


def helped(tmp_path: Path, *asked: str) -> dict[str, Any]:
    """Run this file as a program, and return what it found."""
    # A kill loses nothing that was written, so memory serves as well as a disk and is not slowed by its fsync.
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as folder:
        command = [sys.executable, "-m", "tests.test_ingest_kill", folder, *asked]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("half", [False, True], ids=["before", "half written"])
def test_a_kill_at_any_operation_leaves_nothing_behind(tmp_path: Path, scenario: str, half: bool) -> None:
    """Running again after a kill at any operation gives the bytes of an undisturbed run."""
    found = helped(tmp_path, scenario, str(int(half)))
    assert found["broken"] == []
    assert found["cases"] >= (4 if half else 20)


def test_kills_at_random_moments_leave_nothing_behind(tmp_path: Path) -> None:
    """An ingest that is killed after a random time ends, run again, in the lake of an undisturbed one."""
    assert helped(tmp_path, "moments") == {"cases": 15, "broken": []}


@pytest.mark.slow
def test_a_killed_ingest_of_two_workers_leaves_nothing_behind(tmp_path: Path) -> None:
    """The same of a program that reads in two processes more."""
    many_files(tmp_path / "logs")
    script = tmp_path / "run.py"
    script.write_text(
        "import sys; from ettlog.ingest import *\n"
        "if __name__ == '__main__': ingest([sys.argv[1]], sys.argv[2], options=IngestOptions(workers=2))"
    )
    command = [sys.executable, str(script), str(tmp_path / "logs")]
    begun = time.monotonic()
    subprocess.run([*command, str(tmp_path / "sound")], check=True, env=ENVIRONMENT)
    took = time.monotonic() - begun
    expected = tree(tmp_path / "sound")
    chance = random.Random(2)
    for round_ in range(3):
        lake = tmp_path / f"lake{round_}"
        running = subprocess.Popen([*command, str(lake)], env=ENVIRONMENT, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.5, 1.0) * took)
        running.kill()
        running.wait()
        subprocess.run([*command, str(lake)], check=True, env=ENVIRONMENT)
        assert tree(lake) == expected


def test_a_failed_operation_is_told_and_the_next_run_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk refuses one operation, the error has four parts, and running again gives the same bytes."""
    from ettlog.errors import LakeError

    lakes.first(tmp_path / "sound")
    ingest_here(tmp_path / "sound")
    expected = tree(tmp_path / "sound/lake")
    for name in ("write", "fsync", "link"):
        folder = tmp_path / name
        lakes.first(folder)

        def refuse(*args: Any, **more: Any) -> Any:  # noqa: ARG001
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, name, refuse)
        with pytest.raises(LakeError) as caught:
            ingest_here(folder)
        monkeypatch.undo()
        assert all((caught.value.what, caught.value.where, caught.value.why, caught.value.todo))
        ingest_here(folder)
        assert tree(folder / "lake") == expected


if __name__ == "__main__":
    nursery.warm()
    place, scenario, *rest = sys.argv[1:]
    found = every_operation(Path(place), scenario, bool(int(rest[0]))) if rest else random_moments(Path(place))
    print(json.dumps(found))
