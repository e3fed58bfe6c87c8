import struct
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_damage import records_for

from tagwire.errors import EncodeError
from tagwire.records import BatchBuilder, Record, RecordBatch, build, convert, format_names, format_of, read_batches

BYTES = st.none() | st.binary(max_size=6)
TEXT_HEADERS = st.lists(st.tuples(st.text("abü", max_size=3), BYTES), max_size=3)
INT_HEADERS = st.dictionaries(st.integers(-(2**31), 2**31 - 1), st.binary(max_size=3), max_size=3)


@st.composite
def batches(draw: Any) -> RecordBatch:
    name = draw(st.sampled_from(format_names()))
    format = format_of(name)
    is_batch = format.records is not None
    records: list[Record] = []
    offset = draw(st.integers(0, 2**40))
    for _ in range(draw(st.integers(0 if is_batch else 1, 4))):
        value = draw(BYTES)
        headers: Any = ()
        if name.startswith("kip82-int"):
            mask = -1 if name == "kip82-int-signed" else 0xFFFFFFFF
            headers = sorted(draw(INT_HEADERS).items(), key=lambda header: header[0] & mask)
        elif is_batch:
            headers = draw(TEXT_HEADERS)
            if name == "kip82-str":
                headers = [(key, content or b"") for key, content in headers]
        timestamp = -1 if name == "v0" else draw(st.integers(-1, 2**41))
        tombstone = None if "is_tombstone" not in format.record_bits else value is None or draw(st.booleans())
        attributes = draw(st.integers(-128, 127)) if name in ("v2", "v3", "v3-zigzag") else 0
        records.append(
            Record(offset, timestamp, draw(BYTES), value, headers, attributes=attributes, tombstone=tombstone)
        )
        offset += draw(st.integers(1, 5))
    more: dict[str, Any] = {"compression": draw(st.sampled_from([c.partition("-")[0] for c in format.codecs]))}
    if "producer_id" in format.fields:
        more |= {"producer_id": draw(st.integers(-1, 9)), "is_transactional": draw(st.booleans())}
    if "partition_leader_epoch" in format.fields:
        more["partition_leader_epoch"] = draw(st.integers(-1, 9))
    if "timestamp_type" in format.bits and draw(st.booleans()):
        more |= {"timestamp_type": "append", "append_time": draw(st.integers(0, 2**41))}
    return build(records, name, **more)


def contents(batch: RecordBatch) -> dict[str, Any]:
    names = (
        *("format", "base_offset", "last_offset", "compression", "timestamp_type", "max_timestamp", "producer_id"),
        *("producer_epoch", "base_sequence", "partition_leader_epoch", "is_transactional", "is_control"),
        "delete_horizon_ms",
    )
    return {name: getattr(batch, name) for name in names} | {"records": list(batch), "stored": list(batch.stored())}


@pytest.mark.thorough
@given(batches(), st.sampled_from(format_names()))
@settings(max_examples=400)
def test_round_trip_is_the_identity_where_nothing_is_lost(batch: RecordBatch, to: str) -> None:
    there, lost = convert(batch, to)
    assert there.format == to
    if lost:
        with pytest.raises(EncodeError):
            convert(batch, to, on_loss="error")
        return
    back, lost_again = convert(there, batch.format)
    assert lost_again == () and contents(back) == contents(batch)


@given(batches())
@settings(max_examples=200)
def test_built_batches_are_read_back(batch: RecordBatch) -> None:
    again = list(read_batches(batch.encode(), batch.format))
    assert [record for each in again for record in each] == list(batch)
    assert b"".join(each.encode() for each in again) == batch.encode()


def losses(record: Record, format: str, to: str, **more: Any) -> list[str]:
    converted, lost = convert(build([record], format, **more), to)
    assert [each.is_tombstone for each in converted] == [record.is_tombstone]
    return [loss.path for loss in lost]


