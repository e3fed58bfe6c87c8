"""A record of any format, and the rule that decides whether compaction keeps it."""

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tagwire.errors import EncodeError
from tagwire.text_format import shown

if TYPE_CHECKING:
    from tagwire.records.format import Format

HeaderKey = str | int
"""The key of a header: a string, or an int32 in KIP-82's first draft."""
Header = tuple[HeaderKey, bytes | None]
Headerset = tuple[Header, ...]


class HeaderMap(tuple[Header, ...]):
    """Headers given as a mapping. A builder sorts them as its format requires."""

    __slots__ = ()


def header_pairs(headers: Any) -> Headerset:
    """Return headers as a tuple of (key, value) pairs. Raises EncodeError if they are not pairs."""
    path, found = "headers", headers
    with suppress(TypeError, ValueError):
        pairs = tuple(headers)
        for index, found in enumerate(pairs):
            path = f"headers[{index}]"
            _, _ = found
        return pairs
    raise EncodeError(
        f"expected (key, value) pairs, got {shown(found)}", message_name="record", version=None, path=path
    )


class Record:
    """A record of a batch. Records compare by their attributes. Changing a record does not change its batch."""

    __slots__ = ("attributes", "headers", "key", "offset", "timestamp", "tombstone", "value")

    def __init__(
        self,
        offset: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[Header] = (),
        *,
        attributes: int = 0,
        tombstone: bool | None = None,
    ) -> None:
        self.offset = offset
        self.timestamp = timestamp
        """Milliseconds since 1970, or -1 for none."""
        self.key = key
        self.value = value
        checked = () if headers == () else header_pairs(headers)
        self.headers: Headerset = headers if isinstance(headers, HeaderMap) else checked
        """Pairs of key and value, in the order of the bytes; keys may repeat."""
        self.attributes = attributes
        """The record's own attribute bits, without the bits that its format names."""
        self.tombstone = tombstone
        """The tombstone flag, or None if the format has no such flag."""

    @property
    def is_tombstone(self) -> bool:
        """Whether compaction treats the record as a delete. If it has no tombstone flag, a null value is a delete."""
        return self.value is None if self.tombstone is None else self.tombstone

    def replace(self, **changes: Any) -> "Record":
        """Return a copy with some attributes changed."""
        values = {name: getattr(self, name) for name in self.__slots__} | changes
        return Record(**values)

    __replace__ = replace

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        extra = "".join(
            f", {name}={getattr(self, name)!r}"
            for name, usual in (("headers", ()), ("attributes", 0), ("tombstone", None))
            if getattr(self, name) != usual
        )
        return f"Record({self.offset}, {self.timestamp}, {self.key!r}, {self.value!r}{extra})"


def should_retain(record: Record, format: "str | Format", *, is_latest: bool = True, is_compacted: bool = True) -> bool:
    """Return whether compaction keeps a record, by the rules of its format.

    A null value or, in some formats, a tombstone bit marks a delete. `is_latest` means that no later record has the
    same key. Deletes and records with a null key are not kept. If `is_compacted` is false, all records are kept.
    """
    from tagwire.records.format_set import format_of  # imported here, because `format_set` imports this module

    if not is_compacted:
        return True
    has_bit = "is_tombstone" in format_of(format).record_bits
    is_delete = record.is_tombstone if has_bit else record.value is None
    return is_latest and record.key is not None and not is_delete
