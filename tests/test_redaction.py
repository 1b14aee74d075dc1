"""What redaction takes out of a line, and what it must leave in."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from ettlog.parse.redaction import cleaned, kinds_in, redact, redact_text, stored
from ettlog.parse.redaction_kinds import KINDS, PERSONAL, SECRETS
from ettlog.parse.shapes import shape
from ettlog.schema import arrow_schema
from tests import secrets_made

MADE = 600
PER_TEN_THOUSAND = 1

NORMAL = (
    " iteration       20/     700 | consumed samples: 10240 | consumed tokens: 20971520 | elapsed time per iteration (ms): 912.4 |"
    " lm loss: 7.012345E+00 | grad norm: 1.234 |",
    "step: 100  loss:  3.21456  grad_norm:  1.2345  memory: 41.22GiB(51.2%)  tps: 7,281  tflops: 321.12  mfu: 32.1%",
    "tokens_per_second_per_gpu=4312.77 pad_token=<pad> eos_token='</s>' bos_token_id=1 unk_token: <unk> max_tokens=2048",
    "tokenizer_type: GPT2BPETokenizer, vocab_size: 50257, token_dropping: False, next_token_loss: 2.31",
    "srun: job 8812345 queued and waiting for resources; JobId=8812345 StepId=8812345.0",
    "git sha 8ab12cd34ef567890123456789abcdef01234567, torch 2.5.1+cu124, NCCL version 2.21.5+cuda12.4, driver 550.54.15",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "[rank0]:2024-05-01 10:00:00,123 - root - INFO - saved checkpoint /data/run7/ckpt/step_1000 in 12.31 s",
    "Epoch 3: 100%|##########| 1000/1000 [10:23<00:00, 1.60it/s, loss=2.31, lr=3e-4]",
    "2024-05-01T10:00:00.123Z INFO key=value step=12 host=localhost node: 12 rank: 3 local_rank=0",
    "passes: 12, bypass=true, compass: north, monkey: 3, keyboard interrupt, key: loss value: 3.2",
    "MASTER_PORT=29500 WORLD_SIZE=64 RANK=12 listening on 127.0.0.1:29500 and 0.0.0.0:8080",
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 3; 79.15 GiB total capacity)",
    "0000:0b:00.0 3D controller, at 10:22:33:44, c10d::ProcessGroupNCCL::watchdog, std::add::be",
    "secret: None, password: '', token: null, api_key=, credentials: false",
)
"""Lines of training with nothing to hide: step, loss, job id, sha, versions, times, words that only look like names."""


def test_more_than_thirty_kinds_are_known_each_with_a_name_of_its_own() -> None:
    """At least 30 kinds, no two of one name; each is told by literals or by what a line must hold."""
    assert len(KINDS) >= 30
    assert len({kind.name for kind in KINDS}) == len(KINDS) == len(SECRETS) + len(PERSONAL)
    assert all(bool(kind.marks) != (kind.need is not None) for kind in KINDS)
    assert all(mark == mark.lower() for kind in KINDS for mark in kind.marks)


def test_recall_on_generated_secrets() -> None:
    """Of 600 secrets of 58 kinds in lines, drawn as their issuers write them, at most one in a hundred is left."""
    made = secrets_made.planted(MADE)
    missed = [one for one in made if one.secret in redact(one.line.encode()).decode()]
    print(f"secrets redacted: {MADE - len(missed)} of {MADE}")
    assert len(missed) <= MADE // 100, missed


@pytest.mark.parametrize("kind", secrets_made.KINDS)
def test_each_kind_is_redacted_in_each_of_its_lines(kind: str) -> None:
    """Nothing of a secret is left wherever it may stand, also not its second half."""
    make, lines = secrets_made.NAMED.get(kind) or (secrets_made.BARE[kind], secrets_made.AROUND)
    for number, line in enumerate(lines):
        secret = make(random.Random(number))
        left = redact_text(line.format(secret))
        assert secret not in left
        assert secret[len(secret) // 2 :] not in left


@pytest.mark.parametrize("line", NORMAL)
def test_nothing_is_redacted_that_is_no_secret(line: str) -> None:
    """Step, loss, job id, sha, version, time and plain words stay as they are."""
    assert redact_text(line) == line


@pytest.mark.shared
def test_false_alarms_in_real_trainer_logs(shared: Path) -> None:
    """Of all lines of real trainer logs, at most one in 10,000 loses something that is no secret.

    What redaction calls a secret is counted as false, save the two things there that are: keys of anonymous runs in
    URLs, and headers of git. Addresses, users and hosts are true by their form.
    """
    secret, lines, false = {kind.name for kind in SECRETS}, 0, Counter[str]()
    true = (b"apiKey=", b"AUTHORIZATION: basic")
    for path in sorted((shared / "data/trainer").rglob("*")):
        if not path.is_file() or path.suffix in (".tsv", ".md", ".json") or path.stat().st_size > 4_000_000:
            continue
        for line in path.read_bytes().splitlines():
            lines += 1
            if redact(line[:512]) != line[:512] and not any(mark in line for mark in true):
                false.update(secret.intersection(kinds_in(line[:512])))
    print(f"false redactions: {false.total()} in {lines:,} lines")
    assert lines > 100_000
    assert false.total() <= PER_TEN_THOUSAND * lines / 10_000, false


def test_hostile_lines_are_redacted_in_time() -> None:
    """What each kind begins with, repeated over the longest text that is ever looked at, takes no second in all."""
    begins = {mark for kind in KINDS for mark in kind.marks} | {
        b"a.",
        b"eyJ",
        b"0.",
        b"::",
        b"A0b+",
        b"-a",
        b"x_token=",
    }
    began = time.process_time()
    for begin in begins:
        redact((begin * 512)[:1024])
    assert time.process_time() - began < 5.0


def test_shape_of_a_line_shows_no_random_word() -> None:
    """A long word of letters and digits in turn is no word of a print statement: it is masked as a whole."""
    assert shape(b"loaded k3vq9xz2mm4tt8ab from store") == "loaded <id> from store"
    assert shape(b"iter_0001000 of layer12 done") == "iter_<n> of layer<n> done"


def test_stored_names_keep_home_folders_apart_without_naming_their_users() -> None:
    """Checkpoint paths of two users stay two paths and hold neither name; nothing else of a path changes."""
    one, two = stored("/home/marguerite/ckpt/iter_10"), stored("/home/okonkwo/ckpt/iter_10")
    assert one != two
    assert "marguerite" not in one
    assert one.startswith("/home/<user-")
    assert one.endswith(">/ckpt/iter_10")
    assert stored("/home/marguerite/ckpt/iter_20")[:20] == one[:20]
    assert stored("gpu-a100-17") == "gpu-a100-17"
    assert stored("s3://key:word@bucket/ckpt") == "s3://***@bucket/ckpt"


def test_tables_are_cleaned_column_by_column() -> None:
    """Secrets in names of events are gone, all other cells are the same; a table without any is the same object."""
    rows = [{"line": 1, "name": "/ckpt/a"}, {"line": 2, "name": None}, {"line": 3, "name": "x?token=abcdef123456"}]
    table = pa.Table.from_pylist(rows, arrow_schema("event"))
    done = cleaned("event", table)
    assert done.column("name").to_pylist() == ["/ckpt/a", None, "x?token=***"]
    assert done.schema == table.schema
    assert done.drop(["name"]).equals(table.drop(["name"]))
    assert cleaned("event", table.slice(0, 2)).equals(table.slice(0, 2))


def test_words_that_become_one_are_one_word() -> None:
    """Two reasons that differ in a secret only become one word of the dictionary."""
    rows = [{"line": n, "reason": f"bad password={word}"} for n, word in enumerate(("abc123", "xyz789", "abc123"))]
    table = cleaned("alloc", pa.Table.from_pylist(rows, arrow_schema("alloc")))
    assert table.column("reason").to_pylist() == ["bad password=***"] * 3
    assert table.column("reason").unify_dictionaries().chunk(0).dictionary.to_pylist() == ["bad password=***"]
