"""Opens a page in a real browser, headless, and runs JavaScript in it.

Tests that need it skip where no Chromium or Chrome is installed, except where `CI` is set: there they fail.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--remote-debugging-port=0",
)
_PATIENCE_S = 60


class Page:
    """One tab of the browser, driven through the DevTools protocol."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._numbers = count(1)

    def open(self, page: Path, *, width: int = 1200, height: int = 900) -> None:
        """Opens a file in a window of so many CSS pixels, and waits until its script has run."""
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._send("Page.navigate", url=page.as_uri())
        limit = time.monotonic() + _PATIENCE_S
        ready = f"document.readyState === 'complete' && location.href === {json.dumps(page.as_uri())}"
        while not self.run(ready):
            assert time.monotonic() < limit, "the page did not load"
            time.sleep(0.05)

    def prefer(self, scheme: str) -> None:
        """Sets the color scheme that the page is told to prefer: `light` or `dark`."""
        self._send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key: str) -> None:
        """Presses one key, such as `Tab`, `Enter` or `ArrowDown`."""
        codes = {"Tab": 9, "Enter": 13, "ArrowUp": 38, "ArrowDown": 40}
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            more = text if kind == "keyDown" else {}
            self._send("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=codes[key], **more)

    def run(self, script: str) -> Any:
        """Returns the value of an expression in the page. A promise is awaited."""
        found = self._send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def _send(self, method: str, **settings: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": settings}))
        while True:
            answer = json.loads(self._socket.recv(timeout=_PATIENCE_S))
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """Yields a tab of a browser that keeps its profile in `folder`, and ends the browser."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        reason = "neither Chromium nor Chrome is installed (Debian: apt-get install chromium)"
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    client = pytest.importorskip("websockets.sync.client")
    command = [path, *_SWITCHES, f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        with client.connect(_address(folder, process), max_size=None) as socket:
            yield Page(socket)
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()


def _address(folder: Path, process: subprocess.Popen[bytes]) -> str:
    """Returns the address at which the browser's first tab listens."""
    port_file = folder / "DevToolsActivePort"
    limit = time.monotonic() + _PATIENCE_S
    while time.monotonic() < limit and process.poll() is None:
        lines = port_file.read_text(encoding="utf-8").splitlines() if port_file.exists() else []
        if len(lines) > 1:
            with urllib.request.urlopen(f"http://127.0.0.1:{lines[0]}/json/list", timeout=10) as answer:
                tabs = [tab for tab in json.load(answer) if tab["type"] == "page"]
            if tabs:
                return str(tabs[0]["webSocketDebuggerUrl"])
        time.sleep(0.05)
    raise AssertionError("the browser did not start")
