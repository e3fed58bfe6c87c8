"""Send requests to fsspec file systems: repeat them, send several at once, and remove secrets from their errors.

Cached listings are dropped before each read, because planning must see the current files. Conditional puts use fsspec's
S3 client, because only this client supports put conditions.
"""

import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from random import random
from typing import Any, Final, TypeVar

from tagwire.errors import TagwireError
from tagwire.lazy import required
from tagwire_spark.errors import PipelineError

_T = TypeVar("_T")
_R = TypeVar("_R")
_TRIES: Final = 5
_PAUSE: Final = 0.2
"""Seconds to wait before the second try. Later pauses are longer."""
_SHORT: Final = 8
"""Minimum length of secrets that are masked everywhere.

A shorter secret may occur in other text by chance, so it is masked only as a separate word.
"""

_NAMES: Final = "secret|pass|pwd|token|credential|key|sas|sig|connection_string|auth|cookie"
_SECRET: Final = re.compile(_NAMES, re.IGNORECASE)
"""Matches the names of options whose values may be secret and are therefore never shown."""
_IN_URL: Final = re.compile(r"(?<=://)([^/@:\s]*:)[^/@\s]+(?=@)")
_IN_QUERY: Final = re.compile(rf"([?&][^=&\s]*(?:{_NAMES})[^=&\s]*=)[^&\s:]+", re.IGNORECASE)
"""Matches a parameter of a signed URL, such as `X-Amz-Signature` or `sig`."""
_HIDDEN: Final = "***"
_CONCURRENT: Final = 64
_TAKEN: Final = 1024
"""Number of calls that `at_once` submits at a time, to limit the number of futures."""
_AT_ONCE: Final = 8
_FAILED: Final = ("PreconditionFailed", "412")
_CONFLICT: Final = ("ConditionalRequestConflict", "409")
_PATIENCE: Final = 10.0
"""For how many seconds a put is retried if it conflicts with another put."""
_ONE_REQUEST: Final = 1 << 32


class StorageOptions(dict[str, Any]):
    """The fsspec options of a file system. `str()` shows only their names, because values may be secret."""

    def __repr__(self) -> str:
        return f"<storage options: {', '.join(self) or 'none'}>"

    __str__ = __repr__

    def hidden(self, text: str) -> str:
        """Return the string with secret option values, URL passwords and signatures of URLs masked.

        A short secret is masked only as a separate word outside URLs.
        """
        for secret in sorted(_secrets(self), key=len, reverse=True):
            if len(secret) < _SHORT:
                text = re.sub(rf"\w+://\S+|(?<!\w){re.escape(secret)}(?!\w)", _hidden_word, text)
            else:
                text = text.replace(secret, _HIDDEN)
        return _IN_QUERY.sub(rf"\1{_HIDDEN}", _IN_URL.sub(rf"\1{_HIDDEN}", text))


NO_OPTIONS: Final = StorageOptions()


def _hidden_word(found: re.Match[str]) -> str:
    return found[0] if "://" in found[0] else _HIDDEN


def _secrets(options: Mapping[str, Any], *, is_secret: bool = False) -> set[str]:
    found = set()
    for name, value in options.items():
        hides = is_secret or _SECRET.search(name) is not None
        if isinstance(value, list | tuple):
            value = {str(number): each for number, each in enumerate(value)}
        if isinstance(value, Mapping):
            found |= _secrets(value, is_secret=hides)
        elif hides and isinstance(value, str) and value:
            found.add(value)
    return found


def is_remote(path: str) -> bool:
    """Return whether a path is a URL of a remote file system."""
    return "://" in path and not path.startswith("file://")


