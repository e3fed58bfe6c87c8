import pickle
from importlib import import_module
from random import Random
from typing import Any

import pytest
from native_engine import in_use

from tagwire.errors import TagwireError
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.scan import QuickBatch, Scan
from tagwire.records import BatchBuilder, Record, RecordBatch, build, format_of, read_batches
from tagwire.records.native import totals
from tagwire.wire.checksums import checksum

pytestmark = in_use
LONG_WAY = Limits(bytes=1 << 40)
"""With these limits, the native engine does not use the fast path."""


SCANNED = (
    *("format", "magic", "attributes", "base_offset", "last_offset", "base_timestamp", "max_timestamp", "crc", "count"),
    *("partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence", "compression", "timestamp_type"),
    *("is_transactional", "is_control", "delete_horizon_ms", "size"),
)


SOME = [Record(0, 1, b"k", b"v" * 9), Record(1, 2, None, b"w", [("h", b"x")]), Record(2, 3, b"k", b"v" * 30)]


def read(data: bytes, limits: Limits) -> Any:
    found: list[Any] = []
    try:
        for batch in read_batches(data, limits=limits):
            found.append((batch.format, batch.base_offset, batch.attributes, batch.crc, len(batch), batch.encode()))
            found += batch
    except TagwireError as error:
        found.append((type(error), str(error)))
    return found


def scanned(data: bytes, limits: Limits) -> Any:
    found: list[Any] = []
    try:
        for batch in Scan("f", data, limits=limits).batches():
            found.append((batch.position, *(getattr(batch, name) for name in SCANNED), batch.encode(), totals(batch)))
            found += batch
    except TagwireError as error:
        found.append((type(error), str(error)))
    return found


def built(settings: dict[str, Any], records: list[dict[str, Any]], *, fast: bool) -> Any:
    builder = BatchBuilder("v2", **settings)
    if not fast:
        builder._quick = None
    try:
        for record in records:
            builder.append(**record)
        batch = builder.build()
    except TagwireError as error:
        return type(error), str(error)
    return batch.encode(), batch.base_offset, batch.last_offset, batch.max_timestamp, list(batch)


RECORDS: list[list[dict[str, Any]]] = [
    [{"key": b"k", "value": b"v", "timestamp": 300}],
    [{"value": b"v" * 2000, "timestamp": 300, "offset": 7}, {"key": b"", "timestamp": 200, "headers": [("h", None)]}],
    [{"value": b"a", "offset": 2**40}, {"value": b"b", "offset": 2**40 - 5}, {"value": b"c", "attributes": 3}],
    [{"value": b"a", "offset": -(2**63)}, {"value": b"b", "offset": 2**62}],
    [{"value": b"a", "timestamp": 2**63 - 1}, {"value": b"b", "timestamp": -(2**63)}],
    [{"value": "text"}],
    [{"value": b"a", "offset": "x"}],
]
SETTINGS: list[dict[str, Any]] = [
    {}, {"producer_id": 2**40, "producer_epoch": 3, "base_sequence": 2**31 - 1, "partition_leader_epoch": 9},
    {"is_transactional": True, "is_control": True}, {"base_offset": 5, "last_offset": 90},
    {"base_offset": 5, "last_offset": 5}, {"base_offset": -(2**62), "last_offset": 2**63 - 1}, {"base_offset": 2**41},
    {"base_timestamp": 17, "max_timestamp": 900}, {"delete_horizon_ms": 99}, {"compression": "gzip"},
    {"timestamp_type": "append", "append_time": 4}, {"producer_epoch": 2**15}, {"is_control": "no"},
    {"producer_id": "x"},
]  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("records", RECORDS, ids=range(len(RECORDS)))
def test_builders(settings: dict[str, Any], records: list[dict[str, Any]]) -> None:
    built({}, RECORDS[0], fast=False)  # installs the fast path
    assert built(settings, records, fast=True) == built(settings, records, fast=False)


def test_mutated_bytes() -> None:
    random = Random(11)
    whole = [
        built(settings, records, fast=True)[0]
        for settings in SETTINGS[:9]
        for records in RECORDS[:3]
        if isinstance(built(settings, records, fast=True)[0], bytes)
    ]
    whole += [build([Record(3, 5, b"k", b"v")], format).encode() for format in ("v1", "v3")]
    for _ in range(3000):
        data = bytearray(b"".join(random.choices(whole, k=2)))
        for _ in range(random.randrange(3)):
            data[random.randrange(len(data))] = random.choice((0, 1, 2, 3, 0x7F, 0x80, 0xFF))
        if random.random() < 0.7 and len(data) > 61:
            size = min(len(data), max(61, 12 + int.from_bytes(data[8:12], "big", signed=True)))
            data[17:21] = checksum("crc32c", bytes(data[21:size])).to_bytes(4, "big")
        data = data[: random.choice((len(data), len(data), random.randrange(len(data))))]
        assert read(bytes(data), DEFAULT_LIMITS) == read(bytes(data), LONG_WAY), data.hex()
        assert scanned(bytes(data), DEFAULT_LIMITS) == scanned(bytes(data), LONG_WAY), data.hex()