PLAIN = Record(5, 300, b"k", b"v")


@pytest.mark.parametrize(
    ("record", "format", "to", "paths"),
    [
        (PLAIN, "v2", "v1", []),
        (PLAIN, "v1", "v0", ["records[0].timestamp"]),
        (
            PLAIN.replace(headers=(("h", b"1"), ("i", None))),
            "v2",
            "v1",
            ["records[0].headers[0]", "records[0].headers[1]"],
        ),
        (PLAIN.replace(headers=(("h", b"1"), ("i", None))), "v2", "kip82-str", ["records[0].headers[1]"]),
        (PLAIN.replace(headers=(("h", b"1"),)), "v2", "kip82-int", ["records[0].headers[0]"]),
        (PLAIN.replace(headers=((1, b"1"),)), "kip82-int", "v2", ["records[0].headers[0]"]),
        (PLAIN.replace(headers=((1, b"1"),)), "kip82-int", "kip82-int+kip87", []),
        (PLAIN.replace(headers=((1, b"1"),)), "kip82-int", "v1", ["records[0].headers[0]"]),
        (PLAIN.replace(headers=(("h", b"1"),), timestamp=-1), "v2", "v0", ["records[0].headers[0]"]),
        (PLAIN.replace(tombstone=True), "kip87", "v1", ["records[0].value"]),
        (PLAIN.replace(tombstone=True), "kip87", "v2", ["records[0].value"]),
        (PLAIN.replace(tombstone=True), "kip87", "kip82-int+kip87", []),
        (PLAIN.replace(value=None), "v1", "kip87", []),
        (PLAIN.replace(attributes=3), "v2", "v3", []),
        # In kip82-str, attribute bit 0 marks a null key.
        (PLAIN.replace(attributes=1), "v2", "kip82-str", ["records[0].attributes"]),
        (PLAIN.replace(attributes=8), "v2", "kip82-str", []),
        (PLAIN.replace(attributes=3), "v2", "v1", ["records[0].attributes"]),
    ],
)
def test_losses_of_records(record: Record, format: str, to: str, paths: list[str]) -> None:
    assert losses(record, format, to) == paths


def test_losses_of_batches() -> None:
    more: dict[str, Any] = {"producer_id": 7, "producer_epoch": 1, "base_sequence": 3, "partition_leader_epoch": 2}
    more |= {"compression": "zstd", "is_transactional": True}
    lost = ["compression", "is_transactional", "partition_leader_epoch", "producer_id", "producer_epoch"]
    assert losses(PLAIN, "v2", "v1", **more) == [*lost, "base_sequence"]
    assert losses(PLAIN, "v2", "v3", **more) == []


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_a_wrapper_keeps_its_unnamed_bits_and_its_key(codec: str) -> None:
    wrapper = build([PLAIN], "v1", compression="gzip", attribute_bits=64, wrapper_key=b"w")
    assert (wrapper.unnamed_attributes, wrapper.wrapper_key) == (64, b"w")
    found, lost = convert(wrapper, "v1", compression=codec)
    if codec == "none":
        assert [loss.path for loss in lost] == ["attributes", "key"]
    else:
        assert (found.unnamed_attributes, found.wrapper_key, lost) == (64, b"w", ())


@pytest.mark.parametrize(
    ("key", "format", "to", "reason"),
    [("h", "v2", "kip82-int", "header keys are int32 there"), (1, "kip82-int", "v2", "header keys are text there")],
)
def test_the_reason_of_a_lost_header(key: str | int, format: str, to: str, reason: str) -> None:
    _, [loss] = convert(build([PLAIN.replace(headers=((key, b"1"),))], format), to)
    assert loss.reason == reason


def test_down_conversion_to_v2_restores_the_attributes_byte() -> None:
    down, lost = convert(build([PLAIN, PLAIN.replace(offset=6)], "v3"), "v2")
    assert lost == () and [record.attributes for record in down] == [0, 0]
    assert down.encode() == build([PLAIN, PLAIN.replace(offset=6)], "v2").encode()


