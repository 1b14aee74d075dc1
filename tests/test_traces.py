"""Public fleet traces: columns, units and traps of each, and what they cannot tell stays unknown."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettlog.parse import records
from ettlog.parse.parsed import Parsed, ScanOptions
from ettlog.parse.traces import philly, swf, tables
from tests.examples import few

S = 1_000_000
Row = dict[str, Any]


def us(text: str) -> int:
    """Return microseconds of a stamp; without an offset it is UTC."""
    stamp = datetime.fromisoformat(text if len(text) > 19 else text + "+00:00")
    return round(stamp.timestamp()) * S


def read(tmp_path: Path, text: str, zone: str | None = None) -> Parsed:
    """Read a text by the reader that knows it and check that every line has one outcome."""
    path = tmp_path / "trace.csv"
    path.write_text(text)
    options = ScanOptions(zone=zone)
    reader = records.reader_for(path, options)
    assert reader is not None
    assert reader.name in (tables.NAME, swf.NAME, philly.NAME)
    parsed = reader.read(path, options)
    assert sum(parsed.lines.values()) == parsed.n_lines
    return parsed


def rows(parsed: Parsed) -> list[Row]:
    """Return the rows as dictionaries."""
    found: list[Row] = parsed.allocs.to_pylist()
    return found


OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
)


def test_openb_gpus_are_thousandths_and_a_pending_pod_holds_none(tmp_path: Path) -> None:
    """A share of a GPU stays a share; seconds count from the trace's start; what was never scheduled never started."""
    text = (
        OPENB
        + "p-1,6000,1,1,460,,LS,Running,0,900,10\np-2,6500,1,4,1000,V100,BE,Pending,50,80,\n"
        + "p-1,6000,1,1,460,,LS,Running,0,900,10\n"
    )
    parsed = read(tmp_path, text)
    one, two = rows(parsed)
    assert (one["gpu_milli"], one["gpus"], one["gpus_requested"], one["cpus"]) == (460, None, 1, 6)
    assert (one["submit_us"], one["start_us"], one["end_us"], one["clock"]) == (0, 10 * S, 900 * S, "relative")
    assert (two["start_us"], two["end_us"], two["gpus"], two["gpus_requested"], two["cpus"]) == (
        None,
        80 * S,
        0,
        4,
        None,
    )
    assert parsed.lines == {"ignored": 1, "matched": 2, "duplicate": 1}


def test_serving_times_outside_the_trace_are_unknown_not_zero(tmp_path: Path) -> None:
    """NaN and an empty cell stand for a time before the trace or behind it."""
    head = (
        "instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,memory_request,"
    )
    head += "memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,scheduled_time,deletion_time\n"
    parsed = read(
        tmp_path,
        head
        + "i_1,HN,app_0,12,12,1,1,25,25,9.0,9.0,6.0,8.0,8,,NaN,\n"
        + "i_2,CN,app_1,64,64,0,0,1,1,3,3,2,3,-1,70.0,71.0,90.0\n",
    )
    one, two = rows(parsed)
    assert (one["submit_us"], one["start_us"], one["end_us"], one["gpus"]) == (None, None, None, 1)
    assert (two["submit_us"], two["start_us"], two["end_us"], two["gpus"]) == (70 * S, 71 * S, 90 * S, 0)


def test_spot_jobs_have_a_length_and_no_place_in_time(tmp_path: Path) -> None:
    """GPUs are those of all workers; start, end and state are not in the file."""
    head = "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type\n"
    (row,) = rows(read(tmp_path, head + "77,3,A10,8,2,5,100,3600,Spot\n"))
    assert (row["gpus"], row["elapsed_us"], row["submit_us"], row["partition"]) == (10, 3600 * S, 100 * S, "Spot")
    assert (row["start_us"], row["end_us"], row["state"]) == (None, None, None)


PAI_JOB = "0123456789abcdef01234567,i1,u1,Terminated,100.0,900.0\n"
PAI_TASK = "0123456789abcdef01234567,worker,3.0,Terminated,160.0,890.0,600.0,29.3,50.0,MISC\n"


@pytest.mark.parametrize("header", ["", "job_name,inst_id,user,status,start_time,end_time\n"])
def test_pai_job_time_is_the_submission(tmp_path: Path, header: str) -> None:
    """The job table's start is when it was handed in; the published tables have no header."""
    (row,) = rows(read(tmp_path, header + PAI_JOB))
    assert (row["submit_us"], row["start_us"], row["end_us"], row["state"]) == (100 * S, None, 900 * S, "Terminated")


def test_pai_task_gpus_are_percent_of_each_instance(tmp_path: Path) -> None:
    """Half a GPU for each of three instances is one and a half."""
    (row,) = rows(read(tmp_path, PAI_TASK))
    assert (row["record"], row["gpu_milli"], row["gpus"], row["start_us"], row["task"]) == (
        "task",
        1500,
        None,
        160 * S,
        "worker",
    )


