"""The data of a trace: one row of 32 bytes for each span (a field, struct, array or tag section) that was read.

Rows are in the order in which the spans start. To save memory, paths, types and values are computed only when a node
is accessed (`tagwire.explain.nodes.Node`). The native engine writes the same rows (`_native/engine/spans.h`), except
rows for elements of fixed-width arrays, which are computed from the array's row.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Any, Final, NamedTuple

from tagwire.interpreter.reader import LayoutReader
from tagwire.layout import (
    Array,
    Checksum,
    Count,
    Extent,
    Fixed,
    Layout,
    Nested,
    NullableFixed,
    Sized,
    StructLayout,
    Type,
    Varint,
)
from tagwire.layout.parts import Bits
from tagwire.wire.families import IntegerType

__all__ = ["NULL", "OPEN", "Opened", "SpanKind", "SpanRecorder", "SpanRow", "Spans", "kinds_of"]

_ROW: Final = Struct("=qqiiii")
NULL: Final = -1
"""The value of `SpanRow.value` that means null."""
OPEN: Final = -1
"""The value of `SpanRow.after` for a span that contains an error."""
_LEAVES: Final = (Fixed, NullableFixed, Varint, Sized, Extent, Count, Checksum)
_INT32: Final = range(-(1 << 31), 1 << 31)


class SpanRow(NamedTuple):
    """The row of one span, with the memory layout of `tw_span` in spans.h."""

    offset: int
    length: int
    kind: int
    step: int
    """The index of an array element, or the tag of a tagged field."""
    value: int
    """The element count of an array, the size in bytes of a tagged field, 1 for a struct, or -1 for null.

    The values of other fields, such as integers and strings, are decoded on access.
    """
    after: int
    """The number of the first row after this span and everything in it."""


class SpanKind:
    """The type and name of a span. All spans of a field share one kind."""

    __slots__ = ("element", "is_indexed", "is_leaf", "is_struct", "is_tag", "name", "text", "type", "width", "wire")

    def __init__(
        self, what: "Type | str", name: str, *, is_indexed: bool = False, is_tag: bool = False, is_struct: bool = False
    ) -> None:
        self.type = None if isinstance(what, str) else what
        self.text = str(what)
        """The type as layouts print it. For a tagged field's entry, the tag is appended."""
        self.name = name
        """The name that the path has in addition to the parent's path, or "" if it adds nothing, or only an index."""
        self.is_indexed = is_indexed
        self.is_tag = is_tag
        self.is_struct = is_struct or isinstance(what, Nested)
        self.is_leaf = isinstance(what, _LEAVES) or what == "raw bytes"
        """Whether the value is decoded from the bytes on access."""
        self.width = what.element.wire.width if isinstance(what, Array) and isinstance(what.element, Fixed) else 0
        """The number of bytes of an element, for fixed-width arrays."""
        self.element = SpanKind(what.element, "", is_indexed=True) if isinstance(what, Array) and self.width else None
        """The kind of a fixed-width array's elements, which have no rows."""
        wire = what.wire if isinstance(what, Fixed) else None
        self.wire = wire if isinstance(wire, IntegerType) else None

    def path(self, around: str, step: int | None) -> str:
        """Return a span's path. `around` is the path of its parent, and `step` the index of an array element.

        If `step` is None, the path has no index.
        """
        path = f"{around}.{self.name}" if around and self.name else around or self.name
        return f"{path}[{step}]" if self.is_indexed and step is not None else path

    @property
    def steps(self) -> int:
        """The number of names and indexes that a span of this kind adds to its parent's path."""
        return (self.name != "") + self.is_indexed


