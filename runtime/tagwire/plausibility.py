"""The plausibility of a decoded message, in bits: the cost of describing its values to someone who knows the spec.

Real messages contain the values that people and programs use: small numbers, zeros, -1, names made of letters, known
error codes. Decoded as the wrong message, the same bytes become large numbers and unreadable strings. So common values
cost few bits and rare values many, and the cheaper decoding is more likely: one bit less means twice as likely. This is
minimum description length (Rissanen 1978), with Elias' delta code for numbers. The costs were chosen by hand.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from struct import iter_unpack
from typing import Any, Final
from uuid import UUID

from tagwire.errors import TagwireError
from tagwire.explain.nodes import Node
from tagwire.explain.spans import NULL, OPEN, SpanKind, Spans
from tagwire.explain.trace import Trace
from tagwire.limits import DEFAULT_LIMITS, Limits

_ODD: Final = 24.0
"""The cost in bits of a value that senders rarely write, such as an unknown error code or an unknown tag."""
_NULL: Final = 2.0
CHECKED: Final = 8.0
"""The cost in bits of record batches, whatever their content is: the checksums prove that they are batches."""
_BYTE: Final = 8.0
_NAME_CHARACTER: Final = 6.0
_TEXT_CHARACTER: Final = 9.0
_ODD_CHARACTER: Final = 20.0
_NAME_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/")

_ZERO_BYTE: Final = 2.0
_BYTE_COSTS: Final = [_NAME_CHARACTER if chr(byte) in _NAME_CHARACTERS else _TEXT_CHARACTER for byte in range(256)]
"""The cost of each byte value in a bytes field. Letters and zeros cost less, because text and integers are common."""
_BYTE_COSTS[0] = _ZERO_BYTE

_ELEMENT: Final = -1
"""The key under which `_Field.children` stores the elements of an array if they have a fixed width."""
_NO_VALUE: Final = object()
_REMEMBERED: Final = 16
"""The maximum length in bytes of an encoded value whose cost is remembered."""

NameOf = Callable[[int], "str | None"]


def cost_of(trace: Trace, error_name: NameOf | None = None, limits: Limits | None = None) -> float:
    """Return the cost of a decoded message in bits.

    `error_name` returns the name of an error code, or None for an unknown code.
    """
    cost = sum(_part(part, error_name, limits) for part in trace.parts)
    read = max((part.end for part in trace.parts), default=0)
    return cost + 2 * _BYTE * (len(trace.data) - read)


class _Field:
    """Remembers the latest value of a field. The elements of an array share one `_Field` for each of their fields."""

    __slots__ = ("children", "costs", "kind", "path", "times", "value")

    def __init__(self, kind: SpanKind, path: str) -> None:
        self.kind = kind
        self.path = path
        """The path without array indexes."""
        self.children: dict[Any, _Field] = {}
        """The fields inside this one, by the number of the kind or, for entries of tagged fields, by number and tag."""
        self.costs: dict[Any, float] = {}
        """The costs of the short values that occurred so far."""
        self.value: Any = _NO_VALUE
        """The previous value, or its encoding."""
        self.times = 0
        """How many times this value has been repeated."""

    def child(self, key: Any, kind: SpanKind) -> "_Field":
        self.children[key] = field = _Field(kind, kind.path(self.path, None))
        return field

    def remember(self, value: Any, cost: float) -> float:
        """Return the cost of a new value. If the value is short, remember the cost."""
        if not isinstance(value, bytes) or len(value) <= _REMEMBERED:
            self.costs[value] = cost
        return cost


def _part(part: Node, error_name: NameOf | None, limits: Limits | None) -> float:
    """Return the cost of a header or body in bits.

    A field costs less if it has the same value as in the previous array element. A value is decoded only if its cost is
    not known yet, because a large message may have a million values.
    """
    total = 0.0
    spans, data, kinds = part.spans, part.spans.data, part.spans.kinds
    field, stop = _Field(kinds[0], ""), part.rows.stop
    outer: list[tuple[_Field, int]] = []
    cost = partial(_value_cost, spans, error_name, limits)
    for row, (offset, length, number, step, value, after) in zip(part.rows, spans.between(part.rows), strict=True):
        while row >= stop:
            field, stop = outer.pop()
        kind = kinds[number]
        key: Any = (number, step) if kind.is_tag else number
        child = field.children.get(key) or field.child(key, kind)
        if after != OPEN:
            encoded: Any = data[offset : offset + length] if kind.is_leaf else spans.other_values.get(row, value)
            if encoded == child.value:
                child.times += 1
                total += 1.0 / child.times
            else:
                child.value, child.times = encoded, 0
                known = child.costs.get(encoded)
                total += child.remember(encoded, cost(child, encoded)) if known is None else known
        if after != row + 1:
            outer.append((field, stop))
            field, stop = child, len(spans) if after == OPEN else after
        elif kind.element is not None and value > 0:
            elements = child.children.get(_ELEMENT) or child.child(_ELEMENT, kind.element)
            end = offset + length
            for (encoded,) in iter_unpack(f"{kind.width}s", data[end - value * kind.width : end]):
                if encoded == elements.value:
                    elements.times += 1
                    total += 1.0 / elements.times
                else:
                    elements.value, elements.times = encoded, 0
                    known = elements.costs.get(encoded)
                    total += elements.remember(encoded, cost(elements, encoded)) if known is None else known
    return total


def _value_cost(spans: Spans, error_name: NameOf | None, limits: Limits | None, field: _Field, encoded: Any) -> float:
    """Return the cost of a field's value. It is given as bytes, or as a number if it contains other fields."""
    kind = field.kind
    value = spans.value(kind, 0, len(encoded), encoded) if kind.is_leaf else encoded
    if value is None or (value == NULL and not kind.is_leaf):
        return _NULL
    if kind.is_tag:
        return _ODD if "unknown_tags" in field.path else 4.0
    if kind.is_struct:
        return 0.0
    if isinstance(value, bool):
        return 1.0 if kind.text == "bool" else 0.0
    if isinstance(value, int):
        is_error = kind.text == "int16" and not kind.is_indexed and field.path.endswith("error_code")
        return _error_code(value, error_name) if is_error and error_name else _integer(value)
    if isinstance(value, str):
        return _string_cost(value)
    if isinstance(value, bytes):
        return _bytes(kind.text, value, limits)
    if isinstance(value, UUID):
        return _NULL if value.int == 0 else _uuid(value)
    return 8.0 * len(encoded)  # a float


