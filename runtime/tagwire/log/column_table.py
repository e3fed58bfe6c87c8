"""Define the Arrow columns of a log.

To add a column, add a row to a table below. Columns are named after the attributes of `Record` and `RecordBatch`. The
native engine reads their values directly from the bytes (`Source`). Python takes them from `Record` and `RecordBatch`
objects.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, Final, NamedTuple

from tagwire.arguments import check_type
from tagwire.arrow import ColumnOptions, decoder_of, schema_of
from tagwire.arrow.errors import ColumnError
from tagwire.arrow.shape import Column, ColumnSelection, field_paths, message_column
from tagwire.frames.record_frames import FRAME_VERSION, KEY_VERSION
from tagwire.layout import Nested
from tagwire.limits import Limits
from tagwire.log.errors import reject
from tagwire.log.scan import LogBatch
from tagwire.records import Format, FormatSet, Record, RecordBatch
from tagwire.records.format_set import AUTO, format_set
from tagwire.text_format import encodable, near
from tagwire.wire.varint import UVARINT_MAX, read_uvarint

Value = Callable[[Any], Any]


class Source(NamedTuple):
    """Describes where the native engine finds a column's values. This depends on the `kind` of source:

    | kind | value |
    |---|---|
    | `record` | the field `name` of the record; null or the default if the format does not have it |
    | `tombstone` | whether the record is a tombstone |
    | `role` | the batch header field whose role (its meaning in all formats) is `name`, or -1 if there is none |
    | `item` | the batch header field `name`, or -1 if the format does not have it |
    | `computed` | the position, size, offset or timestamp `name` |
    | `bits` | the attribute bits `name`: their value, or, in a dictionary column, the value's name |
    | `file`, `format` | the name of the file, or of the batch's format |
    """

    kind: str
    name: str
    only_if: str = ""
    """The name of an attribute bit. If the bit is not set in a batch, the column's value is null."""


class LogColumn(Column):
    """A column of a log's Arrow table.

    `value` computes a row's value from the `Record`, or from the `RecordBatch` if its records share the value.
    """

    __slots__ = ("of_header", "source", "value")

    def __init__(
        self,
        name: str,
        format: str,
        kind: str,
        source: str = "",
        *,
        only_if: str = "",
        value: Value | None = None,
        of_header: Value | None = None,
        **more: Any,
    ) -> None:
        super().__init__(name, format, **more)
        self.source = Source(kind, source or name, only_if)
        self.value = value or attrgetter(name)
        self.of_header = of_header or self.value
        """Like `value`, but does not decompress the records."""

    @property
    def of_record(self) -> bool:
        """Whether the value may be different in each record of a batch."""
        return self.source.kind in ("record", "tombstone")


def _timestamp_type(batch: RecordBatch) -> str | None:
    return batch.timestamp_type if "timestamp_type" in batch.record_format.bits else None


def _base_offset_of_header(batch: RecordBatch) -> int | None:
    """Return the base offset, or None for a compressed v0 or v1 message."""
    return None if batch.record_format.records is None and batch.codec != "none" else batch.base_offset


def _last_offset_of_header(batch: RecordBatch) -> int:
    format = batch.record_format
    if format.records is not None:
        return batch.last_offset
    header = batch._header  # pyright: ignore[reportPrivateUsage]
    return format.role(header, "base_offset")


_TIME: Final = "tsm:UTC"
_POSITION: Final = (
    LogColumn("file", "i", "file", is_dictionary=True),
    LogColumn("position", "l", "computed"),
    LogColumn("size", "l", "computed"),
)
_HEADER: Final = (
    LogColumn("format", "i", "format", is_dictionary=True),
    LogColumn("magic", "i", "role"),
    LogColumn("compression", "i", "bits", is_dictionary=True),
    LogColumn("timestamp_type", "i", "bits", nullable=True, is_dictionary=True, value=_timestamp_type),
    LogColumn("base_offset", "l", "computed", nullable=True, of_header=_base_offset_of_header),
    LogColumn("last_offset", "l", "computed", of_header=_last_offset_of_header),
    LogColumn("partition_leader_epoch", "i", "role"),
    LogColumn("producer_id", "l", "role"),
    LogColumn("producer_epoch", "i", "role"),
    LogColumn("base_sequence", "i", "role"),
    LogColumn("is_transactional", "b", "bits"),
    LogColumn("is_control", "b", "bits"),
    LogColumn("delete_horizon_ms", _TIME, "role", "base_timestamp", only_if="has_delete_horizon", nullable=True),
    LogColumn("crc", "l", "item"),
)
_OF_BATCH: Final = (
    LogColumn("base_timestamp", _TIME, "role", nullable=True),
    LogColumn("max_timestamp", _TIME, "computed", nullable=True),
    LogColumn("count", "i", "role", nullable=True),
)
_OF_RECORD: Final = (
    LogColumn("offset", "l", "record"),
    LogColumn("timestamp", _TIME, "record", nullable=True),
    LogColumn("key", "z", "record", nullable=True),
    LogColumn("value", "z", "record", nullable=True),
    LogColumn("tombstone", "b", "tombstone", value=attrgetter("is_tombstone")),
    LogColumn("attributes", "i", "record"),
)
_HEADERS: Final = "headers"
LEVELS: Final = ("record", "batch")
_INTEGERS: Final = {"i": 1 << 31, "l": 1 << 63, _TIME: 1 << 63}
"""Maps each Arrow integer format to the lowest positive number that is too large for it."""


