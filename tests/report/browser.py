"""A headless Chromium for tests, spoken to over its debugging pipe: no port, no driver, no further package."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import axe_core_python
import pytest

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chromium-headless-shell")
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE = 120.0  # seconds: a busy machine is no failure

# Chromium reads commands from descriptor 3 and answers on 4; the two are moved there first.
_LAUNCH = """
import fcntl, os, sys
spare = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 20) for fd in sys.argv[1:3]]
os.dup2(spare[0], 3); os.dup2(spare[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str:
    """The machine's Chromium; without one the test is skipped, or fails where checks are required to run (CI=true)."""
    wanted = [os.environ["CHROMIUM"]] if os.environ.get("CHROMIUM") else NAMES
    found = next((path for path in map(shutil.which, wanted) if path), None)
    if found is None:
        message = f"no Chromium found (looked for {', '.join(wanted)}; the variable CHROMIUM can name one)"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{message}, and CI=true requires this test", pytrace=False)
        pytest.skip(message)
    return found


class Browser:
    """One page in one fresh Chromium. Collects what the page asks for, complains about and downloads."""

    def __init__(self, home: Path) -> None:
        program = find_chromium()
        self.downloads = home / "downloads"
        self.downloads.mkdir(parents=True)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._number, self._buffer, self._loaded = 0, b"", False
        commands, self._out = os.pipe()
        self._in, answers = os.pipe()
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _LAUNCH,
                str(commands),
                str(answers),
                program,
                *OPTIONS,
                f"--user-data-dir={home / 'profile'}",
            ],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(commands)
        os.close(answers)
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):
            self._session = None
            self.call("Browser.close")
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)  # the session started above, and nothing else
            self._process.wait(20)
        os.close(self._out)
        os.close(self._in)

    # The protocol: JSON ended by a zero byte, answers by number, events in between.

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        content = json.dumps(message).encode() + b"\0"
        while content:
            content = content[os.write(self._out, content) :]
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])

    def _read(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._in, 1 << 20) if ready else b""
            if not chunk:
                raise RuntimeError(f"Chromium {'closed its pipe' if ready else f'was silent for {PATIENCE:.0f} s'}")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, about: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in about["args"]))
        elif event == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(about["entry"]["text"])
        elif event == "Page.loadEventFired":
            self._loaded = True

    # What a reader does.

    def open(self, page: Path | str) -> None:
        """Load a file or an address and wait until its charts are drawn."""
        self._loaded = False
        self.call("Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri())
        self._wait_for_load()

    def follow(self, selector: str) -> None:
        """Press what leads to another page, and wait for that."""
        self._loaded = False
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")
        self._wait_for_load()

    def _wait_for_load(self) -> None:
        while not self._loaded:
            self._read()
        self.settle()

    def settle(self) -> None:
        """Wait until the page has laid itself out and drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(f"{expression}: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def texts(self, selector: str) -> list[str]:
        """The text of all elements that match."""
        return list(self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(n => n.textContent)"))

    def count(self, selector: str) -> int:
        """How many elements match."""
        return len(self.texts(selector))

    def centre(self, selector: str) -> tuple[float, float]:
        """Where an element's middle is in the window, after scrolling to it."""
        x, y = self.evaluate(
            f"(n => {{ n.scrollIntoView({{block: 'center', behavior: 'instant'}}); const r = n.getBoundingClientRect();"
            f" return [r.x + r.width / 2, r.y + r.height / 2]; }})(document.querySelector({json.dumps(selector)}))"
        )
        return float(x), float(y)

    def move(self, x: float, y: float) -> None:
        """Move the pointer."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def click(self, selector: str) -> None:
        """Press the mouse button on an element."""
        x, y = self.centre(selector)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press a key on what has the focus."""
        about = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **about, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)
        self.settle()

    def resize(self, width: int, height: int, dark: bool = False) -> None:
        """Set the window's size and what the system prefers."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.settle()

    def serious(self) -> list[str]:
        """What axe-core finds that keeps people from using the page."""
        self.evaluate(f"{AXE}; true")
        found = self.evaluate("axe.run().then(found => JSON.stringify(found.violations))")
        return [
            f"{v['id']}: {v['nodes'][0]['html']}" for v in json.loads(found) if v["impact"] in ("serious", "critical")
        ]

    def downloaded(self, name: str) -> Path:
        """A file the page has saved."""
        deadline = time.monotonic() + PATIENCE
        path = self.downloads / name
        while not path.exists():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{name} was not saved; there are {[p.name for p in self.downloads.iterdir()]}")
            time.sleep(0.05)
            self.settle()
        return path

    def screenshot(self, path: Path, whole: bool = True) -> Path:
        """A picture of the page."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))
        return path
