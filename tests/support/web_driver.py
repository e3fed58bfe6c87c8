"""A headless Chromium for tests, controlled by chromedriver through the WebDriver protocol."""

import base64
import http.server
import json
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any


def why_not() -> str:
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return (
        f"there is no {' and no '.join(missing)}: Debian's packages are chromium and chromium-driver" if missing else ""
    )


class Browser:
    def __init__(self, driver: str, session: str) -> None:
        self._session = f"{driver}/session/{session}"

    def _call(self, path: str, body: "dict[str, Any] | None" = None) -> Any:
        return _request(f"{self._session}/{path}", body)

    def open(self, url: str) -> None:
        """Open a page and wait until it is loaded. Drop the console messages of earlier pages."""
        # Open an empty page first. Otherwise, a URL that differs only after # would not be loaded.
        self._call("url", {"url": "about:blank"})
        self.errors()
        self._call("url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        return self._call("execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script: str, *arguments: Any, seconds: float = 60) -> Any:
        """Run a script repeatedly until it returns a true value, and return this value."""
        end = time.monotonic() + seconds
        while not (found := self.run(script, *arguments)):
            assert time.monotonic() < end, f"after {seconds} seconds still not: {script}"
            time.sleep(0.1)
        return found

    def errors(self) -> list[str]:
        """Return the console errors since the last call: errors in scripts, and files that could not be loaded."""
        rows = self._call("se/log", {"type": "browser"})
        return [row["message"] for row in rows if row["level"] == "SEVERE"]

    def resize(self, width: int, height: int) -> None:
        self._call("window/rect", {"width": width, "height": height})

    def picture(self, path: Path) -> None:
        with urllib.request.urlopen(f"{self._session}/screenshot") as answer:
            path.write_bytes(base64.b64decode(json.load(answer)["value"]))


def _request(url: str, body: "dict[str, Any] | None") -> Any:
    data = json.dumps(body or {}).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise AssertionError(json.load(error)["value"]["message"]) from None


@contextmanager
def browser(width: int = 1280, height: int = 900) -> Generator[Browser]:
    port = _free_port()
    driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="tagwire-browser-") as profile:
        try:
            _wait_for(lambda: socket.create_connection(("127.0.0.1", port), 1).close())
            options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
            options += [f"--user-data-dir={profile}", f"--window-size={width},{height}"]
            capabilities = {
                "browserName": "chrome",
                "goog:chromeOptions": {"args": options, "binary": shutil.which("chromium")},
            }
            capabilities["goog:loggingPrefs"] = {"browser": "ALL"}
            session = _request(f"{url}/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]
            yield Browser(url, session)
            urllib.request.urlopen(urllib.request.Request(f"{url}/session/{session}", method="DELETE")).close()
        finally:
            driver.terminate()
            driver.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _wait_for(attempt: Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            attempt()
            return
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.05)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def served(folder: Path) -> Generator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
