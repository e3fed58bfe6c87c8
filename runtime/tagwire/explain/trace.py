"""Traces: all fields of encoded messages, with path, offset, length and value, up to the first error.

`LayoutReader` opens a span where a field begins, notes its value, and closes the span where the field ends. The native
engine writes the same spans. If the engine stops at an error, `LayoutReader` takes over.
Spans are rows of numbers (`tagwire.explain.spans`), which become nodes (`tagwire.explain.nodes`) on access.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tagwire.errors import DecodeError, UnsupportedVersionError, details
from tagwire.explain.nodes import Node
from tagwire.explain.spans import SpanRecorder, Spans, kinds_of
from tagwire.frames.frame_headers import unreadable
from tagwire.frames.negotiation import check_registry
from tagwire.interpreter.error_positions import read_on
from tagwire.interpreter.reader import LayoutReader
from tagwire.layout import Layout, StructLayout
from tagwire.limits import DEFAULT_LIMITS, Limits, check_limits
from tagwire.message.field_table import layout_of
from tagwire.wire.buffers import as_bytes

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.message.base import Message


class Trace:
    """A tree of the fields in some bytes, up to the first error."""

    __slots__ = ("_canonical", "data", "error", "message_name", "parts", "root", "structs", "version")

    def __init__(
        self,
        message_name: str,
        version: int | None,
        root: Node,
        parts: Sequence[Node],
        data: bytes,
        *,
        error: DecodeError | None,
        canonical: "bool | Callable[[], bool]",
        structs: Sequence[StructLayout] = (),
    ) -> None:
        self.message_name = message_name
        self.version = version
        self.root = root
        self.parts = tuple(parts)
        """The message itself, or the header and the body of a frame."""
        self.structs = tuple(structs)
        """The layouts by which the parts were read."""
        self.data = data
        self.error = error
        """The error that stopped reading, or None."""
        self._canonical = canonical

    @property
    def canonical(self) -> bool:
        """Whether the bytes are canonical: encoding the decoded value produces the same bytes."""
        if not isinstance(self._canonical, bool):
            self._canonical = self._canonical()
        return self._canonical

    def has_opened(self, *, canonical: bool, error: DecodeError | None) -> None:
        """Add the results of tracing the record batches in a records field of the message.

        `canonical` is true if the batches are canonical, and `error` is the first error in them, or None. The error
        is ignored if the trace already has one.
        """
        if not canonical:
            self._canonical = False
        if self.error is None:
            self.error = error

    def to_json(self) -> dict[str, Any]:
        """Return the trace as values for `json.dumps`."""
        return {**self.facts(), "root": self.root.to_json()}

    def facts(self) -> dict[str, Any]:
        """Return the same dict as `to_json`, but without the tree of nodes."""
        error = self.error
        return {
            "message": self.message_name,
            "version": self.version,
            "size": len(self.data),
            "canonical": self.canonical,
            "error": error and {name.removesuffix("_name"): value for name, value in details(error).items()},
        }

    def _repr_html_(self) -> str:
        from tagwire.explain.html import trace_table

        return trace_table(self)

    def __repr__(self) -> str:
        return f"<trace of {self.root.type}: {len(self.data)} bytes{', with an error' if self.error else ''}>"


def trace(
    message: "type[Message] | Layout",
    data: Any,
    version: int | None = None,
    *,
    strict: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> Trace:
    """Trace `data`, any bytes-like object. `message` is a layout or a message class. A class requires a version.

    Invalid bytes don't raise an exception; the error is stored in `Trace.error`. Raises UnsupportedVersionError for a
    version that the class does not have.
    """
    session = _Session(as_bytes(data), strict, limits)
    if isinstance(message, Layout):
        session.read(message, whole=True)
        return session.trace(message.name, message.version)
    if version is None:
        raise TypeError(f"the version is missing; call trace({message.NAME}, data, version)")
    session.read_message(message, version, whole=True)
    return session.trace(message.NAME, version)


def trace_request(registry: "Registry", data: Any, *, strict: bool = True, limits: Limits = DEFAULT_LIMITS) -> Trace:
    """Trace a request frame (header and body, without the frame size).

    As in `trace`, invalid bytes don't raise an exception; the error is stored in `Trace.error`.
    """
    check_registry(registry)
    session = _Session(as_bytes(data), strict, limits, frame="request")
    try:
        body, version = registry.request_class(session.data)
    except DecodeError as error:
        header = _header_before(registry.request_header, error.offset)
        if header.root.items:
            session.read(header, whole=False)
        session.stop(error)
        return session.trace("request", None)
    session.read_message(registry.request_header, body.header_version(version), whole=False)
    if version in body.VERSIONS:
        session.read_message(body, version, whole=True)
    else:
        session.reject_version(body, version)
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
    """Trace the frame of a response to a request with this API key and version.

    As in `trace`, invalid bytes don't raise an exception; the error is stored in `Trace.error`.

    A fallback response (`Message.FALLBACK`), from a peer that does not support the requested version, is traced in its
    own version. If the package does not have the requested version, the trace contains an error.
    """
    check_registry(registry)
    buf = as_bytes(data)
    body = registry.response(api_key)
    if not isinstance(version, int):
        raise UnsupportedVersionError(body.NAME, version, body.VERSIONS)
    if body.FALLBACK is not None:
        with suppress(DecodeError, UnsupportedVersionError):  # the trace will show the error
            version = registry.decode_response(buf, api_key, version, strict=strict, limits=limits).version
    session = _Session(buf, strict, limits, frame="response")
    if version not in body.VERSIONS:
        session.read(_header_before(registry.response_header, len(buf)), whole=False)
        session.reject_version(body, version)
        return session.trace(body.NAME, version)
    session.read_message(registry.response_header, body.header_version(version), whole=False)
    session.read_message(body, version, whole=True)
    return session.trace(body.NAME, version)


def _header_before(header: "type[Message]", offset: int) -> Layout:
    """Return a layout of the first header fields, which fit in `offset` bytes. All versions must have these fields."""
    root = layout_of(header, header.VERSIONS.lowest).root
    items = []
    end = 0
    for item in root.items:
        end += item.type.minimum
        if end > offset:
            break
        items.append(item)
    return Layout(header.NAME, None, StructLayout(root.name, tuple(items)))


class _Session:
    """Traces a message, or the header and body of a frame, as one tree. Stops at the first error."""

    def __init__(self, data: bytes, strict: bool, limits: Limits, *, frame: str = "") -> None:
        check_limits(limits)
        self.data = data
        self.strict = strict
        self.limits = limits
        self.spans = Spans(data)
        self.recorder = SpanRecorder(self.spans)
        self.pos = 0
        self.canonical = True
        self.unsure: list[Callable[[], bool]] = []
        """Slow checks of whether the bytes are canonical. They run only when `Trace.canonical` is read."""
        self.structs: list[StructLayout] = []
        self.error: DecodeError | None = None
        self.is_frame = bool(frame)
        if frame:
            self.recorder.open([], frame, 0)

    def read_message(self, message: "type[Message]", version: int, *, whole: bool) -> None:
        """Read the next message with the native engine, or else in Python."""
        layout = layout_of(message, version)
        self.learn(layout)
        plan = message.serializer(version)
        if self.error is None and not (hasattr(plan, "walk") and self.walk(layout, plan, whole=whole)):
            self.read(layout, whole=whole)

    def walk(self, layout: Layout, plan: Any, *, whole: bool) -> bool:
        """Trace a message with the native engine. Return False if only the Python reader can trace it."""
        before, kinds, start = len(self.spans), len(self.spans.kinds), self.pos
        walk = plan.walk(self.data, start, whole, self.limits, self.spans.rows, kinds)
        if walk is None:
            return False
        if plan.span_kinds is None:
            plan.span_kinds = kinds_of(layout, plan.span_types)
        self.spans.kinds += plan.span_kinds
        if walk.error_position is None:
            self.pos = walk.end
            if walk.has_known_tags:
                data = self.data[start : walk.end]
                self.unsure.append(lambda: plan.encode(plan.decode(data)) == data)
            return True
        if self.strict:
            reader = LayoutReader(layout, self.data, limits=self.limits, recorder=self.recorder)
            self.recorder.go_on(walk.open)
            try:
                read_on(reader, walk.error_position)
            except DecodeError as error:
                self.stop(error)
                self.pos = reader.pos
                return True
        self.spans.truncate(before)
        return False

    def read(self, layout: Layout, *, whole: bool) -> None:
        if self.error is not None:
            return
        self.learn(layout)
        reader = LayoutReader(
            layout, self.data, offset=self.pos, strict=self.strict, limits=self.limits, recorder=self.recorder
        )
        try:
            reader.message(whole=whole)
        except DecodeError as error:
            self.stop(error, None if reader.compressed_at is None else reader.error_at)
        self.pos = reader.pos
        self.canonical = self.canonical and reader.canonical

    def learn(self, layout: Layout) -> None:
        if not any(struct is layout.root for struct in self.structs):
            self.structs.append(layout.root)
        self.spans.messages.append(layout.name)
        if layout.root.has_sensitive and not any(root is layout.root for root in self.spans.secrets):
            self.spans.secrets.append(layout.root)

    def reject_version(self, body: "type[Message]", version: int) -> None:
        """Stop the trace before a body of an unknown version, and hide the body's bytes, which may be sensitive."""
        layouts = (layout_of(body, each) for each in body.VERSIONS)
        self.spans.secrets += [layout.root for layout in layouts if layout.root.has_sensitive]
        if self.error is None:
            found, expected = f"a body of version {version}", f"one of the versions {body.VERSIONS}"
            self.stop(unreadable(body.NAME, version, "", self.pos, found, expected))

    def stop(self, error: DecodeError, within: int | None = None) -> None:
        self.error = error
        self.canonical = False
        self.recorder.stop(error.offset, within)

    def trace(self, name: str, version: int | None) -> Trace:
        if self.is_frame and self.error is None:
            self.recorder.close(self.pos)
        root = Node(self.spans, 0, "", self.data)
        parts = root.children if self.is_frame else [root]
        canonical = (lambda: all(each() for each in self.unsure)) if self.canonical and self.unsure else self.canonical
        structs = self.structs
        return Trace(name, version, root, parts, self.data, error=self.error, canonical=canonical, structs=structs)
