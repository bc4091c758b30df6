"""A headless Chromium, driven by the DevTools protocol over two pipes: no other package needed.

It is Debian's; where it is absent, the first call installs it, which takes half a minute and needs
the rights to do so.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from servers.debian_package import installed

_ANSWER_SECONDS = 30
_KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, ""), " ": (32, " ")}
_ARROWS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


def chromium() -> str:
    """The path of the program; fails as `installed`."""
    return installed("chromium", lambda: shutil.which("chromium"))


class BrowserPage:
    """One page of a browser.

    Attributes:
        complaints: errors and warnings that it has logged, and requests that failed.
    """

    def __init__(self, folder: Path, *, width: int = 1280, height: int = 900) -> None:
        self.complaints: list[str] = []
        self._number = 0
        self._session: str | None = None
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        program = [chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"]
        program += ["--disable-dev-shm-usage", "--hide-scrollbars", "--disable-component-update"]
        program += ["--disable-background-networking", "--remote-debugging-pipe"]
        program += [f"--window-size={width},{height}", f"--user-data-dir={folder / 'profile'}"]
        # The protocol's pipes are the files 3 and 4 of the process.
        shell = ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", *program]
        self._process = subprocess.Popen(
            [*shell, "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._rest = b""
        targets = self._call("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def open(self, address: str) -> None:
        """Go to an address; returns when all of it is there."""
        self._call("Page.navigate", url=address)
        self.await_value("document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript is."""
        told = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in told:
            raise AssertionError(f"{expression}: {told['exceptionDetails']}")
        return told["result"].get("value")

    def await_value(self, expression: str, seconds: float = 15) -> Any:
        """What an expression is as soon as it is true."""
        end = time.monotonic() + seconds
        while not (found := self.value(expression)):
            if time.monotonic() > end:
                raise AssertionError(f"never true: {expression}; {self.complaints}")
            time.sleep(0.05)
        return found

    def press(self, key: str) -> None:
        """Press a key."""
        code, text = _KEYS.get(key) or (_ARROWS[key], "")
        same = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self._call(
            "Input.dispatchKeyEvent", type="keyDown", **same, **({"text": text} if text else {})
        )
        self._call("Input.dispatchKeyEvent", type="keyUp", **same)

    def click(self, selector: str) -> None:
        """Click with the mouse on the middle of the first element that a selector finds."""
        place = (
            f"(() => {{ const found = document.querySelector({json.dumps(selector)});"
            "found.scrollIntoView({ block: 'center' });"
            "const { x, y, width, height } = found.getBoundingClientRect();"
            "return { x: x + width / 2, y: y + height / 2 }; })()"
        )
        there = {**self.value(place), "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, **there)

    def set_dark(self, is_dark: bool) -> None:
        """Let the page see that its user likes it dark, or light."""
        value = "dark" if is_dark else "light"
        features = [{"name": "prefers-color-scheme", "value": value}]
        self._call("Emulation.setEmulatedMedia", features=features)

    def screenshot(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        """End the browser."""
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + _ANSWER_SECONDS
        while time.monotonic() < end:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)
        raise AssertionError(f"{method}: no answer")

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._read, 1 << 16)
            if not more:
                raise AssertionError("the browser has ended")
            self._rest += more
        line, self._rest = self._rest.split(b"\0", 1)
        found: dict[str, Any] = json.loads(line)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        method, told = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning"):
            self.complaints.append(json.dumps(told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(told["entry"]["text"] + " " + told["entry"].get("url", ""))


@contextmanager
def browser_page(folder: Path, *, width: int = 1280, height: int = 900) -> Iterator[BrowserPage]:
    """A page in a browser of its own."""
    page = BrowserPage(folder, width=width, height=height)
    try:
        yield page
    finally:
        page.close()
