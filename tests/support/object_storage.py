"""Object storage for tests: an in-memory file system that lists its requests, and moto's S3 server on loopback."""

import threading
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import fsspec
import fsspec.asyn
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from written_logs import read_rows


class CountedFileSystem(MemoryFileSystem):  # type: ignore[misc]
    """An in-memory file system whose files have ETags. `requests` lists all requests as strings."""

    protocol = "counted"
    store: dict[str, Any] = {}  # noqa: RUF012
    pseudo_dirs = [""]  # noqa: RUF012
    requests: list[str] = []  # noqa: RUF012
    async_impl = True
    """Whether the code under test may send concurrent requests."""
    before: list[Callable[[], object]] = []  # noqa: RUF012
    """Functions to call before the next reads, one for each read."""
    lock = threading.Lock()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(str(path).replace(f"{cls.protocol}://", "memory://")))

    def find(self, path: str, maxdepth: Any = None, withdirs: bool = False, detail: bool = False, **other: Any) -> Any:
        self._note(f"list {path}")
        found = {}
        for name, file in sorted(self.store.items()):
            if name == path or name.startswith(f"{path.rstrip('/')}/"):
                facts = {"size": file.size, "ETag": str(hash(file.getvalue())), "LastModified": file.modified}
                found[name] = {"name": name, "type": "file", **facts}
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


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.modified = datetime.now(UTC)

    def getvalue(self) -> bytes:
        return self.data

    def getbuffer(self) -> memoryview:
        return memoryview(self.data)

    async def read(self) -> bytes:
        return self.data

    def close(self) -> None:
        pass


class _Rejected(Exception):
    response = {"Error": {"Code": "PreconditionFailed"}}  # noqa: RUF012


class ConditionalFileSystem(CountedFileSystem):
    """A file system with conditional writes as in S3. A request fails if a function in `fails` returns true for it."""

    protocol = "kept"
    store: dict[str, Any] = {}  # noqa: RUF012
    fails: list[Callable[[int, str], bool]] = []  # noqa: RUF012
    keeps_conditions = True

    def _note(self, text: str) -> None:
        with self.lock:
            self.requests.append(text)
            number = len(self.requests) - 1
        if any(each(number, text) for each in self.fails):
            raise OSError(5, "the connection is lost")

    def split_path(self, path: str) -> tuple[str, str, None]:
        return "", path, None

    @property
    def loop(self) -> Any:
        return fsspec.asyn.get_loop()

    def ls(self, path: str, detail: bool = True, **other: Any) -> Any:
        self._note(f"list {path}")
        above, found = f"{self._strip_protocol(path)}/", {}
        for name, file in sorted(self.store.items()):
            if name.startswith(above):
                part, _, rest = name.removeprefix(above).partition("/")
                facts = {"type": "directory", "size": 0} if rest else {"type": "file", **self._facts(file)}
                found[part] = {"name": above + part, **facts}
        if not found:
            raise FileNotFoundError(path)
        return [*found.values()] if detail else [each["name"] for each in found.values()]

    def _facts(self, file: _Bytes) -> dict[str, Any]:
        return {"size": file.size, "ETag": str(hash(file.data)), "LastModified": file.modified}

    def call_s3(self, kind: str, Bucket: str, Key: str, IfMatch: str | None = None, Range: str = "") -> Any:
        self._note(f"get {Key}")
        file = self.store.get(self._strip_protocol(Key))
        if file is None:
            raise FileNotFoundError(Key)
        tag = self._facts(file)["ETag"]
        if IfMatch not in (None, tag):
            raise OSError(22, "a condition failed")
        first, _, last = Range.removeprefix("bytes=").partition("-")
        return {"Body": _Bytes(file.data[int(first or 0) : int(last) + 1 if last else None]), "ETag": tag}

    def pipe_file(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, path: str, value: bytes, IfNoneMatch: str | None = None, IfMatch: str | None = None, **other: Any
    ) -> None:
        self._note(f"put {path}")
        name = self._strip_protocol(path)
        with self.lock:
            there = self.store.get(name)
            tag = None if there is None else self._facts(there)["ETag"]
            if self.keeps_conditions and ((IfNoneMatch and tag is not None) or (IfMatch and IfMatch != tag)):
                raise OSError(22, "a condition failed") from _Rejected()
            self.store[name] = _Bytes(bytes(value))

    def put_file(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, lpath: str, rpath: str, **other: Any
    ) -> None:
        self.pipe_file(rpath, Path(lpath).read_bytes())

    def get_file(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, rpath: str, lpath: str, **other: Any
    ) -> None:
        Path(lpath).write_bytes(self.call_s3("get_object", "", rpath)["Body"].data)

    def cp_file(self, path1: str, path2: str, **other: Any) -> None:
        self._note(f"copy {path1} {path2}")
        with self.lock:
            if path1 not in self.store:
                raise FileNotFoundError(path1)
            self.store[path2] = self.store[path1]

    def rm_file(self, path: str) -> None:
        self._note(f"delete {path}")
        with self.lock:
            self.store.pop(self._strip_protocol(path), None)