def kinds_of(layout: Layout, types: "list[tuple[str | None, Type]]") -> list[SpanKind]:
    """Return the list of span kinds. The native engine refers to a kind by its index in this list (spans.h)."""
    kinds = [
        SpanKind(str(layout), "", is_struct=True),
        SpanKind("tagged fields", ""),
        SpanKind("optional fields", ""),
        SpanKind("tag", "unknown_tags", is_indexed=True, is_tag=True),
        SpanKind("raw bytes", ""),
    ]
    for name, type in types:
        kinds.append(SpanKind(type, name or "", is_indexed=name is None))
        kinds.append(SpanKind("tag", name or "", is_tag=True))
        kinds.append(SpanKind(type, ""))
    return kinds


class Opened(NamedTuple):
    """The traced record batches in a records field: their number, and the nodes to show as the field's children."""

    number: int
    nodes: tuple[Any, ...]


class Spans:
    """A trace's rows (one per field, struct, array or tag section), with methods to read them."""

    __slots__ = (
        "_reader",
        "begin",
        "bits",
        "data",
        "decompressed",
        "kinds",
        "messages",
        "opened",
        "other_values",
        "rows",
        "secrets",
    )

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.messages: list[str] = []
        """The names of the messages that were read."""
        self.secrets: list[StructLayout] = []
        """The layouts of messages with sensitive fields, among the messages that were read."""
        self.begin = 0
        """Where `data` begins in the larger input that contains it."""
        self.rows = bytearray()
        self.kinds: list[SpanKind] = []
        self.other_values: dict[int, Any] = {}
        """The values that are not integers, by row."""
        self.decompressed: dict[int, bytes] = {}
        """The decompressed bytes of compressed spans, by row; offsets of inner spans refer to them."""
        self.bits: dict[int, tuple[Bits, ...]] = {}
        """The named bits of the values that have any, by row."""
        self.opened: dict[int, Opened] = {}
        """The nodes that were inserted below a row's node after the trace was made, by row."""
        self._reader = LayoutReader(_NO_LAYOUT, data, strict=False)

    def __len__(self) -> int:
        return len(self.rows) // _ROW.size

    def __getitem__(self, row: int) -> SpanRow:
        return SpanRow(*self.numbers(row))

    def numbers(self, row: int) -> tuple[int, ...]:
        """Return the values of a row in the order of `SpanRow`'s fields, faster than `spans[row]`."""
        return _ROW.unpack_from(self.rows, row * _ROW.size)

    def between(self, rows: range) -> Iterator[tuple[int, ...]]:
        """Yield the values of consecutive rows, in the order of `SpanRow`'s fields.

        The trace must not change during the iteration.
        """
        return _ROW.iter_unpack(memoryview(self.rows)[rows.start * _ROW.size : rows.stop * _ROW.size])

    def add(self, offset: int, kind: int, step: int) -> int:
        self.rows += _ROW.pack(offset, 0, kind, step, NULL, OPEN)
        return len(self) - 1

    def set(self, row: int, **changes: int) -> None:
        _ROW.pack_into(self.rows, row * _ROW.size, *self[row]._replace(**changes))

    def truncate(self, row: int) -> None:
        del self.rows[row * _ROW.size :]
        for kept in (self.other_values, self.decompressed, self.bits):
            for number in [number for number in kept if number >= row]:
                del kept[number]

    def inside(self, row: int, stop: int) -> Iterator[int]:
        """Yield the row numbers of a span's direct children. `stop` is the number of the first row after the span."""
        part = row + 1
        while part < stop:
            yield part
            part = self.after(part)

    def after(self, row: int) -> int:
        """Return the number of the first row after this span and everything in it."""
        after = self.numbers(row)[5]
        return len(self) if after == OPEN else after

    def end(self, row: int) -> int:
        offset, length, *_ = self.numbers(row)
        return offset + length

    @classmethod
    def of_bytes(cls, data: bytes, what: str) -> "Spans":
        """Return a single span for bytes that were not decoded. The trace shows `what` as its type."""
        spans = cls(data)
        kind = SpanKind(what, "")
        kind.is_leaf = True
        spans.kinds.append(kind)
        spans.set(spans.add(0, 0, 0), length=len(data), after=1)
        return spans

    def value(self, kind: SpanKind, start: int, end: int, data: bytes) -> Any:
        if kind.wire is not None:
            return int.from_bytes(data[start:end], "big", signed=kind.wire.low < 0)
        if kind.type is None:
            return data[start:end]
        reader = self._reader
        reader.buf = reader.raw = data
        reader.pos, reader.end = start, end
        return reader.read(kind.type, ())


