"""Redact frames: sensitive fields get empty values, everything else stays.

Redact a capture before you attach it to a bug report. `tagwire.select` rewrites the bytes: it adjusts lengths and
counts, and leaves all other bytes unchanged, except those of sensitive fields.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from tagwire.frames.registry import Registry
from tagwire.message.base import Message
from tagwire.message.field_table import FieldRow
from tagwire.message.struct_class import Struct
from tagwire.selection.selection import Selection


class Redaction:
    """Redacts messages and frames of a package.

    Sensitive strings and byte strings become empty. With `same_length`, they keep their length in bytes instead:
    strings are overwritten with "x" characters, and byte strings with zero bytes.
    """

    def __init__(self, registry: Registry, *, same_length: bool = False) -> None:
        self._registry = registry
        self._same_length = same_length
        self._selections: dict[type[Message], Selection | None] = {}

    def message(self, cls: type[Message], data: bytes, version: int, *, offset: int = 0) -> bytes:
        """Redact the message at `offset`. Bytes before it stay the same. Raises the same errors as `Message.decode`."""
        if cls not in self._selections:
            paths = tuple(sensitive_paths(cls))
            self._selections[cls] = Selection(cls, paths) if paths else None
        selection = self._selections[cls]
        if selection is None:
            # Nothing needs to be redacted. But invalid bytes may be secret, so decode the message to raise an error.
            Selection(cls, ()).rows(data, version, offset=offset)
            return data
        return selection.rewrite(data, version, partial(self._emptied, selection.fields), offset=offset)

    def request(self, frame: bytes) -> bytes:
        """Redact a request frame that has no size prefix. Raises the same errors as `Registry.decode_request`."""
        _, body = self._registry.decode_header(frame)
        cls, version = self._registry.request_class(frame)
        return self.message(cls, frame, version, offset=body)

    def response(self, frame: bytes, api_key: int, version: int) -> bytes:
        """Redact a response frame that has no size prefix. `api_key` and `version` come from its request."""
        cls = self._registry.response(api_key)
        if cls.FALLBACK is not None:
            version = self._registry.decode_response(frame, api_key, version).version
        _, body = self._registry.response_header.decode_from(frame, cls.header_version(version))
        return self.message(cls, frame, version, offset=body)

    def _emptied(self, fields: tuple[FieldRow, ...], *row: Any) -> Any:
        values = tuple(map(self._empty, fields, row))
        return values[0] if len(values) == 1 else values

    def _empty(self, field: FieldRow, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, list):
            return [self._empty(field, each) for each in value]
        if isinstance(value, tuple):
            keeps = self._same_length and not field.unique  # emptied keys would not be unique
            return tuple(self._empty(field, each) for each in value) if keeps else ()
        if isinstance(value, Struct):
            return self._emptied_struct(value)
        if isinstance(value, str | bytes) and self._same_length:
            return "x" * len(value.encode()) if isinstance(value, str) else bytes(len(value))
        if field.enum is not None:
            return next(iter(field.enum), 0)
        default = field.wire.default
        return b"" if default is None else default  # the default of records fields is null

    def _emptied_struct(self, value: Struct) -> Struct:
        """Return a copy of a struct with all fields emptied. Null fields stay null, so that unions stay valid."""
        fields = {row.name: self._empty(row, getattr(value, row.name)) for row in value.FIELDS}
        tags = {tag: bytes(len(data) * self._same_length) for tag, data in value.unknown_tags.items()}
        return value.replace(**fields, unknown_tags=tags)


def sensitive_paths(cls: type[Struct]) -> Iterator[str]:
    """Yield the paths of a class's sensitive fields, for `tagwire.select`.

    Two kinds of arrays are redacted as a whole: arrays of arrays, because no path leads into them, and arrays with
    sensitive unique keys, because emptied keys would be duplicates.
    """
    for row in cls.FIELDS:
        inner = () if row.struct is None else tuple(sensitive_paths(row.struct))
        is_one = row.type.startswith("[][]") or not set(row.unique).isdisjoint(inner)
        if row.sensitive or (inner and is_one):
            yield row.name
        else:
            into = f"{row.name}{'[]' if row.type.startswith('[]') else ''}."
            yield from (into + path for path in inner)
