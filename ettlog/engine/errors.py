"""What an engine says when it fails, in four parts; and its chatter kept off stderr."""

from __future__ import annotations

import contextlib
import logging
import re
import warnings
from collections.abc import Iterator

from ettlog.errors import EngineError

SECRET = re.compile(
    r"(?i)((?:token|password|secret|key|credential)[a-z_]{0,64}+\s{0,8}+[=:]\s{0,8}+)[^\s;,&]+"
    r"|(?<=//)[^/@\s]+@"
)
"""What looks like a credential in an address or a message: it is not repeated."""
PYTHON = re.compile(r"(?:[a-z_]+[.])*[A-Z]\w*(?:Error|Exception): ")


def plain(text: str) -> str:
    """Return a text of an engine without what looks like a credential."""
    return SECRET.sub(lambda match: f"{match[1] or ''}...", text)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep warnings and log lines of the libraries off stderr: what matters comes as an error."""
    logger = logging.getLogger("pyspark")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _cause(said: list[str]) -> str:
    """Return the line that tells most: the last error of Python on an executor, else the first line."""
    return next((line for line in reversed(said) if PYTHON.match(line)), said[0])


@contextlib.contextmanager
def answering(engine: str, doing: str = "the engine cannot be used") -> Iterator[None]:
    """Make EngineError of whatever the engine's libraries raise inside the block."""
    from pyspark.errors import PySparkException

    kinds: tuple[type[Exception], ...] = (PySparkException, OSError, RuntimeError, ValueError)
    with contextlib.suppress(ImportError):
        from grpc import RpcError

        kinds = (*kinds, RpcError)
    with contextlib.suppress(ImportError):
        from py4j.protocol import Py4JError

        kinds = (*kinds, Py4JError)
    try:
        yield
    except EngineError:
        raise
    except kinds as error:
        said = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise EngineError(
            doing,
            where=plain(f"--engine {engine}"),
            why=plain(_cause(said)[:400]) if said else type(error).__name__,
            todo="see that the engine runs, reaches the lake under the same path, and has ettlog's libraries",
        ) from error
