"""Values that a program may assign to a field by mistake: of the wrong type, out of range, or nearly valid."""

from array import array
from collections import OrderedDict, deque
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from random import Random
from types import SimpleNamespace
from typing import Any, Final
from uuid import UUID

import tagwire_messages as messages
from tagwire import Struct


class _Number(IntEnum):
    ONE = 1


class _Text(str):
    pass


class _Tuple(tuple[Any, ...]):
    pass


class _HasBytes:
    bytes = b"0123456789"


class _HasEncode:
    def encode(self) -> bytes:
        return b"text"


def _released() -> memoryview:
    view = memoryview(b"gone")
    view.release()
    return view


_NUMBERS: Final[tuple[Any, ...]] = (
    *(0, 1, -1, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**31 - 1, 2**31, -(2**31) - 1, 2**32),
    *(2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**5000, True, False, _Number.ONE),
    *(0.0, -0.0, 1.0, 1.5, float("nan"), float("inf"), Decimal("1.5"), Decimal(1), Fraction(1, 2), 1 + 0j),
)
_TEXTS: Final[tuple[Any, ...]] = (
    *("", "x", "\0", "é" * 16383, "é" * 16384, "x" * 32767, "x" * 32768, "\ud800", "a\udfffb", "😀"),
    *(_Text("text"), _HasEncode()),
)
_BUFFERS: Final[tuple[Any, ...]] = (
    *(b"", b"x", b"xy" * 40_000, bytearray(b"ab"), memoryview(b"xyz"), memoryview(bytearray(b"ab"))),
    *(memoryview(array("i", [1, 2])), memoryview(array("i")), memoryview(b"abcdef")[::2], _released()),
    *(array("b", [1, 2]), array("b"), array("d", [1.5])),
)
_COLLECTIONS: Final[tuple[Any, ...]] = (
    *((), [], (None,), [None], [1, 2], (1, 2, 3), [True], [2], ["a"], ("a", "b"), [b"a"], [UUID(int=1)], [[]], (1.5,)),
    *(_Tuple((1, 2)), _Tuple(), deque([1]), deque(), set(), {1, 2}, frozenset(), range(3), range(0), iter([1])),
    *({"a": 1}.keys(), {}.values(), (letter for letter in "")),
)
_TAGS: Final[tuple[Any, ...]] = (
    *({}, {0: b""}, {1: b"x"}, {2: b"q", 0: b"z"}, dict.fromkeys(range(100, 300), b"a"), {5: bytearray(b"a")}),
    *({-1: b""}, {2**31 - 1: b""}, {2**31: b""}, {True: b""}, {"1": b""}, {None: b""}, {1.0: b""}, {(): b""}),
    *({1: "x"}, {1: None}, {1: 7}, {1: [1]}, {9: _released()}, OrderedDict({5: b"a"}), [(1, b"")]),
)
_OTHERS: Final[tuple[Any, ...]] = (
    *(None, ..., object(), int, len, SimpleNamespace(), UUID(int=5), _HasBytes()),
    *(messages.HeartbeatResponse(), messages.MetadataResponse()),
)

ODD_VALUES: Final = (*_NUMBERS, *_TEXTS, *_BUFFERS, *_COLLECTIONS, *_TAGS, *_OTHERS)


def with_odd_value(message: Any, random: Random) -> Any:
    """Return a copy of `message` with one change at any depth: a value is deleted, or becomes invalid or unusual."""
    return _struct(message, random)


def _struct(struct: Struct, random: Random) -> Struct:
    names = struct.__slots__
    copy: Struct = object.__new__(type(struct))
    for name in names:
        setattr(copy, name, getattr(struct, name))
    name = random.choice(names)
    if random.random() < 0.01:
        delattr(copy, name)
    else:
        setattr(copy, name, _value(getattr(struct, name), random))
    return copy


def _value(value: Any, random: Random) -> Any:
    if isinstance(value, Struct) and random.random() < 0.8:
        return _struct(value, random)
    if isinstance(value, tuple) and value and random.random() < 0.7:
        index = random.randrange(len(value))
        changed = (*value[:index], _value(value[index], random), *value[index + 1 :])
        return random.choice((tuple, tuple, list))(changed)
    if isinstance(value, tuple) and random.random() < 0.2:
        return random.choice((list, deque, iter, _Tuple, set if not value else list))(value)
    return random.choice(ODD_VALUES)
