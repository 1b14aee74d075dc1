"""P1: 200 words that stand nowhere else are planted in 30 places of logs; not one of them may be found again in what
ettlog keeps, writes or says."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from tests.conftest import ROOT
from tests.secrets_made import ALNUM
from tests.torture.registry import Outcome, Scope

COUNT = 200
START = "[before the start of training step] datetime: 2031-05-06 08:05:00 \n"
STEP = (
    " [2031-05-06 08:0{n}:00] iteration       {n}0/      80 | consumed samples:  {n}120 | elapsed time per iteration (ms):"
    " 6000.0 | learning rate: 1.000E-05 | global batch size:   512 | lm loss: 9.100000E+00 | loss scale: 1.0 |"
    " grad norm: 2.100 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
)
HEAD = "JobID|JobIDRaw|JobName|Cluster|Partition|State|Submit|Start|End|NNodes|AllocTRES|ExitCode|Reason|Comment\n"
ROW = "501001|501001|finch|maple|train|FAILED|2031-05-06T08:00:00|2031-05-06T08:02:00|2031-05-06T08:20:00|2|gres/gpu=16|1:0"

LINES = (
    "HF_TOKEN={}",
    "export WANDB_API_KEY={}",
    'environ({{"AWS_SECRET_ACCESS_KEY": "{}", "PATH": "/usr/bin"}})',
    "USER={}",
    "SLURM_JOB_USER={}",
    "HOSTNAME={}",
    "+ MASTER_ADDR={} MASTER_PORT=29500",
    "[rank0]: requests.exceptions.HTTPError: 401 for url: https://hub.example.org/x?token={}",
    "Cloning https://bot:{}@git.example.org/team/repo.git",
    "GET https://b.s3.amazonaws.com/k?X-Amz-Signature={}&x=1",
    "https://a.blob.core.windows.net/c/b?sv=2022&sig={}&se=1",
    "> Authorization: Bearer {}",
    "mail sent to {}@example.org",
    "Using /home/{}/.cache/torch_extensions as PyTorch extensions root",
    "argv: train.py --hf-token {} --lr 3e-4",
    "loading vocabulary {} from store",
    "RuntimeError: bad password: {}",
    "ssh {}@login.example.org",
    "Cookie: session={}",
    "[2031-05-06 08:10:00.000000] saving checkpoint at iteration      40 to s3://key:{}@bucket/finch in torch_dist format",
    "[2031-05-06 08:11:00.000000] saving checkpoint at iteration      40 to /home/{}/finch in torch_dist format",
    " loading distributed checkpoint from https://h/ckpt?access_token={} at iteration 40",
    "\x1b[31mapi_key={}\x1b[0m",
    "  0%|          | 0/80 token={}\r 10%|#         | 8/80",
    "caf\udce9 secret={} \udcff",
)
"""Places inside a trainer's log; what stands behind an escape is a byte that is no UTF-8."""


def words(seed: int) -> list[str]:
    """Return words of 20 letters and digits that stand nowhere else."""
    rng = random.Random(seed)
    return ["q7" + "".join(rng.choice(ALNUM) for _ in range(16)) + "4z" for _ in range(COUNT)]


def plant(folder: Path, tokens: list[str]) -> int:
    """Write logs with the words in them, each in one place; return in how many places."""
    places: list[list[str]] = [tokens[place::30] for place in range(30)]
    folder.mkdir(parents=True)
    lines = [line.format(token) for line, some in zip(LINES, places, strict=False) for token in some]
    body = START + STEP.format(n=6) + "\n".join(lines) + "\n" + STEP.format(n=8)
    _write(folder / "finch-501001.out", body)
    packed, torn, records, table, binary = places[25:]
    (folder / "wren-501002.out.gz").write_bytes(
        gzip.compress((START + "".join(f"GITLAB_TOKEN={word}\n" for word in packed)).encode(), mtime=0)
    )
    for number, word in enumerate(torn):
        _write(folder / f"robin{number}-50200{number}.out", START + f"NGC_API_KEY={word}")
    _write(folder / "events.jsonl", "".join(json.dumps({"env": {"DB_PASSWORD": word}}) + "\n" for word in records))
    _write(folder / "sacct.txt", HEAD + "".join(f"{ROW}|password={word}|token={word}\n" for word in table))
    (folder / "core.log").write_bytes(b"".join(b"\0\1\2 secret=%s\0" % word.encode() for word in binary))
    return len(places)


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogateescape"))


