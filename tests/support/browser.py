"""A page in headless Chromium, with keys that are pressed: by its DevTools protocol, over pipes."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
from contextlib import contextmanager

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# What a browser calls keys; those without a text write none.
_CODES = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowUp": 38, "ArrowDown": 40}
_TEXTS = {"Enter": "\r", " ": " "}
_SHIFT = 8


class Browser:
    """A page: what is sent and answered are messages that end with a zero."""

    def __init__(self, sending, answering):
        self._sending, self._answering, self._number = sending, answering, 0
        self._rest, self._session = b"", {}

    def ask(self, method, **params):
        """The result of a command."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params, **self._session}
        os.write(self._sending, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._answer()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _answer(self):
        while b"\0" not in self._rest:
            part = os.read(self._answering, 1 << 16)
            assert part, "the browser has ended"
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def open(self, url):
        """Load a page."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._session = {"sessionId": session}
        self.ask("Page.enable")
        self.ask("Page.navigate", url=url)
        while self._answer().get("method") != "Page.loadEventFired":
            pass

    def look(self, width, height, *, is_dark=False):
        """The size of the window in pixels, and its colours."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self):
        """What the window shows, as a file of the format WebP."""
        data = self.ask("Page.captureScreenshot", format="webp", quality=80)["data"]
        return base64.b64decode(data)

    def value(self, expression):
        """What an expression of JavaScript gives."""
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key, *, times=1, shift=False):
        """Press a key of the keyboard."""
        known = {"key": key, "windowsVirtualKeyCode": _CODES[key], "modifiers": _SHIFT * shift}
        for _ in range(times):
            text = _TEXTS.get(key)
            down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
            self.ask("Input.dispatchKeyEvent", **known, **down)
            self.ask("Input.dispatchKeyEvent", **known, type="keyUp")


@contextmanager
def opened(url, folder):
    """The page of an address, in a browser that keeps what it keeps in a folder."""
    to_browser, sending = os.pipe()
    answering, from_browser = os.pipe()
    command = [CHROMIUM, "--headless", "--disable-gpu", "--no-first-run", "--disable-sync"]
    command += ["--disable-background-networking", "--disable-component-update"]
    command += ["--no-sandbox"] * (os.geteuid() == 0)
    command += [f"--user-data-dir={folder}", "--remote-debugging-pipe"]
    # It reads commands from file 3, and answers to file 4.
    numbers = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (to_browser, from_browser)]
    process = subprocess.Popen(
        command,
        pass_fds=(3, 4),
        preexec_fn=lambda: [os.dup2(number, k) for k, number in enumerate(numbers, 3)],
        stderr=subprocess.DEVNULL,
    )
    for number in numbers:
        os.close(number)
    os.close(to_browser)
    os.close(from_browser)
    try:
        browser = Browser(sending, answering)
        browser.open(url)
        yield browser
    finally:
        process.terminate()
        process.wait(timeout=30)
        os.close(sending)
        os.close(answering)
