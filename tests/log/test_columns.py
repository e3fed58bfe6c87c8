"""Logs as Arrow columns: what `log.read` reads, with both engines, and what is wrong with the same words."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import polars
import pyarrow as pa
import pytest
from column_values import ENGINES
from record_damage import damaged, records_for

import tagwire_messages as messages
from tagwire import Limits, UnsupportedVersionError, log
from tagwire.arrow import ColumnError
from tagwire.errors import DecodeError
from tagwire.log import column_stream
from tagwire.log.column_stream import GatheredRows, Pass
from tagwire.records import FormatError, Record, build, format_names, format_of

CopyOf = Callable[[str], Path]
PARTITIONS = (
    "kafka0.8/alpha-b0.8-compact-none-0",
    "kafka0.8/__consumer_offsets-0",
    "kafka0.9/__consumer_offsets-0",
    "kafka0.11/alpha-b0.11-compact-gzip-0",
    "kafka28/__transaction_state-1",
    "kafka28/alpha-m0-segs-0",
    "kafka28/alpha-m1-compact-lz4-0",
    "kafka28/alpha-upgrade2-0",
    "kafka4/__cluster_metadata-0",
    "kafka4/__consumer_offsets-1",
    "kafka4/alpha-compact-horizon-0",
    "kafka4/alpha-compact-txn-0",
    "kafka4/alpha-delrec-0",
    "kafka4/alpha-txn-many-0",
)
MESSAGES = ("v0", "v1", "kip82-int", "kip82-int-signed", "kip87", "kip82-int+kip87")
"""Formats without batches: a record is a message, or in a wrapper."""


@pytest.fixture(params=ENGINES, autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Formats keep the plans of the engine that was there first."""
    monkeypatch.setenv("TAGWIRE_ENGINE", request.param)
    for name in format_names():
        format_of(name).__dict__.pop("plans", None)
    return str(request.param)


@pytest.fixture(autouse=True, scope="module")
def plans() -> Iterator[None]:
    yield
    for name in format_names():
        format_of(name).__dict__.pop("plans", None)


# ---------------------------------------------------------------- what there should be


def millis(value: int | None) -> int | None:
    return None if value == -1 else value


def of_batch(batch: Any, file: Path, position: int) -> dict[str, Any]:
    return {
        "format": batch.format,
        "magic": batch.magic,
        "compression": batch.compression,
        "timestamp_type": None if batch.format == "v0" else batch.timestamp_type,
        "last_offset": batch.last_offset,
        "partition_leader_epoch": batch.partition_leader_epoch,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "is_transactional": batch.is_transactional,
        "is_control": batch.is_control,
        "delete_horizon_ms": millis(batch.delete_horizon_ms),
        "crc": batch.crc,
        "file": str(file),
        "position": position,
        "size": batch.size,
    }


def heads(file: Path, position: int, batch: Any) -> Iterator[dict[str, Any]]:
    packed_message = batch.format in MESSAGES and batch.compression != "none"
    yield of_batch(batch, file, position) | {
        "base_offset": None if packed_message else batch.base_offset,
        "base_timestamp": millis(batch.base_timestamp),
        "max_timestamp": millis(batch.max_timestamp),
        "count": batch.count,
    }


def records(file: Path, position: int, batch: Any) -> Iterator[dict[str, Any]]:
    shared = of_batch(batch, file, position) | {"base_offset": batch.base_offset}
    for record in batch:
        yield shared | {
            "offset": record.offset,
            "timestamp": millis(record.timestamp),
            "key": record.key,
            "value": record.value,
            "tombstone": record.is_tombstone,
            "attributes": record.attributes,
            "headers": [{"key": key, "value": value} for key, value in record.headers],
        }


ROWS = {"record": records, "batch": heads}


def expected(path: Path, level: str, format: str = "auto") -> list[dict[str, Any]]:
    segments = log.Partition(path).segments if path.is_dir() else (log.Segment(path),)
    return [
        row
        for segment in segments
        for position, batch in segment.placed_batches(format=format)
        for row in ROWS[level](segment.path, position, batch)
    ]


def plain(table: Any) -> list[dict[str, Any]]:
    """Rows with times as numbers."""
    types = [pa.int64() if pa.types.is_timestamp(field.type) else field.type for field in table.schema]
    rows: list[dict[str, Any]] = table.cast(pa.schema(list(zip(table.column_names, types, strict=True)))).to_pylist()
    return rows


def found(path: Path, **options: Any) -> list[dict[str, Any]]:
    return plain(pa.table(log.columns(path, **options)))


