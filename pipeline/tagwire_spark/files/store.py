"""File systems of fsspec: how they are reached, and what of it no error may show.

fsspec keeps file systems for the life of a process, and some keep listings as long. A read that is
planned must see what is there now, so listings are forgotten before each one.
"""

import re
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from random import random
from typing import Any, Final, TypeVar

from tagwire.errors import TagwireError
from tagwire.extras import required
from tagwire_spark.errors import PipelineError

__all__ = ["NO_OPTIONS", "StorageOptions", "has_conditional_puts", "is_remote", "reaching", "retried", "store"]

_T = TypeVar("_T")
_TRIES: Final = 5
_PAUSE: Final = 0.2
"""Seconds before the second try; each later pause is twice as long."""
_SHORT: Final = 8
"""Secrets of fewer characters may be part of other words, or of a URL, by chance."""

_SECRET: Final = re.compile("secret|password|token|credential|key|sas|sig|connection_string|auth", re.IGNORECASE)
"""Names of options whose values no text shows."""
_IN_URL: Final = re.compile(r"(?<=://)([^/@:\s]*):[^/@\s]+@")
_HIDDEN: Final = "***"


class StorageOptions(dict[str, Any]):
    """Options of a file system, as fsspec takes them. Its text shows names alone."""

    def __repr__(self) -> str:
        return f"<storage options: {', '.join(self) or 'none'}>"

    __str__ = __repr__

    def hidden(self, text: str) -> str:
        """A text without the secrets that options have, and without the password of a URL.

        A short secret is hidden only where it is a whole word, and not within a URL.
        """
        for secret in sorted(_secrets(self), key=len, reverse=True):
            if len(secret) < _SHORT:
                text = re.sub(rf"\w+://\S+|(?<!\w){re.escape(secret)}(?!\w)", _hidden_word, text)
            else:
                text = text.replace(secret, _HIDDEN)
        return _IN_URL.sub(rf"\1:{_HIDDEN}@", text)


NO_OPTIONS: Final = StorageOptions()


def _hidden_word(found: re.Match[str]) -> str:
    return found[0] if "://" in found[0] else _HIDDEN


def _secrets(options: Mapping[str, Any], *, is_secret: bool = False) -> set[str]:
    found = set()
    for name, value in options.items():
        hides = is_secret or _SECRET.search(name) is not None
        if isinstance(value, Mapping):
            found |= _secrets(value, is_secret=hides)
        elif hides and isinstance(value, str) and value:
            found.add(value)
    return found


def is_remote(path: str) -> bool:
    """Whether a path is a URL of a file system that is not this machine's."""
    return "://" in path and not path.startswith("file://")


def store(url: str, options: StorageOptions = NO_OPTIONS) -> tuple[Any, str]:
    """The file system of a URL, and what it calls what the URL means. Raises PipelineError."""
    core = required("fsspec", "spark").core
    with reaching(url, options):  # of a scheme that it does not know, or lacks the library of
        _check_no_copies(url, options)
        system, bare = core.url_to_fs(url, **options)
    return system, str(bare).rstrip("/")


def _check_no_copies(url: str, options: StorageOptions) -> None:
    """Refuse a chain such as `simplecache::s3://…`: a copy on a worker may be older than what is listed.

    Raises PipelineError.
    """
    if "::" not in url:
        return
    fsspec, cached = required("fsspec", "spark"), required("fsspec.implementations.cached", "spark")
    known = {part.partition("://")[0] for part in url.split("::")} & {*fsspec.available_protocols()}
    for protocol in sorted(known):  # the last part may be a path of this machine
        if issubclass(fsspec.get_filesystem_class(protocol), cached.CachingFileSystem):
            text = f"{url}: {protocol} keeps copies of files, which may be older than what is listed"
            raise PipelineError("INVALID_TAGWIRE_OPTION", options.hidden(f"{text}; leave out {protocol}::."))


def has_conditional_puts(system: Any) -> bool:
    """Whether a put may ask the store itself for a condition: fsspec only looks before it puts, but for S3."""
    return hasattr(system, "call_s3")


def retried(call: Callable[[], _T]) -> _T:
    """Return what a request to a file system returns; if it fails, repeat it after growing pauses.

    Missing or forbidden files and wrong options are not requested again. Raises what the last request raised.
    """
    for number in range(_TRIES - 1):
        try:
            return call()
        except (FileNotFoundError, PermissionError, TypeError, ValueError, TagwireError):
            raise
        except Exception:
            time.sleep(_PAUSE * 2**number * (0.5 + random()))  # so that tasks don't all ask again at once
    return call()


@contextmanager
def reaching(
    url: str, options: StorageOptions = NO_OPTIONS, fails: str = "fsspec can't reach it", condition: str = ""
) -> Generator[None]:
    """Turn all errors of a file system's library into PipelineError, without secrets.

    The condition is KAFKA_LOG_NOT_FOUND for what does not exist, or by default KAFKA_LOG_UNREADABLE.
    """
    try:
        yield
    except TagwireError:
        raise
    except Exception as error:
        said = str(error).rstrip(".") or type(error).__name__
        is_missing = isinstance(error, (FileNotFoundError, ImportError, ValueError))  # or an unknown scheme
        condition = condition or ("KAFKA_LOG_NOT_FOUND" if is_missing else "KAFKA_LOG_UNREADABLE")
        raise PipelineError(condition, options.hidden(f"{url}: {fails}: {said}.")) from None
