from pathlib import Path
from random import Random
from typing import Any

import polars
import pyarrow as pa
import pytest
from log_rows import PARTITIONS, ROWS, expected, found, plain, same
from record_damage import records_for
from small_logs import write_segment

import tagwire_messages as messages
from tagwire import UnsupportedVersionError, log
from tagwire.arrow import ColumnError
from tagwire.errors import DecodeError
from tagwire.frames.known_packages import RECORD_FORMATS
from tagwire.layout import Array, Bits, Fixed, Item, Layout, Nested, StructLayout
from tagwire.log import column_stream, column_table
from tagwire.log.column_stream import GatheredRows, Pass
from tagwire.log.column_table import LogColumn
from tagwire.records import Record, build, format_of
from tagwire.wire.types import WIRE_TYPES

pytestmark = pytest.mark.usefixtures("each_engine")


@pytest.mark.parametrize("level", ROWS)
@pytest.mark.parametrize("name", PARTITIONS)
def test_logs_of_brokers(name: str, level: str, logs: Path) -> None:
    same(found(logs / name, level=level), expected(logs / name, level))


@pytest.mark.parametrize("level", ROWS)
@pytest.mark.parametrize("name", RECORD_FORMATS)
def test_every_format(name: str, level: str, tmp_path: Path, each_engine: str) -> None:
    random = Random(name)
    codecs = [codec for codec in ("none", "gzip", "snappy", "lz4", "zstd") if codec in format_of(name).codecs]
    sets = [
        build(records_for(name, random, count), name, compression=codec).encode()
        for codec in codecs
        for count in (1, 2, 7)
    ]
    path = write_segment(tmp_path, *sets)
    options = {"level": level, "format": name}
    same(found(path, **options), expected(path, level, name))
    if each_engine == "native":
        columns = log.columns(path, level=level, format=name)
        rows = Pass(columns.root, columns.options).rows
        assert not isinstance(rows, GatheredRows), "the native engine must read these"


def near_magic_2(*bits: Bits, more: tuple[Item, ...] = ()) -> Layout:
    """Return the v2 layout, but name these bits of a record's attributes, and add the fields `more` after them."""
    layout = format_of("v2").layout
    records = layout.root.items[-1]
    assert isinstance(records.type, Array) and isinstance(records.type.element, Nested)
    length, attributes, *others = records.type.element.struct.items
    fields = (length, attributes.replace(bits=bits), *more, *others)
    struct = StructLayout("Record", fields, cls=records.type.element.struct.cls)
    array = records.replace(type=records.type.replace(element=Nested(struct)))
    return Layout("own", None, StructLayout("Batch", (*layout.root.items[:-1], array), cls=layout.root.cls))


@pytest.mark.parametrize(
    "layout",
    [
        near_magic_2(),
        near_magic_2(Bits("is_tombstone", 1)),
        near_magic_2(Bits("kind", 6, ("one", "two", "three"))),
        near_magic_2(Bits("is_tombstone", 0x40), Bits("kind", 6, ("one", "two", "three"))),
        near_magic_2(more=(Item("shade", Fixed(WIRE_TYPES["int16"]), default=0),)),
    ],
    ids=["the same", "tombstone", "kind", "both", "one more field"],
)
@pytest.mark.parametrize("columns", [None, ["offset", "tombstone"], ["attributes"], ["headers"]], ids=str)
def test_formats_similar_to_magic_2(layout: Layout, columns: list[str] | None, tmp_path: Path) -> None:
    records = [
        Record(3, 1_000, b"k", None, attributes=8),
        Record(4, -1, None, b"v" * 70, (("trace", b"1"), ("é", None))),
        Record(7, 2_000, b"", b"", attributes=-128),
    ]
    path = write_segment(tmp_path, build(records, layout))
    rows = expected(path, "record", layout)
    same(found(path, columns=columns, format=layout), [{name: row[name] for name in columns or row} for row in rows])


