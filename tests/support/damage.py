"""Damage valid bytes as a broken or hostile sender would. With equal seeds, every run is the same.

Half of the damage is at the start of a field, and includes bytes that only an attacker would write: counts larger than
the rest of the input, lengths below -1, overlong varints, too many or unordered tags, and tags with a wrong size.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import chain
from random import Random
from typing import Any, Final

from kafka_cases import present

import tagwire
import tagwire_messages as messages
from tagwire.wire.varint import uvarint_bytes

_LONGEST: Final = 400
"""The default size limit of samples in bytes."""

_EVERY: Final = int(os.environ.get("TAGWIRE_TEST_EVERY", "1"))
"""Damage one of every `_EVERY` samples."""

_INT16S: Final = tuple(bytes.fromhex(text) for text in ("7fff", "ffff", "fffe", "8000", "0000"))
_INT32S: Final = tuple(bytes.fromhex(text) for text in ("7fffffff", "ffffffff", "fffffffe", "80000000", "00010000"))
_VARINTS: Final = tuple(
    bytes.fromhex(text)
    for text in ("ffffffff07", "ffffffff0f", "ffffffff7f", "ffffffffffff", "8080808000", "8000", "8100", "808002", "00")
)
_MARKERS: Final = tuple(bytes.fromhex(text) for text in ("ff", "01", "00", "ffff", "ffffffff"))
_BYTES: Final = (0x00, 0x01, 0x02, 0x7F, 0x80, 0xFE, 0xFF)
_TAGS: Final = (0, 1, 2, 3, 5, 0x7F, 0x80, 0x7FFFFFFF)


class Sample:
    def __init__(self, cls: type[tagwire.Message], version: int, data: bytes) -> None:
        self.cls = cls
        self.version = version
        self.data = data
        self.offsets = tuple(sorted({node.offset for node in tagwire.trace(cls, data, version).root.walk()}))
        """The offsets at which fields begin."""

    def __str__(self) -> str:
        return f"{self.cls.NAME} v{self.version} {self.data.hex()}"


@cache
def samples(longest: int = _LONGEST) -> tuple[Sample, ...]:
    """Return samples of all versions: messages of at most `longest` bytes from Kafka, and messages of the draft."""
    found = {str(sample): sample for sample in chain(_of_kafka(longest), _of_the_draft())}
    return tuple(found.values())[::_EVERY]


def _of_kafka(longest: int) -> Iterator[Sample]:
    for name in ("golden_vectors", "rand", "unk"):
        for row in present(name):
            data = bytes.fromhex(row["hex"])
            if len(data) <= longest:
                yield Sample(messages.registry[row["message"]], row["version"], data)


def _of_the_draft() -> Iterator[Sample]:
    for package in ("kip482", "kip482_unsigned"):
        ask, answer = (import_module(f"tagwire_drafts.{package}.{name}") for name in ("foo_request", "foo_response"))
        for version in ask.FooRequest.VERSIONS:
            yield Sample(ask.FooRequest, version, ask.FooRequest().encode(version))
            yield Sample(answer.FooResponse, version, answer.FooResponse(foos=[answer.Foo(baz=7)]).encode(version))
        request = ask.FooRequest(
            user_agent="me",
            max_wait_ms=1,
            origin=ask.Origin(host="h", hops=[3, 4]),
            trace_id=b"\xff",
            filters=[ask.Filter(bar="y", limit=2), ask.Filter(lowest_baz=-1)],
            unknown_tags={3: b"ab", 0xFFFF: b"c"},
        )
        response = answer.FooResponse(user_agent="ab", foos=[answer.Foo(bar="x", unknown_tags={2: b"a"}), answer.Foo()])
        yield Sample(ask.FooRequest, 9, request.encode(9))
        yield Sample(answer.FooResponse, 9, response.encode(9))


def damaged(sample: Sample, random: Random, before: bytes | None = None) -> bytes:
    """Return a copy of `before` (default: the sample's bytes) that is damaged at one to three random positions."""
    data = bytearray(sample.data if before is None else before)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        offset = random.choice(sample.offsets) if random.random() < 0.5 else random.randrange(len(data) + 1)
        random.choice(_KINDS)(data, min(offset, len(data)), random)
    return bytes(data)


def _flip(data: bytearray, at: int, random: Random) -> None:
    if at < len(data):
        data[at] ^= 1 << random.randrange(8)


def _set(data: bytearray, at: int, random: Random) -> None:
    data[at : at + 1] = bytes([random.choice(_BYTES)])


def _insert(data: bytearray, at: int, random: Random) -> None:
    data[at:at] = random.randbytes(random.randrange(1, 5))


def _delete(data: bytearray, at: int, random: Random) -> None:
    del data[at : at + random.randrange(1, 5)]


def _truncate(data: bytearray, at: int, random: Random) -> None:
    del data[at:]


def _repeat(data: bytearray, at: int, random: Random) -> None:
    data[at:at] = data[at : at + random.randrange(1, 64)]


def _int16(data: bytearray, at: int, random: Random) -> None:
    data[at : at + 2] = random.choice(_INT16S)


def _int32(data: bytearray, at: int, random: Random) -> None:
    data[at : at + 4] = random.choice(_INT32S)


def _varint(data: bytearray, at: int, random: Random) -> None:
    data[at : at + 1] = random.choice(_VARINTS)


def _long_varint(data: bytearray, at: int, random: Random) -> None:
    """Replace a one-byte varint with a longer encoding of the same number."""
    if at < len(data) and data[at] < 0x80:
        data[at : at + 1] = bytes([data[at] | 0x80, *([0x80] * random.randrange(3)), 0])


def _off_by_one(data: bytearray, at: int, random: Random) -> None:
    """Add or subtract 1 or 2. The changed number may be a length, count or tag."""
    width = random.choice((1, 1, 2, 4))
    number = int.from_bytes(data[at : at + width], "big") + random.choice((-2, -1, 1, 2))
    data[at : at + width] = (number % (1 << 8 * width)).to_bytes(width, "big")


def _marker(data: bytearray, at: int, random: Random) -> None:
    """Insert a null marker or presence marker, or replace a byte with a marker."""
    data[at : at + random.randrange(2)] = random.choice(_MARKERS)


def _tagged(data: bytearray, at: int, random: Random) -> None:
    """Replace a byte with a tag section whose count or size may be wrong."""
    value = random.randbytes(random.randrange(4))
    size = uvarint_bytes(max(0, len(value) + random.choice((0, 0, 0, 1, -1))))
    count = bytes([random.choice((1, 1, 1, 2, 0x7F))])
    data[at : at + 1] = count + uvarint_bytes(random.choice(_TAGS)) + size + value


def _trailing(data: bytearray, at: int, random: Random) -> None:
    data += random.randbytes(1)


_KINDS: Final[Sequence[Callable[[bytearray, int, Random], Any]]] = (
    *(_flip, _set, _insert, _delete, _truncate, _repeat, _int16, _int32, _varint, _long_varint),
    *(_off_by_one, _off_by_one, _marker, _tagged, _tagged, _trailing),
)
