"""Public fleet traces on real files: every fact of every file, and the figures that can be made of them again."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ettlog import fleet
from ettlog.fleet import Fleet
from ettlog.ingest import ingest

pytestmark = pytest.mark.shared

SETS = (
    "acme", "alibaba_gpu_v2020", "alibaba_gpu_v2023", "alibaba_spot_v2026", "helios", "philly_derived",
    "swf_unilu_gaia", "trace_row_samples",
)  # fmt: skip
SECOND, HOUR = 1_000_000, 3_600_000_000
NOT_OPEN = {
    "swf": "an unknown run time (-1) leaves the end unknown; the facts do not call that open",
    "trace_philly_json": "an attempt without an end that others follow; the facts do not call that open",
    "trace_alibaba_spot_csv": "no file of this trace has an end",
    "trace_alibaba_pai_tsv": "only the row of the job table is a job",
}
"""Dialects whose `running_or_open` is not the number of rows without an end, and why."""
Row = dict[str, Any]


@pytest.fixture(scope="module")
def real(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Return a fleet over all files of public traces."""
    lake = tmp_path_factory.mktemp("traces") / "lake"
    ingest([shared / "data/scheduler" / name for name in SETS], lake)
    return fleet.open(lake)


@pytest.fixture(scope="module")
def facts(shared: Path) -> list[Row]:
    """Return the facts of all files of public traces."""
    found: list[Row] = json.loads((shared / "data/scheduler/facts.json").read_text())
    return [one for one in found if one["file"].startswith(SETS)]


def rows(real: Fleet, file: str, *records: str) -> list[Row]:
    """Return the rows of a file that are about these things."""
    kinds = ", ".join(f"'{record}'" for record in records)
    query = f"SELECT a.* FROM alloc a JOIN source s ON s.key = a.key WHERE s.path = '{file}' AND a.record IN ({kinds})"
    return real.sql(f"{query} ORDER BY a.line, a.raw").to_dicts()


