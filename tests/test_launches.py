"""Numbering the launches of one source."""

from __future__ import annotations

from ettlog.parse.launches import Mark, number

LAUNCHER, WORKER, END = 1, 2, 0


def _mark(line: int, opens: int, *, ends: bool = False, rank: int | None = None, pattern: str = "p") -> Mark:
    return Mark(line, opens, ends, (pattern, rank, None))


def test_no_opener_means_no_launch() -> None:
    """Steps and ends alone open nothing: their lines belong to launch 0."""
    assert number([_mark(9, END, ends=True)], [3, 4, 5]) == []


def test_workers_behind_their_launcher_join_it() -> None:
    """One launcher line and the first lines of eight ranks are one launch."""
    assert number(
        [_mark(1, LAUNCHER), *(_mark(2 + rank, WORKER, rank=rank, pattern="w") for rank in range(8))], []
    ) == [1]


def test_the_same_launcher_line_again_is_another_launch() -> None:
    """A launch that died in silence shows only by the next launcher line."""
    assert number([_mark(1, LAUNCHER), _mark(50, LAUNCHER), _mark(90, LAUNCHER)], []) == [1, 50, 90]


def test_launchers_of_several_nodes_are_one_launch() -> None:
    """Each node's launcher is a writer of its own."""
    marks = [Mark(line, LAUNCHER, False, ("p", None, f"node{line}")) for line in (1, 2, 3)]
    assert number(marks, []) == [1]


def test_nodes_that_do_not_say_who_they_are_join() -> None:
    """The same worker line without rank or node comes once from each node of one launch; after a step it opens."""
    assert number([_mark(1, WORKER), _mark(2, WORKER), _mark(3, WORKER), _mark(40, WORKER)], [20]) == [1, 40]


def test_an_opener_after_a_step_opens() -> None:
    """A worker's first line after steps is a new launch even where that worker was not seen before."""
    assert number([_mark(1, WORKER, rank=0), _mark(40, WORKER, rank=1)], [20, 21]) == [1, 40]


def test_an_opener_after_an_end_opens() -> None:
    """A launcher with another command line after an exit line is a new launch."""
    marks = [_mark(1, LAUNCHER), _mark(20, END, ends=True), _mark(30, LAUNCHER, pattern="q")]
    assert number(marks, []) == [1, 30]


def test_a_late_worker_of_a_failed_launch_does_not_open_one() -> None:
    """One rank fails while the others still print their first lines."""
    marks = [_mark(1, WORKER, rank=0), _mark(2, END, ends=True), _mark(3, WORKER, rank=1), _mark(9, WORKER, rank=0)]
    assert number(marks, []) == [1, 9]


def test_workers_without_steps_before_the_first_launcher_are_no_launch() -> None:
    """Trials by hand before the first launcher stay in launch 0; with a step they count."""
    marks = [_mark(1, WORKER, rank=0), _mark(10, WORKER, rank=0), _mark(20, LAUNCHER), _mark(40, LAUNCHER)]
    assert number(marks, []) == [20, 40]
    assert number(marks, [15]) == [1, 10, 20, 40]


def test_an_agent_behind_a_copy_of_the_workers_lines_opens_the_next_launch() -> None:
    """A collector sends a worker's first line and its end twice: the agent's next line is not that of a late rank."""
    agent, worker, end = ("a", None, None), ("w", None, None), ("e", None, None)
    once = [Mark(1, 3, False, agent), Mark(2, WORKER, False, worker), Mark(5, END, True, end)]
    again = [Mark(7, WORKER, False, worker), Mark(10, END, True, end)]
    assert number([*once, *again, Mark(12, 3, False, agent), Mark(13, WORKER, False, worker)], []) == [1, 7, 12]


def test_a_crash_loop_that_only_agents_announce_is_several_launches() -> None:
    """An agent announces, its worker shows and dies before any step; the agent that announces again opens a launch."""
    agent, worker, end = ("a", None, None), ("w", None, None), ("e", None, None)
    loop = [
        mark
        for line in (1, 11, 21)
        for mark in (Mark(line, 3, False, agent), Mark(line + 1, WORKER, False, worker), Mark(line + 5, END, True, end))
    ]
    assert number(loop, []) == [1, 11, 21]