def _columns(level: str, formats: FormatSet) -> tuple[LogColumn, ...]:
    if level == "batch":
        return (*_HEADER, *_OF_BATCH, *_POSITION)
    return (*_OF_RECORD, _headers(formats), *_HEADER, *_POSITION)


def _headers(formats: FormatSet) -> LogColumn:
    """Return the column of record headers.

    Its keys are strings, or int32 if all formats with headers have int32 keys, as in KIP-82's first draft.
    """
    found = [_pair(format) for format in formats.formats if _HEADERS in format.has]
    has_numbers = bool(found) and all(pair[0].format == "i" for pair in found)
    may_be_null = not found or any(pair[1].nullable for pair in found)
    pair = Column("key", "i" if has_numbers else "u"), Column("value", "z", nullable=may_be_null)
    as_key: Callable[[Any], int | str] = int if has_numbers else str

    def value(record: Record) -> list[dict[str, Any]]:
        return [{"key": as_key(key), "value": value} for key, value in record.headers]

    children = (Column("item", "+s", children=pair),)
    return LogColumn(_HEADERS, "+l", "record", value=value, default=(), children=children)


def _pair(format: Format) -> tuple[Column, ...]:
    assert format.headers is not None and isinstance(format.headers.element, Nested)
    return message_column("item", [format.headers.element.struct], ColumnSelection(("key", "value"))).children


def is_uniform(root: Column, formats: FormatSet) -> bool:
    """Return whether native code can read the headers column: header keys must have the same type in all formats.

    Also return True if there is no headers column.
    """
    headers = root.child(_HEADERS)
    key = None if headers is None else headers.children[0].children[0].format
    return key is None or all(_pair(each)[0].format == key for each in formats.formats if _HEADERS in each.has)


def column_names(level: str) -> list[str]:
    """Return the names of all columns of a level, "record" or "batch"."""
    return [column.name for column in _columns(level, format_set(AUTO))]


def root_column(level: str, names: Iterable[str] | None, formats: FormatSet) -> Column:
    """Return a struct of the named columns (all if `names` is None). Raises ColumnError for unknown names."""
    if level not in LEVELS:
        raise ColumnError(f"level: expected 'record' or 'batch', got {level!r}")
    if isinstance(names, str):
        raise ColumnError(f"columns: expected a list of names, got the string {names!r}; write [{names!r}]")
    check_type("columns", names, Iterable | None, "a list of names")
    there = {column.name: column for column in _columns(level, formats)}
    requested = list(there if names is None else names)
    for name in requested:
        if name not in there:
            raise ColumnError(f"there is no column {name!r} with level={level!r}{near(name, list(there))}")
        if requested.count(name) > 1:
            raise ColumnError(f"column {name!r} is named twice")
    return Column("", "+s", children=tuple(there[name] for name in requested))


def batch_values(root: Column, batch: LogBatch, *, headers_only: bool) -> dict[str, Any]:
    """Return the column values that a batch's records share. Raises LogError for a number that doesn't fit its column.

    With `headers_only`, nothing is decompressed, so the base offset of a compressed v0 or v1 message is None.
    """
    values: dict[str, Any] = {"file": encodable(batch.file), "position": batch.position}
    for column in root.children:
        assert isinstance(column, LogColumn)
        if not column.of_record and column.name not in values:
            values[column.name] = (column.of_header if headers_only else column.value)(batch)
    return _checked(root, values)