_NO_LAYOUT: Any = None
"""Passed to a reader in place of a layout.

The reader needs a layout only for errors. None can occur, because the bytes were already decoded.
"""


class SpanRecorder:
    """Writes the rows of a trace. A reader opens and closes a span for each value, and closes inner spans first."""

    __slots__ = ("_closed", "_known", "_open", "spans")

    def __init__(self, spans: Spans) -> None:
        self.spans = spans
        self._open: list[tuple[int, int]] = []
        """The open spans, outermost first: the row of each, and the number of steps of its path."""
        self._closed = 0
        """The last row that was closed."""
        self._known: dict[tuple[object, str, bool], int] = {}

    def open(self, path: list[str | int], what: "Type | str", offset: int) -> None:
        """Open a span. `what` is the value's type, `tag N` for a tagged field, or another description."""
        steps = path[self._open[-1][1] if self._open else 0 :]
        step = steps[-1] if steps and isinstance(steps[-1], int) else 0
        name = steps[0] if steps and isinstance(steps[0], str) else ""
        is_indexed = bool(steps) and isinstance(steps[-1], int)
        if isinstance(what, str) and what.startswith("tag "):
            step, what = int(what[4:]), "tag"
        self._open.append((self.spans.add(offset, self._kind(what, name, is_indexed), step), len(path)))

    def _kind(self, what: "Type | str", name: str, is_indexed: bool) -> int:
        key = what if isinstance(what, str) else id(what), name, is_indexed
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = len(self.spans.kinds)
            self.spans.kinds.append(SpanKind(what, name, is_indexed=is_indexed, is_tag=what == "tag"))
        return known

    def note(self, value: Any) -> None:
        row, _ = self._open[-1]
        kind = self.spans.kinds[self.spans[row].kind]
        if kind.is_leaf:
            return  # such a value has no nested spans, and is decoded on access
        if value is True:
            kind.is_struct = True
        if isinstance(value, int) and value in _INT32 and value != NULL:
            self.spans.set(row, value=value)
        else:
            self.spans.other_values[row] = value

    def name_bits(self, bits: tuple[Bits, ...]) -> None:
        self.spans.bits[self._closed] = bits

    def close(self, end: int) -> None:
        row, _ = self._open.pop()
        self._closed = row
        self.spans.set(row, length=end - self.spans[row].offset, after=len(self.spans))

    def decompress(self, data: bytes, end: int) -> None:
        row, _ = self._open[-1]
        self.spans.decompressed[row] = data
        self.spans.set(row, length=end - self.spans[row].offset)

    def go_on(self, rows: list[int]) -> None:
        """Reopen the spans that were open when the native engine stopped at an error.

        `rows` are the numbers of their rows, outermost span first.
        """
        for row in rows:
            around = self._open[-1][1] if self._open else 0
            self._open.append((row, around + self.spans.kinds[self.spans[row].kind].steps))

    def stop(self, offset: int, within: int | None = None) -> None:
        """Close all open spans as incomplete because of an error.

        If the error is in decompressed bytes, `within` is its offset in them.
        """
        spans = self.spans
        position = offset if within is None else within
        for row, _ in reversed(self._open):
            begin, length, *_ = spans[row]
            if row in spans.decompressed and within is not None:
                position = begin + length
            else:
                parts = list(spans.inside(row, len(spans)))
                while parts and spans.end(parts[-1]) > position:
                    # This row is for a field whose value was rejected, such as a wrong checksum.
                    spans.truncate(parts.pop())
            spans.set(row, length=max(position - begin, 0))
        self._open.clear()