def test_iteration_is_as_fast_as_for_a_builtin_type() -> None:
    [batch] = read_batches(build(SOME).encode())
    list(batch)  # installs the fast path
    is_limited = ".abi3." in str(import_module("tagwire._engine").__file__)
    assert type(RecordBatch.__iter__).__name__ == ("method_descriptor" if is_limited else "wrapper_descriptor")

    class Same(RecordBatch):
        __slots__ = ()

    class Empty(RecordBatch):
        __slots__ = ()

        def __iter__(self) -> Any:
            return iter(())

    found = {}
    for cls in (Same, Empty):
        batch.__class__ = cls
        found[cls] = [*iter(batch)]
    assert found == {Same: SOME, Empty: []}


def test_counting_needs_no_header() -> None:
    [batch] = read_batches(build(SOME).encode())
    assert len(batch) == len(SOME) and batch._begun is None and "_header" not in batch.__dict__
    assert [*batch] == SOME


def test_iterators_share_no_state() -> None:
    whole = build(SOME)
    [cut] = read_batches(whole.encode())
    cut._buf = cut._buf[: cut._end - 1] + b"\xff"
    for _ in range(3):
        one, other, invalid = iter(whole), iter(build(SOME[1:])), iter(cut)
        assert (next(one), next(other), next(invalid)) == (SOME[0], SOME[1], SOME[0])
        with pytest.raises(TagwireError):
            list(invalid)
        del invalid
        assert [*iter(build(SOME[2:]))] == SOME[2:] and [*one] == SOME[1:] and [*other] == SOME[2:]


def test_scanned_batches_keep_only_their_own_bytes() -> None:
    data = build([Record(0, 1, b"k", b"v" * 9)]).encode() * 2
    batches = [*Scan("f", data).batches()]
    assert [type(batch) for batch in batches] == [QuickBatch] * 2
    assert [batch._buf for batch in batches] == [data[: len(data) // 2]] * 2
    copied = pickle.loads(pickle.dumps(batches[1]))
    assert copied == batches[1] and list(copied) == list(batches[0])


@pytest.mark.parametrize("format", ["v2", "v3", "v1"])
def test_totals(format: str) -> None:
    records = [Record(5, 300, b"k", b"vv"), Record(9, -5, None, None), Record(10, 900, b"", b"abc")]
    for compression in ("none", "gzip"):
        found = totals(build(records, format, compression=compression))
        assert found == (None if format == "v1" else (3, 6, 1, 0, 300, 900, 5, 10, True))
    empty, some = totals(build([])), totals(build(records))
    assert empty is not None and some is not None
    assert list(empty) == [0, 0, 0, 0, None, None, 0, 0, True]
    ends = ((5, 10), (6, 10), (5, 9))
    assert [(empty.has_offsets_in(*each), some.has_offsets_in(*each)) for each in ends] == [
        (True, True), (True, False), (True, False),
    ]  # fmt: skip
    assert [*map(totals, read_batches(build(records).encode(), limits=Limits(records=9)))] == [None]


@pytest.mark.parametrize("arguments", [(), ("v2",), ("v1",), (format_of("v2"),), ("v2", 1), ("v9",)])
@pytest.mark.parametrize(
    "settings", [{}, {"compression": "gzip", "wrapper_key": b"k"}, {"_quick": 1}, {"format": "v1"}]
)
def test_native_constructor_sets_what_python_does(arguments: tuple[Any, ...], settings: dict[str, Any]) -> None:
    BatchBuilder().append(b"k")  # installs the native constructor

    def values(*, fast: bool) -> Any:
        builder = BatchBuilder.__new__(BatchBuilder)
        try:
            if fast:
                builder = BatchBuilder(*arguments, **settings)
            else:
                builder.__init__(*arguments, **settings)  # type: ignore[misc]
        except (TypeError, TagwireError) as error:
            return type(error), str(error)
        return {name: getattr(builder, name) for name in BatchBuilder.__slots__ if name != "__weakref__"}

    assert values(fast=True) == values(fast=False)