def same(rows: list[dict[str, Any]], others: list[dict[str, Any]]) -> None:
    assert len(rows) == len(others)
    for row, other in zip(rows, others, strict=True):
        assert row == other


# ---------------------------------------------------------------- the same as reading


@pytest.mark.parametrize("level", ROWS)
@pytest.mark.parametrize("name", PARTITIONS)
def test_logs_of_brokers(name: str, level: str, logs: Path) -> None:
    same(found(logs / name, level=level), expected(logs / name, level))


@pytest.mark.parametrize("level", ROWS)
@pytest.mark.parametrize("name", format_names()[:10])
def test_every_format(name: str, level: str, tmp_path: Path, engine: str) -> None:
    random = Random(name)
    path = tmp_path / "segment"
    codecs = [codec for codec in ("none", "gzip", "snappy", "lz4", "zstd") if codec in format_of(name).codecs]
    sets = [
        build(records_for(name, random, count), name, compression=codec).encode()
        for codec in codecs
        for count in (1, 2, 7)
    ]
    path.write_bytes(b"".join(sets))
    options = {"level": level, "format": name}
    same(found(path, **options), expected(path, level, name))
    if engine == "native":
        columns = log.columns(path, level=level, format=name)
        rows = Pass(columns.root, columns.wanted).rows
        assert not isinstance(rows, GatheredRows), "the native engine must read these"