@pytest.mark.parametrize(("codec", "paths"), [("none", ["max_timestamp"]), ("gzip", []), ("snappy", []), ("lz4", [])])
def test_only_a_wrapper_keeps_a_max_timestamp_that_no_record_has(codec: str, paths: list[str]) -> None:
    assert losses(PLAIN, "v2", "v1", compression=codec, max_timestamp=900) == paths


@pytest.mark.parametrize(("codec", "paths"), [("none", ["records[0].timestamp"]), ("gzip", [])])
def test_append_time_is_kept_and_producer_timestamps_have_room_in_a_wrapper(codec: str, paths: list[str]) -> None:
    batch = build([PLAIN, PLAIN.replace(offset=6, timestamp=999)], "v2", timestamp_type="append", append_time=999)
    there, lost = convert(batch, "v1", compression=codec)
    assert [loss.path for loss in lost] == paths
    assert (there.timestamp_type, [record.timestamp for record in there]) == ("append", [999, 999])
    assert losses(PLAIN, "v2", "v0", timestamp_type="append", append_time=999)[0] == "timestamp_type"


def test_on_loss_is_one_of_two() -> None:
    with pytest.raises(ValueError, match="on_loss"):
        convert(build([PLAIN]), "v1", on_loss="ignore")


def test_a_batch_whose_records_have_attributes_keeps_them_or_says_that_it_does_not() -> None:
    records = [Record(0, 300, b"k", b"v")]
    usual = build(records, "v3")
    clear = build(records, "v3", ignore_message_attributes=False)
    assert usual.attributes & 0x80 and not clear.attributes & 0x80 and clear.size == usual.size + 1
    for target in ("v3", "v3-zigzag"):
        kept, lost = convert(clear, target)
        assert not kept.attributes & 0x80 and lost == ()
    for target in ("v2", "v1", "kip82-str"):
        _, lost = convert(clear, target)
        assert [loss.value for loss in lost if loss.path == "ignore_message_attributes"] == [False]
        assert not any(loss.path == "ignore_message_attributes" for loss in convert(usual, target)[1])
    back, _ = convert(convert(usual, "v2")[0], "v3")
    assert back.encode() == usual.encode()


def test_attributes_of_records_go_through_v2_and_back() -> None:
    batch = build([Record(0, 300, b"k", b"v", attributes=4)], "v3")
    middle, lost = convert(batch, "v2")
    assert lost == () and convert(middle, "v3")[0].encode() == batch.encode()
    with pytest.raises(EncodeError, match="some records have attributes"):
        build(list(batch), "v3", ignore_message_attributes=True)


@pytest.mark.parametrize("format", ["kip82-int", "kip82-int-signed", "kip82-int+kip87"])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_unsorted_headers_are_rejected_with_the_record_s_index(format: str, compression: str) -> None:
    records = [Record(0, 1, b"k", b"v"), Record(1, 1, b"k", b"v", ((2, b""), (1, b"")))]
    with pytest.raises(EncodeError) as caught:
        build(records, format, compression=compression)
    assert caught.value.path == "records[1].headers"


@pytest.mark.parametrize("to", ["v2", "v3-zigzag", "kip82-str"])
@pytest.mark.parametrize("count", [0, 2])
def test_last_offset_out_of_range(to: str, count: int) -> None:
    """The delta of the last offset can be 2^32 - 1 in v3, but only 2^31 - 1 in other formats."""
    records = [Record(10 + n, 5, b"k", b"v") for n in range(count)]
    batch = build(records, "v3", base_offset=10, last_offset=10 + 2**32 - 1)
    converted, losses = convert(batch, to)
    assert list(converted) == records
    assert converted.last_offset == (11 if count else 10)
    assert [(loss.path, loss.value) for loss in losses] == [("last_offset", 10 + 2**32 - 1)]
    assert "from -2147483648 to 2147483647" in losses[0].reason
    assert convert(batch, "v3")[1] == ()
    near, lost = convert(build(records, "v3", base_offset=10, last_offset=10 + 2**31 - 1), to)
    assert near.last_offset == 10 + 2**31 - 1 and lost == ()


