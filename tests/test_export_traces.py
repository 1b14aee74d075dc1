"""Traces for viewers: what an independent decoder reads back is what the relations say."""

from __future__ import annotations

import base64
import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

import ettlog
from ettlog import export
from ettlog.export.proto import number, varint
from ettlog.export.tracks import Slice, lanes
from ettlog.fleet import Fleet
from tests.conftest import ROOT
from tests.tables import Log
from tests.tables import fleet as made
from tests.test_cli import run

Slices = Counter[tuple[str, int, str, int, int]]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a lake of the tiny fixture with an optimization."""
    folder = tmp_path_factory.mktemp("traces")
    (folder / "logs").mkdir()
    for file in (ROOT / "fixtures/tiny/logs").iterdir():
        (folder / "logs" / file.name).write_bytes(file.read_bytes())
    (folder / "logs/optimizations.toml").write_text(
        '[[optimization]]\nname = "early data"\nowner = "trainer"\nparts = ["data_warmup", "step"]\n'
        'rollouts = [{model = "*", since = 2031-05-06}]\n'
    )
    ettlog.ingest([folder / "logs"], folder / "lake")
    return folder / "lake"


@pytest.fixture(scope="module")
def fleet(lake: Path) -> Fleet:
    """Return the fleet of the lake."""
    return ettlog.open(lake)


@pytest.fixture(scope="module")
def names(fleet: Fleet) -> list[str]:
    """Return all jobs."""
    found: list[str] = fleet.table("job")["job"].to_list()
    return found


def expected(fleet: Fleet) -> Slices:
    """Return job, start (-1 for none), part, begin and end of every row of `span`."""
    frame = fleet.table("span").with_columns(pl.col("start").fill_null(-1))
    return Counter(frame.select("job", "start", "part", "begin_us", "end_us").iter_rows())


class Decoded:
    """A trace as Google's protobuf library reads it: tracks by number, slices with the track they lie on."""

    def __init__(self, data: bytes) -> None:
        """Decode a trace; begins and ends are matched per track like brackets."""
        self.trace = Trace()
        self.trace.ParseFromString(data)
        self.tracks: dict[int, Any] = {}
        self.slices: list[tuple[int, Any, int, int]] = []
        self.instants: list[tuple[int, Any, int]] = []
        self.deepest = 0
        open_on: dict[int, list[tuple[Any, int]]] = {}
        for packet in self.trace.packet:
            if packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.HasField("track_event"):
                self._event(packet.track_event, packet.timestamp, open_on)
        assert not any(open_on.values())

    def _event(self, event: Any, at: int, open_on: dict[int, list[tuple[Any, int]]]) -> None:
        stack = open_on.setdefault(event.track_uuid, [])
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            stack.append((event, at))
            self.deepest = max(self.deepest, len(stack))
        elif event.type == TrackEvent.TYPE_SLICE_END:
            begun, since = stack.pop()
            self.slices.append((event.track_uuid, begun, since, at))
        elif event.type == TrackEvent.TYPE_INSTANT:
            self.instants.append((event.track_uuid, event, at))

    def home(self, track: int) -> Any:
        """Return the thread or process that a track belongs to."""
        found = self.tracks[track]
        return found if found.HasField("thread") or found.HasField("process") else self.home(found.parent_uuid)

    def job(self, pid: int) -> str:
        """Return the name of a process."""
        owners = (track.process for track in self.tracks.values() if track.HasField("process"))
        return str(next(process.process_name for process in owners if process.pid == pid))


def said(event: Any) -> dict[str, Any]:
    """Return the arguments of an event."""
    return {item.name: getattr(item, item.WhichOneof("value")) for item in event.debug_annotations}