def _empty(cls: Any) -> Any:
    """Register a file system, and delete its files, its requests, and the functions that tests have added to it."""
    fsspec.register_implementation(cls.protocol, cls, clobber=True)
    for kept in (cls.store, cls.requests, cls.before, getattr(cls, "fails", [])):
        kept.clear()
    return fsspec.filesystem(cls.protocol)


def conditional() -> Any:
    return _empty(ConditionalFileSystem)


def counted() -> Any:
    return _empty(CountedFileSystem)


def offsets(path: str, **options: Any) -> list[int]:
    return [row["offset"] for row in read_rows(path, **options)]


class _Cut:
    """A WSGI application that sends only half of some bodies."""

    def __init__(self, app: Any, cuts: Callable[[int], bool]) -> None:
        self.app, self.cuts, self.numbers = app, cuts, count()

    def __call__(self, environ: Any, start_response: Any) -> list[bytes]:
        body = b"".join(self.app(environ, start_response))
        is_cut = environ["REQUEST_METHOD"] == "GET" and self.cuts(next(self.numbers))
        return [body[: len(body) // 2]] if is_cut else [body]


@contextmanager
def s3_server(cuts: Callable[[int], bool] | None = None) -> Generator[tuple[Any, dict[str, Any], list[Any]]]:
    """Start an S3 server on loopback with a bucket `logs`. Skip the test if a library is missing.

    Yield the server's file system, its storage options, and a list to which the server adds each request. If `cuts`
    returns true for the number of a GET request (from 0), the server sends only half of the body.
    """
    for library in ("moto", "flask"):
        pytest.importorskip(library, reason=f"{library} is not installed: pip install 'moto[s3]' flask flask-cors s3fs")
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed: pip install s3fs")
    from moto.server import ThreadedMotoServer
    from werkzeug.serving import WSGIRequestHandler

    seen: list[tuple[str, ...]] = []

    def log_request(self: Any, code: Any = "-", size: Any = "-") -> None:
        seen.append((self.command, self.path, self.headers.get("Range", ""), self.headers.get("If-Match", "")))

    original = WSGIRequestHandler.log_request
    WSGIRequestHandler.log_request = log_request  # type: ignore[method-assign]
    server: Any = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    if cuts is not None:
        server._server.app = _Cut(server._server.app, cuts)
    try:
        _, port = server.get_host_and_port()
        urllib.request.urlopen(f"http://127.0.0.1:{port}/moto-api/reset", data=b"").close()  # drops earlier data
        options = {"key": "testing-id", "secret": "very-hidden", "endpoint_url": f"http://127.0.0.1:{port}"}
        system = s3fs.S3FileSystem(**options)
        system.mkdir("logs")
        yield system, options, seen
    finally:
        server.stop()
        WSGIRequestHandler.log_request = original  # type: ignore[method-assign]
