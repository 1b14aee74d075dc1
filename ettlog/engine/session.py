"""One session on an engine: made from its name, closed with all that was started for it."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import socket
import sys
import tempfile
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ettlog.engine.errors import answering, plain, quiet
from ettlog.engine.shipping import bundle
from ettlog.errors import EngineError, UsageError
from ettlog.scratch import scratch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

SAIL, CONNECT = "sail", "sc://"
SCRATCH = "ETTLOG_ENGINE_SCRATCH"
"""Environment variable: a folder that this machine and the engine's both reach, for relations that are in work."""
ADDRESS = re.compile(r"sail|yarn|local|local\[(\*|\d+)\]|local-cluster\[\d+,\d+,\d+\]|(sc|spark|k8s)://\S+")
EXAMPLES = "sail, sc://host:15002, spark://host:7077, yarn, local[4], local-cluster[2,1,1024]"
HOST = re.compile(r"(?:sc|spark)://([^:/;,]+|\[[^\]]*\])(?::(\d+))?(?=[/;]|\Z)")
PATIENCE_S = 10
"""Seconds after which an address at which nobody answers is given up."""
SETTINGS = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}
HERE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
}
"""What Spark is told where all of it runs on this machine: nothing listens to others, and few partitions are enough."""

HERE_PARTS, PARTS = 8, 2048
"""Most partitions that files are divided into, on this machine and elsewhere."""


@dataclass
class Session:
    """A connection to an engine; as a context manager it closes itself."""

    name: str
    spark: Any
    scratch: Path
    here: bool
    """Whether all of the engine runs on this machine."""
    _server: Any = field(default=None, repr=False)

    def __enter__(self) -> Self:
        """Return the session."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close the session."""
        self.close()

    def sent(self) -> bytes:
        """Return the ettlog that is sent to executors; nothing where they run in the folder of this one."""
        return b"" if self.name == SAIL or self.name == "local" or self.name.startswith("local[") else bundle()

    def parts(self, rows: int) -> int:
        """Return into how many partitions rows of files are divided."""
        return max(1, min(rows, HERE_PARTS if self.here else PARTS))

    def close(self) -> None:
        """Stop the session and the server that was started for it, and remove its scratch folder."""
        with contextlib.suppress(OSError):
            shutil.rmtree(self.scratch)
        with quiet():
            self.spark.stop()
            if self._server is not None:
                self._server.stop()


def connect(name: str, beside: Path | None = None) -> Session:
    """Return a session on the engine of this name; scratch lies beside a lake where the engine is elsewhere.

    Raise UsageError for a name that is none, EngineError when its libraries are missing or it cannot be reached.
    """
    if not ADDRESS.fullmatch(name):
        raise UsageError(
            "this is no engine", where=f"--engine {name}", why=f"engines are {EXAMPLES}", todo="name one of these"
        )
    _require(name)
    _reach(name)
    here = name == SAIL or name.startswith("local")
    server = None
    with quiet(), answering(name):
        if name == SAIL:
            server = _sail()
            spark = _connected(f"{CONNECT}127.0.0.1:{server.listening_address[1]}")
        else:
            spark = _connected(name) if name.startswith(CONNECT) else _classic(name, here)
    return Session(name, spark, _scratch(here, beside), here, server)


def _require(name: str) -> None:
    """Raise EngineError, with the command that mends it, where a library that the engine needs is missing."""
    connects = name == SAIL or name.startswith(CONNECT)
    needed = ["sqlglot", "pyspark", "grpc" if connects else "py4j", *(["pysail"] if name == SAIL else [])]
    missing = [library for library in needed if importlib.util.find_spec(library) is None]
    if not missing and not connects and not (_home("pyspark") / "jars").is_dir():
        missing = ["pyspark with its Java part (pyspark-client is without)"]
    if missing:
        raise EngineError(
            "this engine's libraries are not installed",
            where=f"--engine {name}",
            why=f"this Python has no {', no '.join(missing)}",
            todo=f"pip install 'ettlog[{'sail' if connects else 'spark'}]'",
        )
    if not connects and not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        raise EngineError(
            "Spark needs Java, and there is none",
            where=f"--engine {name}",
            why="no `java` is on the path and JAVA_HOME is not set",
            todo="install a JRE of version 17 or 21, or use --engine sail, which needs none",
        )


def _reach(name: str) -> None:
    """Raise EngineError where nobody listens at an address: the libraries would try for ten minutes."""
    found = HOST.match(name)
    if found is None:
        return
    try:
        socket.create_connection((found[1].strip("[]"), int(found[2] or 15002)), PATIENCE_S).close()
    except OSError as error:
        raise EngineError(
            "the engine cannot be reached",
            where=plain(f"--engine {name}"),
            why=error.strerror or str(error) or "nobody answers",
            todo="see that it runs, and that this machine may speak to its address and port",
        ) from error


def _home(library: str) -> Path:
    spec = importlib.util.find_spec(library)
    return Path(spec.origin).parent if spec and spec.origin else Path()


def _sail() -> Any:
    """Start Sail in this process, on a port of this machine that nobody else knows."""
    from pysail.spark import SparkConnectServer

    os.environ.setdefault("RUST_LOG", "error")
    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    return server


@contextlib.contextmanager
def _main_with_file() -> Iterator[None]:
    """Give a program that was read from a string (`python -c`, a worker) a file: without one, pyspark takes it for a
    run of its own doctests when it is imported, and looks for Spark's tests."""
    main = sys.modules["__main__"]
    bare = getattr(main, "__spec__", None) is None and not hasattr(main, "__file__")
    if bare:
        main.__file__ = "<string>"
    try:
        yield
    finally:
        if bare:
            del main.__file__


def _connected(address: str) -> Any:
    """Return a new session by Spark Connect."""
    with _main_with_file():
        from pyspark.sql.connect.session import SparkSession

    spark = SparkSession.builder.remote(address).create()
    for key, value in SETTINGS.items():
        spark.conf.set(key, value)
    return spark


def _classic(master: str, here: bool) -> Any:
    """Return a new session of Spark in this machine's Java, with the executors' Python where they run here too."""
    from pyspark.sql import SparkSession

    if here:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("ettlog").config("spark.ui.showConsoleProgress", "false")
    for key, value in {**SETTINGS, **(HERE if here else {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _scratch(here: bool, beside: Path | None) -> Path:
    """Return a new folder for what relations hold meanwhile: the one told, else a temporary one, or beside the lake."""
    told = os.environ.get(SCRATCH)
    if not told and (here or beside is None):
        return Path(tempfile.mkdtemp(prefix="engine-", dir=scratch()))
    parent = Path(told) if told else Path(os.path.abspath(beside or ".")).parent  # noqa: PTH100  (a link stays one)
    folder = parent / f".ettlog-engine-{uuid.uuid4().hex[:12]}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise EngineError(
            "the engine has no place for what is in work",
            where=str(parent),
            why=error.strerror or "the folder cannot be made",
            todo=f"name a folder that this machine and the engine's can both write in {SCRATCH}",
        ) from error
    return folder