@pytest.mark.parametrize("to", ["v3", "v3-zigzag"])
def test_timestamps_that_are_too_far_apart(to: str) -> None:
    batch = build([Record(0, 5, b"k", b"v")], "v2", base_timestamp=-(2**62), max_timestamp=2**63 - 1)
    converted, [loss] = convert(batch, to)
    assert (loss.path, loss.value, converted.max_timestamp) == ("max_timestamp", 2**63 - 1, 2**62 - 1)


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("format", ["kip87", "kip82-int+kip87"])
def test_null_value_without_the_tombstone_flag(format: str, codec: str) -> None:
    """Readers accept a null value without the tombstone flag, but producers must not write it."""
    record = Record(0, 5, b"k", None, tombstone=False)
    with pytest.raises(EncodeError, match="older readers would treat the record as a tombstone"):
        build([record], format, compression=codec)
    batch = BatchBuilder(format, compression=codec, as_read=True).extend([record]).build()
    for to in ("kip87", "kip82-int+kip87"):
        converted, losses = convert(batch, to, on_loss="error")
        assert (list(converted), losses) == ([record], ())
    for to in ("v0", "v1", "v2", "v3", "kip82-int"):
        converted, losses = convert(batch, to)
        assert [each.value for each in converted] == [None]
        assert ("records[0].tombstone", "a null value is a tombstone in that format") in [
            (loss.path, loss.reason) for loss in losses
        ]


NAMES = format_names()


def odd_header(batch: RecordBatch, random: Random) -> RecordBatch:
    """Give a batch unusual header fields: attribute bits that have no name, random timestamps, or a wrapper key."""
    format = format_of(batch.format)
    named = 0
    for group in format.bits.values():
        named |= group.mask
    width = 16 if format.records is not None else 8
    changes: dict[str, Any] = {}
    if random.random() < 0.6:
        bits = random.getrandbits(width) & ~named | batch.attributes
        changes["attributes"] = bits - (1 << width) if bits >> width - 1 else bits
    for role in ("max_timestamp", "base_timestamp"):
        if role in format.fields and random.random() < 0.4 and not format.fields[role].relative_to:
            changes[role] = 1_600_000_000_000 + random.randrange(10**9)
    if format.records is None and batch.compression != "none" and random.random() < 0.5:
        header = batch._header | {"key": b"wrapped"}  # pyright: ignore[reportPrivateUsage]
        (batch,) = read_batches(format.encode_header(header), format, only=True)
    try:
        return batch.replace(**changes)
    except (EncodeError, struct.error):
        return batch


@pytest.mark.thorough
@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_a_conversion_without_losses_can_be_undone(source: str, target: str) -> None:
    random = Random(f"{source} {target}")
    silent = 0
    for _ in range(40):
        codec = random.choice(("none", "gzip"))
        count = 1 if format_of(source).records is None and codec == "none" else random.randrange(1, 4)
        append: dict[str, Any] = {"timestamp_type": "append", "append_time": 1_700_000_000_000}
        more = append if "timestamp_type" in format_of(source).bits and random.random() < 0.3 else {}
        batch = odd_header(build(records_for(source, random, count), source, compression=codec, **more), random)
        there, lost = convert(batch, target)
        if lost:
            continue
        again, *others = read_batches(there.encode(), target, only=True)
        if others:
            continue
        back, lost = convert(again, source)
        assert lost or back.encode() == batch.encode(), (batch.encode().hex(), there.encode().hex())
        silent += not lost
    assert silent or source != target
