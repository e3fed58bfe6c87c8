import copy
import pickle
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from tagwire.errors import DecodeError, EncodeError
from tagwire.message.register import Register
from tagwire.records import (
    BatchBuilder,
    ConsumerRecord,
    IntHeaders,
    ProducerRecord,
    Record,
    build,
    read_batches,
    should_retain,
)
from tagwire.records.headers import CODECS, Headers
from tagwire_generator.syntax.spec_schema import schema

# Two headers: key "h" with value "v" (length 3, keyLen 1), and an empty key with an empty value (length 1, keyLen 0).
BYTES = bytes.fromhex("03 01 68 76  01 00")


def test_bytes_in_bytes_out() -> None:
    headers = Headers(BYTES)
    assert headers.as_bytes() == BYTES
    assert list(headers) == [("h", b"v"), ("", b"")]
    headers.add("h", b"w")
    assert headers.as_bytes() == BYTES + bytes.fromhex("03 01 68 77")


def test_headers_are_parsed_lazily() -> None:
    broken = Headers(b"\x7f")
    assert broken.as_bytes() == b"\x7f"
    with pytest.raises(DecodeError):
        broken.keys()


@pytest.mark.parametrize("encoding", ["v2", "v3"])
def test_headers_of_v2_have_a_count_and_may_be_null(encoding: str) -> None:
    headers = Headers(encoding=encoding)
    assert headers.as_bytes() == b"\x00"
    headers.add("h", None)
    assert headers.as_bytes() == bytes.fromhex("02 02 68 01")
    assert Headers(headers.as_bytes(), encoding).get("h") == [None]


def test_a_header_that_can_not_be_written() -> None:
    headers = Headers()
    with pytest.raises(EncodeError):
        headers.add("h", None)
    with pytest.raises(EncodeError):
        headers.add(1, b"")  # type: ignore[arg-type]
    assert headers.as_bytes() == b""
    with pytest.raises(EncodeError, match="records in this format have no headers"):
        Headers(encoding="v1")


def test_an_int_header_is_set_once_and_they_ascend_unsigned() -> None:
    record = ProducerRecord("t", b"v")
    for key, value in ((-1, b"last"), (2, b"x"), (1, b"a"), (2, b"b")):
        record.set_header(key, value, allow_reserved=True)
    assert record.headers == {1: b"a", 2: b"b", -1: b"last"} and list(record.headers) == [1, 2, -1]
    assert isinstance(record.headers, IntHeaders) and record.headers[2**32 - 1] == record.headers[-1] == b"last"
    assert record.get_header(2) == b"b" and record.get_header(3) is None
    assert record.get_header(0xFFFFFFFF) == record.get_header(-1) == b"last"
    assert ProducerRecord("t", headers=((2**32 - 1, b""),), allow_reserved=True).headers == {-1: b""}
    assert [each.headers for each in build([record.record()], "kip82-int")] == [tuple(record.headers.items())]
    assert ProducerRecord("t", headers={2: b"b", 1: b"a"}).record().headers == ((1, b"a"), (2, b"b"))


@pytest.mark.parametrize("key", [0x00010000, 0x00250000, 0x00400000, 0xFFFFFFFF, -1])
def test_reserved_key_is_written_only_on_request(key: int) -> None:
    record = ProducerRecord("t", b"v")
    with pytest.raises(EncodeError, match="are reserved"):
        record.set_header(key, b"")
    with pytest.raises(EncodeError, match="are reserved"):
        ProducerRecord("t", b"v", headers=((key, b""),))
    record.set_header(key, b"x", allow_reserved=True)
    [read] = build([record.record()], "kip82-int")
    assert ConsumerRecord("t", 0, read).get_header(key) == b"x"


@pytest.mark.parametrize("key", [0, 0xFFFF, 0x00100000, 0x0034FFFF])
def test_keys_at_the_edges_of_ranges_are_free(key: int) -> None:
    record = ProducerRecord("t", b"v")
    record.set_header(key, b"x")
    assert record.headers == {key: b"x"}


