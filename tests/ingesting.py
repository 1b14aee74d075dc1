"""Small folders of logs and the lakes they make, for tests of ingest."""

from __future__ import annotations

from pathlib import Path

from ettlog.ingest import IngestOptions, IngestReport, ingest
from ettlog.lake import Lake

HEAD = "JobID|State|Submit|Start|End"
ALONE = IngestOptions(workers=1)


def accounting(*jobs: int) -> str:
    """Write accounting of some jobs, an hour each."""
    rows = [f"{job}|COMPLETED|2024-03-01T10:00:00|2024-03-01T11:00:00|2024-03-01T12:00:00" for job in jobs]
    return "\n".join([HEAD, *rows]) + "\n"


def make_logs(tmp_path: Path) -> Path:
    """Make a folder of two accounting files and one text nobody knows, and return it."""
    folder = tmp_path / "logs"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text(accounting(1, 2))
    (folder / "sub/b.txt").write_text(accounting(3))
    (folder / "notes.md").write_text("a shopping list\nbread\n")
    return folder


def run(logs: Path, options: IngestOptions = ALONE) -> IngestReport:
    """Ingest a folder into the lake beside it."""
    return ingest([logs], logs.parent / "lake", options=options)


def opened(logs: Path) -> Lake:
    """Open the lake beside a folder of logs."""
    return Lake.open(logs.parent / "lake", verify=True)


def tree(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder with their bytes."""
    return {str(item.relative_to(folder)): item.read_bytes() for item in sorted(folder.rglob("*")) if item.is_file()}
