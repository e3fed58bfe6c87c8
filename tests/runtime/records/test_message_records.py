import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tagwire
import tagwire_messages as messages
from tagwire import DecodeError, EncodeError, TagwireError, UnsupportedVersionError
from tagwire.explain.assemble import assemble
from tagwire.explain.text import annotate, parse_annotated
from tagwire.records import Record, RecordLoss, build, convert_records, decode_records, open_records
from tagwire_drafts import kip82_int, kip87, kip482_rpcs

CAPTURES = Path(__file__).parents[2] / "data" / "captures" / "captures.jsonl.gz"
PLAIN = [Record(0, 300, b"k", b"v"), Record(1, 301, b"k", None)]
HEADERS = [Record(0, 300, b"k", b"v", ((1, b"a"),))]
TOMBSTONE = [Record(0, 300, b"k", b"who", tombstone=True)]


def records(found: list[Record], format: str, **batch: Any) -> bytes:
    if format == "v0":
        found = [each.replace(timestamp=-1) for each in found]
    return build(found, format, **batch).encode()


def answer(*data: bytes | None, package: Any = messages) -> Any:
    cls = package.registry["FetchResponse"]
    parts = [{"partitionIndex": index, "errorCode": 0, "highWatermark": 9} for index in range(len(data))]
    value = {"responses": [{"topic": "t", "partitions": [{**part, "records": None} for part in parts]}]}
    response = cls.from_json({"throttleTimeMs": 0, **value}, 3)
    for part, each in zip(response.responses[0].partitions, data, strict=True):
        part.records = each
    return response


def request(data: bytes, package: Any = messages) -> Any:
    cls = package.registry["ProduceRequest"]
    part = {"index": 0, "records": None}
    result = cls.from_json({"acks": 1, "timeoutMs": 5, "topicData": [{"name": "t", "partitionData": [part]}]}, 2)
    result.topic_data[0].partition_data[0].records = data
    return result


def read(message: Any, version: int | None = None, **how: Any) -> list[list[list[Record]]]:
    return [[list(batch) for batch in field] for field in decode_records(message, version, **how)]


@pytest.mark.parametrize(
    ("version", "format", "found"),
    [(3, "v1", "magic 1"), (2, "v0", "magic 0"), (2, "kip87", "magic 2"), (3, "kip87", "crc at byte 17")],
)
def test_a_request_has_the_format_of_its_version(version: int, format: str, found: str) -> None:
    with pytest.raises(DecodeError, match=found):
        read(request(records(PLAIN, format)), version)


@pytest.mark.parametrize("version", messages.ProduceRequest.VERSIONS)
def test_produce_of_every_version(version: int) -> None:
    format = "v0" if version < 2 else "v1" if version < 3 else "v2"
    data = records(PLAIN[:1], format)
    sent = messages.ProduceRequest.decode(request(data).encode(version), version)
    [field] = decode_records(sent, version)
    assert (field.path, field.format) == ("topic_data[0].partition_data[0].records", format)
    expected = ["ProduceRequest", "TopicProduceData", "PartitionProduceData"]
    assert [type(holder).__name__ for holder in field.holders] == expected
    assert [batch.format for batch in field] == [format] and field.data == data


@pytest.mark.parametrize("version", messages.FetchResponse.VERSIONS)
@pytest.mark.parametrize("views", [False, True])
def test_fetch_of_every_version(version: int, views: bool) -> None:
    format = "v0" if version < 2 else "v1" if version < 4 else "v2"
    data = records(PLAIN, format)
    got = messages.FetchResponse.decode(answer(data, None).encode(version), version, views=views)
    [field] = decode_records(got, version)
    assert field.format == format and field.path == "responses[0].partitions[0].records"
    assert sum(len(batch) for batch in field) == sum(len(batch) for batch in field) == 2


