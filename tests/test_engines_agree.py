"""Check that the engines and the layout interpreter return equal results for valid and invalid bytes and values.

When a generated serializer rejects input, `encode` and `decode` call the interpreter, which hides a wrong rejection. So
the tests call serializers and interpreter directly. The native engine raises DisagreementError if it rejects input that
the interpreter accepts, so it is tested through public calls.
"""

from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any, Final, cast

import pytest
from damage import Sample, damaged, samples
from kafka_cases import present
from mistaken_values import with_odd_value
from native_engine import Plan

import tagwire_messages as messages
from tagwire import DecodeError, EncodeError, Limits, Struct
from tagwire.interpreter import reader, writer
from tagwire.message.engines import native_obstacle, python_serializer
from tagwire.message.field_table import layout_of
from tagwire.message.serializer import READ_ERRORS, WRITE_ERRORS
from tagwire.wire.buffers import ByteCount

Rejection = str
Read = tuple[Any, int] | Rejection
NO_LIMITS = Limits()


def read_pure(sample: Sample, data: bytes) -> Read:
    """Decode with the generated Python serializer. Bytes after the end of the message are also an error."""
    try:
        value, end = python_serializer(sample.cls, sample.version).read(data, data, 0)
    except READ_ERRORS as fault:
        return f"rejected: {type(fault).__name__}"
    return (value, end) if end == len(data) else f"rejected: ends at {end}"


def read_by_layout(sample: Sample, data: bytes) -> Read:
    try:
        layout = layout_of(sample.cls, sample.version)
        return reader.decode(layout, data, whole=True, strict=True, limits=NO_LIMITS)
    except DecodeError as error:
        return f"rejected: {error}"


@cache
def plan(sample: Sample) -> Any:
    return Plan(layout_of(sample.cls, sample.version))


def read_native(sample: Sample, data: bytes) -> Read:
    try:
        return plan(sample).decode(data), len(data)
    except DecodeError as error:
        return f"rejected: {error}"


def write_pure(sample: Sample, message: Any) -> bytes | Rejection:
    out = bytearray()
    try:
        python_serializer(sample.cls, sample.version).write(message, out)
    except WRITE_ERRORS as fault:
        return f"rejected: {type(fault).__name__}"
    return bytes(out)


def count_pure(sample: Sample, message: Any) -> int | Rejection:
    out = ByteCount()
    try:
        python_serializer(sample.cls, sample.version).write(message, cast(bytearray, out))
    except WRITE_ERRORS as fault:
        # Leave out the error message, because it can't be formatted for an int with 5000 digits.
        return f"rejected: {type(fault).__name__}"
    return len(out)


def write_native(sample: Sample, message: Any) -> bytes | Rejection:
    try:
        return cast(bytes, plan(sample).encode(message))
    except EncodeError as error:
        return f"rejected: {error}"


def count_native(sample: Sample, message: Any) -> int | Rejection:
    try:
        return cast(int, plan(sample).encoded_size(message))
    except EncodeError as error:
        return f"rejected: {error}"


def write_by_layout(sample: Sample, message: Any) -> bytes | Rejection:
    try:
        return writer.encode(layout_of(sample.cls, sample.version), message)
    except EncodeError as error:
        return f"rejected: {error}"


Reader = Callable[[Sample, bytes], Read]
Writer = Callable[[Sample, Any], bytes | Rejection]
Counter = Callable[[Sample, Any], int | Rejection]

ENGINES: Final[dict[str, tuple[Reader, Writer, Counter]]] = {"pure": (read_pure, write_pure, count_pure)}
if Plan is not None:
    ENGINES["native"] = (read_native, write_native, count_native)


def identical(one: Any, other: Any) -> bool:
    """Return whether two values are equal in type and value, at any depth. For example, 1 differs from True."""
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
    slow = read_by_layout(sample, data)
    for name, (read, _, _) in ENGINES.items():
        fast = read(sample, data)
        if isinstance(fast, str) or isinstance(slow, str):
            if verdicts_differ(name, fast, slow):
                return f"{name} {fast}, interpreter {slow}"
        elif not identical(fast, slow):
            return f"{name} reads {fast}, interpreter {slow}"
    return None if isinstance(slow, str) else writing_differs(sample, slow[0])


def verdicts_differ(name: str, fast: object, slow: object) -> bool:
    """Return whether two results differ. The texts of two errors are compared only if one is from the native engine."""
    if name == "native":
        return fast != slow
    return not (isinstance(fast, str) and isinstance(slow, str))


def writing_differs(sample: Sample, message: Any) -> str | None:
    slow = write_by_layout(sample, message)
    for name, (_, write, count) in ENGINES.items():
        fast, size = write(sample, message), count(sample, message)
        if isinstance(slow, str):
            if verdicts_differ(name, fast, slow) or verdicts_differ(name, size, slow):
                return f"{name} {fast!r:.160}, its count {size}, interpreter {slow!r:.160}"
        elif fast != slow or size != len(slow):
            return f"{name} {fast!r:.80} ({size}), interpreter {slow.hex()}"
    return None


def every_row() -> Iterator[Sample]:
    for name in ("rand", "unk"):
        for row in present(name):
            yield Sample(messages.registry[row["message"]], row["version"], bytes.fromhex(row["hex"]))


def test_on_bytes_written_by_kafka() -> None:
    differences = [(str(each), what) for each in every_row() if (what := reading_differs(each, each.data))]
    assert not differences, f"{len(differences)} differ, such as {differences[:3]}"


def test_the_native_engine_has_every_version() -> None:
    obstacles = {str(each): native_obstacle(each.cls, each.version) for each in samples()}
    assert {each: what for each, what in obstacles.items() if what} == {}


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
    assert 2_000 < accepted < 28_000


def any_options(random: Random) -> dict[str, Any]:
    choice = random.randrange(4)
    names = ("bytes", "depth", "elements", "unknown_tags", "unknown_tag_bytes")
    bound: Any = random.choice((0, 1, 2, 3, 5, 30, 2**70))
    limits = NO_LIMITS if choice < 2 else Limits(**{random.choice(names): bound})
    return {"strict": choice in (1, 2), "limits": limits, "views": choice == 1}


@pytest.mark.slow
@pytest.mark.skipif(Plan is None, reason="this installation has no native engine")
def test_on_damaged_bytes_in_other_ways() -> None:
    random = Random(13)
    differences = []
    for number in range(20_000):
        sample = samples()[number % len(samples())]
        data = sample.data if number % 3 == 0 else damaged(sample, random)
        what = other_way_differs(sample, data, random)
        if what:
            differences.append((str(sample), data.hex(), what))
    assert not differences, f"{len(differences)} differ, such as {differences[:3]}"


def other_way_differs(sample: Sample, data: bytes, random: Random) -> str | None:
    offset = random.randrange(4)
    padded = bytes(offset) + data
    options = any_options(random)
    fast = outcome(plan(sample).decode_from, padded, offset, **options, gc=random.random() < 0.5)
    raw = memoryview(padded) if options.pop("views") else None
    layout = layout_of(sample.cls, sample.version)
    slow = outcome(reader.decode, layout, padded, raw=raw, offset=offset, whole=False, **options)
    return None if identical(fast, slow) else f"{options}: native {fast}, interpreter {slow}"


def outcome(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        return call(*args, **kwargs)
    except DecodeError as error:
        return f"{type(error).__name__}: {error}"


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
