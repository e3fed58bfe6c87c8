"""Generated serializers and the layout interpreter: one contract, held together on good and bad bytes and values.

A serializer that refuses hands over to the interpreter, for the place of the
fault. So a serializer that refuses too much would only be slow, and one that
accepts too much would be wrong in silence: neither shows in `encode` and
`decode`. Here both are asked directly.
"""

from collections.abc import Iterator
from random import Random
from typing import Any, cast

import pytest
from damage import Sample, damaged, samples
from kafka_cases import present
from odd_values import with_odd_value

import tagwire_messages as messages
from tagwire import DecodeError, EncodeError, Limits, Struct, layout_reader, layout_writer
from tagwire.byte_count import ByteCount
from tagwire.serializer import READ_FAULTS, WRITE_FAULTS

Refusal = str
Read = tuple[Any, int] | Refusal
NO_LIMITS = Limits()


def read_fast(sample: Sample, data: bytes) -> Read:
    """What the generated serializer makes of all of `data`."""
    try:
        value, end = sample.cls.serializer(sample.version).read(data, data, 0)
    except READ_FAULTS as fault:
        return f"refused: {type(fault).__name__}"
    return (value, end) if end == len(data) else f"refused: ends at {end}"


def read_by_layout(sample: Sample, data: bytes) -> Read:
    layout = sample.cls.serializer(sample.version).layout()
    try:
        return layout_reader.decode(layout, data, whole=True, strict=True, limits=NO_LIMITS)
    except DecodeError as error:
        return f"refused: {error}"


def write_fast(sample: Sample, message: Any) -> bytes | Refusal:
    out = bytearray()
    try:
        sample.cls.serializer(sample.version).write(message, out)
    except WRITE_FAULTS as fault:
        return f"refused: {type(fault).__name__}"
    return bytes(out)


def count_fast(sample: Sample, message: Any) -> int | Refusal:
    out = ByteCount()
    try:
        sample.cls.serializer(sample.version).write(message, cast(bytearray, out))
    except WRITE_FAULTS as fault:
        return f"refused: {type(fault).__name__}"  # not its text: an int of 5000 digits has none
    return len(out)


def write_by_layout(sample: Sample, message: Any) -> bytes | Refusal:
    layout = sample.cls.serializer(sample.version).layout()
    try:
        return layout_writer.encode(layout, message)
    except EncodeError as error:
        return f"refused: {error}"


def identical(one: Any, other: Any) -> bool:
    """Equal, and of the same types all the way down: 1 is not True here, nor a tuple a list."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Struct):
        return all(identical(getattr(one, name), getattr(other, name)) for name in one.__slots__)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(identical, one, other))
    if isinstance(one, float):
        return one.hex() == float(other).hex()
    return bool(one == other)


def reading_differs(sample: Sample, data: bytes) -> str | None:
    fast, slow = read_fast(sample, data), read_by_layout(sample, data)
    if isinstance(fast, str) or isinstance(slow, str):
        return None if isinstance(fast, str) and isinstance(slow, str) else f"serializer {fast}, interpreter {slow}"
    if not identical(fast, slow):
        return f"serializer reads {fast}, interpreter {slow}"
    return writing_differs(sample, fast[0])


def writing_differs(sample: Sample, message: Any) -> str | None:
    fast, slow, count = write_fast(sample, message), write_by_layout(sample, message), count_fast(sample, message)
    if isinstance(fast, str) or isinstance(slow, str) or isinstance(count, str):
        all_refuse = isinstance(fast, str) and isinstance(slow, str) and isinstance(count, str)
        return None if all_refuse else f"serializer {fast!r:.80}, its count {count}, interpreter {slow!r:.80}"
    return (
        None if fast == slow and count == len(slow) else f"serializer {fast.hex()} ({count}), interpreter {slow.hex()}"
    )


def every_row() -> Iterator[Sample]:
    for name in ("rand", "unk"):
        for row in present(name):
            yield Sample(messages.registry[row["message"]], row["version"], bytes.fromhex(row["hex"]))


def test_on_what_kafka_writes() -> None:
    differences = [(str(each), what) for each in every_row() if (what := reading_differs(each, each.data))]
    assert not differences, f"{len(differences)} differ, such as {differences[:3]}"


@pytest.mark.slow
def test_on_damaged_bytes() -> None:
    random = Random(482)
    accepted = 0
    differences = []
    for number in range(30_000):
        sample = samples()[number % len(samples())]
        data = damaged(sample, random)
        accepted += not isinstance(read_by_layout(sample, data), str)
        what = reading_differs(sample, data)
        if what:
            differences.append((sample.cls.NAME, sample.version, data.hex(), what))
    assert not differences, f"{len(differences)} differ, such as {differences[:3]}"
    assert 2_000 < accepted < 28_000  # else the damage is too harmless, or too coarse, to tell much


@pytest.mark.slow
def test_on_odd_values() -> None:
    random = Random(482)
    accepted = 0
    differences = []
    for number in range(30_000):
        sample = samples()[number % len(samples())]
        message = with_odd_value(sample.cls.decode(sample.data, sample.version), random)
        accepted += not isinstance(write_by_layout(sample, message), str)
        what = writing_differs(sample, message)
        if what:
            differences.append((sample.cls.NAME, sample.version, what))
    assert not differences, f"{len(differences)} differ, such as {differences[:3]}"
    assert 2_000 < accepted < 28_000