def test_other_messages_with_records() -> None:
    assert [*messages.ShareFetchResponse.VERSIONS] == [0, 1, 2]
    for name, version in (("ProduceRequest", 9), ("FetchResponse", 12)):
        fields = kip482_rpcs.registry[name].FIELDS
        while not any(row.record_formats for row in fields):
            fields = next(row.struct.FIELDS for row in fields if row.struct is not None)
        assert next(row for row in fields if row.record_formats).record_format(version) == "v2"


def test_records_of_a_lower_magic_keep_their_format() -> None:
    data = b"".join(records(PLAIN[:1], format) for format in ("v0", "v1", "v2"))
    [field] = decode_records(answer(data))
    assert [batch.format for batch in field] == ["v0", "v1", "v2"]


def test_the_last_batch_of_a_response_may_be_cut_off() -> None:
    data = records(PLAIN, "v2")
    assert len(read(answer(data + data[:-1]))[0]) == 1
    with pytest.raises(DecodeError):
        read(answer(data + data[:-1]), partial=False)
    with pytest.raises(DecodeError):
        read(request(data + data[:-1]))


def test_a_format_that_no_spec_names() -> None:
    assert read(answer(records(PLAIN, "v3-zigzag")), format="v3-zigzag") == [[PLAIN]]
    chunk = messages.FetchSnapshotResponse.from_json(SNAPSHOT, 0)
    with pytest.raises(
        TagwireError, match=r"FetchSnapshotResponse v0: the spec does not name a record format; pass one as `format`"
    ):
        decode_records(chunk, 0)
    chunk.topics[0].partitions[0].unaligned_records = records(PLAIN, "v2")
    assert read(chunk, 0, format="v2") == [[PLAIN]]


PART = {"index": 0, "errorCode": 0, "snapshotId": {"endOffset": 0, "epoch": 0}, "size": 0, "position": 0}
TOPIC = {"name": "t", "partitions": [PART | {"unalignedRecords": ""}]}
SNAPSHOT = {"throttleTimeMs": 0, "errorCode": 0, "topics": [TOPIC]}


def test_invalid_arguments() -> None:
    with pytest.raises(TagwireError, match="FetchRequest has no field with records"):
        decode_records(messages.FetchRequest())
    with pytest.raises(UnsupportedVersionError):
        decode_records(answer(b""), 99)
    with pytest.raises(UnsupportedVersionError):
        convert_records(answer(b""), 99)
    with pytest.raises(tagwire.TagwireError, match="no record format 'v9'"):
        convert_records(answer(b""), "v9")
    with pytest.raises(ValueError, match="'report' or 'error'"):
        convert_records(answer(b""), 0, on_loss="maybe")