def is_url(text: str) -> bool:
    """Return whether a string is a remote URL, even if `Path` has collapsed its `//` to `/`."""
    return re.match(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:/", text) is not None


def output_url(path: str) -> str | None:
    """Return a URL without trailing slashes, or None for a local path. Raises PipelineError for an incomplete URL."""
    url = path.rstrip("/") if is_url(path) else None
    if url is not None and not is_remote(url):
        text = f"{path}: expected a URL with a bucket, such as s3://bucket/logs; give it as a string,"
        raise PipelineError("KAFKA_LOG_WRITE_FAILED", f"{text} because a Path can't represent a URL.")
    return url


def is_concurrent(system: Any) -> bool:
    """Return whether several threads may send requests to a file system. Only asynchronous file systems allow this."""
    return bool(getattr(system, "async_impl", False))


def inner_path(file: str) -> Path:
    """Return the path of a file or folder. For a URL in an archive, leave out the archive's URL, as in `zip://logs`."""
    return Path(file.partition("::")[0] if is_remote(file) else file)


def store(url: str, options: StorageOptions = NO_OPTIONS) -> tuple[Any, str]:
    """Return a URL's fsspec file system, and the path in that file system. Raises PipelineError for an unusable URL."""
    core = required("fsspec", "spark").core
    with reaching(url, options):
        _check_no_copies(url, options)
        system, bare = core.url_to_fs(url, **options)
    return system, str(bare).rstrip("/")


def _check_no_copies(url: str, options: StorageOptions) -> None:
    """Raise PipelineError for a caching URL such as `simplecache::s3://…`.

    A worker's cached copy may be older than the driver's listing.
    """
    if "::" not in url:
        return
    fsspec, cached = required("fsspec", "spark"), required("fsspec.implementations.cached", "spark")
    known = {part.partition("://")[0] for part in url.split("::")} & {*fsspec.available_protocols()}
    for protocol in sorted(known):
        if issubclass(fsspec.get_filesystem_class(protocol), cached.CachingFileSystem):
            raise PipelineError(
                "INVALID_TAGWIRE_OPTION",
                options.hidden(
                    f"{url}: {protocol} may return outdated files from its cache; remove {protocol}:: from the URL."
                ),
            )


def has_conditional_puts(system: Any) -> bool:
    """Return whether the store supports conditional puts, as S3 does.

    On other stores, two writers could both pass the check that fsspec makes before a put.
    """
    return hasattr(system, "call_s3")


def s3_object(system: Any, path: str, **conditions: str) -> tuple[bytes, str]:
    """Request an object, or a range of it, from S3. Return its bytes and ETag, which fsspec can't return together."""
    bucket, key, _ = system.split_path(path)
    found = system.call_s3("get_object", Bucket=bucket, Key=key, **conditions)
    try:
        return bytes(required("fsspec", "spark").asyn.sync(system.loop, found["Body"].read)), found["ETag"]
    finally:
        found["Body"].close()


def retried(call: Callable[[], _T]) -> _T:
    """Send a request to a file system and return the result. After most errors, repeat it with increasing pauses.

    The request is not repeated if the file is missing or forbidden, or if the options are wrong. Raises the last error.
    """
    for number in range(_TRIES - 1):
        try:
            return call()
        except (FileNotFoundError, PermissionError, TypeError, ValueError, TagwireError):
            raise
        except Exception:
            time.sleep(_PAUSE * 2**number * (0.5 + random()))  # random, so that tasks don't all retry at once
    return call()


@contextmanager
def reaching(
    url: str, options: StorageOptions = NO_OPTIONS, problem: str = "can't be reached by fsspec", condition: str = ""
) -> Generator[None]:
    """Convert errors that fsspec or its libraries raise in the block to PipelineError, with secrets removed.

    The default `condition` is KAFKA_LOG_NOT_FOUND for a missing file, and KAFKA_LOG_UNREADABLE for other errors.
    """
    try:
        yield
    except TagwireError:
        raise
    except Exception as error:
        reason = str(error).rstrip(".") or type(error).__name__
        # `fsspec` raises ValueError for an unknown URL scheme.
        is_missing = isinstance(error, (FileNotFoundError, ImportError, ValueError))
        condition = condition or ("KAFKA_LOG_NOT_FOUND" if is_missing else "KAFKA_LOG_UNREADABLE")
        raise PipelineError(condition, options.hidden(f"{url} {problem}: {reason}.")) from None


def at_once(
    work: Callable[[_T], _R], units: Iterable[_T], *, is_concurrent: bool = True, threads: int = _CONCURRENT
) -> Iterator[_R]:
    """Yield `work(unit)` for each unit, in order. If `is_concurrent` is true, `work` runs in several threads.

    After an error, no further units are started, and the error is raised when all running calls have ended.
    """
    if not is_concurrent:
        yield from map(work, units)
        return
    waiting = iter(units)
    pool = ThreadPoolExecutor(threads, "tagwire-requests")
    try:
        while taken := list(islice(waiting, _TAKEN)):
            yield from pool.map(work, taken)
    finally:
        pool.shutdown(cancel_futures=True)


class ConditionalObjects:
    """The objects below a prefix in S3, addressed by name. Methods raise the storage client's errors."""

    def __init__(self, system: Any, prefix: str) -> None:
        self.system = system
        self._prefix = prefix

    def path(self, name: str) -> str:
        return f"{self._prefix}/{name}"

    def tagged(self, name: str) -> tuple[bytes | None, str | None]:
        """Return an object's bytes and ETag from one request; (None, None) if the object doesn't exist.

        The request is repeated if the reply is cut off.
        """
        try:
            return retried(partial(s3_object, self.system, self.path(name)))
        except FileNotFoundError:
            return None, None

    def level(self) -> list[str]:
        """Return the names of the objects and folders directly below the prefix."""
        self.system.invalidate_cache()
        try:
            found = retried(partial(self.system.ls, self._prefix, detail=False))
        except FileNotFoundError:
            return []
        names = (str(name).rstrip("/") for name in found)
        return [name.rpartition("/")[2] for name in names if name != self._prefix]  # without a marker of the folder

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
        """Call `ask(item)` for each item in several threads, as in `at_once`."""
        for _ in at_once(ask, items, threads=_AT_ONCE):
            pass
