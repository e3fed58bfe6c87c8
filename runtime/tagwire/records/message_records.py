"""Read and convert the records in messages: Produce requests, Fetch responses, and any other message with records.

The spec names the format of a records field in each version (`recordFormats`).

A response may have records of an older format, because the broker sends records as they are stored in the log. The last
batch of a response may be truncated at the size that the client requested. A request has only whole batches in the
format of its version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tagwire.arguments import check_type
from tagwire.errors import TagwireError, UnsupportedVersionError
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.message.base import Message
from tagwire.records.conversion import RecordLoss, check_on_loss, convert, left_out
from tagwire.records.format import Format
from tagwire.records.format_set import RELEASED, FormatSet, format_of
from tagwire.records.reading import read_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from tagwire.layout import Layout
    from tagwire.message.field_table import FieldRow
    from tagwire.message.record_format import RecordFormat
    from tagwire.message.struct_class import Struct
    from tagwire.records.batch import RecordBatch

    FormatName = str | Format | type[RecordFormat] | Layout
    FormatOfRow = Callable[[FieldRow], FormatName]
    """Returns the format of the records in a field, or "" if the field has no records."""
    M = TypeVar("M", bound=Message)


class MessageRecords:
    """The records in one field of a message. Iterating decodes the batches one by one."""

    __slots__ = ("_only", "_partial", "data", "format", "holders", "limits", "path")

    def __init__(
        self,
        path: str,
        holders: tuple[Struct, ...],
        data: Any,
        format: FormatName,
        limits: Limits,
        *,
        partial: bool,
        only: bool = False,
    ) -> None:
        self.path = path
        """The path of the field, such as `responses[0].partitions[2].records`."""
        self.holders = holders
        """The structs around the field, from the message to the struct that has the field."""
        self.data = data
        """The bytes of the field."""
        self.format = format
        """The expected format; batches of a lower magic have their own format."""
        self.limits = limits
        self._partial = partial
        self._only = only

    def __iter__(self) -> Iterator[RecordBatch]:
        """Yield the batches. Raises LimitError, or a DecodeError whose offset counts from the start of `data`."""
        formats = format_to_read(self.format, only=self._only)
        return read_batches(self.data, formats, self.limits, partial=self._partial)

    def __repr__(self) -> str:
        return f"<{self.path}: {len(self.data)} bytes of records>"


def decode_records(
    message: Message,
    version: int | None = None,
    *,
    format: FormatName | None = None,
    partial: bool | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[MessageRecords]:
    """Decode the records in a message, field by field in wire order. Null fields are left out.

    `version` is the version in which the message was decoded; by default, the latest. `format` overrides the record
    format in the spec, and is required if the spec names none. With `partial` (the default for responses), a truncated
    last batch is left out. Raises TagwireError for a message whose spec names no format, UnsupportedVersionError for an
    unknown version, and FormatError for an unknown format.
    """
    check_type("message", message, Message, "a message")
    format_of_row = _formats(type(message), version, format)
    is_partial = message.KIND == "response" if partial is None else partial
    how = {"partial": is_partial, "only": message.KIND == "request" and format is None}
    return (
        MessageRecords(path, holders, getattr(holders[-1], row.name), format_of_row(row), limits, **how)
        for path, holders, row in _record_fields((message,), "", format_of_row)
    )


def convert_records(
    message: M,
    to: int | FormatName,
    *,
    version: int | None = None,
    format: FormatName | None = None,
    on_loss: str = "report",
    compression: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[M, tuple[RecordLoss, ...]]:
    """Return a copy of the message with its records converted, and the losses.

    `to` is the new record format, or a message version that uses this format. `version` and `format` describe the
    current records, as in `decode_records`. Batches that already have the new format are not changed. In a response,
    batches of older formats are not changed either. Batches that the new format can't represent (markers, empty
    batches) are left out, and so is a truncated batch if another batch of its field changes. They are reported as
    losses. Other fields are copied unchanged. With `on_loss="error"`, the first loss raises EncodeError. Raises
    DecodeError for invalid records, and the same errors as `decode_records`.
    """
    check_type("message", message, Message, "a message")
    check_on_loss(on_loss)
    cls = type(message)
    target = _formats(cls, to, None) if isinstance(to, int) else _formats(cls, None, to)
    source, is_response = _formats(cls, version, format), message.KIND == "response"
    work = _Conversion(source, target, compression, limits, is_response, [])
    converted: M = work.struct((message,), "")
    if work.losses and on_loss == "error":
        raise work.losses[0].error(message.NAME, "can't be represented")
    return converted, tuple(work.losses)


def format_to_read(format: FormatName, *, only: bool = False) -> str | FormatSet | Format:
    """Return the formats that `read_batches` must accept in a records field of this format.

    A response may also contain batches of older formats. Pass `only=True` for requests. Raises FormatError for an
    unknown name.
    """
    if format == "auto":
        return "auto"
    found = format_of(format)
    if only:
        return FormatSet(found, only=True)
    return "auto" if found.name in RELEASED else found


def has_records_field(cls: type[Struct]) -> bool:
    """Return whether a struct has a records field, directly or in a nested struct."""
    return _has_any(cls, _is_carrier)


def formats_by_row(cls: type[Message], version: int, format: FormatName | None) -> FormatOfRow:
    """Return a function that maps a `FieldRow` to its record format: `format` if it is set, otherwise the spec's.

    The function returns "" for a field without records.
    """
    if format is not None:
        format_to_read(format)  # raises FormatError for an unknown name
        return lambda row: format if _is_carrier(row) else ""
    named = dict(_named_formats(cls, version))
    return lambda row: named.get(row, "")


def _named_formats(cls: type[Struct], version: int | None) -> Iterator[tuple[FieldRow, str]]:
    """Yield each records field, even in nested structs, and the name of its record format in this version."""
    for row in cls.FIELDS:
        format = "" if version is None else row.record_format(version)
        if format:
            yield row, format
        if row.struct is not None:
            yield from _named_formats(row.struct, row.struct_version(version))


def _is_carrier(row: FieldRow) -> bool:
    return bool(row.record_formats) or row.type == "records"


def _formats(cls: type[Message], version: int | None, format: FormatName | None) -> FormatOfRow:
    requested = cls.VERSIONS.highest if version is None else version
    if requested not in cls.VERSIONS:
        raise UnsupportedVersionError(cls.NAME, requested, cls.VERSIONS)
    if not has_records_field(cls):
        raise TagwireError(f"{cls.NAME} has no field with records")
    found = formats_by_row(cls, requested, format)
    if not _has_any(cls, found):
        raise TagwireError(f"{cls.NAME} v{requested}: the spec does not name a record format; pass one as `format`")
    return found


def _has_any(cls: type[Struct], has: Callable[[FieldRow], object]) -> bool:
    """Return whether `has` is true for a field of a struct, or of a nested struct."""
    return any(has(row) or (row.struct is not None and _has_any(row.struct, has)) for row in cls.FIELDS)


def _record_fields(
    holders: tuple[Struct, ...], path: str, format_of_row: FormatOfRow
) -> Iterator[tuple[str, tuple[Struct, ...], FieldRow]]:
    """Yield (path, enclosing structs, `FieldRow`) for each records field that is not null."""
    for row in holders[-1].FIELDS:
        value = getattr(holders[-1], row.name)
        at = f"{path}.{row.name}" if path else row.name
        if value is None:
            continue
        if format_of_row(row):
            yield at, holders, row
        elif row.struct is not None:
            for where, struct in _structs(row, value, at):
                yield from _record_fields((*holders, struct), where, format_of_row)


def _structs(row: FieldRow, value: Any, at: str) -> Iterator[tuple[str, Struct]]:
    if row.type.startswith("[]"):
        yield from ((f"{at}[{index}]", struct) for index, struct in enumerate(value))
    else:
        yield at, value


class _Conversion(NamedTuple):
    """Converts the records in one message to other formats. `losses` collects the values that are lost."""

    source: FormatOfRow
    target: FormatOfRow
    compression: str | None
    limits: Limits
    is_response: bool
    losses: list[RecordLoss]

    def struct(self, holders: tuple[Any, ...], path: str) -> Any:
        """Convert all records in a struct and its nested structs. Return the struct, or a copy if anything changes.

        `holders` are the enclosing structs, outermost first, and the struct itself. `path` is the struct's path.
        """
        changes: dict[str, Any] = {}
        for row in holders[-1].FIELDS:
            value = getattr(holders[-1], row.name)
            at = f"{path}.{row.name}" if path else row.name
            if value is None:
                continue
            if self.source(row):
                format, partial = self.source(row), self.is_response
                source = MessageRecords(at, holders, value, format, self.limits, partial=partial)
                changes[row.name] = self.records(source, format_of(self.target(row)))
            elif row.struct is not None:
                inner = tuple([self.struct((*holders, each), where) for where, each in _structs(row, value, at)])
                changes[row.name] = inner if row.type.startswith("[]") else inner[0]
        return holders[-1].replace(**changes) if changes else holders[-1]

    def records(self, source: MessageRecords, target: Format) -> Any:
        """Return a field's records in another format, or the original bytes if no batch has to be converted."""
        parts: list[bytes] = []
        read, is_changed = 0, False
        for index, batch in enumerate(source):
            read += batch.size
            stays = batch.format == target.name or (self.is_response and batch.magic < target.magic)
            is_changed = is_changed or not stays
            parts.append(batch.encode() if stays else self.batch(batch, target, f"{source.path}[{index}]"))
        if not is_changed:
            return source.data
        left = len(source.data) - read
        if left:
            self.losses.append(RecordLoss(f"{source.path}[{len(parts)}]", left, "a truncated batch"))
        return b"".join(parts)

    def batch(self, batch: RecordBatch, target: Format, at: str) -> bytes:
        """Convert a batch to another format. Return b"" if the format can't represent the batch."""
        why = left_out(batch, target)
        if why:
            self.losses.append(RecordLoss(at, len(batch), why))
            return b""
        converted, lost = convert(batch, target, compression=self.compression)
        self.losses.extend(RecordLoss(f"{at}.{loss.path}", loss.value, loss.reason) for loss in lost)
        return converted.encode()
