"""Write logs to object storage with a file system that lists and fails requests, and read them back."""

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from object_storage import ConditionalFileSystem
from written_logs import by_partition, columns, job, table

from tagwire_spark import PipelineError
from tagwire_spark.files.commit_folder import DONE
from tagwire_spark.log_write.driver import LogWriter, Staged
from tagwire_spark.log_write.target import log_target

PLAIN = columns("topic string, value binary")
WITH_EPOCHS = columns("topic string, offset long, value binary, partitionLeaderEpoch int")
BEFORE = {"t-0": [b"a", b"b"], "u-0": [b"c"]}
APPENDED = {"t-0": [b"a", b"b", b"d"], "u-0": [b"c"], "w-0": [b"e"]}
WRITTEN_ANEW = {"t-0": [b"d"], "w-0": [b"e"]}


class Bucket:
    def __init__(self, system: Any, url: str, options: dict[str, Any]) -> None:
        self.system = system
        self.url = url
        self.options: dict[str, Any] = {"storageOptions": json.dumps(options)}
        self.count = 0

    def new(self) -> str:
        self.count += 1
        return f"{self.url}/{self.count}/k"

    def names(self, url: str) -> list[str]:
        self.system.invalidate_cache()
        return [str(each).partition("/k/")[2] for each in self.system.find(self.system._strip_protocol(url))]

    def visible(self, url: str) -> dict[str, bytes]:
        return {name: self.system.cat_file(f"{url}/{name}") for name in self.names(url) if not name.startswith(".")}

    def hidden(self, url: str) -> list[str]:
        return [name for name in self.names(url) if name.startswith(".")]

    def read(self, url: str, **options: str) -> dict[str, list[bytes]]:
        return by_partition(url, **self.options, **options)

    def write(self, url: str, *tasks: list[Any], overwrite: bool = False, **options: Any) -> None:
        job(url, *tasks, overwrite=overwrite, **self.options, **options)  # type: ignore[arg-type]

    def writer(self, url: str, *, overwrite: bool = False, **options: str) -> LogWriter:
        return LogWriter(log_target({"path": url, **self.options, **options}), overwrite=overwrite)

    def done(self, url: str) -> dict[str, Any]:
        return dict(json.loads(self.system.cat_file(f"{url}/{DONE}")))


def values(*found: bytes, topic: str = "t") -> list[Any]:
    return table(*[(topic, each) for each in found], schema=PLAIN)


def rows(topic: str, offset: int, *found: bytes) -> list[Any]:
    return table(*[(topic, 0, offset + n, None, each) for n, each in enumerate(found)])


def with_epoch(offset: int, value: bytes, epoch: int) -> list[Any]:
    return table(("t", offset, value, epoch), schema=WITH_EPOCHS)


@contextmanager
def requests(fails: Callable[[int, str], bool]) -> Generator[list[str]]:
    """Fail all requests for which `fails(number, text)` is true. Yield a list of the requests in the `with` block."""
    sent, all_fails = ConditionalFileSystem.requests, ConditionalFileSystem.fails
    sent.clear()
    all_fails.append(fails)
    try:
        yield sent
    finally:
        all_fails.clear()


def from_request(first: int) -> Callable[[int, str], bool]:
    """Return a function that is true for all requests from number `first` on."""
    return lambda number, _: number >= first


def moves(_: int, request: str) -> bool:
    """Return whether a request copies a staged object, or marks a commit as done."""
    return request.startswith("copy") or (request.startswith("put") and request.endswith(DONE))


def only_request(one: int) -> Callable[[int, str], bool]:
    return lambda number, _: number == one


def begun(bucket: Bucket, *, overwrite: bool = False) -> tuple[str, LogWriter, list[Staged]]:
    """Return a log's URL and an uncommitted write. It appends to the log or, if `overwrite` is set, replaces it."""
    url = bucket.new()
    bucket.write(url, table(("t", 0, b"a", 0), ("t", 1, b"b", 1), schema=WITH_EPOCHS), rows("u", 0, b"c"))
    writer = bucket.writer(url, overwrite=overwrite)
    tasks = [with_epoch(0 if overwrite else 2, b"d", 5), rows("w", 0, b"e")]
    return url, writer, [writer.write(iter(each)) for each in tasks]


def failure(writer: Any, staged: list[Staged], *batch: int) -> str:
    """Commit a write. Return the text of the error, or "" if the commit succeeds."""
    try:
        writer.commit(staged, *batch)
    except PipelineError as error:
        return str(error)
    return ""


def every_step(last: int = 150) -> Iterator[int]:
    yield from range(last)
    pytest.fail("a commit never came to its end")


@contextmanager
def interrupted(step: int, process: Callable[[], object]) -> Generator[list[int]]:
    """Run `process` before request `step` in the `with` block. The yielded list is empty until then."""
    hits: list[int] = []

    def comes(number: int, _: str) -> bool:
        if number >= step and not hits:
            hits.append(number)
            ConditionalFileSystem.fails.remove(comes)
            process()
        return False

    with requests(comes):
        yield hits
