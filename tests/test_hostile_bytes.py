"""Decode bytes of a broken or hostile peer. Decoding must only raise DecodeError, with bounded memory and linear work.

Memory is measured with tracemalloc. Work is the number of executed lines and copied bytes.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from random import Random
from struct import pack
from typing import Any, ClassVar

import pytest
from amplification import peak_memory, peaks, worst_baits
from damage import Sample, damaged, samples
from growth import lines_run

import tagwire
import tagwire_messages as messages
from tagwire import DecodeError, EncodeError, Limits
from tagwire.interpreter import reader
from tagwire.limits import DEFAULT_LIMITS
from tagwire.message.engines import python_serializer
from tagwire.message.serializer import READ_ERRORS
from tagwire.wire.varint import uvarint_bytes

FACTOR, FIXED = 150, 250_000
"""Decoding may take `FACTOR` bytes of memory for each byte of input, plus `FIXED` bytes."""
NARROW = Limits(elements=3, unknown_tags=1, unknown_tag_bytes=2, depth=2)


def strict_fault(sample: Sample, data: bytes, limits: Limits) -> str | None:
    """Decode `data` strictly. If the error or the re-encoded bytes are wrong, describe how. Otherwise, return None."""
    cls, version = sample.cls, sample.version
    try:
        message = cls.decode(data, version, limits=limits)
    except DecodeError as error:
        return error_fault(sample, data, error)
    again = message.encode(version)
    if again == data:
        return None
    if tagwire.trace(cls, data, version).canonical:
        return f"written back as {again.hex()}"
    return None if cls.decode(again, version) == message else f"{again.hex()} is another value"


def lenient_fault(sample: Sample, data: bytes) -> str | None:
    cls, version = sample.cls, sample.version
    try:
        message = cls.decode(data, version, strict=False)
    except DecodeError as error:
        return error_fault(sample, data, error)
    with suppress(EncodeError):  # raised for a null that only lenient decoding accepts
        message.encode(version)
    return None


def error_fault(sample: Sample, data: bytes, error: DecodeError) -> str | None:
    has_place = type(error.offset) is int and 0 <= error.offset <= len(data) and type(error.path) is str
    is_about_it = (error.message_name, error.version) == (sample.cls.NAME, sample.version)
    return None if has_place and is_about_it and error.found and error.expected else f"no place: {error!r}"


@pytest.mark.slow
def test_decode_raises_only_decode_errors() -> None:
    random = Random(2026)
    faults = []
    for number in range(100_000):
        sample = samples()[number % len(samples())]
        data = damaged(sample, random)
        try:
            fault = strict_fault(sample, data, NARROW if number % 20 == 0 else DEFAULT_LIMITS)
            if number % 5 == 0:
                fault = fault or lenient_fault(sample, data)
        except Exception as error:
            fault = repr(error)
        if fault:
            faults.append((sample.cls.NAME, sample.version, data.hex(), fault))
    assert not faults, f"{len(faults)} of 100,000, such as {faults[:3]}"


def test_detects_an_error_without_a_position() -> None:
    sample = samples()[0]
    facts: dict[str, Any] = {"message_name": sample.cls.NAME, "version": sample.version, "path": "", "offset": 0}
    facts |= {"found": "nothing", "expected": "something"}
    assert error_fault(sample, b"", DecodeError(**facts)) is None
    changes: list[dict[str, Any]] = [{"offset": None}, {"offset": 1}, {"path": None}, {"version": -1}, {"found": ""}]
    for change in changes:
        assert error_fault(sample, b"", DecodeError(**(facts | change))), change


@pytest.mark.slow
def test_memory_is_bounded_by_the_input() -> None:
    highest = 0.0
    for bait in worst_baits(messages.registry)[:6]:
        data = bait.message(10_000).encode(bait.version)
        for name, peak in peaks(bait.cls, bait.version, data).items():
            assert peak <= FACTOR * len(data) + FIXED, f"{bait}, {name}: {peak} bytes for {len(data)}"
            highest = max(highest, peak / len(data))
    assert highest > 50  # otherwise the inputs are too harmless to test the bound


PREFIX = bytes(4) + b"\x01"
"""The first bytes of a MetadataResponse v12, before its cluster ID: throttle time 0, no brokers."""
CLAIMS = {
    "an array of 2^31 - 1 structs": (12, bytes(4) + b"\xff\xff\xff\xff\x07"),
    "an array of 2^32 - 2 structs": (12, bytes(4) + b"\xff\xff\xff\xff\x0f"),
    "an int32 count of 2^31 - 1": (5, bytes(4) + b"\x7f\xff\xff\xff"),
    "a string of 2^31 - 2 bytes": (12, PREFIX + b"\xff\xff\xff\xff\x07"),
    "2^31 - 1 tagged fields": (12, PREFIX + b"\0" + bytes(4) + b"\x01" + b"\xff\xff\xff\xff\x07"),
    "a tagged field of 2^31 - 1 bytes": (12, PREFIX + b"\0" + bytes(4) + b"\x01" + b"\x01\x09\xff\xff\xff\xff\x07"),
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(("version", "data"), CLAIMS.values(), ids=CLAIMS)
def test_claimed_sizes_allocate_no_memory(version: int, data: bytes, strict: bool) -> None:
    def decode() -> None:
        with pytest.raises(DecodeError):
            messages.MetadataResponse.decode(data + bytes(100), version, strict=strict)

    decode()
    assert peak_memory(decode) < 50_000


class CountedBytes(bytes):
    """A bytes subclass that counts the bytes copied out of it."""

    copied: ClassVar[int] = 0

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if isinstance(found, bytes):
            CountedBytes.copied += len(found)
        return found


def work_of(function: Callable[[], object]) -> int:
    def call() -> None:
        with suppress(DecodeError, *READ_ERRORS):
            function()

    CountedBytes.copied = 0
    lines = lines_run(call)
    return lines + CountedBytes.copied


def calls(cls: type[tagwire.Message], version: int, data: bytes) -> dict[str, Callable[[], object]]:
    serializer = python_serializer(cls, version)
    layout, counted = serializer.layout(), CountedBytes(data)

    def by_layout(strict: bool) -> Callable[[], object]:
        return lambda: reader.decode(layout, counted, whole=True, strict=strict, limits=Limits())

    return {
        "serializer": lambda: serializer.read(counted, counted, 0),
        "strict": by_layout(True),
        "lenient": by_layout(False),
    }


def metadata(partitions: int, tags: bytes) -> bytes:
    """Return a MetadataResponse v12 with one topic, as bytes. `tags` is the tag section of each partition."""
    partition = pack(">hiii", 0, 0, 1, 5) + b"\x01\x01\x01" + tags
    topic = b"\0\0\x02t" + bytes(16) + b"\0" + uvarint_bytes(partitions + 1) + partition * partitions + bytes(4) + b"\0"
    return PREFIX + b"\0" + bytes(4) + b"\x02" + topic + b"\0"


def tag_section(count: int, entry: Callable[[int], bytes]) -> bytes:
    return uvarint_bytes(count) + b"".join(map(entry, range(count)))


def api_versions(tags: bytes) -> bytes:
    """Return an ApiVersionsResponse v3 without APIs, as bytes. `tags` is its tag section."""
    return b"\0\0" + b"\x01" + bytes(4) + tags


def unknown(tag: int, size: int = 0) -> bytes:
    return uvarint_bytes(tag) + uvarint_bytes(size) + bytes(size)


FEATURE = b"\x02f\0\0\0\x01\0"
METADATA, API_VERSIONS, GROUPS = ("MetadataResponse", 12), ("ApiVersionsResponse", 3), ("DescribeGroupsRequest", 5)
HOSTILE: dict[str, tuple[str, int, Callable[[int], bytes]]] = {
    "a count of FF bytes": (*METADATA, lambda n: bytes(4) + b"\xff" * n),
    "a string length of FF bytes": (*METADATA, lambda n: PREFIX + b"\xff" * n),
    "a tag of FF bytes": (*API_VERSIONS, lambda n: api_versions(b"\x01" + b"\xff" * n)),
    "a count of 80 bytes": (*METADATA, lambda n: bytes(4) + b"\x80" * n),
    "one unknown tag a partition": (*METADATA, lambda n: metadata(n, b"\x01\x09\x01x")),
    "a fault behind the last partition": (*METADATA, lambda n: metadata(n, b"\0") + b"x"),
    "many unknown tags": (*API_VERSIONS, lambda n: api_versions(tag_section(n, lambda i: unknown(9 + i)))),
    "tags going down": (*API_VERSIONS, lambda n: api_versions(tag_section(n, lambda i: unknown(9 + n - i)))),
    "one tag again and again": (*API_VERSIONS, lambda n: api_versions(tag_section(n, lambda i: unknown(9, 3)))),
    "one large tag": (*API_VERSIONS, lambda n: api_versions(b"\x01" + unknown(9, n))),
    "a known array again and again": (
        *API_VERSIONS,
        lambda n: api_versions(tag_section(n, lambda i: b"\0" + uvarint_bytes(1 + 9 * 7) + b"\x0a" + FEATURE * 9)),
    ),
    "a known tag whose size lies": (
        *API_VERSIONS,
        lambda n: api_versions(tag_section(n, lambda i: b"\0" + b"\x01" + b"\x0a" + FEATURE * 9)),
    ),
    "a string of bad UTF-8": (*METADATA, lambda n: PREFIX + uvarint_bytes(n + 1) + b"\xff" * n + bytes(4) + b"\1\0"),
    "many strings of bad UTF-8": (*GROUPS, lambda n: uvarint_bytes(n + 1) + b"\x04\xed\xa0\x80" * n + b"\0\0"),
    "many empty strings": (*GROUPS, lambda n: uvarint_bytes(n + 1) + b"\x01" * n + b"\0\0"),
    "many nulls that may not be": (*GROUPS, lambda n: uvarint_bytes(n + 1) + b"\0" * n + b"\0\0"),
}


@pytest.mark.parametrize(("name", "version", "build"), HOSTILE.values(), ids=HOSTILE)
def test_work_is_linear(name: str, version: int, build: Callable[[int], bytes]) -> None:
    cls = messages.registry[name]
    for call in calls(cls, version, build(1)):
        once, twice = (work_of(calls(cls, version, build(size))[call]) for size in (500, 1000))
        assert twice <= 2.1 * once + 100, f"{call}: {once} for 500, {twice} for 1000"


def test_detects_quadratic_work() -> None:
    def rest_copied_each_time(size: int) -> None:
        data = CountedBytes(bytes(size))
        for position in range(size):
            assert len(data[position:]) > 0

    once, twice = (work_of(partial(rest_copied_each_time, size)) for size in (1000, 2000))
    assert twice > 3 * once
