"""Traces: every field of some bytes, with its path, offset, length and value, up to the fault if there is one.

A trace is what `LayoutReader` saw: the reader opens a node where something
begins, notes what it holds, and closes it where it ends. Nothing here decodes;
so a trace can't disagree with the error places or with lenient reading.

Nodes nest as the bytes do. A struct, an array or a tag section owns the bytes
before its first child (a count, a null marker, a tag and its size) and those
behind its last (the byte that ends an optional buffer), so that each byte of
the input belongs to exactly one node. Where bytes are packed, their node owns
them all, and its children are places in what they unpack to (`Node.unpacked`).
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tagwire.errors import DecodeError
from tagwire.interpreter.reader import LayoutReader
from tagwire.layout import Layout, StructLayout
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.message.field_table import layout_of
from tagwire.wire.buffers import as_bytes

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.message.base import Message

__all__ = ["Node", "Recorder", "Trace", "trace", "trace_request", "trace_response"]


class Node:
    """Something that was read: a message, a field, an element, a tag section, a tagged field."""

    __slots__ = ("children", "complete", "length", "offset", "path", "type", "unpacked", "value")

    def __init__(self, path: str, type: str, offset: int) -> None:
        self.path = path
        """`topics[3].name`; "" for the message itself. A tag section has the path of its struct."""
        self.type = type
        """The type as layouts print it, `tag 7` for the entry of a tagged field, `Name v3` for a message."""
        self.offset = offset
        self.length = 0
        self.value: Any = None
        """A field's value, an array's count, a tagged field's size, True for a struct; None for null."""
        self.children: list[Node] = []
        self.complete = False
        """False where the fault was inside; then `length` ends at the fault."""
        self.unpacked: bytes | None = None
        """What the bytes of this node unpack to, where they are packed; its children are places in that."""

    @property
    def end(self) -> int:
        """The offset of the byte behind it."""
        return self.offset + self.length

    @property
    def header_length(self) -> int:
        """Bytes before the first child; all of them where there is none."""
        is_whole = not self.children or self.unpacked is not None
        return self.length if is_whole else self.children[0].offset - self.offset

    @property
    def trailer_length(self) -> int:
        """Bytes behind the last child."""
        return self.end - self.children[-1].end if self.children and self.unpacked is None else 0

    def walk(self) -> Iterator["Node"]:
        """This node and all in it, in the order of their bytes."""
        yield self
        for child in self.children:
            yield from child.walk()

    def to_json(self) -> dict[str, Any]:
        """Path, type, offset, length, value and children as JSON-able values."""
        from tagwire.message.json import json_value

        unpacked = {} if self.unpacked is None else {"unpacked": json_value(self.unpacked)}
        return {
            "path": self.path,
            "type": self.type,
            "offset": self.offset,
            "length": self.length,
            "value": json_value(self.value),
            **unpacked,
            "children": [child.to_json() for child in self.children],
        }

    def __repr__(self) -> str:
        return f"<{self.path or 'message'}: {self.type}, bytes {self.offset} to {self.end}>"


class Recorder:
    """Builds nodes from what a reader reports. Nodes nest in the order of the calls."""

    __slots__ = ("_open", "root")

    def __init__(self) -> None:
        self.root: Node | None = None
        """The first node that was opened."""
        self._open: list[Node] = []

    def open(self, path: str, type: str, offset: int) -> None:
        """A node begins."""
        node = Node(path, type, offset)
        if self._open:
            self._open[-1].children.append(node)
        elif self.root is None:
            self.root = node
        self._open.append(node)

    def note(self, value: Any) -> None:
        """What the innermost open node holds."""
        self._open[-1].value = value

    def close(self, end: int) -> None:
        """The innermost open node ends."""
        node = self._open.pop()
        node.length = end - node.offset
        node.complete = True

    def unpack(self, data: bytes, end: int) -> None:
        """The innermost open node is of packed bytes, which end at `end`; what opens in it are places in `data`."""
        node = self._open[-1]
        node.unpacked = data
        node.length = end - node.offset

    def stop(self, offset: int, within: int | None = None) -> None:
        """A fault: all open nodes end here, incomplete; `within` is its place in unpacked bytes, if it is there."""
        place = offset if within is None else within
        for node in reversed(self._open):
            if node.unpacked is not None and within is not None:
                place = node.offset + node.length
            else:
                while node.children and node.children[-1].end > place:
                    node.children.pop()  # a length or a checksum that was read, and then refused
            node.length = max(place - node.offset, 0)
        self._open.clear()


