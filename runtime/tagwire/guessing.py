"""Guess which message some bytes contain: try every message of a package, and rank the results.

The first bytes of a request identify it. Responses and messages without a header have no such bytes, so every message
is tried. A message is a candidate if it decodes completely in strict mode. `tagwire.plausibility` ranks the candidates
by their values. Record batches have checksums, so they are recognized with certainty.

Versions of a message that decode the bytes to the same values form one candidate, because nothing distinguishes them.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from math import log2
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tagwire.errors import DecodeError, TagwireError, UnsupportedVersionError
from tagwire.explain.trace import Trace, trace, trace_request, trace_response
from tagwire.frames.negotiation import check_registry
from tagwire.interpreter.reader import LayoutReader
from tagwire.layout import COMPACT, INT32, Layout, StructLayout, primitive
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.plausibility import CHECKED, cost_of
from tagwire.text_format import count
from tagwire.wire.buffers import as_bytes
from tagwire.wire.types import wire_type

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.message.base import Message
    from tagwire.message.field_table import FieldRow


KINDS: Final = ("request", "response", "batches", "message")
"""The kinds of candidates: a request or response with its header, record batches, or a message without a header."""

CLEARLY: Final = 16.0
"""The best candidate is certain if it costs this many bits less than the next one (is 65,000 times as likely)."""

_ALONE: Final = 30.0
"""The bits added to the cost of a message without a header, because such messages are rare."""
_ERROR: Final = 24.0
"""The cost in bits of an error."""
_SMALLEST_BATCH: Final = 26
"""The size in bytes of the smallest batch, which is a v0 message that has neither a key nor a value."""
_HIGHEST_MAGIC: Final = 2
_BEST_PARTS: Final = 3
_INVALID: Final = -1
_PARTS_TRIED: Final = 1 << 16
"""The maximum size in bytes of an input for which partial decodings are tried."""


class Candidate(NamedTuple):
    """One possible meaning of the bytes. Versions that decode to the same values share a candidate."""

    kind: str
    """One of `KINDS`."""
    message: "type[Message] | None"
    """The class, or None for record batches, and for a header that does not name a message."""
    versions: tuple[int, ...]
    """The versions that decode to the same values, ascending; the traces use the last of them."""
    traces: tuple[Trace, ...]
    """The traces; record batches have a trace for each batch."""
    bits: float
    """The cost in bits. Candidates with lower costs are more likely. Each byte that isn't decoded costs 8 bits."""
    why: tuple[str, ...]
    """The reasons for and against this candidate, as phrases."""

    @property
    def name(self) -> str:
        return self.message.NAME if self.message is not None else self.traces[0].message_name

    @property
    def whole(self) -> bool:
        """Whether every byte was decoded, strictly."""
        return all(each.error is None for each in self.traces)

    @property
    def version(self) -> int | None:
        """The highest of the candidate's versions, or None if it has no versions."""
        return self.versions[-1] if self.versions else None

    def to_json(self) -> dict[str, Any]:
        """Return the candidate as JSON values, without the traces."""
        return {
            "kind": self.kind,
            "message": self.name,
            "versions": list(self.versions),
            "whole": self.whole,
            "bits": round(self.bits, 1),
            "why": list(self.why),
        }

    def __repr__(self) -> str:
        versions = f" v{'/'.join(map(str, self.versions))}" if self.versions else ""
        return f"<{self.kind} {self.name}{versions}: {self.bits:.0f} bits{'' if self.whole else ', in part'}>"


class Guess(NamedTuple):
    """All possible meanings of some bytes, most likely first."""

    candidates: tuple[Candidate, ...]
    size: int
    """The size of the input in bytes."""

    @property
    def best(self) -> Candidate | None:
        """The most likely candidate, or None if there is none."""
        return self.candidates[0] if self.candidates else None

    @property
    def clear(self) -> Candidate | None:
        """The best candidate if it is certain, otherwise None.

        A candidate is certain if it decodes all bytes, its cost (`Candidate.bits`) is below 8 bits per byte, and the
        next candidate costs at least `CLEARLY` bits more.
        """
        first, *others = self.candidates or (None,)
        if first is None or not first.whole or first.bits >= self.size * 8:
            return None
        return first if not others or others[0].bits - first.bits >= CLEARLY else None

    def __repr__(self) -> str:
        return f"<guess: {', '.join(map(repr, self.candidates[:3])) or 'nothing'}>"