def captured() -> Iterator[tuple[Any, int, bytes]]:
    with gzip.open(CAPTURES, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if (row["api_key"], row["dir"]) in ((0, "req"), (1, "resp")):
                data = bytes.fromhex(row["hex"])
                frame: Any
                if row["dir"] == "req":
                    frame = messages.registry.decode_request(data)
                else:
                    frame = messages.registry.decode_response(data, 1, row["api_version"])
                yield frame.message, frame.version, data


def test_all_real_records_are_read_in_the_format_of_their_version() -> None:
    kinds: set[tuple[int, str]] = set()
    versions: set[tuple[str, int]] = set()
    count = 0
    for message, version, _ in captured():
        for field in decode_records(message, version):
            highest, end = {"v0": 0, "v1": 1, "v2": 2}[str(field.format)], 0
            for batch in field:
                assert batch.magic == highest or (batch.magic < highest and (message.KIND == "response" or version < 3))
                kinds.add((batch.magic, batch.compression))
                versions.add((message.NAME, version))
                count += sum(1 for _ in batch)
                end += batch.size
                assert batch.encode() == field.data[end - batch.size : end]
            # The last batch of a Fetch response may be truncated, because the client limits the response's size.
            assert end == len(field.data) or (message.KIND == "response" and end < len(field.data))
    assert count == 86202
    assert {magic for magic, _ in kinds} == {0, 1, 2}
    assert {codec for _, codec in kinds} == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert versions >= {("ProduceRequest", version) for version in (0, 2, 3, 7, 9)}
    assert versions >= {("FetchResponse", version) for version in (0, 2, 4, 11, 12)}


def test_a_fetch_answer_for_an_old_reader() -> None:
    data = records([Record(0, 300, b"k", b"v", (("h", b"1"),))], "v2")
    got = answer(data, None, records(PLAIN, "v1"))
    old, lost = convert_records(got, 2)
    assert old is not got and got.responses[0].partitions[0].records == data
    assert read(old, 2) == [[[Record(0, 300, b"k", b"v")]], [[each] for each in PLAIN]]
    assert lost == (RecordLoss("responses[0].partitions[0].records[0].records[0].headers[0]", ("h", b"1"), HEADERLESS),)
    assert [batch.magic for field in decode_records(old, 2) for batch in field] == [1, 1, 1]
    assert read(messages.FetchResponse.decode(old.encode(2), 2), 2) == read(old, 2)
    assert old.responses[0].partitions[1] == got.responses[0].partitions[1]


HEADERLESS = "records have no headers in that format"


@pytest.mark.parametrize(
    ("package", "found", "format", "left", "reason"),
    [
        (kip82_int, HEADERS, "kip82-int", Record(0, 300, b"k", b"v"), HEADERLESS),
        (kip87, TOMBSTONE, "kip87", Record(0, 300, b"k", None), "a tombstone has a null value in that format"),
    ],
)
@pytest.mark.parametrize("make", [answer, request])
def test_the_drafts_messages_for_readers_of_v2(
    make: Callable[..., Any], package: Any, found: list[Record], format: str, left: Record, reason: str
) -> None:
    message = make(records(found, format, compression="gzip"), package=package)
    assert read(message) == [[found]]
    old, lost = convert_records(message, 2)
    assert read(old, 2) == [[[left]]] and [loss.reason for loss in lost] == [reason]
    [field] = decode_records(old, 2)
    assert [(batch.format, batch.compression) for batch in field] == [("v1", "gzip")]
    older, lost = convert_records(message, 1)
    assert read(older, 1) == [[[left.replace(timestamp=-1)]]]
    assert sorted({loss.reason for loss in lost}) == sorted({reason, "messages have no timestamp in that format"})
    with pytest.raises(EncodeError, match=reason):
        convert_records(message, 2, on_loss="error")


def test_smaller_batches_for_readers_of_magic_2() -> None:
    got = answer(records(PLAIN, "v3"), records(PLAIN, "v3", compression="gzip"))
    old, lost = convert_records(got, "v2")
    assert lost == () and read(old, 4) == read(got) == [[PLAIN], [PLAIN]]
    assert [batch.format for field in decode_records(old) for batch in field] == ["v2", "v2"]
    zigzag = answer(records(PLAIN, "v3-zigzag"))
    assert convert_records(zigzag, 4, format="v3-zigzag") == (answer(records(PLAIN, "v2")), ())


def test_batches_that_need_no_conversion_keep_their_bytes() -> None:
    data = records(PLAIN, "v2") + records(PLAIN, "v1")
    cut = data + data[:30]
    got = answer(cut, None, b"")
    assert convert_records(got, 12) == (got, ())
    assert convert_records(got, 12)[0].responses[0].partitions[0].records is cut
    same = request(records(PLAIN[:1], "v1"))
    assert convert_records(same, 2) == (same, ())


def test_a_request_has_its_format_alone() -> None:
    sent, lost = convert_records(request(records(PLAIN[:1], "v1")), 9)
    assert lost == () and [batch.format for field in decode_records(sent) for batch in field] == ["v2"]


def test_unsupported_records_are_omitted_and_reported() -> None:
    marker = records([Record(5, 1, bytes(4), bytes(6))], "v2", is_control=True, is_transactional=True, producer_id=7)
    plain = records(PLAIN, "v2")
    old, lost = convert_records(answer(marker + plain + plain[:20]), 3)
    assert read(old, 3) == [[[each] for each in PLAIN]]
    assert [(loss.path.rpartition(".")[2], loss.value) for loss in lost] == [("records[0]", 1), ("records[2]", 20)]
    assert "that format has no transaction markers" in lost[0].reason


def test_records_with_errors_are_rejected() -> None:
    data = bytearray(records(PLAIN, "v2"))
    data[-1] ^= 1
    with pytest.raises(DecodeError, match="crc"):
        convert_records(answer(bytes(data)), 2)


@pytest.mark.thorough
def test_real_answers_for_the_oldest_reader() -> None:
    count = 0
    for message, version, _ in captured():
        if message.KIND != "response" or version < 4:
            continue
        old, _ = convert_records(message, 3, version=version)
        before = [
            [r.offset for b in field for r in b if not b.is_control] for field in decode_records(message, version)
        ]
        after = [[(r.offset, b.magic) for b in field for r in b] for field in decode_records(old, 3)]
        assert [[offset for offset, _ in field] for field in after] == before
        assert all(magic < 2 for field in after for _, magic in field)
        count += sum(map(len, before))
    assert count > 1000


def opened(message: Any, version: int, **how: Any) -> tagwire.Trace:
    seen = tagwire.trace(type(message), message.encode(version), version)
    assert open_records(seen, type(message), **how) is seen
    return seen


def test_the_records_of_a_trace_are_opened() -> None:
    data = records(PLAIN, "v2") + records(PLAIN, "v2", compression="gzip")
    seen = opened(answer(data, None, b""), 12)
    nodes = {node.path: node for node in seen.root.walk()}
    first = "responses[0].partitions[0].records"
    assert nodes[first].value == 2 and nodes["responses[0].partitions[2].records"].value == 0
    assert bytes(nodes[f"{first}[0].records[0].value"].value) == b"v"
    assert bytes(nodes[f"{first}[1].records[0].value"].value) == b"v"
    assert seen.error is None and seen.canonical
    text = annotate(seen)
    assert parse_annotated(text) == seen.data
    assert assemble(text) == assemble(text, fix=True) == [seen.data]


def test_truncated_and_invalid_batches() -> None:
    data = records(PLAIN, "v2")
    seen = opened(answer(data + data[:40], data), 4)
    assert seen.error is None and parse_annotated(annotate(seen)) == seen.data
    [cut] = [node for node in seen.root.walk() if node.type == "cut off"]
    assert (cut.path, cut.length) == ("responses[0].partitions[0].records[1]", 40)
    seen = opened(request(data + data[:40]), 9)
    assert seen.error is not None and seen.error.path.startswith("topic_data[0].partition_data[0].records[1]")
    assert parse_annotated(annotate(seen)) == seen.data

    broken = bytearray(data)
    broken[30] ^= 1
    seen = opened(answer(bytes(broken), data), 4)
    error = seen.error
    assert error is not None and error.path == "responses[0].partitions[0].records[0].crc"
    at = seen.data.index(bytes(broken))
    assert error.offset == at + 17
    assert parse_annotated(annotate(seen)) == seen.data
    nodes = {node.path: node for node in seen.root.walk()}
    assert "responses[0].partitions[1].records[0].records[1].key" in nodes  # tracing continues after the invalid record


def test_a_trace_without_records_and_with_another_format() -> None:
    plain = tagwire.trace(messages.FetchRequest, messages.FetchRequest().encode(4), 4)
    text = annotate(plain)
    assert annotate(open_records(plain, messages.FetchRequest)) == text
    seen = opened(answer(records(PLAIN, "v3-zigzag")), 4, format="v3-zigzag")
    assert seen.error is None and any(node.path.endswith("records[0].batch_length") for node in seen.root.walk())


@pytest.mark.thorough
def test_real_messages_are_opened_to_the_byte() -> None:
    for number, (message, version, data) in enumerate(captured()):
        if number % 10 or len(data) > 20_000:
            continue
        if message.KIND == "request":
            seen = tagwire.trace_request(messages.registry, data)
        else:
            seen = tagwire.trace_response(messages.registry, data, 1, version)
        open_records(seen, type(message))
        assert seen.error is None
        assert parse_annotated(annotate(seen)) == data
