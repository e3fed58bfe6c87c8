"""The objects below a prefix in object storage: conditional puts, listings, and many requests at once.

fsspec has the conditions only as arguments that it passes on to the client of S3, and no read that gives the ETag
along with the bytes. So both are here, and nothing of a commit is.
"""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from tagwire.extras import required

__all__ = ["ConditionalObjects"]

_AT_ONCE: Final = 8
"""Requests."""
_FAILED: Final = ("PreconditionFailed", "412")
_CONFLICT: Final = ("ConditionalRequestConflict", "409")
_PATIENCE: Final = 10.0
"""Seconds for a put that is in conflict with another."""
_ONE_REQUEST: Final = 1 << 32


class ConditionalObjects:
    """Objects by their names below a prefix. Methods raise what the client raises."""

    def __init__(self, system: Any, prefix: str) -> None:
        self.system = system
        """Of fsspec."""
        self._prefix = prefix

    def path(self, name: str) -> str:
        """What the store calls an object."""
        return f"{self._prefix}/{name}"

    def get(self, name: str) -> bytes | None:
        """The bytes of an object, None if there is none."""
        return self.tagged(name)[0]

    def tagged(self, name: str) -> tuple[bytes | None, str | None]:
        """The bytes of an object and its ETag, by one request."""
        bucket, key, _ = self.system.split_path(self.path(name))
        try:
            found = self.system.call_s3("get_object", Bucket=bucket, Key=key)
        except FileNotFoundError:
            return None, None
        try:
            return bytes(required("fsspec", "spark").asyn.sync(self.system.loop, found["Body"].read)), found["ETag"]
        finally:
            found["Body"].close()

    def level(self) -> list[str]:
        """The names directly below the prefix."""
        self.system.invalidate_cache()
        try:
            found = self.system.ls(self._prefix, detail=False)
        except FileNotFoundError:
            return []
        return [str(name).rstrip("/").rpartition("/")[2] for name in found]

    def listed(self, folder: str) -> list[str]:
        """The objects below a folder, as the store calls them."""
        self.system.invalidate_cache()
        return [*self.system.find(self.path(folder))]

    def put(self, name: str, data: bytes) -> None:
        """Put an object, whether there is one or not."""
        self.system.pipe_file(self.path(name), data)

    def create(self, name: str, data: bytes) -> bool:
        """Put an object if there is none. Whether it was put."""
        return self._put(name, data, IfNoneMatch="*")

    def replace(self, name: str, data: bytes, tag: str) -> bool:
        """Put an object if there is one of this ETag. Whether it was put."""
        return self._put(name, data, IfMatch=tag)

    def _put(self, name: str, data: bytes, **condition: str) -> bool:
        """Put an object on a condition, in one request. Whether it was put."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                self.system.pipe_file(self.path(name), data, chunksize=_ONE_REQUEST, **condition)
                return True
            except OSError as error:
                code = str(getattr(error.__cause__, "response", {}).get("Error", {}).get("Code", ""))
                if isinstance(error, FileExistsError) or code in _FAILED:
                    return False
                if code not in _CONFLICT or time.monotonic() > end:
                    raise
            time.sleep(0.2)  # another put of the same object is under way

    def copy(self, moves: Iterable[tuple[str, str]]) -> None:
        """Copy objects from the first name of each pair to the second."""
        self.each(lambda move: self.system.cp_file(*(self.path(name) for name in move)), moves)

    def delete(self, name: str) -> None:
        """Delete an object."""
        self.system.rm_file(self.path(name))

    def delete_all(self, paths: Iterable[str]) -> None:
        """Delete objects, which are given as the store calls them."""
        self.each(self.system.rm_file, paths)

    @staticmethod
    def each(ask: Callable[[Any], object], items: Iterable[Any]) -> None:
        """Ask for each item, for several at once; when this is over, no request is under way."""
        pool = ThreadPoolExecutor(_AT_ONCE, "tagwire-commit")
        try:
            for asked in [pool.submit(ask, item) for item in items]:
                asked.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