def guess(registry: "Registry", data: Any, *, kinds: Collection[str] = KINDS, limits: Limits = DEFAULT_LIMITS) -> Guess:
    """Return the messages of `registry` that `data` may contain. `data` is any bytes-like object, without a frame size.

    The most likely candidates come first. A request with a complete header is listed even if its body is damaged. If
    nothing decodes completely, the best partial decodings are listed. Raises ValueError for a kind that is not in
    `KINDS`.
    """
    check_registry(registry)
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if unknown := sorted(set(kinds) - set(KINDS)):
        raise ValueError(f"unknown kind {unknown[0]!r}; kinds are {', '.join(KINDS)}")
    work = _Work(registry, as_bytes(data), limits)
    searches: dict[str, Callable[[], Iterator[Candidate]]] = {
        "request": work.requests,
        "response": lambda: work.whole("response"),
        "batches": work.batches,
        "message": lambda: work.whole("message"),
    }
    found = [each for kind in KINDS if kind in kinds for each in searches[kind]()]
    if not any(each.whole for each in found):
        found += [each for kind in ("response", "message") if kind in kinds for each in work.parts(kind)]
    return Guess(tuple(sorted(found, key=lambda each: each.bits)), len(work.data))


class _Work:
    def __init__(self, registry: "Registry", data: bytes, limits: Limits) -> None:
        self.registry = registry
        self.data = data
        self.limits = limits
        self.first_fields = _FirstFields(data)
        self.starts: dict[int, int] = {}
        """The offset of a response's body, by header version."""
        self.names = [name for name in registry.names() if registry[name].KIND != "format"]
        known = registry.attribute("ErrorCode").name_of if "ErrorCode" in registry.registers else None
        self.error_name = known
        self.priors = {"response": 0.0, "message": _ALONE}
        """The cost in bits of each kind, besides that of choosing the class and version."""

    def requests(self) -> Iterator[Candidate]:
        """Yield a candidate for the request that the header identifies, even if its body is only partly decodable."""
        if "RequestHeader" not in self.registry:
            return
        try:
            message, version = self.registry.request_class(self.data)
        except DecodeError:
            return
        seen = trace_request(self.registry, self.data, limits=self.limits)
        if seen.error is not None and not _is_past_header(seen):
            return
        facts = [f"the header names API key {message.API_KEY} and version {version}"]
        yield self.candidate("request", message, [version] if version in message.VERSIONS else [], seen, 0.0, facts)

    def whole(self, kind: str) -> Iterator[Candidate]:
        """Yield a candidate for each complete decoding of the bytes as a "response", or "message" without a header."""
        classes = self.classes(kind)
        prior = self.priors[kind] + log2(max(1, sum(len(list(each.VERSIONS)) for each in classes)))
        for message in classes:
            for versions, seen in self.alike(message, kind):
                yield self.candidate(kind, message, versions, seen, prior, [])

    def batches(self) -> Iterator[Candidate]:
        """Yield a candidate if the bytes are record batches, at least up to the first invalid batch."""
        from tagwire.records.opening import trace_batches

        if len(self.data) < _SMALLEST_BATCH:
            return
        try:
            seen = list(trace_batches(self.data, limits=self.limits))
        except TagwireError:
            return  # if the library for checksums is missing, record batches can't be recognized
        valid = sum(each.error is None for each in seen)
        bits = CHECKED
        facts: tuple[str, ...]
        if (error := seen[-1].error) is not None:
            if not (valid or _is_like_a_batch(self.data)):
                return
            bits += _ERROR + 8.0 * len(seen[-1].data)
            facts = (f"behind {count(valid, 'valid batch')}: found {error.found}, expected {error.expected}",)
        else:
            facts = (count(valid, "batch"), "the checksums agree")
        yield Candidate("batches", None, (), tuple(seen), bits, facts)

    def parts(self, kind: str) -> Iterator[Candidate]:
        """Yield the best candidates that decode only a part of the bytes."""
        if len(self.data) > _PARTS_TRIED:
            return
        found = [
            self.candidate(kind, message, [version], self.trace(kind, message, version), self.priors[kind], [])
            for message in self.classes(kind)
            for version in message.VERSIONS
        ]
        yield from sorted(found, key=lambda each: each.bits)[:_BEST_PARTS]

    def classes(self, kind: str) -> "list[type[Message]]":
        """Return the classes to try: all responses, or (for the kind "message") all messages except headers."""
        found = (self.registry[name] for name in self.names)
        if kind == "message":
            return [each for each in found if each.KIND != "header"]
        return [each for each in found if each.KIND == "response"] if "ResponseHeader" in self.registry else []

    def alike(self, message: "type[Message]", kind: str) -> Iterator[tuple[list[int], Trace]]:
        """Group versions that decode the bytes to equal values. Yield (group, trace of its highest version)."""
        groups: list[tuple[Any, list[int]]] = []
        for version in message.VERSIONS:
            try:
                if not self.first_fields.fit(message, version, self.start(kind, message, version)):
                    continue
                value = self.decoded(kind, message, version)
            except (DecodeError, UnsupportedVersionError):
                continue
            for known, versions in groups:
                if known == value:
                    versions.append(version)
                    break
            else:
                groups.append((value, [version]))
        for _, versions in groups:
            seen = self.trace(kind, message, versions[-1])
            if seen.error is None:
                yield versions, seen

    def start(self, kind: str, message: "type[Message]", version: int) -> int:
        """Return the offset of the body. Raises DecodeError if the bytes don't begin with a header of this version."""
        if kind == "message":
            return 0
        header_version = message.header_version(version)
        if header_version not in self.starts:
            _, start = self.registry.response_header.decode_from(self.data, header_version, limits=self.limits)
            self.starts[header_version] = start
        return self.starts[header_version]

    def decoded(self, kind: str, message: "type[Message]", version: int) -> Any:
        if kind == "message":
            return message.decode(self.data, version, limits=self.limits)
        assert message.API_KEY is not None, "a response has an API key"
        frame = self.registry.decode_response(self.data, message.API_KEY, version, limits=self.limits)
        if frame.version != version:
            # This is how a broker answers a request in a version that it doesn't support.
            raise UnsupportedVersionError(message.NAME, version, frame.version)
        return frame.header, frame.message

    def trace(self, kind: str, message: "type[Message]", version: int) -> Trace:
        if kind == "message":
            return trace(message, self.data, version, limits=self.limits)
        assert message.API_KEY is not None, "a response has an API key"
        return trace_response(self.registry, self.data, message.API_KEY, version, limits=self.limits)

    def candidate(
        self,
        kind: str,
        message: "type[Message]",
        versions: Sequence[int],
        seen: Trace,
        prior: float,
        facts: Sequence[str],
    ) -> Candidate:
        bits = prior + cost_of(seen, self.error_name, self.limits) + (_ERROR if seen.error else 0.0)
        return Candidate(kind, message, tuple(versions), (seen,), bits, (*facts, *_facts(seen)))