def test_v3_is_detected(tmp_path: Path) -> None:
    sets = [build([Record(n, 5, b"k", b"v")], format).encode() for n, format in enumerate(("v3", "v2", "v3", "v1"))]
    path = write_segment(tmp_path, *sets)
    assert [row["format"] for row in found(path)] == ["v3", "v2", "v3", "v1"]
    same(found(path), expected(path, "record"))


def test_bytes_that_fit_two_formats(tmp_path: Path) -> None:
    """A v2 batch must be read as v2, even if a byte of its leader epoch looks like the magic byte of v3."""
    batch = build([Record(0, 5, b"k", b"v")], "v2").replace(partition_leader_epoch=0x30000)
    path = write_segment(tmp_path, batch.encode() * 3)
    assert [row["partition_leader_epoch"] for row in found(path)] == [0x30000] * 3
    assert len(found(path, level="batch")) == 3


def test_chosen_columns(logs: Path) -> None:
    path = logs / "kafka4/alpha-txn-many-0"
    whole = expected(path, "record")
    for names in (["value"], ["headers", "offset"], ["is_control", "key", "file"], ["tombstone"], ["timestamp"]):
        assert pa.table(log.columns(path, names)).column_names == names
        same(found(path, columns=names), [{name: row[name] for name in names} for row in whole])
    none = log.columns(path, [])
    assert sum(map(len, none)) == pa.table(none).num_rows == len(whole)