def _error_code(value: int, name_of: NameOf) -> float:
    if value == 0:
        return 1.0
    return 8.0 if name_of(value) is not None else _ODD


def _integer(value: int) -> float:
    """Return the cost of an integer in bits: the length of its Elias delta code.

    -1 is cheap, because protocols often use it; other negative numbers cost more.
    """
    if value == -1:
        return 3.0
    bits = (abs(value) + 1).bit_length() - 1
    return bits + 2 * ((bits + 1).bit_length() - 1) + (1.0 if value >= 0 else 7.0)


def _string_cost(value: str) -> float:
    if not value:
        return _NULL
    return _integer(len(value)) + sum(map(_character, value))


@lru_cache(4096)
def _character(character: str) -> float:
    if character in _NAME_CHARACTERS:
        return _NAME_CHARACTER
    return _TEXT_CHARACTER if character.isprintable() else _ODD_CHARACTER


def _bytes(kind: str, value: bytes, limits: Limits | None) -> float:
    if kind.endswith("records") and value and _are_batches(value, limits):
        return _integer(len(value)) + CHECKED
    return _integer(len(value)) + min(_BYTE * len(value), sum(map(_BYTE_COSTS.__getitem__, value))) + 1.0


def _uuid(value: UUID) -> float:
    """Return the cost of a UUID: low if it looks random, as most UUIDs do."""
    is_random = value.version == 4 or len(set(value.bytes)) > 8
    return 100.0 if is_random else 128.0 + _ODD


def _are_batches(data: bytes, limits: Limits | None) -> bool:
    """Return whether checksums prove that the bytes are record batches. The last batch may be truncated."""
    from tagwire.records.reading import read_batches

    try:
        return len(list(read_batches(data, "auto", limits or DEFAULT_LIMITS, partial=True))) > 0
    except TagwireError:
        return False
