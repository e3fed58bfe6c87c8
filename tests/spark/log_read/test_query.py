import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamed_logs import batch, segment, stream, triggers
from written_logs import arrow_rows, read_rows

from tagwire.records import Record, build
from tagwire_spark import PipelineError
from tagwire_spark.jobs import read_logs
from tagwire_spark.jobs.read import _units
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.rows import full_schema

TIME = 1_700_000_000_000


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Write batches of five records. The record at offset n has the time TIME + n, but offset 7 has TIME + 2."""
    for number in (0, 1):
        segment(tmp_path / f"a-{number}", 0, batch(0), batch(5))
    segment(tmp_path / "b-0", 0, batch(0))
    return tmp_path


def offsets(path: Path, **options: Any) -> list[tuple[str, int, int]]:
    named = {name.replace("__", "."): value for name, value in options.items()}
    found = read_rows(path, **named)
    return sorted((row["topic"], row["partition"], row["offset"]) for row in found)


@pytest.mark.parametrize(("options", "firsts"), [
    ({"startingTimestamp": TIME + 2}, {"a-0": 2, "a-1": 2, "b-0": 2}),
    ({"startingTimestamp": TIME + 2, "startingOffsetsByTimestamp": {"a": {"0": TIME + 3}}}, {"a-0": 2, "b-0": 2}),
    ({"startingOffsetsByTimestamp": {"a": {"0": TIME + 3}}, "startingOffsets": {"a": {"0": 5}}}, {"a-0": 3, "b-0": 0}),
    ({"startingOffsets": {"a": "earliest", "b": {"0": 4}}}, {"a-0": 0, "a-1": 0, "b-0": 4}),
    ({"kafka.isolation.level": "read_committed", "kafka.bootstrap.servers": "h:9092"}, {"a-0": 0, "b-0": 0}),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:kafka_log does not connect")
def test_where_a_read_begins(logs: Path, options: dict[str, Any], firsts: dict[str, int]) -> None:
    given = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in options.items()}
    found = offsets(logs, **given)
    assert {name: min(offset for t, p, offset in found if f"{t}-{p}" == name) for name in firsts} == firsts
    assert stream(logs, **given).initialOffset()["b"]["0"] == firsts["b-0"]


def test_where_a_read_ends(logs: Path) -> None:
    only = {"subscribe": "b"}
    assert len(offsets(logs, endingTimestamp=TIME + 3, **only)) == 3
    both = {"endingTimestamp": TIME + 3, "endingOffsets": '{"b": {"0": 1}}'}
    assert len(offsets(logs, **both, **only)) == 3 == len(offsets(logs, recordsBeforeTimestamp=TIME + 3, **only))
    assert offsets(logs, endingTimestamp=TIME + 9) == offsets(logs, endingOffsets='{"a": "latest"}') == offsets(logs)
    latest = {"startingOffsets": '{"a": "latest"}'}
    assert stream(logs, **latest).initialOffset() == {"a": {"0": 10, "1": 10}, "b": {"0": 0}}


@pytest.mark.parametrize(("options", "text"), [
    ({"subscribe": "a", "assign": '{"a": [0]}'}, "Options assign and subscribe can't be combined"),
    ({"subscribe": "a", "subscribePattern": "a"}, "Options subscribe and subscribePattern can't be combined"),
    ({"maxRecordsPerPartition": 10}, "set maxSplitBytes"),
    ({"topic": "a"}, "Unknown option 'topic'; did you mean 'subscribe'"),
    ({"limits": "ratio=5"}, "limits: expected name=number.*decompression_ratio.*got 'ratio=5'"),
    ({"limits": f"elements={'9' * 5000}"}, "limits: expected name=number"),
    *(({"maxSplitBytes": n}, "expected (a number|1 or more)") for n in ("64 m b", "m", "1.5g", "-1", "0", "9" * 5000)),
    ({"startingOffsets": '{"c": {"0": 1}}'}, "NOT_FOUND. Option startingOffsets names 'c-0'"),
    ({"startingOffsets": '{"a": {"7": 1}}'}, "NOT_FOUND. Option startingOffsets names 'a-7'"),
    ({"endingOffsets": '{"c": "latest", "a": {"2": 5}}'}, "NOT_FOUND. Option endingOffsets names 'a-2'"),
    ({"endingOffsetsByTimestamp": '{"c": {"0": 1}}'}, "NOT_FOUND. Option endingOffsetsByTimestamp names 'c-0'"),
    ({"startingOffsets": '{"a": "latest"}'}, "Option startingOffsets: a: expected an offset or -2 .earliest., got -1"),
    ({"startingOffsets": '{"a": {"-1": 7}}'}, "OPTION. Option startingOffsets: expected earliest, or "),
    ({"endingOffsetsByTimestamp": '{"a": 1}'}, r"in milliseconds, such as \{.topic.: \{.0.: 17\d+\}\}, got '"),
    ({"assign": '{"a": [-1]}'}, "Option assign: expected a JSON object"),
    ({"assign": "{}"}, "Option assign: expected a JSON object"),
    ({"subscribe": " ,"}, "Option subscribe is empty, so it selects no topic"),
    ({"subscribePattern": ""}, "Option subscribePattern is empty"),
    ({"paths": "[]"}, "Option paths: expected a JSON list"),
    ({"endingOffsets": '{"a": {"0": 11}}'}, "DATA_LOSS. The ending offset 11 .* than 10, the log end offset of .*a-0"),
    ({"levl": "batch"}, "did you mean 'level'"),
    ({"level": "page"}, "record or batch"),
    ({"pushdown": "yes"}, "Option pushdown: expected false or true, got 'yes'"),
    ({"recordFormat": "v9"}, "recordFormat"),
    ({"assign": "[1]"}, "assign"),
    ({"assign": "{"}, "not valid JSON"),
    *(({name: "[" * 100_000}, f"Option {name}") for name in ("assign", "startingOffsets", "storageOptions")),
    ({"assign": '{"t": "10"}'}, r'such as \{"topic": \[0, 1\]\}'),
    ({"assign": '{"t": ["1"]}'}, r'such as \{"topic": \[0, 1\]\}'),
    ({"assign": '{"t": [0.5]}'}, r'such as \{"topic": \[0, 1\]\}'),
    ({"assign": '{"t": [true]}'}, r'such as \{"topic": \[0, 1\]\}'),
    ({"assign": '{"t": {"0": 1}}'}, r'such as \{"topic": \[0, 1\]\}'),
    ({"startingOffsets": '{"t": {"0": -7}}'}, "-7"),
    ({"startingOffsets": "newest"}, "startingOffsets"),
    ({"startingOffsets": '{"t": {"0": 2.9}}'}, 'expected earliest, or JSON such as {"topic": {"0": 23}}'),
    ({"endingOffsets": '{"t": {"0": 9223372036854775808}}'}, r"an offset or -1 \(latest\), got 9223372036854775808"),
    ({"recordsFromTimestamp": "noon"}, "an integer"),
    ({"recordsFromTimestamp": "1" + 20 * "0"}, "recordsFromTimestamp: expected a 64-bit number of milliseconds"),
    ({"recordsBeforeTimestamp": str(-(1 << 63) - 1)}, "a 64-bit number of milliseconds"),
    *(({"startingOffsetsByTimestamp": value}, r"startingOffsetsByTimestamp.*milliseconds")
      for value in ("1700000000000", '{"t": [1]}', '{"t": {"0": -1}}', '{"t": {"0": "noon"}}', "noon")),
    ({"paths": "5"}, r'such as \["a", "b"\]'),
    ({"paths": '"logs"'}, r'such as \["a", "b"\]'),
    ({"paths": "[1]"}, r'such as \["a", "b"\]'),
    ({"subscribePattern": "("}, "regular"),
    ({"version": "3"}, "message"),
    ({"message": "FetchRequest"}, "version"),
    ({"mode": "DROPMALFORMED", "message": "FetchRequest", "version": "1"}, "'message' can't be .* mode=DROPMALFORMED"),
])  # fmt: skip
def test_what_is_rejected(logs: Path, options: dict[str, Any], text: str) -> None:
    with pytest.raises(PipelineError, match=text) as rejected:
        offsets(logs, **options)
    assert text.startswith(("NOT_FOUND", "DATA_LOSS")) or rejected.value.condition == "INVALID_TAGWIRE_OPTION"


@pytest.mark.parametrize(
    ("text", "size"), [("64m", 64 << 20), ("1 GB", 1 << 30), ("512kb", 512 << 10), ("7b", 7), ("9", 9)]
)
def test_sizes_in_units(text: str, size: int) -> None:
    assert log_query({"path": "x", "maxSplitBytes": text}).split_bytes == size


def test_batch_reads_ignore_the_limits_of_streams(logs: Path) -> None:
    with pytest.warns(UserWarning, match="ignores these options in batch reads: maxOffsetsPerTrigger, maxTriggerDelay"):
        assert offsets(logs, maxTriggerDelay="5m", maxOffsetsPerTrigger=1) == offsets(logs)


def test_limits(tmp_path: Path) -> None:
    data = build([Record(n, 1, None, bytes(100_000)) for n in range(3)], "v2", compression="gzip").encode()
    segment(tmp_path / "t-0", 0, data)
    with pytest.raises(PipelineError, match="decompressed_bytes"):
        offsets(tmp_path, limits="decompressed_bytes=100000")
    assert len(offsets(tmp_path, limits="decompressed_bytes=1000000, records=5")) == 3
    assert len(offsets(tmp_path, limits="decompressed_bytes=100000", mode="PERMISSIVE")) == 1


def test_headers_are_a_column_if_they_are_included() -> None:
    schemas = [full_schema(log_query({"path": "x", "includeHeaders": flag})).names for flag in ("true", "false")]
    assert [*schemas[1][:7], "headers", *schemas[1][7:]] == schemas[0]


def test_a_micro_batch_waits_for_offsets(logs: Path) -> None:
    reader = stream(logs, subscribe="b", minOffsetsPerTrigger=8, maxTriggerDelay="1h")
    [(end, _)] = triggers(reader, {"b": {"0": 0}})  # the first micro-batch doesn't wait
    segment(logs / "b-0", 0, batch(0), batch(5))
    assert [*triggers(reader, end)] == []
    assert [each for each, _ in triggers(stream(logs, subscribe="b", minOffsetsPerTrigger=8), end)] == [
        {"b": {"0": 10}}
    ]
    reader.options = reader.options._replace(delay=0)
    assert [each for each, _ in triggers(reader, end)] == [{"b": {"0": 10}}]


@pytest.mark.parametrize("how", ["brokers", "inside", "twice", "segment twice"])
def test_records_of_replicas_are_read_once(tmp_path: Path, how: str) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for root, count in ((one, 1), (two, 2)):
        root.mkdir()
        segment(root / "t-0", 0, *(batch(5 * n) for n in range(count)))
    paths = {
        "brokers": [one, two], "inside": [two, two / "t-0"], "twice": [two, two],
        "segment twice": [two / "t-0", two / "t-0" / f"{0:020}.log"],
    }[how]  # fmt: skip
    named = {"paths": json.dumps([*map(str, paths)])}
    reads: list[Callable[..., Any]] = [
        lambda **more: list(arrow_rows(tmp_path, **named, **more)),
        lambda **_: _units(log_query({"path": "", **named})),
    ]
    if how != "segment twice":
        reads.append(lambda **more: stream(tmp_path, **named, **more).initialOffset())
    for read in reads:
        with pytest.raises(
            PipelineError, match=r"INVALID_TAGWIRE_OPTION.*(replicas of t-0|two paths lead to).*give only one"
        ):
            read()
    assert [row[2] for row in offsets(tmp_path, **named, replicas="longest")] == [*range(10)]
    if how != "segment twice":
        [(end, rows)] = triggers(stream(tmp_path, **named, replicas="longest"), {})
        assert end == {"t": {"0": 10}} and [row["offset"] for row in rows] == [*range(10)]


@pytest.mark.parametrize("scheme", ["", "local://"])
@pytest.mark.parametrize(("options", "left"), [
    ({"endingOffsets": '{"t": {"0": 12}}'}, range(12)),
    ({"startingOffsets": '{"t": {"0": 8}}'}, range(8, 20)),
    ({"startingOffsets": '{"t": {"0": 16}}', "endingOffsets": '{"t": {"0": 18}}'}, range(16, 18)),
    ({"startingTimestamp": str(TIME + 20)}, range(15, 20)),
    ({"endingOffsetsByTimestamp": f'{{"t": {{"0": {TIME + 20}}}}}'}, range(15)),
])  # fmt: skip
def test_longest_replica_has_the_offsets_missing_from_the_others(
    tmp_path: Path, scheme: str, options: dict[str, str], left: range
) -> None:
    """Offsets and times that only the longer replica has must not be reported as lost."""
    for name, count in (("short", 1), ("long", 3)):
        (tmp_path / name).mkdir()
        segment(tmp_path / name / "t-0", 0, *(batch(5 * n) for n in range(count)))
    late = build([Record(15 + n, TIME + 20 + n, b"k", b"v") for n in range(5)], "v2").encode()
    segment(tmp_path / "long" / "t-0", 15, late)
    replicas = [f"{scheme}{tmp_path}/{name}" for name in ("short", "long")]
    for paths in (replicas, replicas[::-1], [f"{replicas[0]}/t-0/{0:020}.log", replicas[1]]):
        found = offsets(tmp_path, paths=json.dumps(paths), replicas="longest", **options)
        assert [offset for *_, offset in found] == [*left]


def test_errors_about_replicas_name_only_available_options(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        segment(tmp_path / name / "t-0", 0, batch(0))
    with pytest.raises(PipelineError, match=r"are replicas of t-0; give only one of them\. SQLSTATE"):
        _units(log_query({"path": str(tmp_path)}))
    with pytest.raises(
        PipelineError, match="Option replicas: read_logs supports only 'error', got 'longest'; give only one"
    ):
        read_logs(None, str(tmp_path), None, {"replicas": "longest"})  # type: ignore[arg-type]
