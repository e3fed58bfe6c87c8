from typing import Any

import pytest

from tagwire.errors import EncodeError
from tagwire.layout import INT16, Fixed, Item, Layout, Sized, StructLayout
from tagwire.records import (
    BatchBuilder,
    FormatError,
    Record,
    build,
    format_of,
    format_set,
    read_batches,
    record_items,
    register,
)
from tagwire.records.record import HeaderMap
from tagwire.wire.types import WIRE_TYPES

PLAIN = Record(5, 300, b"k", b"v")
NUMBERS = ("base_offset", "last_offset", "base_timestamp", "max_timestamp", "delete_horizon_ms", "append_time")


@pytest.mark.parametrize(
    ("format", "record", "settings", "path"),
    [
        ("v1", PLAIN.replace(headers=(("h", b""),)), {}, "records[0].headers"),
        ("v0", PLAIN, {}, "records[0].timestamp"),
        ("v2", PLAIN.replace(tombstone=True), {}, "records[0].tombstone"),
        ("kip87", PLAIN.replace(value=None, tombstone=False), {}, "records[0].tombstone"),
        ("kip82-int", PLAIN.replace(headers=((2, b""), (1, b""))), {}, "records[0].headers"),
        ("kip82-int", PLAIN.replace(headers=((1, None),)), {}, "records[0].headers[0].value"),
        ("kip82-str", PLAIN.replace(headers=(("h", None),)), {}, "messages[0].headers[0].value"),
        ("v2", PLAIN.replace(headers=((1, b""),)), {}, "records[0].headers[0].key"),
        ("v2", PLAIN.replace(key="k"), {}, "records[0].key"),
        ("v2", PLAIN.replace(attributes=200), {}, "records[0].attributes"),
        ("v2", PLAIN.replace(offset=2**40), {"base_offset": 0}, "records[0].offset_delta"),
        ("v1", PLAIN, {"producer_id": 7}, "producer_id"),
        ("v1", PLAIN, {"is_transactional": True}, "is_transactional"),
        ("v0", PLAIN.replace(timestamp=-1), {"timestamp_type": "append", "append_time": 3}, "timestamp_type"),
        ("v2", PLAIN, {"timestamp_type": "appended"}, "timestamp_type"),
        ("v1", PLAIN, {"compression": "zstd"}, "compression"),
        ("v2", PLAIN, {"compression": "brotli"}, "compression"),
        ("v2", PLAIN, {"producer_epoch": 2**15}, "producer_epoch"),
        # Values of a wrong type must be rejected.
        *[
            ("v2", PLAIN.replace(**{name: None}), {}, f"records[0].{name}")
            for name in ("offset", "timestamp", "attributes")
        ],
        ("v2", PLAIN.replace(offset="x"), {"compression": "gzip"}, "records[0].offset"),
        ("kip87", PLAIN.replace(attributes="x"), {}, "records[0].attributes"),
        *[("kip87", PLAIN.replace(value=None, tombstone=flag), {}, "records[0].tombstone") for flag in (2, "no", 5.5)],
        ("v2", PLAIN.replace(value=None, tombstone=2), {}, "records[0].tombstone"),
        ("kip82-int", PLAIN.replace(headers=HeaderMap([(1, b""), ("h", b"")])), {}, "records[0].headers[1].key"),
        *[(format, PLAIN, {name: "x"}, name) for format in ("v2", "kip87") for name in (*NUMBERS, "producer_id")],
        *[
            ("v2", PLAIN, {name: "no"}, name)
            for name in ("is_transactional", "is_control", "ignore_message_attributes")
        ],
        # Settings that the format can't store, and invalid values, must be rejected.
        *[("v1", PLAIN, {name: 5}, name) for name in ("last_offset", "max_timestamp", "base_timestamp")],
        ("v1", PLAIN, {"base_offset": 4}, "base_offset"),
        *[("v2", PLAIN, {name: wrong}, name) for name, wrong in (("last_offset", -5), ("attribute_bits", "x"))],
        *[(each, PLAIN, {"wrapper_key": wrong}, "wrapper_key") for each in ("v1", "v2") for wrong in (5, b"k")],
        ("v1", PLAIN, {"attribute_bits": 1 << 6}, "attribute_bits"),
        *[(format, PLAIN, {"append_time": 5}, "append_time") for format in ("v1", "v2", "kip87")],
        ("v1", PLAIN, {"base_timestamp": 5, "compression": "gzip"}, "base_timestamp"),
        ("v0", PLAIN.replace(timestamp=-1), {"max_timestamp": 5, "compression": "gzip"}, "max_timestamp"),
        *[(format, PLAIN, {"ignore_message_attributes": True}, "ignore_message_attributes") for format in ("v1", "v2")],
    ],
)
def test_records_that_a_format_can_not_represent(
    format: str, record: Record, settings: dict[str, Any], path: str
) -> None:
    with pytest.raises(EncodeError) as caught:
        build([record], format, **settings)
    assert caught.value.path == path and caught.value.message_name == format