def test_pai_tables_in_one_file(tmp_path: Path) -> None:
    """A file whose lines name their table is read line by line; an unknown table is a bad record."""
    text = f"table\trow\npai_job_table\t{PAI_JOB}pai_task_table\t{PAI_TASK}pai_other\tx\n"
    parsed = read(tmp_path, text)
    assert [row["record"] for row in rows(parsed)] == ["job", "task"]
    assert parsed.lines == {"ignored": 1, "matched": 2, "bad_record": 1}


HELIOS = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"


def test_helios_times_are_of_the_zone_that_is_told(tmp_path: Path) -> None:
    """The file has no zone: with one the instants move, without one that is said."""
    line = "9,u,vcA,8,64,1,COMPLETED,2020-06-09 18:00:00,2020-06-09 18:10:00,2020-06-09 19:10:00,3600,600\n"
    parsed = read(tmp_path, HELIOS + line, "Asia/Shanghai")
    (row,) = rows(parsed)
    assert (row["start_us"], row["clock"], row["elapsed_us"]) == (us("2020-06-09T10:10:00"), "zone_set", 3600 * S)
    assumed = read(tmp_path, HELIOS + line)
    assert (assumed.clock, assumed.inferences) == ("zone_assumed", ["local times of an unknown zone read as UTC"])


def test_an_hour_that_comes_twice_does_not_run_backwards(tmp_path: Path) -> None:
    """A run of 50 minutes over the end of summer time: 01:50 to 01:40, the second of that name."""
    line = "9,u,v,1,1,1,FAILED,2017-11-05 01:40:00,2017-11-05 01:50:00,2017-11-05 01:40:00,3000,600\n"
    parsed = read(tmp_path, HELIOS + line, "America/Los_Angeles")
    (row,) = rows(parsed)
    assert row["end_us"] - row["start_us"] == 3000 * S


def test_an_end_before_its_start_is_a_bad_time(tmp_path: Path) -> None:
    """So are times that cannot be read; a short row is a bad record, a cut last line is torn."""
    lines = [
        "1,u,v,1,1,1,FAILED,2020-06-09 18:00:00,2020-06-09 18:10:00,2020-06-09 17:10:00,1,1",
        "2,u,v,1,1,1,FAILED,2020-06-09 18:00:00,soon,2020-06-09 17:10:00,1,1",
        "3,u,v,1,1",
        "4,u,v,1,1,1,FAILED,2020-06-09 18:0",
    ]
    parsed = read(tmp_path, HELIOS + "\n".join(lines))
    assert parsed.lines == {"ignored": 1, "bad_time": 2, "bad_record": 1, "torn": 1}
    assert parsed.state == "torn"


def test_kalos_durations_hold_the_queue_and_are_not_used(tmp_path: Path) -> None:
    """18 s from submission to end are 8 s of run: 64 GPUs held 512 GPU-seconds, not 1,152."""
    head = "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_time,"
    head += "end_time,fail_time,stop_time,duration,queue,gpu_time\n"
    kalos = "a,u,8,64,960,1000,100.0,Other,FAILED,2023-05-17 11:00:00+00:00,2023-05-17 11:00:10+00:00,"
    kalos += "2023-05-17 11:00:18+00:00,,,18,10.0,1152.0\n"
    parsed = read(tmp_path, head + kalos)
    (row,) = rows(parsed)
    assert (row["elapsed_us"], row["gpu_us"], row["gpus"] * (row["end_us"] - row["start_us"])) == (None, None, 512 * S)
    assert parsed.inferences == [
        "the printed durations of 1 rows count the queue and are not used: 18 s, 1152 GPU-seconds"
    ]
    assert parsed.clock == "exact"


def test_seren_offset_is_applied(tmp_path: Path) -> None:
    """Times at +08:00 are instants; the duration is that of the run and is kept."""
    head = "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
    line = "5,u,1,8,128,Other,COMPLETED,2023-03-01 00:00:00+08:00,2023-03-01 00:00:30+08:00,"
    line += "2023-03-01 00:02:30+08:00,120,30,960.0\n"
    (row,) = rows(read(tmp_path, head + line))
    assert (row["start_us"], row["elapsed_us"], row["gpu_us"]) == (us("2023-02-28T16:00:30"), 120 * S, 960 * S)


def test_supercloud_columns_of_the_data_base(tmp_path: Path) -> None:
    """States are numbers, GPUs stand behind 1002 or 1001, 0 is no time, an array task is named by its array."""
    head = "id_job,id_array_job,id_array_task,id_user,nodes_alloc,exit_code,partition,state,time_submit,"
    head += "time_eligible,time_start,time_end,tres_alloc\n"
    lines = '11,0,4294967294,7,2,256,gpu,5,1600000000,1600000001,1600000100,1600000200,"1=40,2=9,4=2,1001=4,1002=4"\n'
    lines += '13,11,2,7,0,0,gpu,4,1600000000,0,0,1600000050,""\n'
    lines += '15,0,4294967294,7,1,15,gpu,1,1600000000,1600000001,1600000100,0,"1=8,1001=2"\n'
    parsed = read(tmp_path, head + lines)
    done, never, running = rows(parsed)
    assert (done["state"], done["gpus"], done["cpus"], done["exit_code"], done["exit_signal"]) == (
        "FAILED",
        4,
        40,
        1,
        0,
    )
    assert (never["id"], never["state"], never["start_us"], never["gpus"]) == ("11_2", "CANCELLED", None, None)
    assert (running["state"], running["end_us"], running["gpus"], running["exit_signal"]) == ("RUNNING", None, 2, 15)
    assert done["clock"] == "exact"