def test_v3_is_found_out(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    sets = [build([Record(n, 5, b"k", b"v")], format).encode() for n, format in enumerate(("v3", "v2", "v3", "v1"))]
    path.write_bytes(b"".join(sets))
    assert [row["format"] for row in found(path)] == ["v3", "v2", "v3", "v1"]
    same(found(path), expected(path, "record"))


def test_what_may_be_two_formats(tmp_path: Path) -> None:
    """Magic 2 in its place, and behind a length of 0 the magic byte of v3: the checksum decides."""
    batch = build([Record(0, 5, b"k", b"v")], "v2").replace(partition_leader_epoch=0x30000)
    path = tmp_path / "segment"
    path.write_bytes(batch.encode() * 3)
    assert [row["partition_leader_epoch"] for row in found(path)] == [0x30000] * 3
    assert len(found(path, level="batch")) == 3


def test_chosen_columns(logs: Path) -> None:
    path = logs / "kafka4/alpha-txn-many-0"
    whole = expected(path, "record")
    for names in (["value"], ["headers", "offset"], ["is_control", "key", "file"], ["tombstone"], ["timestamp"]):
        assert pa.table(log.columns(path, names)).column_names == names
        same(found(path, columns=names), [{name: row[name] for name in names} for row in whole])
    rows = sum(len(array) for array in log.columns(path, []))
    assert rows == len(whole)


def test_from_an_offset_on(logs: Path) -> None:
    path = logs / "kafka28/alpha-upgrade2-0"
    whole = expected(path, "record")
    offsets = [row["offset"] for row in whole]
    for start in (*offsets[:: len(offsets) // 9], offsets[-1], offsets[-1] + 1, -5):
        same(found(path, start_offset=start), [row for row in whole if row["offset"] >= start])
        batches = found(path, start_offset=start, level="batch")
        same(batches, [row for row in expected(path, "batch") if row["last_offset"] >= start])


def test_from_where_the_log_begins(logs: Path) -> None:
    path = logs / "kafka4/alpha-delrec-0"
    first = log.Partition(path).log_start_offset
    assert first and found(path)[0]["offset"] < first == found(path, from_log_start=True)[0]["offset"]


def test_nothing(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    for data in (b"", bytes(100), bytes(17)):
        path.write_bytes(data)
        assert list(log.columns(path)) == [] and pa.table(log.columns(path)).num_rows == 0


def test_zeros_behind_the_data(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(build([Record(0, 5, b"k", b"v")], "v2").encode() + bytes(1000))
    assert len(found(path)) == len(found(path, level="batch")) == 1


def test_batches_that_compaction_has_emptied(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(
        build([], "v2", base_offset=3, last_offset=9).encode() + build([Record(10, 5, b"", b"")], "v2").encode()
    )
    assert [row["offset"] for row in found(path)] == [10]
    assert [(row["base_offset"], row["count"]) for row in found(path, level="batch")] == [(3, 0), (10, 1)]


# ---------------------------------------------------------------- many arrays


@pytest.fixture
def small_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_stream, "_ROWS", 3)


@pytest.mark.usefixtures("small_arrays")
@pytest.mark.parametrize(
    "name", ["kafka28/alpha-m1-compact-lz4-0", "kafka4/alpha-compact-txn-0", "kafka28/alpha-m0-segs-0"]
)
def test_arrays_end_within_batches(name: str, logs: Path) -> None:
    arrays = [pa.record_batch(array) for array in log.columns(logs / name)]
    assert {len(array) for array in arrays[:-1]} == {3}
    same(plain(pa.Table.from_batches(arrays)), expected(logs / name, "record"))


def test_arrays_are_bounded_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    monkeypatch.setattr(column_stream, "_BYTES", 1000)
    path = tmp_path / "segment"
    path.write_bytes(b"".join(build([Record(n, 5, b"", bytes(400))], "v2").encode() for n in range(10)))
    sizes = [len(array) for array in log.columns(path)]
    assert sizes == ([3, 3, 3, 1] if engine == "native" else [10])


def test_each_pass_begins_anew(logs: Path) -> None:
    columns = log.columns(logs / "kafka4/alpha-txn-many-0", ["offset"])
    assert pa.table(columns) == pa.table(columns)


# ---------------------------------------------------------------- who takes them


def test_polars(logs: Path) -> None:
    path = logs / "kafka4/alpha-compact-txn-0"
    frame = polars.DataFrame(log.columns(path))
    assert frame["offset"].to_list() == [row["offset"] for row in expected(path, "record")]
    assert frame["headers"].to_list() == [row["headers"] for row in expected(path, "record")]


def test_the_type_is_known_before(logs: Path) -> None:
    columns = log.columns(logs / "kafka4/alpha-txn-many-0")
    schema = pa.schema(columns)
    assert schema == pa.table(columns).schema == pa.schema(columns.schema)
    assert schema.field("timestamp").type == pa.timestamp("ms", "UTC")
    assert schema.field("producer_id") == pa.field("producer_id", pa.int64(), nullable=False)
    assert "producer_id: int64 not null" in repr(columns)


def test_a_consumer_sees_the_error_as_text(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(build([Record(0, 5, b"k", b"v")], "v2").encode()[:-1] + b"?")
    with pytest.raises(pa.ArrowInvalid, match="crc at byte 17"):
        pa.table(log.columns(path))


# ---------------------------------------------------------------- what is wrong


def verdict(path: Path, format: str, level: str) -> tuple[Any, ...]:
    """How many rows come before the error of `log.read`, and the error."""
    count = 0
    try:
        for position, batch in log.Segment(path).placed_batches(format=format):
            try:
                for _ in ROWS[level](path, position, batch):
                    count += 1
            except DecodeError as error:
                return count, position + error.offset, error.path, error.found, "TWL106"
    except log.LogError as error:
        return count, error.offset, error.path, error.found, error.rule
    return count, None


def verdict_of_columns(path: Path, format: str, level: str) -> tuple[Any, ...]:
    count = 0
    try:
        for array in log.columns(path, format=format, level=level):
            count += len(array)
    except log.LogError as error:
        assert error.file == str(path)
        return count, error.offset, error.path, error.found, error.rule
    return count, None


@pytest.mark.parametrize("name", format_names()[:10])
def test_damage_is_found_at_the_same_place(name: str, tmp_path: Path) -> None:
    random = Random(name)
    path = tmp_path / "segment"
    whole = build(records_for(name, random, 3), name).encode()
    right = 0
    for data in damaged(name, random, 150):
        path.write_bytes(whole + data)
        said = verdict(path, name, "record")
        assert verdict_of_columns(path, name, "record") == said, data.hex()
        right += said[1] is None
    assert 0 < right < 150


@pytest.mark.parametrize("name", ["v0", "v1", "v2", "v3"])
def test_damage_of_formats_that_are_found_out(name: str, tmp_path: Path) -> None:
    random = Random(name)
    path = tmp_path / "segment"
    whole = build(records_for(name, random, 3), name).encode()
    for data in damaged(name, random, 150):
        path.write_bytes(whole + data + whole)
        assert verdict_of_columns(path, "auto", "record") == verdict(path, "auto", "record"), data.hex()


def test_heads_are_read_without_their_checksum(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    data = bytearray(build([Record(0, 5, b"k", b"v")], "v2").encode())
    data[-1] ^= 1
    path.write_bytes(data)
    assert len(found(path, level="batch")) == 1
    with pytest.raises(log.LogError, match="crc at byte 17"):
        list(log.columns(path))
    data[16] = 9
    path.write_bytes(data)
    with pytest.raises(log.LogError) as raised:
        list(log.columns(path, level="batch"))
    assert (raised.value.rule, raised.value.offset) == ("TWL103", 16)


def test_rows_before_an_error_are_handed_out(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    batch = build([Record(0, 5, b"k", b"v"), Record(1, 5, b"k", b"v")], "v2").encode()
    path.write_bytes(batch + batch[:-1])
    rows = []
    with pytest.raises(log.LogError) as raised:
        for array in log.columns(path, ["offset"]):
            rows += pa.array(array).to_pylist()
    assert rows == [{"offset": 0}, {"offset": 1}] and raised.value.rule == "TWL101"
    assert len(found(path, partial=True)) == 2


@pytest.mark.parametrize("level", ROWS)
def test_skipping(level: str, tmp_path: Path) -> None:
    path = tmp_path / "segment"
    batches = [build([Record(n, 5, b"k", bytes(40))], "v2").encode() for n in range(4)]
    cut = 30 if level == "record" else 10  # a length that is there is believed where no checksum is looked at
    path.write_bytes(batches[0] + batches[1][:cut] + batches[2] + b"\xff" * 50 + batches[3])
    columns = log.columns(path, level=level, errors="skip")
    name = "offset" if level == "record" else "base_offset"
    assert [row[name] for row in plain(pa.table(columns))] == [0, 2, 3]
    size = len(batches[0])
    places = [(each.position, each.end) for each in columns.skipped]
    assert places == [(size, size + cut), (2 * size + cut, 2 * size + cut + 50)]
    assert all(isinstance(each.error, log.LogError) for each in columns.skipped)


def test_records_that_are_wrong_in_a_batch_that_is_right(tmp_path: Path) -> None:
    """The records before the fault are there; the rest of the batch is left out."""
    right = [Record(0, 5, b"k", b"v"), Record(1, 5, b"k", b"v")]
    data = build(right, "v2")
    wrong = data.replace(base_offset=2, count=3).encode()
    path = tmp_path / "segment"
    path.write_bytes(data.encode() + wrong + data.replace(base_offset=4).encode())
    columns = log.columns(path, errors="skip")
    assert [row["offset"] for row in plain(pa.table(columns))] == [0, 1, 4, 5]
    (left_out,) = columns.skipped
    assert (left_out.position, left_out.end, left_out.error.rule) == (data.size, data.size + len(wrong), "TWL106")


def test_numbers_that_no_column_can_hold(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(
        build([Record(0, 5, b"k", b"v"), Record(1, 5, b"k", b"v")], "v2").replace(base_offset=2**63 - 1).encode()
    )
    with pytest.raises(log.LogError, match=f"{2**63}, expected a number of 64 bits"):
        list(log.columns(path))


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(decompressed_bytes=1000), "decompressed_bytes"),
        (Limits(records=2), "Limits.records"),
        (Limits(headers=0), "Limits.headers"),
    ],
    ids=str,
)
def test_limits(limits: Limits, said: str, tmp_path: Path) -> None:
    path = tmp_path / "segment"
    batch = build([Record(n, 5, b"k", bytes(1000), [("h", b"")]) for n in range(3)], "v2", compression="gzip")
    path.write_bytes(batch.encode())
    with pytest.raises(log.LogError, match=said):
        list(log.columns(path, limits=limits))


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"columns": ["ofset"]}, ColumnError, "there is no column 'ofset' with level='record'; did you mean 'offset'"),
        ({"columns": ["key"], "level": "batch"}, ColumnError, "there is no column 'key' with level='batch'"),
        ({"columns": ["key", "key"]}, ColumnError, "'key' is wanted twice"),
        ({"columns": "key"}, ColumnError, r"columns is the text 'key'; a list of names was expected: \['key'\]"),
        ({"level": "records"}, ColumnError, "level is 'records'; 'record' or 'batch' was expected"),
        ({"errors": "null"}, ColumnError, "errors is 'null'; 'raise' or 'skip' was expected"),
        ({"format": "v9"}, FormatError, "there is no record format 'v9'"),
        ({"path": "nowhere"}, log.LogPathError, "there is no such file"),
        ({"path": "."}, log.LogPathError, "there is no segment in it"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_wishes_that_can_not_be(options: dict[str, Any], error: type[Exception], text: str, tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"")
    with pytest.raises(error, match=text):
        log.columns(
            tmp_path / options.get("path", "segment"),
            **{name: wish for name, wish in options.items() if name != "path"},
        )


# ---------------------------------------------------------------- messages in records

RECORDS = [
    ("kafka4/__consumer_offsets-1", "OffsetCommitValue", "group"),
    ("kafka4/__consumer_offsets-1", "OffsetCommitKey", "group"),
    ("kafka28/__transaction_state-1", "TransactionLogValue", "transaction"),
    ("kafka0.9/__consumer_offsets-0", "GroupMetadataValue", "group"),
    ("kafka4/__cluster_metadata-0", "FeatureLevelRecord", "cluster"),
    ("kafka4/__cluster_metadata-0", "PartitionRecord", "cluster"),
]


def decoded(message: Any, name: str, key: bytes | None, value: bytes | None, kafka_log: str) -> Any:
    """The message of a record, if it is of this type: by the registry."""
    try:
        if message.KIND == "metadata":
            frame = messages.registry.decode_record(value, kafka_log)
        elif message.KIND == "coordinator-key":
            frame = messages.registry.decode_record(key, kafka_log)
        else:
            frame = messages.registry.decode_record(value, kafka_log, key=key)
    except DecodeError:
        return None
    return frame.message if getattr(frame.message, "NAME", "") == name else None


def in_columns(value: Any, type: Any) -> Any:
    """A value as it stands in columns for all versions: with the defaults of the fields that its own lacks."""
    if pa.types.is_struct(type) and value is not None:
        return {field.name: in_columns(getattr(value, field.name), field.type) for field in type}
    if pa.types.is_map(type):
        return sorted(value.items())
    if pa.types.is_list(type) and value is not None:
        return [in_columns(each, type.value_type) for each in value]
    return value.bytes if hasattr(value, "bytes") else value


@pytest.mark.parametrize(("path", "name", "kafka_log"), RECORDS)
def test_messages_of_kafkas_own_topics(path: str, name: str, kafka_log: str, logs: Path) -> None:
    message = messages.registry[name]
    table = pa.table(log.columns(logs / path, ["offset", "is_control"], message=message))
    assert table.column_names == ["offset", "is_control", "message"]
    wanted = []
    for row in expected(logs / path, "record"):
        found = None if row["is_control"] else decoded(message, name, row["key"], row["value"], kafka_log)
        wanted.append(in_columns(found, table.schema.field("message").type))
    assert table["message"].to_pylist() == wanted and any(wanted)


def test_values_in_one_version(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    heartbeats = [messages.HeartbeatResponse(error_code=n).encode(4) for n in range(3)]
    records = [Record(n, 5, None, value) for n, value in enumerate([*heartbeats, None, b"?"])]
    path.write_bytes(b"".join(build([record], "v2").encode() for record in records))
    options: dict[str, Any] = {"message": messages.HeartbeatResponse, "version": 4, "fields": ["error_code"]}
    rows = pa.table(log.columns(path, [], errors="skip", **options)).to_pylist()
    assert rows == [{"message": row} for row in ({"error_code": 0}, {"error_code": 1}, {"error_code": 2}, None, None)]
    with pytest.raises(DecodeError, match="row 4: HeartbeatResponse v4"):
        list(log.columns(path, **options))
    whole = log.columns(path, errors="skip", **options)
    assert pa.schema(whole) == pa.table(whole).schema
    assert pa.table(whole)["value"].to_pylist() == [record.value for record in records]
    assert polars.DataFrame(whole)["message"].struct.field("error_code").to_list() == [0, 1, 2, None, None]


def test_values_that_are_too_short_for_a_version(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(
        build([Record(0, 5, messages.registry.encode_record(messages.OffsetCommitKey(), 0), b"\0")], "v2").encode()
    )
    with pytest.raises(UnsupportedVersionError):
        list(log.columns(path, message=messages.OffsetCommitValue))
    assert pa.table(log.columns(path, [], message=messages.OffsetCommitValue, errors="skip")).to_pylist() == [
        {"message": None}
    ]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"message": "HeartbeatResponse"}, "message is 'HeartbeatResponse'; a class of a message was expected"),
        ({"message": messages.HeartbeatResponse}, "give the version of all values"),
        ({"message": messages.OffsetCommitValue, "version": 1}, "says its own version; leave version out"),
        ({"message": messages.OffsetCommitValue, "level": "batch"}, "messages are in records, but level is 'batch'"),
    ],
    ids=lambda value: "",
)
def test_messages_that_can_not_be(options: dict[str, Any], text: str, tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"")
    with pytest.raises(ColumnError, match=text):
        log.columns(path, **options)
