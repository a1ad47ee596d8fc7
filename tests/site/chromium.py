"""A real browser for tests: Chromium without a window, told what to do over two pipes.

The DevTools protocol is JSON with a zero byte after each message; over pipes it needs no port, no
web socket and no driver (--remote-debugging-pipe).
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]


def program() -> str | None:
    """Return where Chromium is, if it is here."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def open_browser(profile: Path) -> Iterator["Browser"]:
    """Start Chromium with an empty profile, and end it with all of its processes."""
    command = program()
    assert command is not None
    to_read, to_send = os.pipe()
    to_receive, to_write = os.pipe()
    # The browser reads from its descriptor 3 and writes to 4.
    shell = f'exec "$@" 3<&{to_read} 4>&{to_write}'
    process = subprocess.Popen(
        ["bash", "-c", shell, "bash", command, *FLAGS, f"--user-data-dir={profile}"],
        pass_fds=(to_read, to_write),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(to_write)
    try:
        yield Browser(to_send, to_receive)
    finally:
        os.close(to_send)  # It ends when nobody tells it what to do any more.
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(to_receive)


class Browser:
    """What Chromium is told and what it says."""

    def __init__(self, to_send: int, to_receive: int) -> None:
        self._to_send = to_send
        self._to_receive = to_receive
        self._number = 0
        self._buffer = b""
        self.events: list[dict[str, Any]] = []

    def tab(self) -> "Tab":
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        arguments = {"targetId": target, "flatten": True}
        return Tab(self, self.call("Target.attachToTarget", arguments)["sessionId"], target)

    def call(self, method: str, arguments: dict[str, Any], session: str | None = None) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": arguments}
        if session:
            message["sessionId"] = session
        os.write(self._to_send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive(120)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def receive(self, timeout: float) -> dict[str, Any]:
        until = time.monotonic() + timeout
        while b"\0" not in self._buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._to_receive], [], [], left)[0]:
                raise TimeoutError("Chromium says nothing")
            chunk = os.read(self._to_receive, 1 << 20)
            if not chunk:
                raise AssertionError("Chromium has ended")
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)


class Tab:
    """One page of the browser, and all that it asked for and complained about."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser = browser
        self._session = session
        self._target = target
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **arguments: Any) -> Any:
        return self._browser.call(method, arguments, self._session)

    def open(self, url: str) -> None:
        """Load a page and wait until it is there."""
        self.call("Page.navigate", url=url)
        self.wait_for(f"location.href.startsWith({json.dumps(url[:7])})")
        self.wait_for("document.readyState === 'complete'")

    def go(self, url: str) -> None:
        """Load one page after the other: wait until this one has been read to its end."""
        self._browser.events.clear()
        failure = self.call("Page.navigate", url=url).get("errorText")
        assert not failure, f"{url}: {failure}"
        while not self._of("Page.loadEventFired"):
            self._browser.events.append(self._browser.receive(120))

    def close(self) -> None:
        self._browser.call("Target.closeTarget", {"targetId": self._target})
        self._browser.events.clear()

    def run(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str, timeout: float = 120) -> None:
        """Wait until an expression is true in the page."""
        until = time.monotonic() + timeout
        while not self.run(f"Boolean({expression})"):
            assert time.monotonic() < until, f"never true: {expression}"
            time.sleep(0.02)

    def prefer(self, scheme: str) -> None:
        """Let the system prefer `dark` or `light`."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def requested(self) -> list[str]:
        """Return all URLs that the page asked for."""
        self.run("1")
        return [
            event["params"]["request"]["url"] for event in self._of("Network.requestWillBeSent")
        ]

    def complaints(self) -> list[str]:
        """Return errors of scripts, and what the browser refused to do."""
        self.run("1")
        thrown = [
            event["params"]["exceptionDetails"].get("text", "")
            + str(event["params"]["exceptionDetails"].get("exception", {}).get("description", ""))
            for event in self._of("Runtime.exceptionThrown")
        ]
        logged = [event["params"]["entry"]["text"] for event in self._of("Log.entryAdded")]
        dialogs = [event["params"]["message"] for event in self._of("Page.javascriptDialogOpening")]
        return thrown + logged + dialogs

    def _of(self, method: str) -> list[dict[str, Any]]:
        return [
            event
            for event in self._browser.events
            if event.get("method") == method and event.get("sessionId") == self._session
        ]