SWF = "; Version: 2.2\n; UnixStartTime: 1600000000\n; Installation: Test Site\n; MaxJobs: 4\n"


def swf_line(job: int, wait: str, run: str, status: int, cpu: str = "-1") -> str:
    """Return a job of 32 processors in queue 2, submitted at second 50."""
    return f"  {job} 50 {wait} {run} 32 {cpu} -1 32 7200 -1 {status} 3 3 -1 2 1 -1 -1\n"


def test_swf_counts_from_its_header(tmp_path: Path) -> None:
    """-1 is unknown, never summed; decimals are read; a cancelled job that did not run has no start."""
    text = (
        SWF + swf_line(1, "10", "100", 1, "31.50") + swf_line(2, "10", "-1", 0) + swf_line(3, "20", "0", 5) + "4 50 1\n"
    )
    parsed = read(tmp_path, text)
    one, two, three = rows(parsed)
    zero = 1_600_000_000 * S
    assert (one["submit_us"], one["start_us"], one["end_us"]) == (zero + 50 * S, zero + 60 * S, zero + 160 * S)
    assert (one["cpus"], one["state"], one["partition"], one["cluster"], one["gpus"]) == (
        32,
        "1",
        "2",
        "Test Site",
        None,
    )
    assert (two["start_us"], two["end_us"], two["elapsed_us"]) == (zero + 60 * S, None, None)
    assert (three["start_us"], three["end_us"]) == (None, zero + 70 * S)
    assert parsed.lines == {"ignored": 4, "matched": 3, "bad_record": 1}


def test_swf_of_a_model_has_no_wait_and_no_date(tmp_path: Path) -> None:
    """Without a header the trace is without a date; without a wait nothing says when the job started."""
    (row,) = rows(read(tmp_path, swf_line(1, "-1", "100", 1)))
    assert (row["submit_us"], row["start_us"], row["end_us"], row["elapsed_us"], row["clock"]) == (
        50 * S,
        None,
        None,
        100 * S,
        "relative",
    )


PHILLY = """[{"status": "Killed", "vc": "v", "jobid": "app_1", "attempts": [
 {"start_time": "2017-10-07 01:00:30", "end_time": "None", "detail":
  [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu0"]}]},
 {"start_time": "None", "end_time": "2017-10-07 03:00:00", "detail": [{"ip": "m3", "gpus": ["gpu0"]}]}],
 "submitted_time": "2017-10-07 01:00:00", "user": "u"},
{"status": "Failed", "vc": "v", "jobid": "app_2", "attempts": [], "submitted_time": "2017-10-07 01:00:00", "user": "u"},
{"status": "Pass", "vc": "v"}]
"""


def test_philly_attempts(tmp_path: Path) -> None:
    """The status is that of the last attempt; None is no time; a job without attempts never ran."""
    parsed = read(tmp_path, PHILLY, "America/Los_Angeles")
    first, second, never = rows(parsed)
    assert (first["raw"], first["state"], first["gpus"], first["nodes"], first["end_us"]) == (
        "app_1/0",
        None,
        3,
        2,
        None,
    )
    assert first["start_us"] == us("2017-10-07T08:00:30")
    assert (second["raw"], second["state"], second["start_us"], second["node"], second["restarts"]) == (
        "app_1/1",
        "Killed",
        None,
        "m3",
        1,
    )
    assert (never["id"], never["state"], never["start_us"], never["gpus"]) == ("app_2", "Failed", None, 0)
    assert parsed.lines["bad_record"] == 1


@pytest.mark.parametrize(
    "text",
    ["name,value\na,1\n", "runtime,else\n1,2\n", "time,active\n1,2\n", "id,job_num\n1,2\n", "a;b;c\n", "1 2 3\n",
     "; a comment\n; another\n", "job_id,state\n1,COMPLETED\n"],
)  # fmt: skip
def test_other_tables_are_not_claimed(text: str) -> None:
    """Tables with other columns belong to somebody else."""
    assert not any(reader.sniff(text.encode(), ScanOptions()) for reader in (tables, swf, philly))


@settings(max_examples=few(120), deadline=None)
@given(st.binary(max_size=300), st.sampled_from([OPENB, HELIOS, "runtime\n", SWF + swf_line(1, "1", "1", 1), PHILLY]))
def test_any_bytes_are_read_without_an_error(tmp_path_factory: pytest.TempPathFactory, noise: bytes, head: str) -> None:
    """Noise behind the head of any trace gives outcomes, never an exception."""
    path = tmp_path_factory.mktemp("noise") / "x"
    path.write_bytes(head.encode() + noise)
    for reader in (tables, swf, philly):
        parsed = reader.read(path, ScanOptions())
        assert sum(parsed.lines.values()) == parsed.n_lines
