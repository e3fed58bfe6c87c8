"""Trace the record batches in a message: add each batch to the message's trace, as a child node of its field.

The layout of a message doesn't include the layout of its records, so a trace first shows a records field as plain
bytes. This module traces each batch in the format that the spec names.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tagwire.errors import DecodeError, details
from tagwire.explain.nodes import Node, bytes_node
from tagwire.explain.trace import Trace, trace
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.records.format_set import AUTO, Formats, format_set
from tagwire.records.message_records import format_to_read, formats_by_row, has_records_field
from tagwire.records.reading import batch_at, naming_hint, other_formats
from tagwire.wire.buffers import as_bytes

if TYPE_CHECKING:
    from tagwire.message.base import Message
    from tagwire.message.field_table import FieldRow
    from tagwire.records.format_set import FormatSet
    from tagwire.records.message_records import FormatName


def trace_batches(
    data: Any, format: Formats = AUTO, *, only: bool = False, strict: bool = True, limits: Limits = DEFAULT_LIMITS
) -> Iterator[Trace]:
    """Yield the trace of each batch in `data`. `format` and `only` are as in `tagwire.records.read_batches`.

    Stops after the first invalid batch, whose trace covers the rest of `data`. Raises FormatError for an unknown format
    name.
    """
    buf = as_bytes(data)
    formats = format_set(format, only=only)
    pos = 0
    while pos < len(buf):
        try:
            batch = batch_at(buf, pos, formats, limits)
            found, size = batch.record_format, batch.size
        except DecodeError:
            found, size = formats.nearest(buf, pos), len(buf) - pos
        seen = trace(found.layout, buf[pos : pos + size], strict=strict, limits=limits)
        if seen.error is not None and (names := other_formats(buf, pos, formats, limits)):
            expected = f"{seen.error.expected}; {naming_hint(names)}"
            seen.error = DecodeError(**details(seen.error, expected=expected))
        yield seen
        if seen.error is not None:
            return
        pos += size


def open_records(
    traced: Trace,
    message: "type[Message]",
    *,
    format: "FormatName | None" = None,
    strict: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> Trace:
    """Add the batches in a message to its trace, below their records fields, and return the trace.

    `message` is the class of the traced message. In a frame, that is the message after the header. `format` overrides
    the record format that the spec names. If the last batch of a response is truncated, it is shown as plain bytes.
    Invalid batches are shown up to the error, and the first error becomes `Trace.error`; the rest of the message is
    still shown. Raises FormatError for an unknown format.
    """
    if traced.version is None or traced.version not in message.VERSIONS or not has_records_field(message):
        return traced
    format_of_row = formats_by_row(message, traced.version, format)
    for node in [node for part in traced.parts[-1:] for node in part.walk()]:
        if not node.complete or node.children or not isinstance(node.value, bytes | bytearray | memoryview):
            continue
        row = _row_at(message, node.path)
        if row is None or not format_of_row(row):
            continue
        only = message.KIND == "request" and format is None
        formats = format_set(format_to_read(format_of_row(row), only=only))
        _open(traced, node, formats, partial=message.KIND == "response", strict=strict, limits=limits)
    return traced


def _row_at(message: "type[Message]", path: str) -> "FieldRow | None":
    """Return the `FieldRow` for a path in a trace; None if the path leads to something else, such as an unknown tag."""
    fields, row = message.FIELDS, None
    for step in path.split("."):
        name, bracket, _ = step.partition("[")
        row = next((each for each in fields if each.name == name), None)
        if row is None or bool(bracket) != row.type.startswith("[]"):
            return None
        fields = () if row.struct is None else row.struct.FIELDS
    return row


def _open(traced: Trace, node: Node, formats: "FormatSet", *, partial: bool, strict: bool, limits: Limits) -> None:
    """Give a records field a child node for each batch, and one for any bytes after the last batch."""
    data = bytes(node.value)
    begin, position, what = node.end - len(data), 0, "not read"
    nodes: list[Node] = []
    for seen in trace_batches(data, formats, strict=strict, limits=limits):
        error = seen.error
        if error is not None and partial and formats.is_cut(data, position):
            what = "cut off"
            break
        path = f"{node.path}[{len(nodes)}]"
        nodes.append(seen.root.moved(begin + position, path))
        if error is not None:
            inner = f"{path}.{error.path}" if error.path else path
            error = type(error)(**details(error, path=inner, offset=begin + position + error.offset))
        traced.has_opened(canonical=seen.canonical, error=error)
        position += seen.root.length
    count = len(nodes)
    if position < len(data):
        nodes.append(bytes_node(data[position:], what).moved(begin + position, f"{node.path}[{count}]"))
    node.put(nodes, count)