class Keys(Register):
    TEXT = 1048577, "text", "utf-8"
    SHORT = 1048578, "short", "int16"
    NUMBER = 1048579, "number", "int32"
    LONG = 1048580, "long", "int64"
    REAL = 1048581, "real", "float64"
    ID = 1048582, "id", "uuid"
    PLAIN = 1048583, "plain"


@pytest.mark.parametrize(
    ("key", "value", "data"),
    [
        (Keys.TEXT, "ä", "c3a4"),
        (Keys.SHORT, -2, "fffe"),
        (Keys.NUMBER, 258, "00000102"),
        (Keys.LONG, 258, "0000000000000102"),
        (Keys.REAL, 0.5, "3fe0000000000000"),
        (Keys.ID, UUID(int=7), "00000000000000000000000000000007"),
        (Keys.PLAIN, b"x", "78"),
    ],
)
def test_a_key_of_a_register_has_its_own_codec(key: Keys, value: object, data: str) -> None:
    record = ProducerRecord("t", b"v")
    record.set_header(key, value)
    assert isinstance(record.headers, IntHeaders) and record.headers[key] == bytes.fromhex(data)
    assert record.headers == {int(key): bytes.fromhex(data)} and [type(each) for each in record.headers] == [int]
    assert record.get_header(key) == value
    assert record.get_header(int(key)) == record.get_header(key, deserializer=bytes) == bytes.fromhex(data)
    record.set_header(key, "other", serializer=str.encode)
    assert record.get_header(key, deserializer=bytes.decode) == "other"


@pytest.mark.parametrize("key", [key for key in Keys if key.codec])
def test_values_that_a_codec_rejects(key: Keys) -> None:
    record = ProducerRecord("t", b"v")
    with pytest.raises(EncodeError, match=f"the key's codec {key.codec} can't encode"):
        record.set_header(key, [])
    record.set_header(key, b"\xff\xff\xff")
    with pytest.raises(DecodeError, match=f"found 3 bytes, expected a value encoded by {key.codec}"):
        record.get_header(key)


def test_specs_name_the_codecs_that_there_are() -> None:
    words = schema()["$defs"]["entry"]["properties"]["codec"]["enum"]
    assert [word for word in words if word] == list(CODECS)


def test_text_headers_repeat() -> None:
    record = ProducerRecord("t", headers=(("h", b"1"),))
    record.set_header("h", b"2")
    assert list(record.headers) == [("h", b"1"), ("h", b"2")] and record.get_header("h") == b"2"


def test_the_headers_of_a_record_with_text_keys_are_the_multimap() -> None:
    record = ProducerRecord("t", b"v", b"k")
    headers = record.headers
    assert isinstance(headers, Headers) and headers.keys() == [] and record.get_header("h") is None
    for key, value in (("h", b"1"), ("i", b""), ("h", b"2")):
        headers.add(key, value)
    assert headers.get_all("h") == headers.get("h") == [b"1", b"2"] and headers.keys() == ["h", "i"]
    assert record.headers is headers and record.get_header("h") == b"2"
    # Three headers: h = 1, i is empty, h = 2. Each begins with its length and the length of its key.
    assert headers.as_bytes() == bytes.fromhex("03 01 68 31 02 01 69 03 01 68 32")
    # In format v2, the count of 3 precedes the headers. The count and all lengths are zig-zag varints.
    assert headers.as_bytes("v2") == bytes.fromhex("06 02 68 02 31 02 69 00 02 68 02 32")
    [read] = build([record.record()], "kip82-str")
    received = ConsumerRecord("t", 0, read).headers
    assert isinstance(received, Headers) and received == headers and received.as_bytes() == headers.as_bytes()
    assert received.get_all("h") == [b"1", b"2"]
    with pytest.raises(AttributeError, match="are immutable"):
        received.add("h", b"3")


