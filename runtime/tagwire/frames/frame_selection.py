"""Selected fields of whole frames: header fields, whose paths begin with `header.`, and body fields.

A frame selection combines a selection of header fields with a selection of body fields. Reading body fields returns a
row for each element of an array (see `tagwire.select`). But if any path leads to a header field, the whole frame is a
single row.
"""

from __future__ import annotations

from tagwire.errors import DecodeError, EncodeError
from tagwire.frames.frame_headers import check_header, unreadable
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.selection.paths import SelectionError
from tagwire.selection.selection import DROP, Selection, misfit, row_of
from tagwire.text_format import count
from tagwire.wire.buffers import as_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from tagwire.frames.registry import Registry
    from tagwire.message.base import Message
    from tagwire.message.field_table import FieldRow
    from tagwire.selection.selection import Row

    T = TypeVar("T")

_HEADER = "header."


class _FrameSelection:
    """The base class of RequestSelection and ResponseSelection.

    If `sized` is true, each frame begins with its size, an int32, and `rewrite` updates this size.
    """

    def __init__(
        self, registry: Registry, message: type[Message], header: type[Message], paths: tuple[str, ...]
    ) -> None:
        if not paths:
            raise SelectionError(f"{message.NAME}: give at least one path")
        self.registry = registry
        self.message = message
        self.paths = paths
        self._is_header = [isinstance(path, str) and path.startswith(_HEADER) for path in paths]
        in_header, in_body = self._parted(paths)
        self._header = Selection(header, tuple([path.removeprefix(_HEADER) for path in in_header]), whole=True)
        self._body = Selection(message, in_body, whole=bool(in_header))

    @property
    def fields(self) -> tuple[FieldRow, ...]:
        """The field table row (`FieldRow`) of the last field in each path."""
        return self._merged(self._header.fields, self._body.fields)

    def holder_versions(self, version: int) -> tuple[int | None, ...]:
        """Return, for each path, the version of the struct that contains its last field.

        `version` is the version of the message body.
        """
        header_row = self._header.holder_versions(self.message.header_version(version)) if self._header.paths else ()
        return self._merged(header_row, self._body.holder_versions(version))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.registry, self.message, self.paths)

    def __repr__(self) -> str:
        return f"<selection of {', '.join(self.paths)} in frames of {self.message.NAME}>"

    def _rows(self, frame: bytes, version: int, limits: Limits) -> list[Row]:
        start = self._start(frame, version, limits)
        rows = self._body.rows(frame, version, offset=start, limits=limits)
        if not self._header.paths:
            return rows
        (header_row,) = self._header.rows(frame[:start], self.message.header_version(version), limits=limits)
        return [self._merged(header_row, row) for row in rows]

    def _start(self, frame: bytes, version: int, limits: Limits) -> int:
        header_version = self.message.header_version(version)
        _, start = self._header.message.decode_from(frame, header_version, limits=limits)
        return start

    def _merged(self, header_row: tuple[T, ...], body: tuple[T, ...]) -> tuple[T, ...]:
        values = iter(header_row), iter(body)
        return tuple([next(values[not is_header]) for is_header in self._is_header])

    def _parted(self, row: Row) -> tuple[Row, Row]:
        both = list(zip(row, self._is_header, strict=True))
        header_row = tuple([value for value, is_header in both if is_header])
        return header_row, tuple([value for value, is_header in both if not is_header])

    def _rewritten(
        self, frame: bytes, version: int, function: Callable[..., Any], append: Iterable[Any], limits: Limits
    ) -> bytes:
        start = self._start(frame, version, limits)
        if not self._header.paths:
            return self._body.rewrite(frame, version, function, append=append, offset=start, limits=limits)
        header_version = self.message.header_version(version)
        (header_row,) = self._header.rows(frame[:start], header_version, limits=limits)
        new_header: Row = header_row

        def change(*body: Any) -> Any:
            nonlocal new_header
            result = function(*self._merged(header_row, body))
            if result is DROP:
                return DROP  # `rewrite` raises an error for this
            row = row_of(result, len(self.paths))
            if row is None:
                reason = misfit(result, len(self.paths))
                raise EncodeError(reason, message_name=self.message.NAME, version=version, path="")
            new_header, new_body = self._parted(row)
            return new_body if len(new_body) != 1 else new_body[0]

        data = self._body.rewrite(frame, version, change, append=append, offset=start, limits=limits)
        header = self._header.rewrite(
            frame[:start], header_version, lambda *_: new_header if len(new_header) != 1 else new_header[0]
        )
        self._check_header(header, version)
        return header + data[start:]

    def _check_header(self, header: bytes, version: int) -> None:
        """Raise EncodeError if a new header doesn't belong to this message and version."""