def record_values(root: Column, record: Record, shared: dict[str, Any]) -> dict[str, Any]:
    """Return a record's values for the columns of `root`. `shared` has the values that all records of the batch share.

    Raises LogError for a number that does not fit its column.
    """
    values = shared | {
        column.name: column.value(record)
        for column in root.children
        if isinstance(column, LogColumn) and column.of_record
    }
    return _checked(root, values)


def _checked(root: Column, values: dict[str, Any]) -> dict[str, Any]:
    for column in root.children:
        bound = _INTEGERS.get(column.format)
        value = values.get(column.name)
        if bound is None or value is None or column.is_dictionary:
            continue
        if not -bound <= value < bound:
            bits = 64 if bound >> 32 else 32
            reject(values["file"], "TWL106", values["position"], f"{column.name} {value}", f"a {bits}-bit number")
        if column.format == _TIME and value == -1:
            values[column.name] = None
    return values


MESSAGE: Final = "message"
_CONTROL: Final = "is_control"
_SOURCES: Final = {
    "coordinator-key": ("key", _CONTROL),
    "coordinator-value": ("key", "value", _CONTROL),
    "metadata": ("value", _CONTROL),
}
"""Maps each kind of message to the columns needed to decode it. Markers (`is_control`) contain no message."""
_TOO_SHORT: Final = -1
"""Stands for the version of a value that is too short to contain one. Decoding rejects this version."""


class Payload:
    """Decodes the messages in record keys or values into an additional column.

    In coordinator and metadata logs, each record contains its type and version, and records of other types are null.
    In all other logs, `version` is the version of all values. Raises ColumnError if `version` is missing or
    superfluous, UnsupportedVersionError for an unknown version, and SchemaError for invalid `fields`.
    """

    def __init__(
        self, message: Any, version: int | None, fields: Iterable[str] | None, errors: str, limits: Limits
    ) -> None:
        self.message = message
        self.kind: str = getattr(message, "KIND", "")
        self.sources = _SOURCES.get(self.kind, ("value",))
        if not self.kind:
            raise ColumnError(f"message: expected a message class, got {message!r}")
        if (self.kind in _SOURCES) != (version is None):
            if version is None:
                raise ColumnError(
                    f"{message.NAME} values don't begin with their version; set `version` to the version of all values"
                )
            raise ColumnError(f"each {message.NAME} begins with its own version; leave `version` out")
        self.errors = "null" if errors == "skip" else "raise"
        self.limits = limits
        versions = tuple(message.VERSIONS) if version is None else (version,)
        self.options = ColumnOptions(message, versions, self.errors, field_paths(fields))
        self.column = Column(MESSAGE, "+s", nullable=True, children=schema_of(self.options).column.children)

    def with_sources(self, records: Column, formats: FormatSet) -> Column:
        """Add the columns that decoding needs, such as `key`, to the struct `records` if they are missing."""
        missing = [name for name in self.sources if records.child(name) is None]
        return Column("", "+s", children=(*records.children, *root_column("record", missing, formats).children))

    def decode(self, data: Any, versions: Any) -> Any:
        """Decode an array of messages. `versions` is an array, or None if the options specify one version."""
        return decoder_of(self.options).decode(data, versions, self.errors, True, self.limits)

    def with_messages(self, array: Any, root: Column, *, native: bool) -> Any:
        """Add a column of decoded messages to the struct array `array`. `root` is the type of the result."""
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
        """Return the version and body of a record's message, or (None, None) if the record has another type."""
        data = key if self.kind == "coordinator-key" else value
        if data is None or self.kind not in _SOURCES:
            return None, data
        if self.kind == "metadata":
            return self._metadata(data)
        if key is None or len(key) < 2 or int.from_bytes(key[:2], signed=True) != self.message.API_KEY:
            return None, None
        if self.kind == "coordinator-key":
            return KEY_VERSION, data[2:]
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
            if number > UVARINT_MAX or (at > start + 1 and data[at - 1] == 0):
                return None, None
            numbers.append(number)
        if numbers[:2] != [FRAME_VERSION, self.message.API_KEY]:
            return None, None
        return numbers[2], data[at:]


def _arrays(bodies: list[bytes | None], versions: list[int | None] | None) -> tuple[Any, Any]:
    from tagwire.arrow.pure import array_of

    data = array_of(Column("", "z", nullable=True), bodies)
    return data, None if versions is None else array_of(Column("", "i", nullable=True), versions)
