"""Perfetto's native trace: TrackEvent messages, a process per job, a thread per start, child tracks for what overlaps.

Field numbers are those of Perfetto's `trace_packet.proto`, `track_descriptor.proto`, `track_event.proto`,
`debug_annotation.proto` and `clock_snapshot.proto`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ettlog.export.proto import message, number, text
from ettlog.export.tracks import Args, Process, Slice, Thread, processes

if TYPE_CHECKING:
    from ettlog.fleet import Fleet

SEQUENCE = 1
"""The one writer of all packets; 0 means none."""
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
BOOTTIME, REALTIME = 6, 1
EXPLICIT = 3
"""Children are ordered by their rank."""
PARTITION, GPUS = "exclusive partition", "GPUs held"
NANOS = 1000


def perfetto(fleet: Fleet, jobs: Iterable[str]) -> bytes:
    """Return the named jobs as a trace in protobuf, which ui.perfetto.dev opens.

    A job is a process with its exclusive partition as the first track and the GPUs it held as a counter; a start is a
    thread whose slices are the raw intervals of `span`; those that overlap lie on child tracks. Slices carry owner,
    evidence (`path:line`), whether they were inferred, and the optimizations active then, as arguments. Instants are
    UTC.
    """
    packets: list[bytes] = []
    tracks = _Tracks()
    for process in processes(fleet, jobs):
        packets += _process(process, tracks)
    first = min((at for at, _ in tracks.events), default=0)
    ordered = (body for _, body in sorted(tracks.events, key=lambda event: event[0]))
    return b"".join(message(1, packet) for packet in (_clock(first), *packets, *ordered))


class _Tracks:
    """Numbers of tracks, and the events on them, ends before begins of one instant."""

    def __init__(self) -> None:
        self.last = 0
        self.events: list[tuple[int, bytes]] = []

    def new(self) -> int:
        """Return the number of a new track."""
        self.last += 1
        return self.last

    def put(self, at_us: int, track: int, kind: int, body: bytes = b"") -> None:
        """Add an event."""
        event = number(9, kind) + number(11, track) + body
        at = max(at_us, 0) * NANOS
        self.events.append((at, _packet(number(8, at) + message(11, event))))


def _packet(body: bytes) -> bytes:
    return body + number(10, SEQUENCE)


def _clock(at: int) -> bytes:
    """Tell that instants are UTC: the trace's clock and the clock of the day agree."""
    clocks = b"".join(message(1, number(1, clock) + number(2, at)) for clock in (BOOTTIME, REALTIME))
    return _packet(message(6, clocks) + number(13, 1))


def _process(process: Process, tracks: _Tracks) -> Iterator[bytes]:
    own = tracks.new()
    body = number(1, process.pid) + text(6, process.job)
    yield _track(own, message(3, body) + number(11, EXPLICIT))
    partition = tracks.new()
    yield _track(partition, text(2, PARTITION) + number(5, own) + number(12, 0))
    _slices(process.partition, partition, tracks)
    counter = tracks.new()
    yield _track(counter, text(2, GPUS) + number(5, own) + message(8, text(6, "GPUs")) + number(12, 1))
    for at, gpus in process.gpus:
        tracks.put(at, counter, COUNTER, number(30, gpus))
    for place, thread in enumerate(process.threads):
        yield from _thread(process.pid, thread, place, tracks)


def _thread(pid: int, thread: Thread, place: int, tracks: _Tracks) -> Iterator[bytes]:
    own = tracks.new()
    named = number(1, pid) + number(2, pid * 100_000 + place + 1) + text(5, thread.title)
    yield _track(own, message(4, named))
    for lane, slices in enumerate(thread.lanes):
        track = own
        if lane:
            track = tracks.new()
            yield _track(track, text(2, f"{thread.title}, beside") + number(5, own) + number(12, lane))
        _slices(slices, track, tracks)
    for instant in thread.instants:
        tracks.put(instant.at_us, own, INSTANT, _named(instant.name, "checkpoint", instant.args))


def _track(uuid: int, body: bytes) -> bytes:
    return _packet(message(60, number(1, uuid) + body))


def _slices(slices: Iterable[Slice], track: int, tracks: _Tracks) -> None:
    for item in slices:
        tracks.put(item.begin_us, track, BEGIN, _named(item.name, item.category, item.args))
        tracks.put(item.end_us, track, END)


def _named(name: str, category: str, args: Args) -> bytes:
    return text(22, category) + text(23, name) + b"".join(_annotation(key, value) for key, value in args.items())


def _annotation(name: str, value: str | int | bool) -> bytes:
    if isinstance(value, bool):
        said = number(2, int(value))
    elif isinstance(value, int):
        said = number(4, value)
    else:
        said = text(6, value)
    return message(4, text(10, name) + said)
