from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pytest
from log_rows import expected
from small_logs import write_segment

import tagwire_messages as messages
from tagwire import UnsupportedVersionError, log
from tagwire.arrow import ColumnError
from tagwire.errors import DecodeError
from tagwire.records import Record, build

pytestmark = pytest.mark.usefixtures("each_engine")

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
