"""Object storage for tests: a file system in memory that counts what is asked of it, and S3 by moto on loopback."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import fsspec
from fsspec.implementations.memory import MemoryFileSystem
from written_logs import arrow_rows


class CountedFileSystem(MemoryFileSystem):  # type: ignore[misc]
    """Files in memory, with an ETag each. Requests are listed as texts."""

    protocol = "counted"
    store: dict[str, Any] = {}  # noqa: RUF012
    pseudo_dirs = [""]  # noqa: RUF012
    requests: list[str] = []  # noqa: RUF012
    async_impl = True
    """As that of S3: several requests at once."""
    before: list[Callable[[], object]] = []  # noqa: RUF012
    """What happens before the next requests for bytes."""
    lock = threading.Lock()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(str(path).replace(f"{cls.protocol}://", "memory://")))

    def find(self, path: str, maxdepth: Any = None, withdirs: bool = False, detail: bool = False, **other: Any) -> Any:
        self._note(f"list {path}")
        found = {}
        for name, file in sorted(self.store.items()):
            if name == path or name.startswith(f"{path.rstrip('/')}/"):
                found[name] = {"name": name, "size": file.size, "type": "file", "ETag": str(hash(file.getvalue()))}
        return found if detail else [*found]

    def info(self, path: str, **other: Any) -> Any:
        self._note(f"head {path}")
        name = self._strip_protocol(path)
        if name not in self.store:
            raise FileNotFoundError(path)
        data = self.store[name].getvalue()
        return {"name": name, "size": len(data), "type": "file", "ETag": str(hash(data))}

    def ls(self, path: str, detail: bool = True, **other: Any) -> Any:
        raise AssertionError(f"{path} is listed by itself")

    def cat_file(self, path: str, start: Any = None, end: Any = None, **other: Any) -> bytes:
        with self.lock:
            happens = self.before.pop(0) if self.before else None
        if happens is not None:
            happens()
        self._note(f"get {path} {start}-{end}")
        return bytes(super().cat_file(path, start=start, end=end))

    def _note(self, text: str) -> None:
        self.requests.append(text)


def counted() -> Any:
    """The file system, empty."""
    fsspec.register_implementation("counted", CountedFileSystem, clobber=True)
    CountedFileSystem.store.clear()
    CountedFileSystem.requests.clear()
    CountedFileSystem.before.clear()
    return fsspec.filesystem("counted")


def offsets(path: str, **options: Any) -> list[int]:
    """The offsets that a read gives."""
    return [row["offset"] for each in arrow_rows(path, **options) for row in each.to_pylist()]  # type: ignore[arg-type]


@contextmanager
def s3_server() -> Generator[tuple[dict[str, Any], list[tuple[str, ...]]]]:
    """Storage options of an S3 server on loopback, and the requests that it has had."""
    from moto.server import ThreadedMotoServer
    from werkzeug.serving import WSGIRequestHandler

    seen: list[tuple[str, ...]] = []

    def log_request(self: Any, code: Any = "-", size: Any = "-") -> None:
        seen.append((self.command, self.path, self.headers.get("Range", ""), self.headers.get("If-Match", "")))

    original = WSGIRequestHandler.log_request
    WSGIRequestHandler.log_request = log_request  # type: ignore[method-assign]
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        _, port = server.get_host_and_port()
        yield {"key": "testing-id", "secret": "very-hidden", "endpoint_url": f"http://127.0.0.1:{port}"}, seen
    finally:
        server.stop()
        WSGIRequestHandler.log_request = original  # type: ignore[method-assign]