class _FirstFields:
    """Reads the first fields of messages. This rejects most messages before their layouts are made, which is slow."""

    def __init__(self, data: bytes) -> None:
        self.reader = LayoutReader(Layout("", None, StructLayout("", ())), data)
        self.read = cache(self._read)  # many messages have the same types of fields at the same offsets

    def fit(self, message: "type[Message]", version: int, start: int) -> bool:
        """Return False if the bytes from `start` can't be this message. If True, only decoding can tell."""
        if message.OPTIONAL_FIELDS is not None:
            return True
        end = self.struct_end(message.FIELDS, version, start, is_flexible=version in message.FLEXIBLE_VERSIONS)
        return end is None or end == len(self.reader.buf)

    def struct_end(self, rows: "Sequence[FieldRow]", version: int, start: int, *, is_flexible: bool) -> int | None:
        """Return the offset after a struct, _INVALID for invalid fields, or None if the end is behind further structs.

        Of an array, only the count and the first element are read.
        """
        for row in rows:
            if version not in row.versions or version in row.tagged:
                continue
            is_array = row.type.startswith("[]")
            if row.struct is not None and not is_array:
                return None
            is_compact = is_flexible if row.flexible is None else version in row.flexible
            start, count = self.read(start, "[]" if is_array else row.type, is_compact, version in row.nullable)
            if start == _INVALID:
                return _INVALID
            if count:
                inner = row.struct_version(version)
                if row.struct is None or inner is None or row.type.startswith("[][]"):
                    return None
                end = self.struct_end(row.struct.FIELDS, inner, start, is_flexible=is_flexible)
                return _INVALID if end == _INVALID else None
        if not is_flexible:
            return start
        tags = self.reader.buf[start : start + 1]
        return (None if tags > b"\0" else start + 1) if tags else _INVALID

    def _read(self, start: int, type: str, is_compact: bool, is_nullable: bool) -> tuple[int, int]:
        """Return the end of a field, or _INVALID. For an array ("[]"), return the start and number of its elements."""
        reader = self.reader
        reader.pos = start
        try:
            if type == "[]":
                count = reader.length(COMPACT if is_compact else INT32)
                is_valid = is_nullable if count is None else count <= reader.left
                return reader.pos if is_valid else _INVALID, count or 0
            wire = wire_type(type)
            assert wire is not None, "the types of generated classes are known"
            reader.read(primitive(wire, compact=is_compact, nullable=is_nullable), ())
        except DecodeError:
            return _INVALID, 0
        return reader.pos, 0


def _is_like_a_batch(data: bytes) -> bool:
    """Return whether the data begins with a plausible batch: its offset, length and magic byte have valid values."""
    offset, length = int.from_bytes(data[:8], "big"), int.from_bytes(data[8:12], "big")
    return offset < 1 << 48 and _SMALLEST_BATCH - 12 <= length < 1 << 30 and data[16] <= _HIGHEST_MAGIC


def _is_past_header(seen: Trace) -> bool:
    return len(seen.parts) > 1 or (bool(seen.parts) and seen.parts[0].complete)


def _facts(seen: Trace) -> list[str]:
    size = len(seen.data)
    if seen.error is not None:
        where = f"{seen.error.path} at byte" if seen.error.path else "byte"
        return [f"stops at {where} {seen.error.offset} of {size}: found {seen.error.found}"]
    if not seen.canonical:
        return [f"decodes all {count(size, 'byte')}, but encoding the value gives other bytes"]
    return [f"decodes all {count(size, 'byte')}, and encoding the value gives the same bytes"]