COMMANDS = (
    "ingest {logs} -v", "ingest {logs} -vv", "status", "status --format json", "ett", "ett --by job --format json", "jobs",
    "timeline finch", "explain finch --format json", "check", "reliability", "alerts", "sql select*from~mark",
    "sql select*from~allocation", "sql select~nonsense", "report -o {out}/r.html", "snapshot -o {out}/s.duckdb",
    "export perfetto -o {out}/p", "export chrome -o {out}/c", "export otlp -o {out}/o", "export prometheus -o {out}/m",
    "export openmetrics -o {out}/n", "ett --lake {logs}", "format new {logs}/finch-501001.out -o {out}/f.toml",
)  # fmt: skip


def run(scope: Scope) -> Outcome:
    """Plant, run every command that keeps, writes or says something, and look for the words."""
    found, tokens = Outcome(), words(scope.seed)
    logs, out, lake = scope.folder / "logs", scope.folder / "out", scope.folder / "lake"
    places = plant(logs, tokens)
    out.mkdir()
    told = dict(_said([command.format(logs=logs, out=out) for command in COMMANDS], lake))
    found.expect(all(told.values()), f"{[name for name, data in told.items() if not data]} said nothing")
    told |= dict(stored(lake)) | {path.name: path.read_bytes() for path in out.iterdir()}
    digits = re.compile(rb"\d|<n>")  # a word without its digits is the word
    for name, data in told.items():
        left = [word for word in tokens if re.sub(r"\d", "", word[3:17]).encode() in digits.sub(b"", data)]
        found.expect(not left, f"{name}: {len(left)} of the planted words, the first is {left[:1]}")
    found.counts["inputs"] = len(tokens)
    found.notes.append(f"{len(tokens)} words in {places} places, looked for in {len(told)} outputs")
    return found


PROGRAM = """
import os, sys
from ettlog.cli import main
for number, line in enumerate(sys.stdin.read().splitlines()):
    for stream, handle in ("out", 1), ("err", 2):
        os.dup2(os.open(f"said-{number}-{stream}", os.O_WRONLY | os.O_CREAT, 0o600), handle)
    sys.argv = ["ettlog", *line.split(chr(31))]
    try:
        main(sys.argv[1:])
    except SystemExit:
        sys.stdout.flush()
"""


def _said(commands: list[str], lake: Path) -> Iterator[tuple[str, bytes]]:
    """Run commands in one process of their own; yield each with what it wrote to stdout and stderr."""
    lines = []
    for command in commands:
        parts = [part.replace("~", " ") for part in command.split()]
        named = "--lake" in parts or parts[0] == "format"
        lines.append("\x1f".join([*parts, *(() if named else ("--lake", str(lake)))]))
    outer = {name: value for name, value in os.environ.items() if not name.startswith("ETTLOG_")}
    env = {**outer, "PYTHONPATH": str(ROOT)}
    asked = "\n".join(lines).encode()
    subprocess.run([sys.executable, "-c", PROGRAM], input=asked, cwd=lake.parent, env=env, timeout=280, check=True)
    for number, command in enumerate(commands):
        texts = [(lake.parent / f"said-{number}-{stream}").read_bytes() for stream in ("out", "err")]
        yield command, b"".join(texts)


def stored(lake: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every file of a lake: its bytes, and of a Parquet file every value too."""
    for path in sorted(path for path in lake.rglob("*") if path.is_file()):
        yield str(path.relative_to(lake)), path.read_bytes()
        if path.suffix == ".parquet":
            yield f"values of {path.relative_to(lake)}", repr(pq.read_table(path).to_pylist()).encode()
