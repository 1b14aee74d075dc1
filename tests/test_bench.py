"""The bench's own arithmetic and files: growth, ratios, the kept table, the inputs of peers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import __main__ as bench
from bench import generate, ingest, peers, thinned
from bench.ingest import Cost
from ettlog.parse.format import load_all
from ettlog.parse.parsed import ScanOptions
from ettlog.parse.records import reader_for


def cost(cpu: float) -> Cost:
    """Return what a command took."""
    return Cost(cpu, 2 * cpu, 100.0, "")


@pytest.mark.parametrize(("power", "start"), [(1.0, 0.0), (1.0, 0.6), (1.5, 0.25)])
def test_growth_is_the_exponent_of_what_the_start_up_left(power: float, start: float) -> None:
    """CPU seconds of start + size^p / 100 grow with exponent p, whatever the start-up."""
    found = [(mb, cost(start + mb**power / 100)) for mb in (100.0, 300.0, 900.0)]
    assert bench.growth(found, start) == pytest.approx(power, abs=1e-9)


def test_a_row_has_the_ratio_of_the_reference_over_the_row() -> None:
    """Reading 1000 MB in 4 s beside a reference of 3 s is 250 MB/s and 0.75."""
    told = bench.Row("all", 1000, 1, cost(4), "rg", 3.0, 4.0, 1.02).text().split(" | ")
    assert told[3:] == ["4.00", "8.00", "250", "100", "rg", "3.00", "0.75", "1.02 |"]
    assert bench.Row("all", 1000, 1, cost(4)).text().endswith("| - | - | - | - |")
    assert len(bench.HEAD.splitlines()[0].split("|")) == len(bench.Row("all", 1, 1, cost(1)).text().split("|"))


def test_the_kept_table_replaces_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands before and behind stays as it is."""
    path = tmp_path / "RESULTS.md"
    path.write_text(f"# Measured\n\n{bench.BEGIN}\nold\n{bench.END}\n\nmore\n")
    monkeypatch.setattr(bench, "RESULTS", path)
    for text in ("new", "newer"):
        bench.keep(text)
        assert path.read_text() == f"# Measured\n\n{bench.BEGIN}\n{text}\n{bench.END}\n\nmore\n"


def test_results_have_a_place_for_the_table() -> None:
    """The file in the project has both marks, once."""
    text = bench.RESULTS.read_text()
    assert text.count(bench.BEGIN) == text.count(bench.END) == 1


def test_the_union_for_ripgrep_holds_no_regex_that_it_cannot_read() -> None:
    """Back-references and look-around are replaced by the pattern's literal."""
    parts = [ingest._union_part(one) for one in load_all(()).patterns]
    assert not [part for part in parts if "(?=" in part or "(?<" in part or "(?!" in part]
    assert ingest.FOREIGN.search(rb"(a)\1")
    assert not ingest.FOREIGN.search(rb"(a)\\1")


def test_one_file_holds_the_bytes_of_all(tmp_path: Path) -> None:
    """One huge file and many small ones are the same lines in the same order."""
    generate.write(tmp_path / "many", mb=1)
    generate.write(tmp_path / "one", mb=1, one_file=True)
    many = b"".join(path.read_bytes() for path in sorted((tmp_path / "many").iterdir()))
    assert (tmp_path / "one/all.log").read_bytes() == many


def test_inputs_of_peers_are_known_to_their_readers(tmp_path: Path) -> None:
    """Entries and compile records go to the reader for them; the entries are ten starts, ten steps repeated in each."""
    names = []
    for contest in peers.CONTESTS[2:]:
        path = tmp_path / f"{contest.name}.log"
        assert contest.write(path, 100) == len(path.read_text().splitlines())
        reader = reader_for(path, ScanOptions())
        names.append(reader.name if reader else None)
    assert names == ["torch_trace", "goodput_entries"]
    steps = [json.loads(line).get("step_count") for line in path.read_text().splitlines()]
    assert sum(step is not None for step in steps) == 100 + 9 * 10


def test_steps_left_out_are_missed(tmp_path: Path) -> None:
    """Of two runs of thirty steps of a second each, one waits an hour between two steps. Of the first and the last step
    alone nobody knows when it waited; how long the steps took is printed on them."""
    for name, waits in (("steady", 0), ("waits", 3600)):
        lines = ["torchrun pretrain_gpt.py"]
        for step in range(1, 31):
            at = step + waits * (step > 15)
            lines.append(
                f" [2031-03-09 {12 + at // 3600}:{at // 60 % 60:02d}:{at % 60:02d}] iteration {step:8d}/      90 | "
                f"consumed samples: {step:9d} | elapsed time per iteration (ms): 1000.0 | learning rate: 1.0E-04 | "
                "global batch size: 1 | lm loss: 2.0E+00 | loss scale: 1.0 | number of skipped iterations: 0 | "
                "number of nan iterations: 0 |"
            )
        (tmp_path / "logs").mkdir(exist_ok=True)
        (tmp_path / "logs" / f"{name}.log").write_text("\n".join(lines) + "\n")
    told = thinned.compared(tmp_path / "logs", tmp_path)
    assert told.startswith("4 of 60 step lines left: of 2 jobs with effective time 1 have other segments")
