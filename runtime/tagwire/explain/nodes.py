"""The nodes of a trace: a tree that is built from spans (`tagwire.explain.spans`) when nodes are accessed.

Nodes nest like fields, and each byte of the input belongs to exactly one node. The bytes before and after the children
of a node, such as a count, belong to the node itself. A compressed node owns all of
its bytes, and the offsets of its children refer to the decompressed bytes (`Node.decompressed`).
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tagwire.explain.spans import NULL, OPEN, Opened, SpanKind, Spans
from tagwire.layout.parts import Bits, named_bits
from tagwire.layout.types import Type
from tagwire.sensitive import HIDDEN, hides

__all__ = ["Node", "bytes_node"]

_NOT_READ: Final = object()


class Node:
    """A node of a trace: a message, a field, an element, a tag section or a tagged field."""

    __slots__ = (
        "_begin",
        "_children",
        "_data",
        "_kind",
        "_number",
        "_row",
        "_stop",
        "_value",
        "complete",
        "length",
        "offset",
        "path",
        "spans",
        "type",
    )

    def __init__(
        self, spans: Spans, row: int, around: str, data: bytes, kind: SpanKind | None = None, *numbers: int
    ) -> None:
        """Make the node of a row, or of an element of a fixed-width array, which has no row: of `kind` and `numbers`.

        `around` is the path of the parent. `numbers` are the values that a row would have.
        """
        offset, length, number, step, value, after = numbers or spans.numbers(row)
        self._kind = kind = kind or spans.kinds[number]
        self.spans = spans
        """The data of the whole trace, from which the nodes are built."""
        self._row = row
        self._data = data
        self._number = value
        self._children: list[Node] | None = None
        self._value: Any = _NOT_READ
        self._begin = offset
        self.offset = offset + (spans.begin if data is spans.data else 0)
        self.length = length
        self.path = kind.path(around, step)
        """The path, such as `topics[3].name`; "" for the message itself. A tag section has the path of its struct."""
        self.type = f"tag {step}" if kind.is_tag else kind.text
        """The type as layouts print it, `tag 7` for the entry of a tagged field, `Name v3` for a message."""
        self.complete = after != OPEN
        """False if decoding failed inside the node, which then ends at the error."""
        self._stop = len(spans) if after == OPEN else after

    @property
    def value(self) -> Any:
        """The decoded value of a field, or None for null.

        An array's value is its element count, a tagged field entry's value is its size in bytes, and a struct's value
        is True. After `open_records`, the value of a records field is the number of its batches.
        """
        if self.spans.opened and self._row in self.spans.opened:
            return self.spans.opened[self._row].number
        if self._value is _NOT_READ:
            self._value = self._read()
        return self._value

    def _read(self) -> Any:
        if self._kind.is_leaf:
            end = self._begin + self.length
            return self.spans.value(self._kind, self._begin, end, self._data) if self.complete else None
        if self._row in self.spans.other_values:
            return self.spans.other_values[self._row]
        if self._number < 0:
            return None
        return True if self._kind.is_struct else self._number

    @property
    def children(self) -> "list[Node]":
        """The child nodes in byte order. They are made on first access."""
        if self._children is None:
            self._children = list(self.parts())
        return self._children

    def parts(self) -> Iterator["Node"]:
        """Yield the nodes that `children` returns, but don't cache them."""
        if self._row in self.spans.opened:
            yield from self.spans.opened[self._row].nodes
            return
        if self._row + 1 < self._stop:
            data = self._data if self.decompressed is None else self.decompressed
            row = self._row + 1
            while row < self._stop:
                node = Node(self.spans, row, self.path, data)
                yield node
                row = node._stop
        elif self._are_alike:
            yield from map(self.element, range(self._number))

    @property
    def has_parts(self) -> bool:
        """Whether the node has children."""
        if self._row in self.spans.opened:
            return bool(self.spans.opened[self._row].nodes)
        return self._row + 1 < self._stop or self._are_alike

    @property
    def _are_alike(self) -> bool:
        """Whether the children are elements of a fixed-width array, which have no rows in the trace."""
        return self._kind.width > 0 and self._number > 0 and self.complete and self._row + 1 == self._stop

    def element(self, index: int) -> "Node":
        """Return an element of a fixed-width array."""
        kind, width = self._kind.element, self._kind.width
        begin = self._begin + self.length - (self._number - index) * width
        return Node(self.spans, -1, self.path, self._data, kind, begin, width, 0, index, NULL, 0)

    @property
    def rows(self) -> range:
        """The row numbers of this node's descendants in `spans`."""
        return range(self._row + 1, self._stop)

    @property
    def decompressed(self) -> bytes | None:
        """The decompressed bytes of a compressed node, else None. The children's offsets refer to these bytes."""
        return self.spans.decompressed.get(self._row)

    @property
    def messages(self) -> tuple[str, ...]:
        """The messages in the trace: one message, or the header and the body of a frame."""
        return tuple(self.spans.messages)

    @property
    def member(self) -> str:
        """The name of the enum member for this value, or "" if the field has no enum."""
        wire = self._kind.wire
        return wire.name_of(self.value) if wire is not None and self.complete else ""

    @property
    def layout_type(self) -> "Type | None":
        """The type that the layout gives this value. It is None for messages, tag sections and unread bytes."""
        return self._kind.type

    @property
    def bits(self) -> "tuple[Bits, ...]":
        """The named bits of the value. The tuple is empty if there are none."""
        return self.spans.bits.get(self._row, ())

    @property
    def meaning(self) -> str:
        """A readable form of the value, such as a date for a timestamp.

        It is "" for null, and for types that don't specify what their values mean.
        """
        wire = getattr(self._kind.type, "wire", None)
        return "" if wire is None or not wire.semantic or self.value is None else str(wire.meaning(self.value))

    def put(self, nodes: "Sequence[Node]", count: int) -> None:
        """Replace the children of a records field with `nodes`. `count` is the number of batches."""
        self.spans.opened[self._row] = Opened(count, tuple(nodes))
        self._children = None

    def moved(self, begin: int, path: str) -> "Node":
        """Return a copy of this root node with a new offset and path, for the trace of a longer input."""
        self.spans.begin = begin
        return Node(self.spans, self._row, path, self._data)

    @property
    def end(self) -> int:
        """The offset just past the last byte."""
        return self.offset + self.length

    @property
    def header_length(self) -> int:
        """The number of bytes before the first child, or of the whole node if it has no children."""
        if self._row in self.spans.opened:
            nodes = self.spans.opened[self._row].nodes
            return nodes[0].offset - self.offset if nodes else self.length
        if self._row + 1 < self._stop and self.decompressed is None:
            return self.spans[self._row + 1].offset - self._begin
        return self.length - self._number * self._kind.width if self._are_alike else self.length

    @property
    def trailer_length(self) -> int:
        """The number of bytes after the last child."""
        if self._row in self.spans.opened:
            nodes = self.spans.opened[self._row].nodes
            return self.end - nodes[-1].end if nodes else 0
        if self._row + 1 >= self._stop or self.decompressed is not None:
            return 0
        *_, last = self.spans.inside(self._row, self._stop)
        return self._begin + self.length - self.spans.end(last)

    def walk(self) -> Iterator["Node"]:
        """Yield this node and its descendants, in byte order."""
        yield self
        for child in self.parts():
            yield from child.walk()

    @property
    def is_hidden(self) -> bool:
        """Whether the bytes and the value are hidden: they are sensitive, and `showing_sensitive` is not active."""
        if not self.spans.secrets or not hides():
            return False
        steps = [step.partition("[")[0] for step in self.path.split(".")]
        return any(root.is_sensitive(steps) for root in self.spans.secrets)

    @property
    def may_hide(self) -> bool:
        """Whether undecoded bytes must be hidden, because they may contain sensitive values."""
        return bool(self.spans.secrets) and hides()

    def to_json(self) -> dict[str, Any]:
        """Return the path, type, offset, length, value, named bits and children as JSON-compatible values."""
        return {**self.facts(), "children": [child.to_json() for child in self.parts()]}

    def facts(self) -> dict[str, Any]:
        """Return the result of `to_json` without the children."""
        from tagwire.message.json import json_value

        member = {"member": self.member} if self.member else {}
        decompressed = {} if self.decompressed is None else {"decompressed": json_value(self.decompressed)}
        bits = {"bits": named_bits(self.bits, self.value)} if self.bits else {}
        return {
            "path": self.path,
            "type": self.type,
            "offset": self.offset,
            "length": self.length,
            "value": HIDDEN if self.is_hidden and self._kind.is_leaf else json_value(self.value),
            **({"meaning": self.meaning} if self.meaning and not self.is_hidden else {}),
            **member,
            **bits,
            **decompressed,
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        return (self.spans, self._row, self.path) == (other.spans, other._row, other.path)

    def __hash__(self) -> int:
        return hash((id(self.spans), self._row, self.path))

    def __repr__(self) -> str:
        return f"<{self.path or 'message'}: {self.type}, bytes {self.offset} to {self.end}>"


def bytes_node(data: bytes, what: str) -> Node:
    """Return the root of a trace for bytes that were not decoded. The trace shows `what` as their type."""
    return Node(Spans.of_bytes(data, what), 0, "", data)
