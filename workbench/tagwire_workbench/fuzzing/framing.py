"""The framing of fuzz inputs: which bytes precede a message, and how an input identifies its message.

There are four forms, as in `tagwire fuzz corpus`: a message alone, a message preceded by its API key and version, a
frame with its header, and a frame preceded by its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

import click

from tagwire.errors import DecodeError, TagwireError, UnsupportedVersionError
from tagwire.explain.trace import Trace, trace, trace_request, trace_response
from tagwire.frames.message_index import UnknownMessageError
from tagwire.message.base import Message
from tagwire_cli.arguments.options import frames_option

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry

KINDS: Final = ("request", "response")
_BEFORE: Final = 4
"""Number of bytes in an input's prefix. It contains the size of the rest of the input, or an API key and version."""


class FramingError(TagwireError, ValueError):
    """Raised for invalid framing options, such as options that don't determine the message."""


class FuzzInput(NamedTuple):
    """A fuzz input and its trace, which ends at the first error."""

    data: bytes
    begin: int
    """Offset in `data` at which the message or frame starts. It is not 0 if the input has a prefix."""
    has_size: bool
    """Whether the four bytes before `begin` are the size of the rest of the input."""
    trace: Trace
    cls: type[Message]
    version: int

    @property
    def error(self) -> DecodeError | None:
        """The first error in the input, or None if the input is valid. Error offsets are relative to `begin`."""
        return self.trace.error


class InputFraming:
    """The format of a fuzz input's bytes. `kind`, `frames` and `prefix` are options of `tagwire fuzz corpus`.

    With `message` and `version`, all inputs contain this message in this version. Otherwise, each input must contain
    an API key and version (`prefix="key"`) or a request header (`frames=True`). Raises FramingError if nothing
    identifies the message, and UnsupportedVersionError if the message has no such version.
    """

    def __init__(
        self,
        registry: Registry,
        message: type[Message] | None = None,
        version: int | None = None,
        *,
        kind: str | None = None,
        frames: bool = False,
        prefix: str | None = None,
    ) -> None:
        if prefix not in (None, "size", "key"):
            raise FramingError(f"prefix: expected 'size', 'key' or None, got {prefix!r}")
        self.registry = registry
        self.message = message
        self.version = version
        self.kind = message.KIND if message else kind or ("request" if frames else None)
        self.frames = frames
        self.prefix = prefix
        self._names_itself = prefix == "key" or (frames and self.kind == "request")
        self._check()

    def _check(self) -> None:
        message, version = self.message, self.version
        if self.frames and self.kind not in KINDS:
            raise FramingError(f"a {self.kind} has no header; leave out `frames`, or choose a request or response")
        if not self._names_itself and (message is None or version is None):
            missing = "message" if message is None else f"version of {message.NAME}"
            raise FramingError(
                f"inputs without a prefix do not identify the {missing}; pass the {missing}, or use prefix='key'"
            )
        if self.prefix == "key" and message is None and self.kind not in KINDS:
            raise FramingError("an API key alone does not identify the message; give the kind, 'request' or 'response'")
        if self.prefix == "key" and message is not None and message.API_KEY is None:
            raise FramingError(f"{message.NAME} has no API key, so prefix='key' can't be used")
        if message is not None and version is not None and version not in message.VERSIONS:
            raise UnsupportedVersionError(message.NAME, version, message.VERSIONS)

    def write(self, message: Message, version: int) -> bytes:
        """Encode a message as an input, with the header and prefix that the framing requires."""
        if not self.frames:
            data = message.encode(version)
        elif message.KIND == "request":
            data = self.registry.encode_request(message, version)
        else:
            data = self.registry.encode_response(message, version)
        if self.prefix == "size":
            return len(data).to_bytes(_BEFORE, "big") + data
        return key_bytes(type(message), version) + data if self.prefix == "key" else data

    def read(self, data: bytes, *, strict: bool = True) -> FuzzInput | None:
        """Trace an input up to its first error. Return None if its message is unknown."""
        begin = _BEFORE if self.prefix else 0
        if len(data) < begin:
            return None
        found = self._named(data, begin)
        if found is None:
            return None
        cls, version = found
        rest = data[begin:]
        if not self.frames:
            read = trace(cls, rest, version, strict=strict)
        elif cls.KIND == "request":
            read = trace_request(self.registry, rest, strict=strict)
        else:
            assert cls.API_KEY is not None
            read = trace_response(self.registry, rest, cls.API_KEY, version, strict=strict)
        return FuzzInput(data, begin, self.prefix == "size", read, cls, version)

    def _named(self, data: bytes, begin: int) -> tuple[type[Message], int] | None:
        """Return an input's message class and version, or None if they are unknown, or don't match the options."""
        cls, version = self.message, self.version
        if self._names_itself:
            at = 0 if self.prefix == "key" else begin
            key, version = (int.from_bytes(data[offset : offset + 2], "big", signed=True) for offset in (at, at + 2))
            cls = self._of_key(key)
        if cls is None or version is None or version not in cls.VERSIONS:
            return None
        return (cls, version) if self.version in (None, version) else None

    def _of_key(self, key: int) -> type[Message] | None:
        if self.message is not None:
            return self.message if key == self.message.API_KEY else None
        try:
            return self.registry.find(self.kind or "", key)
        except UnknownMessageError:
            return None

    def messages(self) -> Iterator[tuple[type[Message], int]]:
        names = [self.message.NAME] if self.message else self.registry.names()
        for cls in (self.registry[name] for name in names):
            if self.kind in (None, cls.KIND):
                for version in cls.VERSIONS if self.version is None else (self.version,):
                    yield cls, version


def key_bytes(cls: type[Message], version: int) -> bytes:
    """Return the bytes of the API key and version, as in a request header. The message must have an API key."""
    assert cls.API_KEY is not None, f"{cls.NAME} has no API key"
    return cls.API_KEY.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big")


_ANY: Final = "any"

F = TypeVar("F", bound=Callable[..., Any])


def framing_options(function: F) -> F:
    """Add the options `--kind`, `--frames` and `--prefix` to a command. They set `kind`, `in_frames` and `prefix`.

    The command raises click.UsageError if `--kind` and `--frames` name different kinds.
    """
    kind_help = "Inputs are messages of this kind only."
    frames_help = "Inputs are requests and responses with headers, or only frames of this kind."
    prefix_help = "Each input begins with its size, or with API key and version."

    @click.option("--kind", "message_kind", type=click.Choice(KINDS), help=kind_help)
    @frames_option((*KINDS, _ANY), frames_help, is_flag=False, flag_value=_ANY)
    @click.option("--prefix", type=click.Choice(("size", "key")), help=prefix_help)
    @wraps(function)
    def called(*args: Any, kind: str | None, message_kind: str | None, **options: Any) -> Any:
        named = {each for each in (kind, message_kind) if each not in (None, _ANY)}
        if len(named) > 1:
            raise click.UsageError(f"--frames {kind} and --kind {message_kind} contradict each other; give one.")
        return function(*args, kind=named.pop() if named else None, in_frames=kind is not None, **options)

    return cast(F, called)