def test_null_values_are_rejected_by_encodings_without_nulls() -> None:
    record = ProducerRecord("t", b"v", headers=(("h", None),))
    assert isinstance(record.headers, Headers) and record.headers.as_bytes("v2") == bytes.fromhex("02 02 68 01")
    with pytest.raises(EncodeError):
        record.headers.as_bytes()
    [read] = build([record.record()], "v2")
    assert ConsumerRecord("t", 0, read).headers == [("h", None)]
    with pytest.raises(EncodeError):
        build([record.record()], "kip82-str")


@pytest.mark.parametrize(
    ("format", "kind"), [("kip82-int", IntHeaders), ("v2", Headers), ("kip82-str", Headers), (None, Headers)]
)
def test_the_headers_of_a_record_without_any_are_those_of_its_format(format: str | None, kind: type) -> None:
    received = ConsumerRecord("t", 0, Record(0, 1, b"k", b"v"), format=format).headers
    assert type(received) is kind and len(received) == 0
    assert type(ProducerRecord("t", format=format).headers) is kind
    if isinstance(received, Headers):
        with pytest.raises(AttributeError, match="are immutable"):
            received.add("h", b"")


@pytest.mark.parametrize(("first", "second"), [((1, b""), ("h", b"")), (("h", b""), (1, b""))])
def test_a_record_has_text_keys_or_int_keys(first: Any, second: Any) -> None:
    with pytest.raises(EncodeError, match="no format has both"):
        ProducerRecord("t", headers=(first, second))


@pytest.mark.parametrize(("format", "keys"), [("kip82-int", [1, -1]), ("kip82-int-signed", [-1, 1])])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_the_headers_of_a_producer_get_the_order_of_the_format(format: str, keys: list[int], compression: str) -> None:
    record = ProducerRecord("t", b"v", headers={-1: b"x", 1: b"y"}, allow_reserved=True)
    [read] = build([record.record()], format, compression=compression)
    assert [key for key, _ in read.headers] == keys


@pytest.mark.parametrize(
    ("key", "value"), [(1, None), (1, "text"), (2**32, b""), (-(2**31) - 1, b""), (True, b""), ("h", 5)]
)
def test_objects_that_are_not_headers(key: object, value: object) -> None:
    with pytest.raises(EncodeError):
        ProducerRecord("t").set_header(key, value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "tombstone", "expected"), [(None, None, True), (None, True, True), (b"", None, False), (b"v", True, True)]
)
def test_tombstones(value: bytes | None, tombstone: bool | None, expected: bool) -> None:
    record = ProducerRecord("t", value, b"k", tombstone=tombstone)
    assert record.is_tombstone is record.tombstone is expected
    [found] = [ConsumerRecord("t", 0, each) for each in build([record.record()], "kip87")]
    assert found.is_tombstone is expected and (found.key, found.value) == (b"k", value)


def test_null_value_without_the_tombstone_flag_is_rejected() -> None:
    with pytest.raises(EncodeError, match="older readers would treat the record as a tombstone"):
        ProducerRecord("t", None, tombstone=False)
    record = ProducerRecord("t", b"v", b"k", tombstone=False)
    record.value = None
    assert not record.is_tombstone
    with pytest.raises(EncodeError, match="older readers would treat the record as a tombstone"):
        record.record()


def test_a_consumer_record_does_not_change() -> None:
    record = ConsumerRecord("t", 3, Record(5, 300, b"k", b"v", ((1, b"a"),)), "append")
    assert (record.topic, record.partition, record.offset, record.timestamp_type) == ("t", 3, 5, "append")
    assert record.get_header(1) == b"a" and not record.is_tombstone
    with pytest.raises(AttributeError):
        record.value = b""
    with pytest.raises(AttributeError):
        del record.value
    with pytest.raises(AttributeError):
        ConsumerRecord("t", 3, Record(5, 300, b"k", b"v")).headers.encoding = "v2"  # type: ignore[misc, union-attr]
    assert not hasattr(record, "set_header")


