"""Access the objects below a prefix in object storage, with conditional puts, listings and concurrent requests.

This module uses fsspec's S3 client, because only this client supports put conditions. fsspec can't return an object's
ETag together with its bytes, so `tagged` calls S3 itself.
"""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from tagwire.lazy import required
from tagwire_spark.files.store import retried

_AT_ONCE: Final = 8
_FAILED: Final = ("PreconditionFailed", "412")
_CONFLICT: Final = ("ConditionalRequestConflict", "409")
_PATIENCE: Final = 10.0
"""For how many seconds a put is retried if it conflicts with another put."""
_ONE_REQUEST: Final = 1 << 32


class ConditionalObjects:
    """The objects below a prefix, addressed by name. Methods raise the storage client's errors."""

    def __init__(self, system: Any, prefix: str) -> None:
        self.system = system
        self._prefix = prefix

    def path(self, name: str) -> str:
        return f"{self._prefix}/{name}"

    def get(self, name: str) -> bytes | None:
        return self.tagged(name)[0]

    def tagged(self, name: str) -> tuple[bytes | None, str | None]:
        """Return an object's bytes and ETag from one request; (None, None) if the object doesn't exist.

        The request is repeated if the reply is cut off.
        """
        try:
            return retried(partial(self._tagged, *self.system.split_path(self.path(name))[:2]))
        except FileNotFoundError:
            return None, None

    def _tagged(self, bucket: str, key: str) -> tuple[bytes, str]:
        found = self.system.call_s3("get_object", Bucket=bucket, Key=key)
        try:
            return bytes(required("fsspec", "spark").asyn.sync(self.system.loop, found["Body"].read)), found["ETag"]
        finally:
            found["Body"].close()

    def level(self) -> list[str]:
        """Return the names of the objects and folders directly below the prefix."""
        self.system.invalidate_cache()
        try:
            found = retried(partial(self.system.ls, self._prefix, detail=False))
        except FileNotFoundError:
            return []
        return [str(name).rstrip("/").rpartition("/")[2] for name in found]

    def listed(self, folder: str) -> list[str]:
        """Return the full names of all objects below a folder."""
        self.system.invalidate_cache()
        return [*self.system.find(self.path(folder))]

    def put(self, name: str, data: bytes) -> None:
        """Put an object, replacing any existing object with this name."""
        self.system.pipe_file(self.path(name), data)

    def create(self, name: str, data: bytes) -> bool:
        """Put an object only if no object has this name. Return whether it was put."""
        return self._put(name, data, IfNoneMatch="*")

    def replace(self, name: str, data: bytes, tag: str) -> bool:
        """Replace an object only if it still has this ETag. Return whether it was replaced."""
        return self._put(name, data, IfMatch=tag)

    def _put(self, name: str, data: bytes, **condition: str) -> bool:
        """Put an object in one atomic request. Return False if the condition isn't met."""
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
            time.sleep(0.2)  # retry while another client puts the object

    def copy(self, moves: Iterable[tuple[str, str]]) -> None:
        self.each(lambda move: self.system.cp_file(*(self.path(name) for name in move)), moves)

    def delete(self, name: str) -> None:
        self.system.rm_file(self.path(name))

    def delete_all(self, paths: Iterable[str]) -> None:
        """Delete the objects with these full names, which include the prefix."""
        self.each(self.system.rm_file, paths)

    @staticmethod
    def each(ask: Callable[[Any], object], items: Iterable[Any]) -> None:
        """Call `ask(item)` for each item in several threads. Raises the first error after all running calls end."""
        pool = ThreadPoolExecutor(_AT_ONCE, "tagwire-commit")
        try:
            for future in [pool.submit(ask, item) for item in items]:
                future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
