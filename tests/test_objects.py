"""Logs in an object store make the lake that the same files make in a folder; half an object is never read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ettlog import objects
from ettlog.cli import app
from ettlog.engine.reading import reader
from ettlog.errors import UsageError
from ettlog.ingest import IngestOptions, ingest
from tests.engines import FIXTURES, held

KEY, SECRET = "AKIAHERON", "hush-hush-secret"
LOGS = FIXTURES / "messy/logs"


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    """Yield the file system of a local S3 server that holds the messy fixture under `fleet/logs`."""
    from moto.server import ThreadedMotoServer
    from pyarrow import fs

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    told = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_REGION": "us-east-1"}
    told |= {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_EC2_METADATA_DISABLED": "true"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in told.items():
            patch.setenv(name, value)
        made = fs.S3FileSystem(
            endpoint_override=told["AWS_ENDPOINT_URL"], region="us-east-1", allow_bucket_creation=True
        )
        made.create_dir("fleet")
        for path in sorted(LOGS.rglob("*")):
            if path.is_file():
                put(made, f"fleet/logs/{path.relative_to(LOGS)}", path.read_bytes())
        yield made
    server.stop()


def put(store: Any, key: str, data: bytes) -> None:
    """Write an object."""
    with store.open_output_stream(key, compression=None) as stream:
        stream.write(data)


@pytest.mark.usefixtures("store")
def test_a_bucket_makes_the_lake_of_the_folder(tmp_path: Path) -> None:
    """Names, keys, facts and manifest of `s3://fleet/logs` are those of a folder `logs`; again, nothing is new."""
    ingest([LOGS], tmp_path / "here")
    ingest(["s3://fleet/logs"], tmp_path / "there")
    assert held(tmp_path / "there") == held(tmp_path / "here")
    assert set(ingest(["s3://fleet/logs/"], tmp_path / "there").states) <= {"skipped"}


@pytest.mark.usefixtures("store")
def test_an_engine_reads_a_bucket_too(tmp_path: Path) -> None:
    """Executors bring the objects themselves, and the lake is the same."""
    ingest([LOGS], tmp_path / "here")
    ingest(["s3://fleet/logs"], tmp_path / "there", options=IngestOptions(reader=reader("sail")))
    assert held(tmp_path / "there") == held(tmp_path / "here")


@pytest.mark.usefixtures("store")
def test_the_command_line_takes_an_address_of_one_object(tmp_path: Path) -> None:
    """One object is named as a file in its folder would be; `--dry-run` lists it with its bytes."""
    size = (LOGS / "glued.log").stat().st_size
    words = ["ingest", "s3://fleet/logs/glued.log", "--lake", str(tmp_path / "lake")]
    told = CliRunner().invoke(app, [*words, "--dry-run"])
    assert told.stdout == f"new\t{size}\tlogs/glued.log\n"
    assert CliRunner().invoke(app, words).exit_code == 0
    again = CliRunner().invoke(app, [*words, "--dry-run"])
    assert again.stdout == f"same size\t{size}\tlogs/glued.log\n"


def test_an_object_that_changes_meanwhile_is_rejected_whole(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that is replaced while it is brought gives no fact, and the next ingest reads it."""
    put(store, "fleet/moving/a.log", (LOGS / "labels.log").read_bytes())
    copy = objects._copy

    def slow(*given: Any) -> None:
        copy(*given)
        put(store, "fleet/moving/a.log", (LOGS / "glued.log").read_bytes())

    monkeypatch.setattr(objects, "_copy", slow)
    report = ingest(["s3://fleet/moving"], tmp_path / "lake")
    assert [(file.state, file.why) for file in report.files] == [("rejected", "it changed while it was read")]
    monkeypatch.undo()
    assert ingest(["s3://fleet/moving"], tmp_path / "lake").states == {"new": 1}


def test_an_object_cut_short_is_rejected_whole(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that ends before the bytes that the store announced gives no fact."""
    put(store, "fleet/short/a.log", (LOGS / "labels.log").read_bytes())
    copy = objects._copy

    class Longer:
        size = len((LOGS / "labels.log").read_bytes()) + 7

    monkeypatch.setattr(objects, "_copy", lambda fs, key, _info, local: copy(fs, key, Longer, local))
    report = ingest(["s3://fleet/short"], tmp_path / "lake")
    assert [file.why for file in report.rejected] == ["it ends 7 bytes early"]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("address", ["s3://fleet/nothing-here", "s3://no-such-bucket/logs"])
def test_what_is_not_there_is_told_without_credentials(address: str, tmp_path: Path) -> None:
    """A prefix or a bucket that does not exist is a usage error that names the address and no key."""
    with pytest.raises(UsageError, match="cannot read the logs given") as told:
        ingest([address], tmp_path / "lake")
    assert told.value.where == address
    assert KEY not in str(told.value) and SECRET not in str(told.value)


def test_credentials_in_an_address_are_refused_and_not_repeated(tmp_path: Path) -> None:
    """`s3://KEY:SECRET@bucket` is refused before anything is sent, and neither part is shown."""
    with pytest.raises(UsageError, match="no credentials") as told:
        ingest([f"s3://{KEY}:{SECRET}@fleet/logs"], tmp_path / "lake")
    assert KEY not in str(told.value) and SECRET not in str(told.value)


@pytest.mark.usefixtures("store")
def test_nothing_of_the_credentials_is_in_the_lake(tmp_path: Path) -> None:
    """Neither the manifest nor a data file holds a key, a secret or the endpoint."""
    ingest(["s3://fleet/logs"], tmp_path / "lake")
    whole = b"".join(held(tmp_path / "lake").values())
    assert not [word for word in (KEY, SECRET, os.environ["AWS_ENDPOINT_URL"]) if word.encode() in whole]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("GET https://b/x?X-Amz-Signature=abc&y=1 failed", "GET ... failed"),
        ("the secret = hush here", "the ... here"),
        ("key= hush here", "... here"),
        ("no token was sent", "no token was sent"),
        ("a note: the secret door", "a note: the secret door"),
    ],
)
def test_what_a_library_says_loses_each_secret_that_it_names(said: str, shown: str) -> None:
    """A word that names a secret goes with its value, however blanks stand about the sign between them."""
    assert objects.hushed(said) == shown