class RequestSelection(_FrameSelection):
    """Selects fields of requests; see `Registry.select_request`. The version is read from the request's header."""

    def __init__(self, registry: Registry, message: type[Message], paths: tuple[str, ...]) -> None:
        super().__init__(registry, message, registry.request_header, paths)

    def read(self, frame: Any, *, sized: bool = False, limits: Limits = DEFAULT_LIMITS) -> list[Any]:
        """Return the values of the selected fields in a frame, as rows.

        Raises DecodeError for invalid bytes, and for a frame of another API.
        """
        frame = _opened(frame, sized)
        return _single(self._rows(frame, self._version(frame, limits), limits), self.paths)

    def rewrite(
        self,
        frame: Any,
        function: Callable[..., Any],
        *,
        append: Iterable[Any] = (),
        sized: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> bytes:
        """Return the frame with new values.

        Works like `Selection.rewrite`. Raises EncodeError if `function` changes the header's API key or version.
        """
        frame = _opened(frame, sized)
        return _closed(self._rewritten(frame, self._version(frame, limits), function, append, limits), sized)

    def _version(self, frame: bytes, limits: Limits) -> int:
        cls, version = self.registry.request_class(frame)
        if cls.NAME != self.message.NAME:
            self.registry.decode_header(frame, limits=limits)
            found, expected = (f"{each.API_KEY} ({each.NAME})" for each in (cls, self.message))
            raise unreadable(self._header.message.NAME, None, "request_api_key", 0, f"API key {found}", expected)
        return version

    def _check_header(self, header: bytes, version: int) -> None:
        changed: Any = self._header.message.decode(header, self.message.header_version(version))
        check_header(self.message, version, changed)


class ResponseSelection(_FrameSelection):
    """Selects fields of responses; see `Registry.select_response`. `version` is the request's version.

    Like `Registry.decode_response`, it also recognizes responses in the message's fallback version
    (`Message.FALLBACK`), if there is one.
    """

    def __init__(self, registry: Registry, message: type[Message], paths: tuple[str, ...]) -> None:
        super().__init__(registry, message, registry.response_header, paths)

    def read(self, frame: Any, version: int, *, sized: bool = False, limits: Limits = DEFAULT_LIMITS) -> list[Any]:
        frame = _opened(frame, sized)
        return _single(self._rows(frame, self._version(frame, version, limits), limits), self.paths)

    def rewrite(
        self,
        frame: Any,
        version: int,
        function: Callable[..., Any],
        *,
        append: Iterable[Any] = (),
        sized: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> bytes:
        frame = _opened(frame, sized)
        return _closed(self._rewritten(frame, self._version(frame, version, limits), function, append, limits), sized)

    def _version(self, frame: bytes, version: int, limits: Limits) -> int:
        if self.message.FALLBACK is None or self.message.API_KEY is None:
            return version
        return self.registry.decode_response(frame, self.message.API_KEY, version, limits=limits).version


def _single(rows: list[Row], paths: tuple[str, ...]) -> list[Any]:
    return [row for (row,) in rows] if len(paths) == 1 else rows


def _opened(frame: Any, sized: bool) -> bytes:
    data = as_bytes(frame)
    if not sized:
        return data
    size = int.from_bytes(data[:4], "big", signed=True)
    if len(data) < 4 or size != len(data) - 4:
        found = f"size {size}" if len(data) >= 4 else count(len(data), "byte")
        expected = f"{len(data) - 4}, the number of bytes after the size" if len(data) >= 4 else "a size of 4 bytes"
        raise DecodeError(message_name="frame", version=None, path="", offset=0, found=found, expected=expected)
    return data[4:]


def _closed(data: bytes, sized: bool) -> bytes:
    return len(data).to_bytes(4, "big") + data if sized else data
