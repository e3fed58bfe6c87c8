"""The data of a trace: a row of 32 bytes for each span that was read, and the kinds that rows share.

A row has the place and kind of a span, and the number of rows inside it; rows are in the order
of their first bytes. Paths, types and values are computed when a node is accessed
(`tagwire.explain.nodes.Node`), so the trace of a megabyte takes a few megabytes. The native
engine writes the same rows (`_native/engine/spans.h`); it leaves out the elements of arrays of a
fixed width, which follow from the row of the array.
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
_PLACE: Final = Struct("=qq")
_AFTER: Final = Struct("=28xi")
NULL: Final = -1
"""The value of `SpanRow.value` that means none."""
OPEN: Final = -1
"""What `SpanRow.after` says where a fault is inside."""
_LEAVES: Final = (Fixed, NullableFixed, Varint, Sized, Extent, Count, Checksum)
_INT32: Final = range(-(1 << 31), 1 << 31)


class SpanRow(NamedTuple):
    """A span, as `tw_span` in spans.h has it."""

    offset: int
    length: int
    kind: int
    step: int
    """An element's index, or a tag."""
    value: int
    """A count, a size, 1 for a struct that is there; -1 for null."""
    after: int
    """The row after all those inside this one."""


class SpanKind:
    """What spans have in common that are read by the same part of a layout."""

    __slots__ = ("is_indexed", "is_leaf", "is_struct", "is_tag", "name", "text", "type", "width", "wire")

    def __init__(
        self, what: "Type | str", name: str, *, is_indexed: bool = False, is_tag: bool = False, is_struct: bool = False
    ) -> None:
        self.type = None if isinstance(what, str) else what
        self.text = str(what)
        """The type as layouts print it; of the entry of a tagged field, its tag goes there."""
        self.name = name
        """What its path has more than that of the span around it; "" for nothing, or an index alone."""
        self.is_indexed = is_indexed
        self.is_tag = is_tag
        self.is_struct = is_struct or isinstance(what, Nested)
        self.is_leaf = isinstance(what, _LEAVES) or what == "raw bytes"
        """Whether its value is read from its bytes, when somebody asks."""
        self.width = what.element.wire.width if isinstance(what, Array) and isinstance(what.element, Fixed) else 0
        """Of arrays of a fixed width: the bytes of an element."""
        wire = what.wire if isinstance(what, Fixed) else None
        self.wire = wire if isinstance(wire, IntegerType) else None

    def path(self, around: str, step: int) -> str:
        """The path of a span of this kind."""
        path = f"{around}.{self.name}" if around and self.name else around or self.name
        return f"{path}[{step}]" if self.is_indexed else path

    @property
    def steps(self) -> int:
        """How many steps the path is longer than that of the span around it."""
        return (self.name != "") + self.is_indexed


def kinds_of(layout: Layout, types: "list[tuple[str | None, Type]]") -> list[SpanKind]:
    """The kinds of spans by the numbers that the native engine gives them: see spans.h."""
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
    """What was put below a node: the batches of a field of records."""

    number: int
    nodes: tuple[Any, ...]


class Spans:
    """The rows of a trace, and how to read them."""

    __slots__ = (
        "_elements",
        "_reader",
        "begin",
        "bits",
        "data",
        "kinds",
        "messages",
        "odd",
        "opened",
        "rows",
        "secrets",
        "unpacked",
    )

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.messages: list[str] = []
        """The names of what was read into it."""
        self.secrets: list[StructLayout] = []
        """The messages that were read and have sensitive fields."""
        self.begin = 0
        """Where `data` begins in what it is a part of."""
        self.rows = bytearray()
        self.kinds: list[SpanKind] = []
        self.odd: dict[int, Any] = {}
        """By row: what no number says."""
        self.unpacked: dict[int, bytes] = {}
        """By row: what its bytes unpack to; the spans in it are places in that."""
        self.bits: dict[int, tuple[Bits, ...]] = {}
        """By row: what the bits of its value are called."""
        self.opened: dict[int, Opened] = {}
        """By row: what was put there after the trace was made."""
        self._elements: dict[int, SpanKind] = {}
        self._reader = LayoutReader(_NO_LAYOUT, data, strict=False)

    def __len__(self) -> int:
        return len(self.rows) // _ROW.size

    def __getitem__(self, row: int) -> SpanRow:
        return SpanRow._make(_ROW.unpack_from(self.rows, row * _ROW.size))

    def add(self, offset: int, kind: int, step: int) -> int:
        """Add the row of a span that begins; give its number."""
        self.rows += _ROW.pack(offset, 0, kind, step, NULL, OPEN)
        return len(self) - 1

    def set(self, row: int, **changes: int) -> None:
        """Change a row."""
        _ROW.pack_into(self.rows, row * _ROW.size, *self[row]._replace(**changes))

    def truncate(self, row: int) -> None:
        """Forget this row and all later ones."""
        del self.rows[row * _ROW.size :]
        for kept in (self.odd, self.unpacked, self.bits):
            for late in [number for number in kept if number >= row]:
                del kept[late]

    def inside(self, row: int, stop: int) -> Iterator[int]:
        """The rows of the direct parts of a span; `stop` is the row after them."""
        part = row + 1
        while part < stop:
            yield part
            part = self.after(part)

    def after(self, row: int) -> int:
        """The row after all those inside a row."""
        after: int = _AFTER.unpack_from(self.rows, row * _ROW.size)[0]
        return len(self) if after == OPEN else after

    def end(self, row: int) -> int:
        """Where a span ends."""
        offset, length = _PLACE.unpack_from(self.rows, row * _ROW.size)
        return int(offset + length)

    @classmethod
    def of_bytes(cls, data: bytes, what: str) -> "Spans":
        """One span of unread bytes, with a name for them."""
        spans = cls(data)
        kind = SpanKind(what, "")
        kind.is_leaf = True
        spans.kinds.append(kind)
        spans.set(spans.add(0, 0, 0), length=len(data), after=1)
        return spans

    def element_kind(self, array: SpanKind) -> SpanKind:
        """The kind of the elements of an array, which have no rows."""
        found = self._elements.get(id(array))
        if found is None:
            assert isinstance(array.type, Array)
            found = self._elements[id(array)] = SpanKind(array.type.element, "", is_indexed=True)
        return found

    def value(self, kind: SpanKind, start: int, end: int, data: bytes) -> Any:
        """The value of a leaf, from its bytes."""
        if kind.wire is not None:
            return int.from_bytes(data[start:end], "big", signed=kind.wire.low < 0)
        if kind.type is None:
            return data[start:end]
        reader = self._reader
        reader.buf = reader.raw = data
        reader.pos, reader.end = start, end
        return reader.read(kind.type, ())


