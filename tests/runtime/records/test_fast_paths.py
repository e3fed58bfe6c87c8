"""Compare the native fast path for common records with the layout interpreter, in every branch of the code.

The fast path reuses objects and bytes, but must not change objects that the caller keeps.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from native_engine import Plan, native

from tagwire.errors import DecodeError, TagwireError
from tagwire.layout import Array, Layout, Nested, StructLayout
from tagwire.limits import Limits
from tagwire.records import Record, build, format_of, read_batches
from tagwire.records.format import Format
from tagwire.records.walk import Walk

pytestmark = native

NAMES = ("v2", "v3-zigzag")
EDGES = (0, 1, 2, 3, 40, 41, 49, 50, 51, 62, 63, 64, 65, 8170, 8181, 8190, 8191, 8192)
"""Sizes of values. At some of them, the varint of a length begins to need a second or third byte."""


def in_each_engine(layout: Layout) -> dict[str, Format]:
    formats = {}
    with pytest.MonkeyPatch.context() as patch:
        for engine in ("native", "python"):
            patch.setenv("TAGWIRE_ENGINE", engine)
            formats[engine] = Format(layout)
            assert (formats[engine].plans.records is None) == (engine == "python")
    formats["python"].has_magic2_records = False
    return formats


FORMATS = {name: in_each_engine(format_of(name).layout) for name in NAMES} if Plan is not None else {}


def written(format: Format, records: list[Record], **how: Any) -> Any:
    try:
        return build(records, format, **how).encode()
    except TagwireError as error:
        return type(error), str(error)


def fields(record: Record) -> list[Any]:
    values = [getattr(record, name) for name in Record.__slots__]
    return [bytes(memoryview(each)) if isinstance(each, bytes) else each for each in values]


def outcome(read: Callable[[], Iterator[Record]]) -> list[Any]:
    found: list[Any] = []
    try:
        for record in read():
            found.append(fields(record))
    except DecodeError as error:
        found.append((type(error), str(error), error.path, error.offset))
    return found


def by_layout(walk: Walk) -> list[Any]:
    return outcome(lambda: walk.by_layout(0, walk.pos, walk.count() or 0))


blocks = (
    st.none()
    | st.binary(max_size=3)
    | st.sampled_from(EDGES).flatmap(lambda size: st.binary(min_size=size, max_size=size))
)
headers = st.just(()) | st.lists(st.tuples(st.text(max_size=3), blocks), max_size=3).map(tuple)
times = st.sampled_from((-1, 0, 63, 64, 1 << 40, (1 << 63) - 1, -(1 << 63))) | st.integers(-(1 << 63), (1 << 63) - 1)
gaps = st.sampled_from((1, 1, 1, 62, 63, 64, 8192, (1 << 31) - 1, 1 << 31))


@st.composite
def batches(draw: st.DrawFn) -> list[Record]:
    offset, records = draw(st.sampled_from((0, (1 << 33) - 5))), []
    for _ in range(draw(st.integers(1, 6))):
        records.append(Record(offset, draw(times), draw(blocks), draw(blocks), draw(headers)))
        offset += draw(gaps)
    return records


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=150)
@given(records=batches())
def test_both_ways_write_and_read_the_same(name: str, records: list[Record]) -> None:
    data = {engine: written(format, records) for engine, format in FORMATS[name].items()}
    assert data["native"] == data["python"]
    if isinstance(data["native"], bytes):
        batch = next(read_batches(data["native"], FORMATS[name]["native"]))
        assert outcome(batch.__iter__) == by_layout(batch.walk()) == [fields(record) for record in records]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("header", [(), (("h", b"1"),)])
@pytest.mark.parametrize("edge", [64, 8192, 1 << 20])
def test_lengths_that_take_one_more_byte(name: str, edge: int, header: Any) -> None:
    """Check lengths on both sides of each varint size limit."""
    around = [Record(0, 0, None, bytes(size), header) for size in range(edge - 16, edge + 2)]
    mixed = [each for one in around for each in (one, Record(0, 0, b"", None), one, Record(0, 0, None, bytes(300)))]
    for records in (around, around[::-1], mixed[: 400 if edge < 9000 else 16]):
        numbered = [each.replace(offset=offset) for offset, each in enumerate(records)]
        data = {engine: written(format, numbered) for engine, format in FORMATS[name].items()}
        assert data["native"] == data["python"]
        assert list(next(read_batches(data["native"], FORMATS[name]["native"]))) == numbered


ODD: dict[str, tuple[Any, ...]] = {
    "key": (bytearray(b"b"), memoryview(b"mv"), type("Bytes", (bytes,), {})(b"own"), "text", 7),
    "headers": ([], None, (("h",),), [("h", b"1")]),
    "offset": (True, -1, 1 << 31, 1 << 63, 1.0, None),
    "timestamp": (True, 1 << 62, 1 << 63, -(1 << 63), None, "1"),
    "attributes": (True, -128, 127, 128, -129, None),
}


@pytest.mark.parametrize(("attribute", "value"), [(name, value) for name, values in ODD.items() for value in values])
def test_unusual_records_between_ordinary_records(attribute: str, value: Any) -> None:
    records = [Record(0, 5, b"k", b"v" * 70), Record(1, 6, None, b""), Record(2, 7, b"k", None)]
    setattr(records[1], attribute, value)
    found = []
    for format in FORMATS["v2"].values():
        try:
            found.append(written(format, records, base_offset=0))
        except (TypeError, ValueError, AttributeError) as error:
            found.append(type(error))
    assert found[0] == found[1]


def with_lengths_at(*indexes: int) -> Layout:
    """Return the layout of v2, but with a length field inserted before each record field at one of these indexes."""
    root = format_of("v2").root
    array = root.items[-1]
    assert isinstance(array.type, Array) and isinstance(array.type.element, Nested)
    length, *items = array.type.element.struct.items
    for index in sorted(indexes, reverse=True):
        items.insert(index, length.replace(name=f"length_{index}"))
    element = Nested(StructLayout("Record", tuple(items)))
    return Layout(
        "v2", None, StructLayout("Batch", (*root.items[:-1], array.replace(type=array.type.replace(element=element))))
    )


@pytest.mark.parametrize("indexes", [(), (0,), (1,), (3,), (5,), (0, 1), (0, 5), (0, 2, 4)])
def test_lengths_at_unusual_positions(indexes: tuple[int, ...]) -> None:
    formats = in_each_engine(with_lengths_at(*indexes))
    records = [Record(n, n, None if n % 3 else b"k" * n, b"v" * (60 * n), (("h", b"1"),) * (n // 4)) for n in range(6)]
    data = {engine: written(format, records) for engine, format in formats.items()}
    assert data["native"] == data["python"]
    batch = next(read_batches(data["native"], formats["native"]))
    assert outcome(batch.__iter__) == by_layout(batch.walk()) == [fields(record) for record in records]


SOME = [
    Record(5, 5, b"key", b"a" * 65, (("h", b"1"), ("é", None))),
    Record(6, 1 << 40, b"yek", b"b" * 65),
    Record(7, 7, b"", None),
    Record(200, -1, None, b"c" * 65),
]


@pytest.mark.parametrize("name", NAMES)
def test_truncations_and_changes_of_every_byte(name: str) -> None:
    format = FORMATS[name]["native"]
    batch = next(read_batches(build(SOME, format).encode(), format))
    whole = batch.walk()
    body = whole.data[whole.pos : whole.end]
    changes = [body[:end] for end in range(len(body))]
    for at in range(len(body)):
        changes += [body[:at] + bytes((body[at] ^ mask,)) + body[at + 1 :] for mask in (1, 2, 3, 0x40, 0x80, 0xFF)]
        changes += [body[:at] + more + body[at:] for more in (b"\x80", b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01")]
    rejected = 0
    for data in changes:
        walks = [Walk(format, batch._header, data, 0, len(data), compressed_at=None, limits=Limits()) for _ in range(2)]
        found = outcome(walks[0].__iter__)
        assert found == by_layout(walks[1]), data.hex()
        rejected += isinstance(found[-1], tuple)
    assert 1000 < rejected < len(changes) - 100


SAME_SIZE = [
    Record(n, 9, b"key %02d" % n, b"value %02d" % (n // 2), (("h", b"%d" % n),) if n % 3 else ()) for n in range(40)
]
KEEPS: dict[str, Callable[[Record], Any]] = {
    "records": lambda record: record,
    "keys": lambda record: record.key,
    "values": lambda record: record.value,
    "views": lambda record: memoryview(record.value or b""),
    "headers": lambda record: record.headers,
    "header values": lambda record: [value for _, value in record.headers],
    "pairs": lambda record: (record.key, record.value),
    "copies": lambda record: record.replace(offset=record.offset + 1),
    "keys of dicts": lambda record: {record.key: record.offset},
}


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("every", [1, 2, 3])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_kept_records_do_not_change(keep: str, every: int, codec: str) -> None:
    batch = next(read_batches(build(SAME_SIZE, compression=codec).encode()))
    kept = [KEEPS[keep](record) for record in batch if record.offset % every == 0]
    assert kept == [KEEPS[keep](record) for record in SAME_SIZE[::every]]


def test_hash_of_a_reused_object_whose_content_was_hashed() -> None:
    for record, expected in zip(build(SAME_SIZE), SAME_SIZE, strict=True):
        assert hash(record.key) == hash(expected.key) and {record.value: 1} == {expected.value: 1}


def test_values_assigned_to_a_record_do_not_change() -> None:
    own, seen = bytes(range(6)), []
    for record in build(SAME_SIZE):
        seen.append(bytes(memoryview(record.key or b"")))
        record.key = own if record.offset % 2 else bytes(bytearray(6))
        record.value = record.key
        record.headers = ((b"x", own),)  # type: ignore[assignment]
        if record.offset % 5 == 0:
            del record.headers, record.timestamp
    assert seen == [record.key for record in SAME_SIZE] and own == bytes(range(6))


def test_interleaved_and_unfinished_iterators() -> None:
    batch, expected = next(read_batches(build(SAME_SIZE).encode())), [fields(record) for record in SAME_SIZE]
    one, other = iter(batch), iter(batch)
    found = []
    for _ in range(20):
        found.append((fields(next(one)), fields(next(other)), fields(next(one))))
    assert [each[0] for each in found] + [each[2] for each in found] == expected[::2] + expected[1::2]
    assert [each[1] for each in found] == expected[:20]
    last = next(other)
    del other
    assert fields(last) == expected[20] and next(one, None) is None
    assert outcome(batch.__iter__) == expected


def test_sizes_that_change_from_record_to_record() -> None:
    random = Random(6)
    sizes = [random.choice((0, 1, 2, 2, 3, 3, 63, 64)) for _ in range(500)]
    records = [
        Record(n, n, random.choice((None, random.randbytes(size))), random.randbytes(size))
        for n, size in enumerate(sizes)
    ]
    assert outcome(build(records).__iter__) == [fields(record) for record in records]