def test_from_an_offset_on(logs: Path) -> None:
    path = logs / "kafka28/alpha-upgrade2-0"
    whole = expected(path, "record")
    offsets = [row["offset"] for row in whole]
    for start in (*offsets[:: len(offsets) // 9], offsets[-1], offsets[-1] + 1, -5):
        same(found(path, start_offset=start), [row for row in whole if row["offset"] >= start])
        batches = found(path, start_offset=start, level="batch")
        same(batches, [row for row in expected(path, "batch") if row["last_offset"] >= start])


def test_from_where_the_log_begins(logs: Path) -> None:
    partition = log.Partition(logs / "kafka4/alpha-delrec-0")
    assert partition.log_start_offset == 77
    for path in (partition.path, partition.segments[0].path):
        assert next(log.read(path)).base_offset == found(path)[0]["offset"] == 60
        assert next(log.read(path, from_log_start=True)).last_offset >= 77
        assert found(path, from_log_start=True)[0]["offset"] == 77
        assert [*log.read(path, 100, from_log_start=True)] == [*log.read(path, 100)]


def test_zeros_are_not_data(tmp_path: Path) -> None:
    whole = build([Record(0, 5, b"k", b"v")], "v2").encode()
    for data, count in ((b"", 0), (bytes(100), 0), (bytes(17), 0), (whole + bytes(1000), 1)):
        path = write_segment(tmp_path, data)
        assert len(found(path)) == len(found(path, level="batch")) == len(list(log.columns(path))) == count


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


def test_arrays_are_bounded_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, each_engine: str) -> None:
    monkeypatch.setattr(column_stream, "_BYTES", 1000)
    path = write_segment(tmp_path, *(build([Record(n, 5, b"", bytes(400))], "v2") for n in range(10)))
    assert [len(array) for array in log.columns(path)] == [3, 3, 3, 1]


def test_the_type_is_known_before(logs: Path) -> None:
    columns = log.columns(logs / "kafka4/alpha-txn-many-0")
    schema = pa.schema(columns)
    assert schema == pa.table(columns).schema == pa.schema(columns.schema)
    assert schema.field("timestamp").type == pa.timestamp("ms", "UTC")
    assert schema.field("producer_id") == pa.field("producer_id", pa.int64(), nullable=False)
    assert "producer_id: int64 not null" in repr(columns)


def test_a_consumer_sees_the_error_as_text(tmp_path: Path) -> None:
    path = write_segment(tmp_path, build([Record(0, 5, b"k", b"v")], "v2").encode()[:-1] + b"?")
    with pytest.raises(pa.ArrowInvalid, match="crc at byte 17"):
        pa.table(log.columns(path))


def test_new_column_in_both_engines(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = LogColumn("is_compacted", "b", "bits", "has_delete_horizon", value=lambda b: b.delete_horizon_ms is not None)
    monkeypatch.setattr(column_table, "_HEADER", (*column_table._HEADER, new))
    for name in ("kafka4/alpha-compact-horizon-0", "kafka0.8/alpha-b0.8-compact-none-0"):
        for level in ROWS:
            table = pa.table(log.columns(logs / name, ["is_compacted", "delete_horizon_ms"], level=level))
            horizons = table.column("delete_horizon_ms").is_valid().to_pylist()
            assert table.column("is_compacted").to_pylist() == horizons
            assert any(horizons) is name.startswith("kafka4")


RECORDS = [
    ("kafka4/__consumer_offsets-1", "OffsetCommitValue", "group"),
    ("kafka4/__consumer_offsets-1", "OffsetCommitKey", "group"),
    ("kafka28/__transaction_state-1", "TransactionLogValue", "transaction"),
    ("kafka0.9/__consumer_offsets-0", "GroupMetadataValue", "group"),
    ("kafka4/__cluster_metadata-0", "FeatureLevelRecord", "cluster"),
    ("kafka4/__cluster_metadata-0", "PartitionRecord", "cluster"),
]


def decoded(message: Any, name: str, key: bytes | None, value: bytes | None, kafka_log: str) -> Any:
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
    if value is None:
        return None
    if pa.types.is_struct(type):
        return {field.name: in_columns(getattr(value, field.name), field.type) for field in type}
    if pa.types.is_map(type):
        return sorted(value.items())
    if pa.types.is_list(type):
        return [in_columns(each, type.value_type) for each in value]
    return value.bytes if hasattr(value, "bytes") else value


@pytest.mark.parametrize(("path", "name", "kafka_log"), RECORDS)
def test_messages_of_kafkas_own_topics(path: str, name: str, kafka_log: str, logs: Path) -> None:
    message = messages.registry[name]
    table = pa.table(log.columns(logs / path, ["offset", "is_control"], message=message))
    assert table.column_names == ["offset", "is_control", "message"]
    columns = []
    for row in expected(logs / path, "record"):
        found = None if row["is_control"] else decoded(message, name, row["key"], row["value"], kafka_log)
        columns.append(in_columns(found, table.schema.field("message").type))
    assert table["message"].to_pylist() == columns and any(columns)


def test_values_in_one_version(tmp_path: Path) -> None:
    heartbeats = [messages.HeartbeatResponse(error_code=n).encode(4) for n in range(3)]
    records = [Record(n, 5, None, value) for n, value in enumerate([*heartbeats, None, b"?"])]
    path = write_segment(tmp_path, *(build([record], "v2") for record in records))
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
    path = write_segment(
        tmp_path, build([Record(0, 5, messages.registry.encode_record(messages.OffsetCommitKey(), 0), b"\0")], "v2")
    )
    with pytest.raises(UnsupportedVersionError):
        list(log.columns(path, message=messages.OffsetCommitValue))
    assert pa.table(log.columns(path, [], message=messages.OffsetCommitValue, errors="skip")).to_pylist() == [
        {"message": None}
    ]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"message": "HeartbeatResponse"}, "message: expected a message class, got 'HeartbeatResponse'"),
        ({"message": messages.HeartbeatResponse}, "set `version` to the version of all values"),
        ({"message": messages.OffsetCommitValue, "version": 1}, "begins with its own version; leave `version` out"),
        (
            {"message": messages.OffsetCommitValue, "level": "batch"},
            "argument `message` decodes values of records, so it can't be combined with level 'batch'",
        ),
    ],
    ids=lambda value: "",
)
def test_invalid_message_options_are_rejected(options: dict[str, Any], text: str, tmp_path: Path) -> None:
    path = write_segment(tmp_path, b"")
    with pytest.raises(ColumnError, match=text):
        log.columns(path, **options)
