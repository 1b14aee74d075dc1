"""Phases that overlap: the wall time of a start as the longest path through its phase graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ettlog.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Graph(NamedTuple):
    """Phases of a start: how long each takes, and which phases it has to wait for."""

    durations: Mapping[str, float]
    waits: Mapping[str, frozenset[str]]


def wall(graph: Graph) -> float:
    """Return the wall time: the longest path of phases that wait for each other; raises UsageError for a cycle."""
    done: dict[str, float] = {}
    left = set(graph.durations)
    while left:
        ready = sorted(name for name in left if not (graph.waits.get(name, frozenset()) & left))
        if not ready:
            raise UsageError(
                "phases wait for each other in a circle", where=", ".join(sorted(left)),
                why="a phase can only begin when those it waits for have ended", todo="take one of the waits out",
            )  # fmt: skip
        for name in ready:
            begin = max((done[other] for other in graph.waits.get(name, ()) if other in done), default=0.0)
            done[name] = begin + graph.durations[name]
            left.discard(name)
    return max(done.values(), default=0.0)


class Change(NamedTuple):
    """What an optimization does to a graph: new durations, and waits it takes away, as (phase, for which)."""

    durations: Mapping[str, float] = {}
    freed: frozenset[tuple[str, str]] = frozenset()


def changed(graph: Graph, changes: Mapping[str, Change], on: frozenset[str]) -> Graph:
    """Return the graph with the optimizations `on`; where two set one duration, the later name in the alphabet wins."""
    durations = dict(graph.durations)
    for name in sorted(on):
        durations.update(changes[name].durations)
    freed = {pair for name in on for pair in changes[name].freed}
    waits = {
        phase: frozenset(other for other in others if (phase, other) not in freed)
        for phase, others in graph.waits.items()
    }
    return Graph(durations, waits)


def saving(graph: Graph, changes: Mapping[str, Change]) -> Callable[[frozenset[str]], float]:
    """Return the value of a set of optimizations: the wall time it saves, for `overlap.shapley` and its kin."""
    before = wall(graph)
    return lambda on: before - wall(changed(graph, changes, on))