class Trace:
    """A tree of what some bytes hold, up to the fault if there is one."""

    __slots__ = ("canonical", "data", "error", "message_name", "parts", "root", "version")

    def __init__(
        self,
        message_name: str,
        version: int | None,
        root: Node,
        parts: Sequence[Node],
        data: bytes,
        *,
        error: DecodeError | None,
        canonical: bool,
    ) -> None:
        self.message_name = message_name
        self.version = version
        self.root = root
        self.parts = tuple(parts)
        """The message itself, or the header and the body of a frame."""
        self.data = data
        self.error = error
        """Why reading stopped, or None."""
        self.canonical = canonical
        """Whether writing the value gives the same bytes."""

    def to_json(self) -> dict[str, Any]:
        """The trace as JSON-able values."""
        error = self.error
        return {
            "message": self.message_name,
            "version": self.version,
            "size": len(self.data),
            "canonical": self.canonical,
            "error": error
            and {
                "message": error.message_name,
                "version": error.version,
                "path": error.path,
                "offset": error.offset,
                "found": error.found,
                "expected": error.expected,
            },
            "root": self.root.to_json(),
        }

    def _repr_html_(self) -> str:
        from tagwire.explain.html import trace_table

        return trace_table(self)

    def __repr__(self) -> str:
        return f"<trace of {self.root.type}: {len(self.data)} bytes{', with a fault' if self.error else ''}>"


def trace(
    message: "type[Message] | Layout",
    data: Any,
    version: int | None = None,
    *,
    strict: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> Trace:
    """What `data` (any bytes-like object) holds, read as a version of a message class, or as a layout.

    Bytes at fault raise nothing: the error is in `Trace.error`. Raises
    UnsupportedVersionError for a version that the class lacks.
    """
    if not isinstance(message, Layout):
        if version is None:
            raise TypeError(f"which version of {message.NAME}? trace({message.NAME}, data, version)")
        message = layout_of(message, version)
    session = _Session(as_bytes(data), strict, limits)
    session.read(message, whole=True)
    return session.trace(message.name, message.version)


def trace_request(registry: "Registry", data: Any, *, strict: bool = True, limits: Limits = DEFAULT_LIMITS) -> Trace:
    """What a request frame (header and body, without its size) holds; else as `trace`."""
    session = _Session(as_bytes(data), strict, limits, frame="request")
    try:
        body, version = registry.request_class(session.data)
    except DecodeError as error:
        header = _header_before(registry.request_header, error.offset)
        if header.root.items:
            session.read(header, whole=False)
        session.stop(error)
        return session.trace("request", None)
    session.read(layout_of(registry.request_header, body.header_version(version)), whole=False)
    if version in body.VERSIONS:
        session.read(layout_of(body, version), whole=True)
    elif session.error is None:
        session.stop(_no_such_version(body, version, session.pos))
    return session.trace(body.NAME, version)


def trace_response(
    registry: "Registry",
    data: Any,
    api_key: int,
    version: int,
    *,
    strict: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> Trace:
    """What the frame of a response to a request with this API key and version holds; else as `trace`.

    A response by which a peer says that it lacks the version (`Message.FALLBACK`)
    is traced in the version that it is written in.
    """
    buf = as_bytes(data)
    body = registry.response(api_key)
    with suppress(DecodeError):  # the trace says where
        version = registry.decode_response(buf, api_key, version, strict=strict, limits=limits).version
    session = _Session(buf, strict, limits, frame="response")
    session.read(layout_of(registry.response_header, body.header_version(version)), whole=False)
    session.read(layout_of(body, version), whole=True)
    return session.trace(body.NAME, version)


def _header_before(header: "type[Message]", offset: int) -> Layout:
    """The fields that every version of a header begins with, as far as they end at `offset`."""
    root = layout_of(header, header.VERSIONS.lowest).root
    items = []
    end = 0
    for item in root.items:
        end += item.type.minimum
        if end > offset:
            break
        items.append(item)
    return Layout(header.NAME, None, StructLayout(root.name, tuple(items)))


def _no_such_version(body: "type[Message]", version: int, offset: int) -> DecodeError:
    return DecodeError(
        message_name=body.NAME,
        version=version,
        path="",
        offset=offset,
        found=f"a body of version {version}",
        expected=f"one of the versions {body.VERSIONS}",
    )


class _Session:
    """A layout, or those of a frame one behind the other, read into one tree until one fails."""

    def __init__(self, data: bytes, strict: bool, limits: Limits, *, frame: str = "") -> None:
        self.data = data
        self.strict = strict
        self.limits = limits
        self.recorder = Recorder()
        self.pos = 0
        self.canonical = True
        self.error: DecodeError | None = None
        self.is_frame = bool(frame)
        if frame:
            self.recorder.open("", frame, 0)

    def read(self, layout: Layout, *, whole: bool) -> None:
        """Read one more, unless a fault has ended it all."""
        if self.error is not None:
            return
        reader = LayoutReader(
            layout, self.data, offset=self.pos, strict=self.strict, limits=self.limits, recorder=self.recorder
        )
        try:
            reader.message(whole=whole)
        except DecodeError as error:
            self.stop(error, None if reader.packed_at is None else reader.fault_at)
        self.pos = reader.pos
        self.canonical = self.canonical and reader.canonical

    def stop(self, error: DecodeError, within: int | None = None) -> None:
        self.error = error
        self.canonical = False
        self.recorder.stop(error.offset, within)

    def trace(self, name: str, version: int | None) -> Trace:
        root = self.recorder.root
        assert root is not None
        if self.is_frame and self.error is None:
            self.recorder.close(self.pos)
        parts = root.children if self.is_frame else [root]
        return Trace(name, version, root, parts, self.data, error=self.error, canonical=self.canonical)
