"""A headless Chromium for tests, spoken to through a pipe: the DevTools protocol needs no further package."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def browser() -> str | None:
    """The path of a Chromium, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One page; `problems` are what it complained about."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self.to_browser, self.from_browser = to_browser, from_browser
        self.buffer = b""
        self.number = 0
        self.session = ""
        self.problems: list[str] = []
        self.loaded = False

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask the browser, and read what it says until it answers."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            message = self._read()
            if message.get("id") == self.number:
                assert "error" not in message, message["error"]
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            more = os.read(self.from_browser, 1 << 16)
            assert more, "the browser has gone"
            self.buffer += more
        text, _, self.buffer = self.buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        match message.get("method"):
            case "Runtime.exceptionThrown" | "Log.entryAdded":
                self.problems.append(json.dumps(message["params"]))
            case "Runtime.consoleAPICalled" if message["params"]["type"] in ("error", "warning", "assert"):
                self.problems.append(json.dumps(message["params"]["args"]))
            case "Page.loadEventFired":
                self.loaded = True

    def open(
        self, path: Path, width: int = 1280, height: int = 900, dark: bool = False, scripts: bool = True
    ) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.await_load()

    def await_load(self) -> None:
        """Wait until a page is there: the one that was opened, or the next one."""
        while not self.loaded:
            self._note(self._read())
        self.loaded = False

    def value(self, script: str) -> Any:
        """What a script gives in the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def picture(self, path: Path, whole: bool = False) -> None:
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def page() -> Iterator[Page]:
    """A new browser, gone afterwards."""
    program = browser()
    assert program is not None
    down, up = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        flags = f"--headless --no-sandbox --disable-gpu --remote-debugging-pipe --user-data-dir={profile}"
        # The browser reads from 3 and writes to 4.
        command = f'exec "$0" {flags} 3<&{down[0]} 4>&{up[1]}'
        done = subprocess.Popen(
            ["bash", "-c", command, program],
            pass_fds=(down[0], up[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(down[0])
        os.close(up[1])
        try:
            yield Page(down[1], up[0])
        finally:
            os.close(down[1])
            os.close(up[0])
            done.terminate()
            done.wait(20)