def test_no_messages() -> None:
    batch = build([], "v1")
    assert (batch.encode(), list(batch), len(batch)) == (b"", [], 0)
    assert (batch.last_offset, batch.max_timestamp) == (-1, -1)
    with pytest.raises(EncodeError, match="at least one"):
        build([], "v1", compression="gzip")


def test_a_builder_has_a_length() -> None:
    builder = BatchBuilder("v2")
    assert (len(builder), bool(builder)) == (0, True)
    builder.append(b"k").append(b"l")
    assert len(builder) == 2


def test_offsets_count_up() -> None:
    batch = BatchBuilder(base_offset=7).append(b"a").append(b"b").append(b"c", offset=20).append(b"d").build()
    assert [record.offset for record in batch] == [7, 8, 20, 21]
    assert (batch.base_offset, batch.last_offset) == (7, 21)


@pytest.mark.parametrize("format", ["v2", "v3", "v3-zigzag"])
def test_fast_path_writes_the_same_as_the_layout(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [
        Record(2**33 + index, -(2**40) * index, key, b"v" * (index * 90), (("ü" * index, None), ("", b"x" * 100)))
        for index, key in enumerate((None, b"", b"k" * 63, b"k" * 64, b"k" * 8192))
    ]
    fast = build(records, format)
    read_fast = list(fast)
    monkeypatch.setattr(record_items, "fits", lambda format: False)
    slow = build(records, format)
    assert fast.encode() == slow.encode()
    assert read_fast == list(slow) == records


def test_messages_that_are_not_compressed_come_back_one_by_one() -> None:
    batch = build([PLAIN, PLAIN.replace(offset=9)], "v1")
    assert len(batch) == 2 and (batch.base_offset, batch.last_offset) == (5, 9)
    assert [len(each) for each in read_batches(batch.encode())] == [1, 1]


@pytest.mark.parametrize(("format", "inner"), [("v0", [5, 9]), ("v1", [0, 4]), ("kip87", [0, 4])])
def test_offsets_in_wrappers(format: str, inner: list[int]) -> None:
    """Offsets inside a wrapper are absolute in v0, and relative to the first message in later formats."""
    records = [PLAIN.replace(timestamp=-1), PLAIN.replace(timestamp=-1, offset=9)]
    (batch,) = read_batches(build(records, format, compression="gzip").encode(), format)
    assert batch._messages is not None and batch._messages.offsets == inner
    assert [record.offset for record in batch] == [5, 9]
    assert (batch.base_offset, batch.last_offset) == (5, 9)


def test_custom_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(format_set, "_formats", dict(format_set._formats))
    int64, int8, data = Fixed(WIRE_TYPES["int64"]), Fixed(WIRE_TYPES["int8"]), WIRE_TYPES["bytes"]
    layout = Layout(
        "pairs",
        None,
        StructLayout(
            "Pair",
            (
                Item("offset", int64, default=0),
                Item("attributes", int8, default=0),
                Item("key", Sized(data, INT16, nullable=True)),
                Item("value", Sized(data, INT16, nullable=True)),
            ),
        ),
    )
    format = register(layout)
    assert format_of("pairs") is format is register(layout)
    batch = build([Record(1, -1, b"k", None)], "pairs")
    assert batch.encode().hex() == "0000000000000001" "00" "0001" "6b" "ffff"
    assert [record.key for each in read_batches(batch.encode(), "pairs") for record in each] == [b"k"]
    with pytest.raises(FormatError, match="a record format named v2 already exists"):
        register(Layout("v2", None, layout.root))


def test_an_unknown_format() -> None:
    with pytest.raises(FormatError, match="there is no record format 'v22'; did you mean 'v2'"):
        format_of("v22")


@pytest.mark.parametrize("name", ["v0", "v1", "kip82-int", "kip87"])
@pytest.mark.parametrize("number", [1, 2, 9, True])
def test_codec_bits_in_record_attributes_are_rejected(name: str, number: int) -> None:
    record = Record(0, -1 if name == "v0" else 5, b"k", b"v", attributes=number)
    for making in (lambda: build([record], name), lambda: BatchBuilder(name).append(b"k", b"v", attributes=number)):
        with pytest.raises(EncodeError, match="without the bits of compression") as caught:
            builder = making()
            assert isinstance(builder, BatchBuilder)
            builder.build()
        assert caught.value.path == "records[0].attributes"


def test_attributes_without_a_name_are_kept() -> None:
    for name, number in (("v2", 1), ("v2", -128), ("kip87", 64), ("kip87", -128)):
        (batch,) = read_batches(build([PLAIN.replace(attributes=number)], name).encode(), name)
        assert [record.attributes for record in batch] == [number]


@pytest.mark.parametrize("name", ["v1", "v2"])
@pytest.mark.parametrize("other", [None, 5, {"key": b"k"}, (0, 5, b"k", b"v")])
def test_objects_that_are_not_records(name: str, other: Any) -> None:
    with pytest.raises(EncodeError, match="expected a Record") as caught:
        build([PLAIN, other], name)
    assert caught.value.path == "records[1]"