COPIES = [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
HEADERS: tuple[Any, ...] = ((), (("h", b"a"), ("h", None)), ((1, b"a"),))


@pytest.mark.parametrize("headers", HEADERS)
@pytest.mark.parametrize("duplicate", COPIES)
def test_copies(duplicate: Any, headers: Any) -> None:
    sent = ProducerRecord("t", b"v", b"k", timestamp=7, headers=headers)
    received = ConsumerRecord("t", 3, Record(5, 300, b"k", None, headers))
    for record in (sent, received):
        copied = duplicate(record)
        assert copied == record and copied is not record and repr(copied) == repr(record)
        assert list(copied.headers) == list(record.headers)
    copied = duplicate(sent)
    copied.set_header(1 if headers and headers[0][0] == 1 else "h", b"other")
    assert copied != sent and received != ConsumerRecord("t", 3, Record(5, 300, b"k", b"v", headers))
    assert repr(received).startswith(
        "ConsumerRecord(topic='t', partition=3, offset=5, timestamp=300, key=b'k', value=None"
    )


@pytest.mark.parametrize("duplicate", COPIES)
@pytest.mark.parametrize(("format", "compression"), [("v2", "none"), ("v2", "gzip"), ("v1", "gzip"), ("v1", "none")])
def test_copies_of_batches(duplicate: Any, format: str, compression: str) -> None:
    records = [Record(7, 300, b"k", b"v"), Record(9, 301, None, None)]
    batch = build(records, format, compression=compression)
    copied = duplicate(batch)
    assert copied == batch and hash(copied) == hash(batch) and list(copied) == records and copied.last_offset == 9
    assert copied != build(records[:1], format, compression=compression)
    [second] = duplicate(list(read_batches(build(records[:1], format).encode() + batch.encode()))[1:2])
    assert second.base_offset == 7


@pytest.mark.parametrize(("format", "value", "tombstone", "kept"), [
    ("v0", None, None, False), ("v1", None, None, False), ("v2", None, None, False), ("kip82-int", None, None, False),
    ("v1", b"v", None, True), ("kip87", b"v", True, False), ("kip87", b"v", False, True),
    ("kip87", None, True, False), ("kip87", None, False, True), ("kip82-int+kip87", b"v", True, False),
])  # fmt: skip
def test_should_retain(format: str, value: bytes | None, tombstone: bool | None, kept: bool) -> None:
    record = Record(0, 1, b"k", value, tombstone=tombstone)
    assert should_retain(record, format) is kept
    assert should_retain(record, format, is_compacted=False) is True
    assert should_retain(record, format, is_latest=False) is False


def test_a_null_value_without_the_bit_is_kept_as_it_was_read() -> None:
    batch = build([Record(0, 1, b"k", None, tombstone=True)], "kip87").replace(attributes=0)
    assert [(record.key, record.value, record.tombstone) for record in batch] == [(b"k", None, False)]


NONE: dict[str, list[Any]] = {"headers": [5, None], "headers[0]": [[5], [("a",)], [("a", b"", 1)], "ab", {"a"}]}
TAKERS: list[Callable[[Any], object]] = [
    lambda headers: Record(0, 0, b"", b"", headers),
    lambda headers: BatchBuilder("v2").append(b"k", b"v", headers=headers),
    lambda headers: ProducerRecord("topic", headers=headers),
    Headers.of,
]


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize(("path", "headers"), [(path, each) for path, found in NONE.items() for each in found])
def test_headers_that_are_not_pairs(taker: Callable[[Any], object], path: str, headers: Any) -> None:
    with pytest.raises(EncodeError, match=r"expected \(key, value\) pairs") as caught:
        taker(headers)
    assert caught.value.path == path


@pytest.mark.parametrize("data", [b"\x82\0\x02k\x02v", b"\x02\x02k\x02v\0", b"\x02\x02\xff\x02v"])
def test_bytes_of_headers_are_read_strictly(data: bytes) -> None:
    with pytest.raises(DecodeError, match=r"^headers of v2: "):
        list(Headers(data, "v2"))
