"""What executors run: functions of `remote.py`, and ettlog itself sent along where another machine runs them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent.parent


@lru_cache(maxsize=1)
def bundle() -> bytes:
    """Return this ettlog, code and data files, as a zip whose bytes depend on its files alone."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(PACKAGE.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                name = Path(PACKAGE.name) / path.relative_to(PACKAGE)
                archive.writestr(zipfile.ZipInfo(str(name)), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return sink.getvalue()


def task(function: str, arguments: tuple[Any, ...], sent: bytes) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return what `mapInArrow` runs: a function of `remote.py` over batches, out of the ettlog that was `sent`, if any.

    The function within is pickled by value, so that executors need no ettlog to take it; it names nothing outside.
    """

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import importlib
        import sys

        digest = ""
        if sent:
            import hashlib

            digest = hashlib.sha256(sent).hexdigest()
        if sent and getattr(sys.modules.get("ettlog"), "_sent", "") != digest:
            import atexit
            import shutil
            import tempfile
            import zipfile
            from io import BytesIO

            folder = tempfile.mkdtemp(prefix="ettlog-sent-")  # private: nobody else can put code there
            atexit.register(shutil.rmtree, folder, True)
            with zipfile.ZipFile(BytesIO(sent)) as archive:
                archive.extractall(folder)
            for name in [name for name in sys.modules if name.partition(".")[0] == "ettlog"]:
                del sys.modules[name]
            sys.path.insert(0, folder)
            importlib.invalidate_caches()
            importlib.import_module("ettlog").__dict__["_sent"] = digest
        remote = importlib.import_module("ettlog.engine.remote")
        yield from getattr(remote, function)(batches, *arguments)

    return run
