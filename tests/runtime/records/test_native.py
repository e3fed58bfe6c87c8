"""Compare three ways of reading and writing records: the native engine, Python's fast path, and the interpreter.

The tests call public functions, and compare the results of all three: values, bytes, errors and their positions. If the
native engine rejects input that the interpreter accepts, these functions raise DisagreementError.
"""

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from growth import leaked_bytes
from native_engine import Plan, native
from record_damage import damaged, damaged_after_headers, odd_records, records_for

from tagwire.errors import DecodeError, TagwireError
from tagwire.explain.trace import trace
from tagwire.interpreter import reader, writer
from tagwire.layout import Array, Layout, Nested, StructLayout
from tagwire.limits import Limits
from tagwire.records import Record, build, format_names, format_of, read_batches
from tagwire.records.format import Format
from tagwire.records.native import seen

pytestmark = [native, pytest.mark.usefixtures("native_in_use")]

FORMATS = format_names()
LIMITS = Limits(elements=7)


@pytest.fixture
def formats_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, Format]]:
    def of(name: str) -> dict[str, Format]:
        native = Format(format_of(name).layout)
        assert native.plans.header is not None and native.plans.records is not None
        monkeypatch.setenv("TAGWIRE_ENGINE", "python")
        straight, by_layout = Format(native.layout), Format(native.layout)
        assert straight.plans.records is None and by_layout.plans.header is None
        monkeypatch.setenv("TAGWIRE_ENGINE", "native")
        by_layout.has_magic2_records = False
        return {"native": native, "straight": straight, "by layout": by_layout}

    return of


def all_of(value: Any) -> Any:
    """Return a value together with the types of all its parts, because == does not distinguish 1 from True."""
    if isinstance(value, Record):
        return [all_of(getattr(value, name)) for name in Record.__slots__]
    if isinstance(value, list | tuple):
        return type(value), [all_of(each) for each in value]
    return type(value), value


def read(format: Format, data: bytes, limits: Limits) -> Any:
    found: list[Any] = []
    try:
        for batch in read_batches(data, format, limits):
            found.append((batch.base_offset, batch.last_offset, batch.attributes, batch.crc, batch.size))
            found += (all_of(record) for record in batch)
    except DecodeError as error:
        found.append((type(error), error.path, error.offset, error.found, error.expected))
    return found


def written(format: Format, records: list[Record], settings: dict[str, Any]) -> Any:
    try:
        batch = build(records, format, **settings)
        return batch.encode(), len(batch), batch.last_offset, batch.max_timestamp
    except TagwireError as error:
        return type(error), str(error)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        return type(error)