def stamp(fact: Row, us: int | None) -> Any:
    """Return an instant as the facts of a file write it."""
    if us is None:
        return None
    if fact["clock"] == "trace_s":
        return us / SECOND - fact.get("extra", {}).get("unix_start", 0)
    text = datetime.fromtimestamp(us // SECOND, UTC).replace(tzinfo=None).isoformat()
    return text + ("Z" if fact["clock"] == "utc" else "")


def share(row: Row) -> float | None:
    """Return the GPUs of a row, shares of one included."""
    if row["gpu_milli"] is not None:
        return float(row["gpu_milli"]) / 1000
    return None if row["gpus"] is None else float(row["gpus"])


def holds(row: Row) -> bool:
    """Tell whether an attempt got hardware: a start, or an end of something that held GPUs."""
    return row["start_us"] is not None or bool(row["end_us"] and row["gpus"] and row["restarts"])


def test_every_line_has_one_outcome(real: Fleet, facts: list[Row]) -> None:
    """Lines, records, rejected and repeated records are those of the facts."""
    for fact in facts:
        found = dict(real.sql(f"SELECT outcome, lines FROM line_stat WHERE path = '{fact['file']}'").iter_rows())
        assert sum(found.values()) == fact["physical_lines"], fact["file"]
        assert found.get("bad_record", 0) + found.get("bad_time", 0) + found.get("torn", 0) == fact.get(
            "rejected_records", 0
        )
        assert found.get("duplicate", 0) == fact.get("duplicate_job_rows", 0), fact["file"]


def test_jobs_attempts_and_states(real: Fleet, facts: list[Row]) -> None:
    """Records, jobs, attempts, states, restarts and what is open are those of the facts."""
    for fact in (one for one in facts if "skipped" not in one):
        told, found = fact["file"], rows(real, fact["file"], "job")
        every = rows(real, fact["file"], "job", "task", "step")
        jobs = {row["id"]: row for row in found}
        assert len({(row["line"], row["id"]) for row in every}) == fact["records"], told
        assert len(jobs) == fact["job_rows"], told
        assert len({row["id"] for row in every}) == fact["jobs"], told
        assert len(every) - len(found) == fact["other_rows"] + fact["step_rows"], told
        assert Counter(row["state"] for row in jobs.values() if row["state"]) == fact["states"], told
        if fact["allocations"] is not None:
            assert sum(map(holds, found)) == fact["allocations"], told
        if fact["never_started"] is not None:
            assert sum(not holds(row) for row in found) == fact["never_started"], told
        if fact["running_or_open"] is not None and fact["dialect"] not in NOT_OPEN:
            assert sum(row["end_us"] is None for row in found) == fact["running_or_open"], told
        if fact["requeues_or_restarts"] is not None:
            assert (
                sum(max(row["restarts"] for row in found if row["id"] == job) for job in jobs)
                == fact["requeues_or_restarts"]
            )


def test_sums(real: Fleet, facts: list[Row]) -> None:
    """Queue, held time, GPU time, most GPUs, first submission and last end are those of the facts."""
    for fact in (one for one in facts if "skipped" not in one):
        told, found = fact["file"], rows(real, fact["file"], "job")
        first: dict[str, Row] = {}
        for row in found:
            first.setdefault(row["id"], row)
        started = [row for row in first.values() if None not in (row["start_us"], row["submit_us"])]
        queue = sum(row["start_us"] - row["submit_us"] for row in started)
        spans = [(row, held) for row in found if (held := span(row)) is not None]
        if fact["queue_seconds_sum"] is not None:
            assert queue == fact["queue_seconds_sum"] * SECOND, told
        if fact["allocated_seconds_sum"] is not None:
            assert sum(held for _, held in spans) == fact["allocated_seconds_sum"] * SECOND, told
        if fact["gpu_seconds_sum"] is not None:
            assert sum(round(held * (share(row) or 0)) for row, held in spans) == round(
                fact["gpu_seconds_sum"] * SECOND
            ), told
        if fact["gpus_max"] is not None:
            assert max(share(row) or 0 for row in rows(real, told, "job", "task")) == fact["gpus_max"], told
        assert stamp(fact, min((row["submit_us"] for row in found), default=None)) == fact["first_submit"], told
        if fact["last_end"] is not None:
            assert stamp(fact, max(row["end_us"] for row in found if row["end_us"] is not None)) == fact["last_end"], (
                told
            )


def span(row: Row) -> int | None:
    """Return the time an attempt held hardware: by its instants, else as printed where it has no start at all."""
    if row["start_us"] is not None and row["end_us"] is not None:
        return int(row["end_us"] - row["start_us"])
    told = row["elapsed_us"] if row["state"] is None and row["start_us"] is None else None
    return None if told is None else int(told)


def test_hard_rows(real: Fleet, facts: list[Row]) -> None:
    """The examples of the facts: times, state and GPUs of the rows that are easily read wrong."""
    count = 0
    for fact in (one for one in facts if "skipped" not in one):
        every = rows(real, fact["file"], "job", "task", "step")
        for example in fact["examples"]:
            found = [row for row in every if row["id"] == example["job"]]
            row = found[example.get("attempt") or 0]
            told = (fact["file"], example)
            assert "line" not in example or row["line"] == example["line"], told
            for column, key in (("submit_us", "submit"), ("start_us", "start"), ("end_us", "end")):
                assert stamp(fact, row[column]) == example[key], told
            last = row is found[-1]
            assert (row["state"] if last else example["state"]) == (example["state"] or "").removeprefix(
                "status "
            ) or not row["state"]
            assert fact["gpus_max"] is None or example["gpus"] is None or share(row) == example["gpus"], told
            for column, key, unit in (
                ("gpus_requested", "gpus_requested", 1), ("cpus", "processors", 1),
                ("elapsed_us", "run_seconds", SECOND), ("elapsed_us", "duration", SECOND),
            ):  # fmt: skip
                if key in example:
                    assert row[column] == (None if example[key] is None else example[key] * unit), told
            count += 1
    assert count == 5 + 5 + 2 + 2 + 3 + 4 + 3 + 6


def of(pattern: str) -> str:
    """Return a query's source: the rows of the files whose path is like this."""
    return f"(SELECT a.* FROM alloc AS a JOIN source AS s ON s.key = a.key WHERE s.path LIKE '{pattern}') AS found"


def answer(real: Fleet, query: str) -> Any:
    """Return the single row that a query of `ettlog sql` gives, or its single value."""
    row = real.sql(query).row(0)
    return row[0] if len(row) == 1 else row


OPENB = "SELECT {} FROM " + of("%openb_pod_list%")


def test_openb_totals(real: Fleet) -> None:
    """8,152 pods by phase, 7,064 with GPUs, queue and 51,470.67 GPU-hours; 1,213 nodes with 6,212 GPUs."""
    phases = [f"count(*) FILTER (state = '{phase}')" for phase in ("Running", "Failed", "Pending", "Succeeded")]
    assert answer(real, OPENB.format(", ".join(["count(*)", *phases]))) == (8152, 5193, 1870, 897, 192)
    assert answer(real, OPENB.format("count(*) FILTER (gpus_requested > 0)")) == 7064
    queue = [f"{figure}(start_us - submit_us) // 1000000" for figure in ("sum", "median", "max")]
    assert answer(real, OPENB.format(", ".join(queue))) == (444748, 2, 14330)
    assert answer(real, OPENB.format("round(sum(gpu_milli * (end_us - start_us)) / 3.6e12, 2)")) == 51470.67
    nodes = "SELECT count(*), sum(gpus) FROM " + of("%openb_node_list%")
    assert answer(real, nodes) == (1213, 6212)


def test_openb_through_the_relations(real: Fleet) -> None:
    """The relation of allocations holds the same GPU time, every pod a job of its own."""
    total = "round(sum(gpu_milli * (end_us - start_us)) / 3.6e12, 2)"
    assert answer(real, f"SELECT count(DISTINCT job), {total} FROM allocation WHERE id LIKE 'openb-pod-%'") == (
        8152,
        51470.67,
    )


def test_gaia_totals(real: Fleet, facts: list[Row]) -> None:
    """States, queues, the preemptible queue's failures, waits and processor time of the part of Gaia that is here."""
    fact = next(one for one in facts if one.get("dialect") == "swf")["extra"]
    base = "SELECT {} FROM " + of("%.swf")
    queues = real.sql(base.format("partition, count(*)") + " GROUP BY 1")
    assert dict(queues.iter_rows()) == fact["rows_by_queue"]
    assert (
        answer(real, base.format("count(*) FILTER (partition = '2' AND state = '0')"))
        == fact["preemptible_queue_failed_rows"]
    )
    assert answer(real, base.format("sum(cpus * elapsed_us) // 1000000, max(cpus)")) == (
        fact["processor_seconds"],
        fact["processors_max"],
    )
    waits = "median(start_us - submit_us) // 1000000, max(start_us - submit_us) // 1000000"
    assert answer(real, base.format(waits)) == (fact["queue_seconds_median"], fact["queue_seconds_max"])
    unknown = "count(*) FILTER (elapsed_us = 0), count(*) FILTER (elapsed_us IS NULL)"
    assert answer(real, base.format(unknown)) == (fact["run_time_zero"], fact["run_time_unknown"])
    first = "make_timestamp(min(submit_us))"
    assert answer(real, base.format(first)) == datetime.fromisoformat(fact["first_submit_utc"]).replace(tzinfo=None)


def test_helios_adds_up_again(real: Fleet) -> None:
    """The clusters add up to the printed total of jobs and GPU time; the number of GPUs does not (6218, not 6220)."""
    base = "SELECT {} FROM " + of("%helios_cluster_summary%")
    four = " WHERE cluster IN ('Venus', 'Earth', 'Saturn', 'Uranus')"
    jobs = "sum(count) FILTER (record = 'summary' AND partition IS NULL)"
    gpu_jobs = "sum(count) FILTER (record = 'summary' AND partition = 'gpu' AND state IS NULL)"
    times = ", ".join(f"sum(gpu_us) FILTER (state = '{end}') // 1000000" for end in ("complete", "cancel", "fail"))
    query = base.format(f"{jobs}, {gpu_jobs}, {times}, sum(gpus) FILTER (record = 'capacity')")
    expected = (3362981, 1580464, 39994296320, 30715109125, 7288334702)
    assert answer(real, query + four) == (*expected, 6218)
    assert answer(real, query + four.replace("IN", "NOT IN")) == (*expected, 6220)
    rates = ", ".join(
        f"round(sum(count) FILTER (state = '{end}') / {gpu_jobs}, 3)" for end in ("complete", "cancel", "fail")
    )
    printed = (0.624, 0.221, 0.155)
    assert answer(real, base.format(rates) + four.replace("IN", "NOT IN")) == printed
    assert answer(real, base.format(rates.replace(", 3)", ", 6)")) + four) == pytest.approx(printed, abs=0.001)


def test_philly_run_times(real: Fleet) -> None:
    """83,154 run times with their sum, median and longest; they name no job and make none."""
    base = "SELECT {} FROM " + of("%philly_runtime%")
    figures = "count(*), sum(elapsed_us) // 1000000, median(elapsed_us) // 1000000, max(elapsed_us) // 1000000"
    assert answer(real, base.format(figures)) == (83154, 1215156667, 1186, 4628239)
    assert answer(real, base.format("count(*) FILTER (elapsed_us = 0), count(id)")) == (2, 0)


def test_series_and_capacity(real: Fleet, facts: list[Row]) -> None:
    """Minutes, gaps, nodes in use, nodes and GPUs by model, days: the numbers of files that hold no jobs."""
    checked = {fact["file"].rpartition("/")[2]: fact["checked"] for fact in facts if "checked" in fact}
    base = "SELECT {} FROM " + of("%{}") + " WHERE record = '{}'"
    node = checked["philly_node_sequence_head.csv"]
    minutes = "count(*), (max(start_us) - min(start_us)) // 60000000 + 1 - count(*), round(avg(nodes), 3)"
    assert answer(real, base.format(minutes, "philly_node_sequence_head.csv", "use")) == (
        node["minutes"], node["missing_minutes"], node["mean_active"],
    )  # fmt: skip
    series = checked["Earth_vc6YE_cluster_sequence_head.csv"]
    first, last = "make_timestamp(min(start_us))", "make_timestamp(max(start_us))"
    found = answer(real, base.format(f"count(*), {first}, {last}", "Earth_vc6YE_cluster_sequence_head.csv", "use"))
    assert found == (series["minutes"], *(datetime.fromisoformat(series[name]) for name in ("first", "last")))
    for name in ("openb_node_list_gpu_node.csv", "node_info_df.csv"):
        found = real.sql(base.format("partition, count(*) AS n, sum(gpus) AS gpus", name, "capacity") + " GROUP BY 1")
        assert dict(found.select("partition", "n").iter_rows()) == checked[name]["nodes_by_model"]
        assert found["gpus"].sum() == checked[name]["gpus"]
    assert answer(real, base.format("count(*), sum(nodes)", "philly_vc.csv", "capacity")) == (11, 352)
    days = f"count(DISTINCT start_us), {first}, {last}"
    assert answer(real, base.format(days, "Earth_gpu_number.csv", "capacity")) == (
        181, datetime(2020, 4, 1), datetime(2020, 9, 28),
    )  # fmt: skip


def test_acme_summary_and_the_queue_in_durations(real: Fleet, facts: list[Row]) -> None:
    """Kalos prints durations from the submission: they are not used, and how much they would have counted is said."""
    summary = next(fact["checked"] for fact in facts if fact["file"] == "acme/cluster_summary.csv")
    base = "SELECT cluster, count FROM " + of("%acme/cluster_summary.csv")
    assert dict(real.sql(base + " WHERE partition IS NULL").iter_rows()) == summary["job_num"]
    assert dict(real.sql(base + " WHERE partition = 'gpu' AND state IS NULL").iter_rows()) == summary["gpu_job_num"]
    assert real.lake is not None
    kalos = next(entry for entry in real.lake.sources() if entry.path.endswith("kalos.csv"))
    assert list(kalos.inferences) == [
        "the printed durations of 2 rows count the queue and are not used: 100 s, 6400 GPU-seconds"
    ]
    seren = rows(real, "trace_row_samples/acme_trace_seren.csv", "job")
    assert (sum(row["elapsed_us"] for row in seren), sum(row["gpu_us"] for row in seren)) == (
        2810 * SECOND,
        22480 * SECOND,
    )
