"""A headless Chromium that is spoken to through two pipes: pages are opened, clicked, measured and photographed."""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--disable-extensions", "--force-color-profile=srgb", "--font-render-hinting=none", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 60
"""Seconds after which an answer is no longer waited for."""


def program() -> str | None:
    """Return the path of a Chromium, or None; ETTLOG_TEST_BROWSER names one that is not on the path."""
    return os.environ.get("ETTLOG_TEST_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a headless browser: events are kept, requests and messages of the page can be asked for."""

    def __init__(self, path: str) -> None:
        """Start the browser at a path with an empty page."""
        self.events: list[dict[str, Any]] = []
        self._number = itertools.count(1)
        self._rest = b""
        self._home = tempfile.TemporaryDirectory(prefix="ettlog-browser-")
        self._process, self._to, self._from = _started(path, Path(self._home.name))
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        """Return the browser, which ends with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the browser and forget its profile."""
        os.close(self._to)
        self._process.terminate()
        self._process.wait(PATIENCE)
        os.close(self._from)
        self._home.cleanup()

    def resize(self, width: int, height: int) -> None:
        """Give the page another size, in pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def show(self, *, dark: bool = False, media: str = "") -> None:
        """Show the page in dark or in light, on a screen or as on paper (`print`)."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def open(self, path: Path) -> float:
        """Open a file and return the seconds until it was loaded."""
        begun = time.monotonic()
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._receive()
        return time.monotonic() - begun

    def run(self, script: str) -> Any:
        """Return the value of a script in the page. Raise AssertionError where it fails."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        """Scroll to the first element that a selector finds, and click into its middle with the mouse."""
        middle = (
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center', "
            "behavior: 'instant'}); const b = e.getBoundingClientRect(); "
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        x, y = self.run(middle)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, text: str) -> None:
        """Type a text into the element that has the focus."""
        self.call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Press and release a key, such as Tab or Enter."""
        code = {"Tab": 9, "Enter": 13}[key]
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def photograph(self, path: Path, selector: str | None = None, height: int | None = None) -> None:
        """Write what is seen as PNG: the window, or one element with a little around it, at most `height` high."""
        clip: dict[str, Any] = {}
        if selector:
            box = self.run(
                f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); "
                "return [b.x + scrollX, b.y + scrollY, b.width, b.height]; })()"
            )
            x, y, wide, high = box
            clip = {"clip": {"x": x, "y": y, "width": wide, "height": min(high, height or high), "scale": 1}}
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=bool(clip), **clip)
        path.write_bytes(base64.b64decode(answer["data"]))

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since the page was opened."""
        sent = [event["params"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    def complaints(self) -> list[str]:
        """Return errors and warnings that the page has written since it was opened, and its uncaught exceptions."""
        found = []
        for event in self.events:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            if event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(str(params["args"]))
            if event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
        return found

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the answer of the page to a method of the DevTools protocol."""
        return self._call(method, session=self._session, **params)

    def _call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        number = next(self._number)
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            chunk = os.read(self._from, 1 << 20)
            assert chunk, "the browser has ended"
            self._rest += chunk
        raw, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        if "method" in message:
            self.events.append(message)
        return message


def _started(path: str, home: Path) -> tuple[subprocess.Popen[bytes], int, int]:
    """Start a browser that reads descriptor 3 and writes descriptor 4; return it with our ends of both pipes."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    command = [path, *FLAGS, f"--user-data-dir={home}", "about:blank"]
    line = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
    process = subprocess.Popen(
        ["bash", "-c", line, "browser", *command], pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, env={**os.environ, "HOME": str(home)},
    )  # fmt: skip
    os.close(theirs_in)
    os.close(theirs_out)
    return process, ours_out, ours_in
