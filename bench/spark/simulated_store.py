"""Object storage for `growth` that is not there: names and sizes of segments and indexes, and latency of requests."""

import threading
import time
from typing import Any

import fsspec
from broker_logs import RECORDS, STEP, index_bytes
from fsspec.spec import AbstractFileSystem

from tagwire.log.names import segment_file

__all__ = ["Simulated", "simulated"]


class Simulated(AbstractFileSystem):  # type: ignore[misc]
    """A bucket of partitions with as many segments each, of one size."""

    protocol = "simulated"
    cachable = False
    async_impl = True
    """As that of S3: several requests at once."""
    partitions = segments = size = 0
    latency = 0.0
    requests = bytes_read = 0
    index = b""
    lock = threading.Lock()
    _PAGE = 1000
    """Names in an answer to a listing."""

    def find(self, path: str, maxdepth: Any = None, withdirs: bool = False, detail: bool = False, **other: Any) -> Any:
        """All files; one page of names after the other."""
        found = {}
        base = self.size // STEP * RECORDS
        for partition in range(self.partitions):
            for place in range(self.segments):
                for kind, size in (("index", len(self.index)), ("log", self.size)):
                    name = f"logs/t-{partition}/{segment_file(place * base, kind)}"
                    found[name] = {"name": name, "type": "file", "size": size, "ETag": f'"{len(found):032x}"'}
        for _ in range(0, len(found), self._PAGE):
            self._wait(0)
        return found if detail else [*found]

    def info(self, path: str, **other: Any) -> Any:
        """Nothing is asked for by itself."""
        self._wait(0)
        raise FileNotFoundError(path)

    def cat_file(self, path: str, start: Any = None, end: Any = None, **other: Any) -> bytes:
        """A range of an index."""
        self._wait((end or len(self.index)) - (start or 0))
        if not path.endswith(".index"):
            raise FileNotFoundError(path)
        return self.index[start:end]

    def _wait(self, size: int) -> None:
        with self.lock:
            Simulated.requests += 1
            Simulated.bytes_read += size
        time.sleep(self.latency)


def simulated(segments: int, of_partition: int, size: int, latency: float) -> tuple[type[Simulated], str]:
    """The bucket with this many segments, and the URL of its logs."""
    Simulated.partitions, Simulated.segments = max(1, segments // of_partition), of_partition
    Simulated.size, Simulated.latency = size, latency
    Simulated.index = index_bytes("index", size // STEP)
    fsspec.register_implementation("simulated", Simulated, clobber=True)
    return Simulated, "simulated://logs"