_NO_LAYOUT: Any = None
"""What bytes are read by that were read before: it would only name them in errors."""


class SpanRecorder:
    """Writes the rows of what a reader reports. Spans nest in the order of the calls."""

    __slots__ = ("_closed", "_depths", "_known", "_open", "spans")

    def __init__(self, spans: Spans) -> None:
        self.spans = spans
        self._open: list[int] = []
        self._closed = 0
        """The row that was closed last."""
        self._depths: list[int] = []
        """Of each open span: the steps of its path."""
        self._known: dict[tuple[object, str, bool], int] = {}

    def open(self, path: list[str | int], what: "Type | str", offset: int) -> None:
        """A span begins: of a type, of the entry of a tagged field (`tag 7`), or of what a text says."""
        steps = path[self._depths[-1] if self._depths else 0 :]
        step = steps[-1] if steps and isinstance(steps[-1], int) else 0
        name = steps[0] if steps and isinstance(steps[0], str) else ""
        is_indexed = bool(steps) and isinstance(steps[-1], int)
        if isinstance(what, str) and what.startswith("tag "):
            step, what = int(what[4:]), "tag"
        self._depths.append(len(path))
        self._open.append(self.spans.add(offset, self._kind(what, name, is_indexed), step))

    def _kind(self, what: "Type | str", name: str, is_indexed: bool) -> int:
        key = what if isinstance(what, str) else id(what), name, is_indexed
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = len(self.spans.kinds)
            self.spans.kinds.append(SpanKind(what, name, is_indexed=is_indexed, is_tag=what == "tag"))
        return known

    def note(self, value: Any) -> None:
        """What the innermost open span holds."""
        row = self._open[-1]
        kind = self.spans.kinds[self.spans[row].kind]
        if kind.is_leaf:
            return  # it is in the bytes
        if value is True:
            kind.is_struct = True
        if isinstance(value, int) and value in _INT32 and value != NULL:
            self.spans.set(row, value=value)
        else:
            self.spans.odd[row] = value

    def name_bits(self, bits: tuple[Bits, ...]) -> None:
        """What the bits of the span that was closed last are called."""
        self.spans.bits[self._closed] = bits

    def close(self, end: int) -> None:
        """The innermost open span ends."""
        row = self._closed = self._open.pop()
        self._depths.pop()
        self.spans.set(row, length=end - self.spans[row].offset, after=len(self.spans))

    def unpack(self, data: bytes, end: int) -> None:
        """The innermost open span is of packed bytes, which end at `end`; what opens in it are places in `data`."""
        row = self._open[-1]
        self.spans.unpacked[row] = data
        self.spans.set(row, length=end - self.spans[row].offset)

    def go_on(self, rows: list[int]) -> None:
        """Go on where these spans are open, the outermost first, those that were open before among them."""
        for row in rows:
            around = self._depths[-1] if self._depths else 0
            self._open.append(row)
            self._depths.append(around + self.spans.kinds[self.spans[row].kind].steps)

    def stop(self, offset: int, within: int | None = None) -> None:
        """A fault: all open spans end here, incomplete; `within` is its place in unpacked bytes, if it is there."""
        spans = self.spans
        place = offset if within is None else within
        for row in reversed(self._open):
            begin, length, *_ = spans[row]
            if row in spans.unpacked and within is not None:
                place = begin + length
            else:
                parts = list(spans.inside(row, len(spans)))
                while parts and spans.end(parts[-1]) > place:
                    spans.truncate(parts.pop())  # a length or a checksum that was read, and then refused
            spans.set(row, length=max(place - begin, 0))
        self._open.clear()
        self._depths.clear()
