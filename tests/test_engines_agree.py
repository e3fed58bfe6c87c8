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
from compared_objects import identical
from damage import Sample, damaged, samples
from kafka_cases import present
from mistaken_values import with_odd_value
from native_engine import Plan

import tagwire_messages as messages
from tagwire import DecodeError, EncodeError, Limits, TagwireError
from tagwire.interpreter import reader, writer
from tagwire.message.engines import native_obstacle, python_serializer
from tagwire.message.field_table import layout_of
from tagwire.message.serializer import READ_ERRORS, WRITE_ERRORS
from tagwire.wire.buffers import ByteCount

NO_LIMITS = Limits()


def result(call: Callable[..., Any], *args: Any, errors: Any = (DecodeError, EncodeError), **kwargs: Any) -> Any:
    """Return the result of a call, or a string if it raises one of the `errors`.

    The messages of Python's own errors are left out, because they can't be formatted for an int with 5000 digits.
    """
    try:
        return call(*args, **kwargs)
    except errors as error:
        return f"rejected: {error if isinstance(error, TagwireError) else type(error).__name__}"


def read_pure(sample: Sample, data: bytes) -> Any:
    """Decode with the generated Python serializer. Bytes after the end of the message are also an error."""
    found = result(python_serializer(sample.cls, sample.version).read, data, data, 0, errors=READ_ERRORS)
    return found if isinstance(found, str) or found[1] == len(data) else f"rejected: ends at {found[1]}"


def read_by_layout(sample: Sample, data: bytes) -> Any:
    layout = layout_of(sample.cls, sample.version)
    return result(reader.decode, layout, data, whole=True, strict=True, limits=NO_LIMITS)


@cache
def plan(sample: Sample) -> Any:
    return Plan(layout_of(sample.cls, sample.version))


def read_native(sample: Sample, data: bytes) -> Any:
    return result(lambda: (plan(sample).decode(data), len(data)))


def write_pure(sample: Sample, message: Any) -> bytes | str:
    out = bytearray()
    return result(python_serializer(sample.cls, sample.version).write, message, out, errors=WRITE_ERRORS) or bytes(out)


def count_pure(sample: Sample, message: Any) -> int | str:
    out = ByteCount()
    found = result(python_serializer(sample.cls, sample.version).write, message, out, errors=WRITE_ERRORS)
    return found or len(out)


def write_native(sample: Sample, message: Any) -> bytes | str:
    return cast("bytes | str", result(plan(sample).encode, message))


def count_native(sample: Sample, message: Any) -> int | str:
    return cast("int | str", result(plan(sample).encoded_size, message))


def write_by_layout(sample: Sample, message: Any) -> bytes | str:
    return cast("bytes | str", result(writer.encode, layout_of(sample.cls, sample.version), message))


Reader = Callable[[Sample, bytes], Any]
Writer = Callable[[Sample, Any], bytes | str]
Counter = Callable[[Sample, Any], int | str]

ENGINES: Final[dict[str, tuple[Reader, Writer, Counter]]] = {"pure": (read_pure, write_pure, count_pure)}
if Plan is not None:
    ENGINES["native"] = (read_native, write_native, count_native)


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
    found = [(str(each), what) for each in every_row() if (what := reading_differs(each, each.data))]
    assert not found, f"{len(found)} differ, such as {found[:3]}"


def test_the_native_engine_has_every_version() -> None:
    obstacles = {str(each): native_obstacle(each.cls, each.version) for each in samples()}
    assert {each: what for each, what in obstacles.items() if what} == {}


def differences(count: int, compare: Callable[[Sample, int], str | None]) -> list[str]:
    """Call `compare(sample, number)` for `count` samples. Return its descriptions of differences."""
    tries = ((samples()[number % len(samples())], number) for number in range(count))
    return [f"{sample.cls.NAME} v{sample.version}: {what}" for sample, n in tries if (what := compare(sample, n))]


@pytest.mark.slow
def test_on_damaged_bytes() -> None:
    random, accepted = Random(482), 0

    def compare(sample: Sample, number: int) -> str | None:
        nonlocal accepted
        data = damaged(sample, random)
        accepted += not isinstance(read_by_layout(sample, data), str)
        what = reading_differs(sample, data)
        return what and f"{data.hex()}: {what}"

    found = differences(30_000, compare)
    assert not found, f"{len(found)} differ, such as {found[:3]}"
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

    def compare(sample: Sample, number: int) -> str | None:
        data = sample.data if number % 3 == 0 else damaged(sample, random)
        what = other_way_differs(sample, data, random)
        return what and f"{data.hex()}: {what}"

    found = differences(20_000, compare)
    assert not found, f"{len(found)} differ, such as {found[:3]}"


def other_way_differs(sample: Sample, data: bytes, random: Random) -> str | None:
    offset = random.randrange(4)
    padded = bytes(offset) + data
    options = any_options(random)
    fast = result(plan(sample).decode_from, padded, offset, **options, gc=random.random() < 0.5)
    raw = memoryview(padded) if options.pop("views") else None
    layout = layout_of(sample.cls, sample.version)
    slow = result(reader.decode, layout, padded, raw=raw, offset=offset, whole=False, **options)
    return None if identical(fast, slow) else f"{options}: native {fast}, interpreter {slow}"


@pytest.mark.slow
def test_on_odd_values() -> None:
    random, accepted = Random(482), 0

    def compare(sample: Sample, number: int) -> str | None:
        nonlocal accepted
        message = with_odd_value(sample.cls.decode(sample.data, sample.version), random)
        accepted += not isinstance(write_by_layout(sample, message), str)
        return writing_differs(sample, message)

    found = differences(30_000, compare)
    assert not found, f"{len(found)} differ, such as {found[:3]}"
    assert 2_000 < accepted < 28_000
