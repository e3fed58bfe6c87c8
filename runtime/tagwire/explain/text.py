"""Traces as text: the bytes and their meaning, one line per field.

`tagwire explain` prints this text, and golden files contain it. The columns are offset, hex, path, type and value. Long
runs of bytes continue on further lines. An error is shown on a line that begins with `!`, and the bytes after
it are shown as unread. Compressed bytes are followed by the decompressed bytes, on lines whose offsets begin with `+`.
`parse_annotated` reads the bytes of a golden file from its hex column.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from tagwire.errors import TagwireError
from tagwire.explain.nodes import Node
from tagwire.explain.trace import Trace
from tagwire.layout.parts import bit_names
from tagwire.sensitive import HIDDEN
from tagwire.text_format import count, shown

BYTES_A_LINE: Final = 16
TITLES: Final = ("offset", "bytes", "path", "type", "value")


class AnnotationError(TagwireError, ValueError):
    """Raised if a string is not an annotated dump, or if its lines contradict each other."""


class Row(NamedTuple):
    """A line of an annotated dump: the bytes of a node, a title, or an error."""

    offset: int
    """The offset of the first byte, or -1 for a title, which has its text in `path`."""
    data: bytes
    path: str
    type: str = ""
    value: str = ""
    mark: str = ""
    """The mark before the offset: "+" if the offset counts in decompressed bytes."""
    kind: str = "shape"
    """One of: number, text, bytes, null, shape (counts, tags, markers), title, error, rest (unread bytes)."""
    depth: int = 0
    """The number of enclosing nodes."""
    is_hidden: bool = False
    """Whether to hide the bytes."""

    def hex(self, data: bytes) -> str:
        return " ".join(["**"] * len(data)) if self.is_hidden else data.hex(" ")


def annotate(trace: Trace, note: Callable[[Node], str] | None = None, *, bytes_a_line: int = BYTES_A_LINE) -> str:
    """Return the trace as aligned text, one field per line.

    The first line is a comment (`# MetadataRequest v12: 21 bytes`), the second has the column titles. `note` returns a
    remark on a node, or "". Fields of more than `bytes_a_line` bytes continue on further lines.
    """
    return "\n".join([*(line for line, _ in annotated_lines(trace, note, bytes_a_line=bytes_a_line)), ""])


def annotated_lines(
    trace: Trace,
    note: Callable[[Node], str] | None = None,
    *,
    bytes_a_line: int = BYTES_A_LINE,
    widths: tuple[int, int, int] | None = None,
) -> Iterator[tuple[str, Row | None]]:
    """Yield the lines of `annotate`, without newlines, and their rows. The row of comments and titles is None.

    `widths` is the result of `column_widths`, if the caller already has it.
    """
    hex_width, path_width, type_width = widths or column_widths(trace, bytes_a_line)
    yield f"# {title_of(trace)}", None
    yield _line(TITLES, hex_width, path_width, type_width), None
    for row in rows_of(trace, note):
        if row.offset < 0:
            yield f"# {row.path}", row
            continue
        data = row.data
        offset = f"{row.mark}{row.offset}" if data else "!"
        cells = (offset, row.hex(data[:bytes_a_line]), row.path or ".", row.type, row.value)
        yield _line(cells, hex_width, path_width, type_width), row
        for at in range(bytes_a_line, len(data), bytes_a_line):
            yield f"{f'{row.mark}{row.offset + at}':>6}  {row.hex(data[at : at + bytes_a_line])}", row
    if trace.error is None and not trace.canonical:
        yield "# not canonical: encoding the value gives other bytes", None


def column_widths(trace: Trace, bytes_a_line: int, most: int | None = None) -> tuple[int, int, int]:
    """Return the widths of the columns bytes, path and type, for the first `most` rows or for all rows.

    `annotated_lines` computes the rows again, because storing them would take too much memory.
    """
    size, path_width, type_width = 0, len("path"), len("type")
    for row in islice(_rows(trace, None), most):
        size = max(size, len(row.data))
        path_width = max(path_width, len(row.path) if row.type else 0)
        type_width = max(type_width, len(row.type))
    return max(len("bytes"), min(size, bytes_a_line) * 3 - 1), path_width, type_width


def parse_annotated(text: str) -> bytes:
    """Return the bytes in the hex column of an annotated dump. Any lines may come before the column titles.

    Raises AnnotationError if there are no column titles, if the hex column contains anything but bytes, or if an offset
    is not the number of bytes before it.
    """
    lines = iter(enumerate(text.splitlines(), 1))
    for _, line in lines:
        if tuple(line.split()) == TITLES:
            begin, end = line.index("bytes"), line.index("path")
            break
    else:
        raise AnnotationError(f"there is no line with the column titles: {'  '.join(TITLES)}")
    data = bytearray()
    for number, line in lines:
        offset = line[:begin].strip()
        if not line.strip() or offset.startswith(("#", "!", "+")):
            continue
        if offset != str(len(data)):
            expected = f"{len(data)}, the number of bytes above this line"
            raise AnnotationError(f"line {number}: expected offset {expected}, got {offset!r}")
        try:
            data += bytes.fromhex(line[begin:end])
        except ValueError:
            raise AnnotationError(f"line {number}: {line[begin:end].strip()!r} is not hex") from None
    return bytes(data)


def title_of(trace: Trace) -> str:
    """Return a title for a trace, such as `MetadataRequest v12: 21 bytes`."""
    version = "" if trace.version is None else f" v{trace.version}"
    size = count(len(trace.data), "byte")
    return f"{trace.message_name}{version}: {size}"


def _line(cells: tuple[str, ...], hex_width: int, path_width: int, type_width: int) -> str:
    offset, data, path, type, value = cells
    return f"{offset:>6}  {data:<{hex_width}}  {path:<{path_width}}  {type:<{type_width}}  {value}".rstrip()


def rows_of(trace: Trace, note: Callable[[Node], str] | None = None) -> Iterator[Row]:
    """Yield the trace's lines as rows, in byte order. Each input byte is in exactly one row.

    `note` has the same meaning as in `annotate`.
    """
    return _rows(trace, note or (lambda node: ""))


def _rows(trace: Trace, note: Callable[[Node], str] | None) -> Iterator[Row]:
    """Yield the rows of `rows_of`. If `note` is None, leave out the values to save time."""
    for part in trace.parts:
        if part is not trace.root:
            yield Row(-1, b"", part.type, kind="title")
        yield from _node_rows(part, trace.data, note)
    end = trace.root.end
    error = trace.error
    if error is not None:
        end = max(error.offset, end)  # show all compressed bytes, even if the error is inside them
        description = f"at byte {error.offset}: found {error.found}, expected {error.expected}"
        yield Row(error.offset, b"", error.path, "error", description, kind="error")
    if end < len(trace.data):
        yield Row(end, trace.data[end:], "", "not read", kind="rest", is_hidden=trace.root.may_hide)


def _node_rows(root: Node, data: bytes, note: Callable[[Node], str] | None) -> Iterator[Row]:
    # A stack, because nested generators would pass each row through every level of the tree.
    stack: list[tuple[Node | None, Iterator[Node], bytes, str]] = [(None, iter([root]), data, "")]
    while stack:
        outer, nodes, data, mark = stack[-1]
        for node in nodes:
            size = node.header_length
            if size:
                own = data[node.offset : node.offset + size]
                value, kind = ("", "shape") if note is None else (value_of(node, note), kind_of(node))
                path, type, depth = node.path, node.type, len(stack) - 1
                yield Row(
                    node.offset, own, path, type, value, mark=mark, kind=kind, depth=depth, is_hidden=node.is_hidden
                )
            if node.has_parts:
                inner = node.decompressed
                stack.append((node, node.parts(), data, mark) if inner is None else (node, node.parts(), inner, "+"))
                break
        else:
            stack.pop()
            if outer is not None and outer.trailer_length:
                yield _trailer(outer, *stack[-1][2:], depth=len(stack) - 1)


def _trailer(node: Node, data: bytes, mark: str, depth: int) -> Row:
    """Return the row of the bytes after the children: the end marker of optional fields, or a part of an item."""
    begin = node.end - node.trailer_length
    value = "end" if node.complete else ""
    own = data[begin : node.end]
    return Row(begin, own, node.path, node.type, value, mark=mark, depth=depth, is_hidden=node.is_hidden)


def kind_of(node: Node) -> str:
    """Return the kind of a node's value: number, text, bytes, null or shape (see `Row.kind`)."""
    value = node.value
    if value is None:
        return "null" if node.complete else "shape"
    if isinstance(value, str):
        return "text"
    if isinstance(value, bytes | bytearray | memoryview):
        return "bytes"
    is_marker = value is True and not node.type.endswith("bool")
    is_shape = "[]" in node.type or node.type.startswith("tag") or is_marker
    return "shape" if is_shape else "number"


def value_of(node: Node, note: Callable[[Node], str]) -> str:
    """Return a node's value in short form, followed by its note. Sensitive values are hidden."""
    value = f"{_value(node)} {note(node)}".rstrip()
    return HIDDEN if value and node.is_hidden else value


def _value(node: Node) -> str:
    value: Any = node.value
    if value is None:
        return "null" if node.complete else ""
    if node.type.startswith("tag "):
        return count(value, "byte")
    if value is True and not node.type.endswith("bool"):
        return "present" if node.type.startswith("nullable ") else ""
    word = node.member or node.meaning
    words = [word] if word else bit_names(node.bits, value)
    return f"{shown(value)} ({', '.join(words)})" if words else shown(value)
