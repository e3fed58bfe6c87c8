"""Act as an editor: run the language server as a process, and exchange JSON-RPC with it over stdin and stdout.

A test fails if a response or notification does not arrive in time.
"""

import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

from tagwire_workbench.language.text_positions import Position, TextPositions

PATIENCE = 60.0
"""The timeout of a response in seconds, long enough for a busy machine."""


class Editor:
    """A running language server, and the messages from it that no test has read yet."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.capabilities: dict[str, Any] = {}
        self.texts: dict[str, str] = {}
        self.published: dict[str, list[dict[str, Any]]] = {}
        self._number = 0
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._kept: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, method: str, params: Any) -> Any:
        answer = self.answer(method, params)
        assert "error" not in answer, answer["error"]["message"]
        return answer["result"]

    def answer(self, method: str, params: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return self._wait(lambda message: message.get("id") == number and "method" not in message)

    def notify(self, method: str, params: Any) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def notification(self, method: str) -> dict[str, Any]:
        params: dict[str, Any] = self._wait(lambda message: message.get("method") == method)["params"]
        return params

    def unread(self, method: str) -> list[dict[str, Any]]:
        """Return the notifications of this method that have been received, but not read yet."""
        return [message["params"] for message in self._kept if message.get("method") == method]

    def open(self, path: Path, text: str | None = None) -> str:
        uri = path.as_uri()
        self.texts[uri] = path.read_text("utf-8") if text is None else text
        document = {"uri": uri, "languageId": "json", "version": 1, "text": self.texts[uri]}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    def type(self, uri: str, text: str) -> None:
        self.texts[uri] = text
        self._number += 1
        document = {"uri": uri, "version": self._number}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def diagnostics(self, uri: str, *rules: str) -> list[dict[str, Any]]:
        """Wait until a file has diagnostics of exactly these rules, and return the diagnostics."""
        while True:
            found = self.published.get(uri)
            if found is not None and sorted(each["code"] for each in found) == sorted(rules):
                return found
            params = self.notification("textDocument/publishDiagnostics")
            self.published[params["uri"]] = params["diagnostics"]

    def at(self, uri: str, needle: str, inside: int = 1) -> dict[str, Any]:
        """Return the parameters of a request about the position `inside` characters after the start of `needle`."""
        text = self.texts[uri]
        position = TextPositions(text).position(text.index(needle) + inside)
        return {"textDocument": {"uri": uri}, "position": position._asdict()}

    def after(self, uri: str, edits: list[dict[str, Any]]) -> str:
        text = self.texts[uri]
        positions = TextPositions(text)
        rows = []
        for edit in edits:
            start, end = (Position(**edit["range"][side]) for side in ("start", "end"))
            rows.append((positions.offset(start), positions.offset(end), edit["newText"]))
        for start_at, end_at, new in sorted(rows, reverse=True):
            text = text[:start_at] + new + text[end_at:]
        return text

    def _write(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := stream.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                header = stream.readline()
            self._messages.put(json.loads(stream.read(length)))
        self._messages.put(None)

    def _wait(self, matches: Any) -> dict[str, Any]:
        for kept in self._kept:
            if matches(kept):
                self._kept.remove(kept)
                return kept
        end = time.monotonic() + PATIENCE
        while True:
            try:
                message: dict[str, Any] | None = self._messages.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no such message in {PATIENCE} seconds; others: {self._kept}") from None
            assert message is not None, "the server has ended"
            if matches(message):
                return message
            if "id" in message and "method" in message:  # a request from the server, for example to watch files
                self._write({"jsonrpc": "2.0", "id": message["id"], "result": None})
            self._kept.append(message)


@contextlib.contextmanager
def editor(
    folder: Path, *, encodings: tuple[str, ...] = ("utf-16",), workspace: dict[str, Any] | None = None
) -> Generator[Editor]:
    """Start `tagwire lsp` in a folder. At the end, shut it down, or kill it if it does not exit.

    `workspace` is added to the workspace capabilities that the editor announces.
    """
    command = [sys.executable, "-m", "tagwire_cli", "lsp"]
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    client = Editor(process)
    try:
        item = {"snippetSupport": True}
        capabilities = {
            "general": {"positionEncodings": list(encodings)},
            "textDocument": {"completion": {"completionItem": item}, "rename": {"prepareSupport": True}},
            "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}, **(workspace or {})},
        }
        params = {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities}
        client.capabilities = client.ask("initialize", params)["capabilities"]
        client.notify("initialized", {})
        yield client
        client.ask("shutdown", None)
        client.notify("exit", None)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        client._reader.join(PATIENCE)
