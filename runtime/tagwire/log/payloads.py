"""Decode the messages in record keys and values into one more column of a log.

Records of coordinators and of the metadata log begin with their type and version, so each row has its own version, and
rows of other types are null. For any other message, the caller gives one version for all values.
"""

from collections.abc import Iterable
from typing import Any, Final

from tagwire.arrow.errors import ColumnError
from tagwire.arrow.plans import ColumnOptions, decoder_of, schema_of
from tagwire.arrow.shape import Column
from tagwire.limits import Limits
from tagwire.log.column_table import root_column
from tagwire.records import FormatSet
from tagwire.wire.varint import UVARINT_MAX, read_uvarint

MESSAGE: Final = "message"
_CONTROL: Final = "is_control"
_SOURCES: Final = {
    "coordinator-key": ("key", _CONTROL),
    "coordinator-value": ("key", "value", _CONTROL),
    "metadata": ("value", _CONTROL),
}
"""The columns that each kind of message needs. Transaction markers (`is_control`) have no message."""
_FRAME_VERSION: Final = 1
_KEY_VERSION: Final = 0
_TOO_SHORT: Final = -1
"""The version given to a value that is too short to have a version. No message has it, so the value is rejected."""


class Payload:
    """A message to decode, and how. Raises ColumnError, UnsupportedVersionError, SchemaError."""

    def __init__(
        self, message: Any, version: int | None, fields: Iterable[str] | None, errors: str, limits: Limits
    ) -> None:
        self.message = message
        self.kind: str = getattr(message, "KIND", "")
        self.sources = _SOURCES.get(self.kind, ("value",))
        if not self.kind:
            raise ColumnError(f"message is {message!r}; expected a message class")
        if (self.kind in _SOURCES) != (version is None):
            if version is None:
                raise ColumnError(
                    f"{message.NAME} values don't begin with their version; give the version of all values"
                )
            raise ColumnError(f"each {message.NAME} begins with its own version; leave version out")
        self.errors = "null" if errors == "skip" else "raise"
        self.limits = limits
        versions = tuple(message.VERSIONS) if version is None else (version,)
        paths = fields if fields is None or isinstance(fields, str) else tuple(fields)
        self.wanted = ColumnOptions(message, versions, self.errors, paths)
        self.column = Column(MESSAGE, "+s", nullable=True, children=schema_of(self.wanted).column.children)

    def with_sources(self, records: Column, formats: FormatSet) -> Column:
        """Return the columns of records, followed by the missing columns that the message is decoded from."""
        missing = [name for name in self.sources if records.child(name) is None]
        return Column("", "+s", children=(*records.children, *root_column("record", missing, formats).children))

    def decode(self, data: Any, versions: Any) -> Any:
        """Decode a column of bytes into messages."""
        return decoder_of(self.wanted).decode(data, versions, self.errors, True, self.limits)

    def beside(self, array: Any, root: Column, *, native: bool) -> Any:
        """Return the columns of `root`, the messages last, from an array that has the other columns."""
        if native:
            from tagwire._columns import with_message

            return with_message(array, root, self.kind, self.message.API_KEY, self.decode)
        from tagwire.arrow.pure import struct_of

        none = [None] * len(array)
        names = "key", "value", _CONTROL
        rows = zip(*(array.field(name).to_pylist() if name in self.sources else none for name in names), strict=True)
        opened = [(None, None) if is_control else self.opened(key, value) for key, value, is_control in rows]
        versions = None if self.kind not in _SOURCES else [version for version, _ in opened]
        messages = self.decode(*_arrays([body for _, body in opened], versions))
        return struct_of(root, [*(array.field(child.name) for child in root.children[:-1]), messages])

    def opened(self, key: bytes | None, value: bytes | None) -> tuple[int | None, bytes | None]:
        """Return the version and the body of a row's payload; None for both if the row has another type."""
        data = key if self.kind == "coordinator-key" else value
        if data is None or self.kind not in _SOURCES:
            return None, data
        if self.kind == "metadata":
            return self._metadata(data)
        if key is None or len(key) < 2 or int.from_bytes(key[:2], signed=True) != self.message.API_KEY:
            return None, None
        if self.kind == "coordinator-key":
            return _KEY_VERSION, data[2:]
        return (int.from_bytes(data[:2], signed=True), data[2:]) if len(data) > 1 else (_TOO_SHORT, b"")

    def _metadata(self, data: bytes) -> tuple[int | None, bytes | None]:
        at = 0
        numbers = []
        for _ in range(3):
            start = at
            try:
                number, at = read_uvarint(data, at)
            except (IndexError, ValueError):
                return None, None
            if number > UVARINT_MAX or (at > start + 1 and data[at - 1] == 0):  # longer than necessary
                return None, None
            numbers.append(number)
        if numbers[:2] != [_FRAME_VERSION, self.message.API_KEY]:
            return None, None
        return numbers[2], data[at:]


def _arrays(bodies: list[bytes | None], versions: list[int | None] | None) -> tuple[Any, Any]:
    from tagwire.arrow.pure import array_of

    data = array_of(Column("", "z", nullable=True), bodies)
    return data, None if versions is None else array_of(Column("", "i", nullable=True), versions)