@pytest.mark.thorough
@pytest.mark.parametrize("count", [150, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FORMATS)
def test_engines_and_interpreter_read_the_same(
    name: str, count: int, formats_of: Callable[[str], dict[str, Format]]
) -> None:
    formats, random, rejected = formats_of(name), Random(f"{name} {count}"), 0
    for data in damaged(name, random, count):
        limits = random.choice((Limits(), Limits(), LIMITS))
        found = {engine: read(format, data, limits) for engine, format in formats.items()}
        assert found["native"] == found["straight"] == found["by layout"], data.hex()
        is_rejected = bool(found["native"]) and isinstance(found["native"][-1][0], type)
        is_rejected = is_rejected and issubclass(found["native"][-1][0], DecodeError)
        rejected += is_rejected
        if formats["native"].records is not None and limits.elements is None and len(found["native"]) and data:
            traced = trace(formats["native"].layout, data)
            assert (traced.error is not None) == is_rejected or not is_rejected, data.hex()
    assert 0.2 * count < rejected < 0.97 * count


@pytest.mark.parametrize("name", [name for name in FORMATS if "headers" in format_of(name).has])
def test_headers_before_an_error_are_not_read_again(
    name: str, formats_of: Callable[[str], dict[str, Format]], monkeypatch: pytest.MonkeyPatch
) -> None:
    formats = formats_of(name)
    read_again = 0
    element = reader.LayoutReader.element

    def counted(*arguments: Any) -> Any:
        nonlocal read_again
        read_again += 1
        return element(*arguments)

    rejected = 0
    for data in damaged_after_headers(name, Random(name), 60):
        expected = read(formats["by layout"], data, Limits())
        with monkeypatch.context() as patch:
            patch.setattr(reader.LayoutReader, "element", counted)
            read_again = 0
            assert read(formats["native"], data, Limits()) == expected, data.hex()
        assert read_again < 30, expected[-1]
        rejected += isinstance(expected[-1][0], type)
    assert rejected > 20


@pytest.mark.thorough
@pytest.mark.parametrize("name", FORMATS)
def test_engines_and_interpreter_write_the_same(name: str, formats_of: Callable[[str], dict[str, Format]]) -> None:
    random = Random(name)
    formats = formats_of(name)
    outcomes = set()
    for _ in range(400):
        records = odd_records(name, random)
        settings = random.choice(({}, {}, {"base_offset": 2**33 - 9}, {"compression": "gzip"}, {"last_offset": 2**34}))
        found = {engine: written(format, records, settings) for engine, format in formats.items()}
        assert found["native"] == found["straight"] == found["by layout"], records
        outcomes.add(type(found["native"][0] if isinstance(found["native"], tuple) else found["native"]))
    assert {bytes, type} <= outcomes


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("timestamp_type", ["create", "append"])
def test_append_time(name: str, timestamp_type: str, formats_of: Callable[[str], dict[str, Format]]) -> None:
    if name == "v0" and timestamp_type == "append":
        pytest.skip("it has no timestamps")
    records = records_for(name, Random(7), 4)
    for codec in ("none", "gzip"):
        settings: dict[str, Any] = {"timestamp_type": timestamp_type, "compression": codec}
        settings |= {"append_time": 77} if timestamp_type == "append" else {}
        data = {engine: build(records, format, **settings).encode() for engine, format in formats_of(name).items()}
        assert len(set(data.values())) == 1
        found = [read(format, data["native"], Limits()) for format in formats_of(name).values()]
        assert found[0] == found[1] == found[2]


def test_format_without_a_native_plan() -> None:
    """The native engine can't make a plan for records that have no offset deltas."""
    root = format_of("v2").root
    records = root.items[-1]
    assert isinstance(records.type, Array) and isinstance(records.type.element, Nested)
    fields = tuple(item for item in records.type.element.struct.items if item.name != "offset_delta")
    element = Nested(StructLayout("Record", fields))
    items = (*root.items[:-1], records.replace(type=records.type.replace(element=element)))
    format = Format(Layout("v2", None, StructLayout("Batch", items)))
    assert seen(format) is None and format.plans.header is not None and format.plans.records is None


def test_odd_limits_are_left_to_the_interpreter() -> None:
    batch = build([Record(0, 1, b"k", b"v", (("h", b""),))]).encode()
    for limits, is_right in ((Limits(depth=3), True), (Limits(depth=2), False), (Limits(elements=2), True)):
        with suppress(DecodeError):
            assert bool(list(next(read_batches(batch, limits=limits)))) == is_right


@pytest.mark.parametrize("name", FORMATS)
def test_format_classes_equal_the_layout_interpreter(name: str) -> None:
    layout = format_of(name).layout
    random = Random(name)
    for codec in ("none", "gzip"):
        data = next(read_batches(build(records_for(name, random, 3), name, compression=codec).encode(), name)).encode()
        base: Any = layout.root.cls
        cls: Any = type("Format", (base,), {"__slots__": (), "_plan": Plan(layout)})
        expected, _ = reader.decode(layout, data, whole=True, strict=True, limits=Limits())
        message = cls.decode(data)
        assert type(message) is type(expected) and message == expected
        assert message.encode() == writer.encode(layout, expected)
        assert message.encoded_size() == len(message.encode())
        with pytest.raises(DecodeError) as caught:
            cls.decode(data[:-1])
        with pytest.raises(DecodeError) as by_layout:
            reader.decode(layout, data[:-1], whole=True, strict=True, limits=Limits())
        assert str(caught.value) == str(by_layout.value)


@pytest.mark.slow
def test_reading_building_and_failing_do_not_leak() -> None:
    inputs = [(name, list(damaged(name, Random(name), 20)), odd_records(name, Random(name))) for name in FORMATS]

    def run() -> None:
        for name, batches, records in inputs:
            format = format_of(name)
            for data in batches:
                read(format, data, Limits())
            written(format, records, {})

    assert leaked_bytes(run, 15) < 20_000