def test_trace_holds_exactly_the_spans(fleet: Fleet, names: list[str]) -> None:
    """Job, start, part, begin and end of the slices on the threads are the rows of `span`, no more and no fewer."""
    found = Decoded(export.perfetto(fleet, names))
    slices: Slices = Counter()
    for track, event, begin, end in found.slices:
        home = found.home(track)
        if home.HasField("thread"):
            title = home.thread.thread_name
            k = -1 if title == "no start" else int(title.split()[1].rstrip(":"))
            slices[found.job(home.thread.pid), k, event.name, begin // 1000, end // 1000] += 1
    assert slices == expected(fleet)


def test_partition_tiles_each_job(fleet: Fleet, names: list[str]) -> None:
    """The first track of each process is the job's segments: one after another, without gap or overlap."""
    found = Decoded(export.perfetto(fleet, names))
    for process in (track for track in found.tracks.values() if track.HasField("process")):
        of_job = [item for item in found.slices if found.tracks[item[0]].parent_uuid == process.uuid]
        own = sorted((begin, end) for at, _, begin, end in of_job if found.tracks[at].name == "exclusive partition")
        assert all(before[1] == after[0] for before, after in itertools.pairwise(own))
        job = fleet.table("job").filter(pl.col("job") == process.process.process_name).row(0, named=True)
        assert sum(end - begin for begin, end in own) == job["wall_us"] * 1000


def test_no_track_holds_overlapping_slices(fleet: Fleet, names: list[str]) -> None:
    """No slice is open when another begins on its track; what overlaps lies on child tracks of the start's thread."""
    found = Decoded(export.perfetto(fleet, names))
    assert found.deepest == 1
    beside = [track for track in found.tracks.values() if track.name.endswith(", beside")]
    assert beside
    assert all(found.tracks[track.parent_uuid].HasField("thread") for track in beside)


def test_slices_carry_evidence_owner_and_optimizations(fleet: Fleet, names: list[str]) -> None:
    """A slice says its line of log, who owns its part, and which optimizations were active on it."""
    found = Decoded(export.perfetto(fleet, names))
    evidence = {text for text in fleet.table("span")["evidence"] if text}
    told = [(event, said(event)) for _, event, _, _ in found.slices]
    assert evidence <= {args["evidence"] for _, args in told if "evidence" in args}
    compiles = [args for event, args in told if event.name in ("compile", "first_step_excess")]
    assert compiles
    assert all(args["owner"] == "compiler" for args in compiles)
    assert all(args["optimizations"] == "early data" for event, args in told if event.name == "data_warmup")
    assert not any("optimizations" in args for args in compiles)


def test_checkpoints_are_instants_and_gpus_a_counter(fleet: Fleet, names: list[str]) -> None:
    """Committed and loaded checkpoints stand at their instants; the counter of GPUs ends at zero."""
    found = Decoded(export.perfetto(fleet, names))
    rows = fleet.table("checkpoint").filter(pl.col("state").is_in(["committed", "loaded"]), pl.col("at").is_not_null())
    assert Counter(at // 1000 for _, _, at in found.instants) == Counter(rows["at"].dt.epoch("us"))
    counters = [p for p in found.trace.packet if p.track_event.type == TrackEvent.TYPE_COUNTER]
    last = {p.track_event.track_uuid: p.track_event.counter_value for p in counters}
    assert set(last.values()) == {0}
    assert max(p.track_event.counter_value for p in counters) == fleet.table("segment")["gpus"].max()


def test_packets_are_in_order_and_of_one_writer(fleet: Fleet, names: list[str]) -> None:
    """Instants never go back, every packet names its writer, and the clock of the trace is the clock of the day."""
    trace = Decoded(export.perfetto(fleet, names)).trace
    at = [packet.timestamp for packet in trace.packet if packet.HasField("track_event")]
    assert at == sorted(at)
    assert {packet.trusted_packet_sequence_id for packet in trace.packet} == {1}
    clocks = {clock.clock_id: clock.timestamp for clock in trace.packet[0].clock_snapshot.clocks}
    assert clocks[1] == clocks[6] == at[0]


def test_chrome_trace_holds_exactly_the_spans(fleet: Fleet, names: list[str]) -> None:
    """Complete events on the threads of starts are the rows of `span`; no two of one thread overlap."""
    events = json.loads(export.chrome(fleet, names))["traceEvents"]
    jobs = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    slices: Slices = Counter()
    last: dict[tuple[int, int], int] = {}
    for event in sorted((e for e in events if e["ph"] == "X"), key=lambda e: e["ts"]):
        place = event["pid"], event["tid"]
        assert event["ts"] >= last.get(place, 0)
        last[place] = event["ts"] + event["dur"]
        if event["tid"]:
            title = threads[place].removesuffix(", beside")
            k = -1 if title == "no start" else int(title.split()[1].rstrip(":"))
            slices[jobs[event["pid"]], k, event["name"], event["ts"], event["ts"] + event["dur"]] += 1
    assert slices == expected(fleet)


def test_opentelemetry_lines_are_valid_and_nest(fleet: Fleet, names: list[str]) -> None:
    """Each line is an export request; ids are unique, children lie inside their parents, leaves are the segments."""
    leaves: Counter[tuple[str, int, int]] = Counter()
    for line in export.otlp(fleet, names).splitlines():
        spans = parsed(line)
        by_id = {span.span_id: span for span in spans}
        assert len(by_id) == len(spans)
        assert len({span.trace_id for span in spans}) == 1
        parents = {span.parent_span_id for span in spans if span.parent_span_id}
        assert parents <= by_id.keys()
        for span in spans:
            above = by_id.get(span.parent_span_id, span)
            assert above.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= above.end_time_unix_nano
            if span.span_id not in parents:
                leaves[span.name, span.start_time_unix_nano // 1000, span.end_time_unix_nano // 1000] += 1
    assert leaves == Counter(fleet.table("segment").select("part", "begin_us", "end_us").iter_rows())


def parsed(line: bytes) -> list[Any]:
    """Read an OTLP/JSON line with OpenTelemetry's own messages; there ids are hex, in protobuf's JSON base64."""
    request = json.loads(line)
    for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in span:
                span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    data = json_format.ParseDict(request, TracesData())
    return list(data.resource_spans[0].scope_spans[0].spans)


def test_chosen_jobs_only(lake: Path, fleet: Fleet, names: list[str], tmp_path: Path) -> None:
    """The command exports the named jobs in the order named, and the file is whole."""
    path = tmp_path / "t.pftrace"
    told = run("export", "perfetto", names[1], names[0], "--lake", str(lake), "-o", str(path))
    assert "wrote" in told.stderr
    found = Decoded(path.read_bytes())
    jobs = [track.process.process_name for track in found.tracks.values() if track.HasField("process")]
    assert jobs == [names[1], names[0]]
    assert path.read_bytes() == export.perfetto(fleet, jobs)


@pytest.mark.parametrize("name", ['"}],<b>', "a\\b\u202e\x1b[2J", "{{x}}"])
def test_hostile_names_survive(name: str) -> None:
    """A job of any name is the same text in every form."""
    log = Log(job_name=name)
    log.say(0, "launch")
    log.step(10, 1, 5)
    log.say(16, "exit_ok")
    one = made(log)
    assert Decoded(export.perfetto(one, [name])).job(1) == name
    assert json.loads(export.chrome(one, [name]))["traceEvents"][0]["args"]["name"] == name
    resource = json.loads(export.otlp(one, [name]))["resourceSpans"][0]["resource"]
    assert {"key": "ettlog.job", "value": {"stringValue": name}} in resource["attributes"]


@pytest.mark.parametrize(
    ("value", "wire"), [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (-1, "ff" * 9 + "01")]
)
def test_varints_are_those_of_the_documentation(value: int, wire: str) -> None:
    """300 is AC 02, as "Encoding" of the Protocol Buffers documentation shows; -1 takes ten bytes."""
    assert varint(value).hex() == wire
    assert number(1, 150).hex() == "089601"


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), max_size=30))
def test_lanes_are_disjoint_and_as_few_as_possible(given_spans: list[tuple[int, int]]) -> None:
    """No two slices of a lane overlap, none is lost, and there are as many lanes as overlap at the busiest moment."""
    slices = [Slice("step", "effective_training", begin, begin + took, {}) for begin, took in given_spans]
    found = lanes(slices)
    assert sorted(item for lane in found for item in lane) == sorted(slices)
    for lane in found:
        assert all(a.end_us <= b.begin_us for a, b in itertools.pairwise(lane))
    busiest = max((sum(s.begin_us <= at < s.end_us for s in slices) for at in range(71)), default=0)
    assert len(found) == max(busiest, 1)
