"""Hostile input of every batch scheduler: bytes changed, lost and repeated never raise, and every line is counted."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ettlog.parse import (
    ckpt_probe,
    flux_eventlog,
    flux_jobs,
    htcondor,
    lsf,
    lsf_events,
    lsf_json,
    pbs,
    qacct,
    scontrol,
    sge,
    skypilot,
    slurm_jobcomp,
    slurm_json,
    slurmctld,
    slurmd,
)
from ettlog.parse.parsed import ScanOptions
from tests import (
    test_flux,
    test_lsf,
    test_lsf_events,
    test_lsf_json,
    test_pbs,
    test_qacct,
    test_scontrol,
    test_sge,
    test_skypilot,
    test_slurm_jobcomp,
    test_slurm_json,
    test_slurmctld,
    test_slurmd,
)
from tests import test_htcondor as condor
from tests.examples import few

READ = {
    "slurm_json": (
        slurm_json.read,
        test_slurm_json.reply(test_slurm_json.accounted(), test_slurm_json.controlled("RUNNING")),
    ),
    "jobcomp": (slurm_jobcomp.read, test_slurm_jobcomp.line() + test_slurm_jobcomp.line(82, name="a b")),
    "scontrol": (scontrol.read, test_scontrol.block() + test_scontrol.block("PENDING", job="JobId=7101")),
    "slurmctld": (slurmctld.read, test_slurmctld.log(test_slurmctld.START, "Requeuing JobId=55", test_slurmctld.START)),
    "slurmd": (slurmd.read, test_slurmd.log(*test_slurmd.LINES)),
    "flux": (flux_eventlog.read, test_flux.events(*test_flux.RUN, 'exception type="x" severity=0', "finish status=9")),
    "flux_jobs": (flux_jobs.read, json.dumps({"jobs": [test_flux.listed(), test_flux.listed(id=7, state="RUN")]})),
    "skypilot": (
        skypilot.read,
        test_skypilot.log(test_skypilot.LAUNCH, test_skypilot.LOST, test_skypilot.AGAIN, test_skypilot.LAUNCH),
    ),
    "lsf_events": (
        lsf_events.read,
        test_lsf_events.new()
        + test_lsf_events.start()
        + test_lsf_events.status(1, 900)
        + test_lsf_events.start(at=950),
    ),
    "lsf_json": (lsf_json.read, test_lsf_json.listing(test_lsf_json.record(), test_lsf_json.record(STAT="RUN"))),
    "lsf": (lsf.read, test_lsf.record() + test_lsf.record(2, command='a ""b""\nc', hosts='1 "8*m1"')),
    "pbs": (pbs.read, test_pbs.line("S", end=None) + test_pbs.line() + test_pbs.line("R", "9.srv")),
    "qacct": (qacct.read, test_qacct.record() + test_qacct.record(901, slave="1.m2")),
    "sge": (sge.read, test_sge.record() + test_sge.record(901, slave="1.m2")),
    "condor_log": (htcondor.read, condor.SUBMITTED + condor.RUNS + condor.EVICTED + condor.AGAIN + condor.ENDED),
    "probe": (
        ckpt_probe.read,
        condor.probe(("10:00:00.0", "a", "start", 0, "no checkpoint"), ("10:01:00.0", "a", "save_done", 9, "x 0.5 s")),
    ),
    "condor_history": (htcondor.read, condor.ad() + condor.ad(ClusterId=413)),
}
"""Name -> reader and a text of its dialect."""
JUNK = (
    b"\0",
    b"\xff\xfe",
    b'"',
    b"\n",
    b"=",
    b"99999999999999999999",
    b"-1",
    b"{",
    b"]",
    b" ",
    b";;",
    b"::",
    b"|",
    b"...\n",
)


@st.composite
def hurts(draw: st.DrawFn) -> list[tuple[float, float, bytes]]:
    """Draw places, lengths to lose there, and what stands there instead."""
    return draw(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.2), st.sampled_from(JUNK)), min_size=1, max_size=6))


def hurt(text: bytes, places: list[tuple[float, float, bytes]]) -> bytes:
    """Return a text with some of its bytes replaced."""
    for at, lost, junk in places:
        begin = int(at * len(text))
        text = text[:begin] + junk + text[begin + int(lost * len(text)) :]
    return text


@pytest.mark.parametrize("name", READ)
@settings(max_examples=few(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=hurts())
def test_broken_bytes_never_raise(tmp_path: Path, name: str, places: list[tuple[float, float, bytes]]) -> None:
    """Whatever is done to a file, each of its lines has one outcome, and no run ends before it starts."""
    reader, text = READ[name]
    path = tmp_path / "broken"
    path.write_bytes(hurt(text.encode(), places))
    parsed = reader(path, ScanOptions())
    assert (
        sum(parsed.lines.values())
        == parsed.n_lines
        == path.read_bytes().count(b"\n") + (path.read_bytes()[-1:] not in (b"\n", b""))
    )
    for row in parsed.allocs.to_pylist():
        assert row["start_us"] is None or row["end_us"] is None or row["end_us"] >= row["start_us"]


@pytest.mark.parametrize("name", [name for name in READ if name not in ("slurm_json", "flux_jobs", "lsf_json")])
def test_one_endless_line_is_counted(tmp_path: Path, name: str) -> None:
    """A line of twenty megabytes is not held in memory, and the records around it are read."""
    reader, text = READ[name]
    path = tmp_path / "long"
    path.write_bytes(text.encode() + b"x" * 20_000_000 + b"\n")
    tracemalloc.start()
    parsed = reader(path, ScanOptions())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert parsed.lines["long"] == 1
    assert parsed.lines["matched"] >= 1
    assert peak < 16_000_000
