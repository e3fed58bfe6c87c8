from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagwire import log
from tagwire_spark import PipelineError
from tagwire_spark.files.commit_folder import Attempt, Job
from tagwire_spark.log_write import staging
from tagwire_spark.log_write.staged_segments import StagedSegment
from tagwire_spark.log_write.staging import Output
from tagwire_spark.log_write.target import LogTarget

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(find_spec("tagwire._records") is None, reason="without native code all rows go one by one"),
]

TYPES = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestampType": pa.int32(),
    "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    "tombstone": pa.bool_(),
    "compression": pa.string(),
    "producerId": pa.int64(),
    "sequence": pa.int32(),
    "isTransactional": pa.bool_(),
}


def batch(**columns: list[Any]) -> Any:
    return pa.record_batch([pa.array(values, TYPES[name]) for name, values in columns.items()], names=list(columns))


def written(folder: Path, batches: list[Any], target: LogTarget, *, natively: bool) -> list[StagedSegment]:
    folder.mkdir()
    attempt = folder / "job" / "attempt"
    attempt.mkdir(parents=True)
    job = Job(str(folder), "job")
    output = Output(job.root, lambda: Attempt(attempt), target, anew=True)
    for each in batches:
        if natively:
            output.add_batch(each)
        else:
            output._add_entries(each)
    return output.end()


def records(folder: Path) -> dict[str, list[Any]]:
    return {
        partition.path.name: [
            (record, batch.compression, batch.producer_id, _sequence(batch, record), batch.is_transactional)
            for batch in partition.batches()
            for record in batch
        ]
        for partition in log.find_partitions(folder / "job" / "attempt")
    }


def _sequence(batch: Any, record: Any) -> int:
    return -1 if batch.base_sequence < 0 else batch.base_sequence + record.offset - batch.base_offset


def check(tmp_path: Path, batches: list[Any], **options: Any) -> None:
    target = LogTarget(str(tmp_path), topic="orders")._replace(**options)
    one, other = (written(tmp_path / str(engine), batches, target, natively=engine) for engine in (True, False))
    assert records(tmp_path / "True") == records(tmp_path / "False")
    sums = [Counter[str](), Counter[str]()]
    for engine, segments in zip(sums, (one, other), strict=True):
        for each in segments:
            engine[f"{each.log}: records"] += each.records
            engine[f"{each.log}: content"] += each.content
            engine[f"{each.log}: is numbered"] |= each.is_numbered
    assert sums[0] == sums[1]


NUMBERS = list(range(40))
CASES: dict[str, list[Any]] = {
    "values alone": [batch(value=[b"%d" % n for n in NUMBERS])],
    "null and empty": [batch(key=[None, b"", b"k"] * 20, value=[b"", None, b"v"] * 20)],
    "all null": [batch(key=[None] * 40, value=[None] * 40, timestamp=[None] * 40)],
    "no keys": [batch(value=[None] * 40)],
    "times": [batch(value=[b"v"] * 40, timestamp=[None, -1, -1001, 1_700_000_000_123_456] * 10)],
    "gaps": [batch(value=[b"v"] * 40, offset=[n * n + 5 for n in NUMBERS])],
    "far offsets": [batch(value=[b"v"] * 20, offset=[n << 30 for n in range(20)])],
    "partitions": [batch(value=[b"%d" % n for n in range(80)], partition=[n // 40 for n in range(80)])],
    "partitions that alternate": [batch(value=[b"v"] * 40, partition=[n % 2 for n in NUMBERS])],
    "codecs": [batch(value=[b"v"] * 80, compression=["gzip"] * 40 + [None] * 40)],
    "sequences": [
        batch(
            value=[b"v"] * 80,
            offset=list(range(80)),
            producerId=[7] * 80,
            sequence=[n + 3 for n in range(40)] + list(range(40)),
        )
    ],
    "a transaction": [batch(value=[b"v"] * 40, producerId=[7] * 40, isTransactional=[True] * 40, offset=NUMBERS)],
    "headers": [
        batch(value=[b"v"] * 40),
        batch(value=[b"v"] * 2, headers=[None, [{"key": "k", "value": b"h"}]]),
        batch(value=[b"v"] * 40),
    ],
    "headers everywhere": [
        batch(
            value=[b"v"] * 40,
            headers=[
                [{"key": f"k{n}" * index, "value": [None, b"", b"h"][index % 3]} for index in range(n % 5)]
                for n in NUMBERS
            ],
        ).slice(3, 30)
    ],
    "a header that is null": [batch(value=[b"v"] * 40, headers=[[{"key": "k", "value": None}], []] * 20)],
    "no headers": [batch(value=[b"v"] * 40, headers=[None, []] * 20)],
    "tombstones": [batch(value=[b"v", None] * 20, tombstone=[False, True] * 20)],
    "times of the broker": [batch(value=[b"v"] * 40, timestampType=[1] * 40, timestamp=[1000] * 40)],
    "a part of a batch": [
        batch(key=[b"%d" % n for n in NUMBERS], value=[None, b"v"] * 20, offset=NUMBERS).slice(7, 21)
    ],
    "types without a time": [batch(value=[b"v"] * 40, timestampType=[0, -1, None, 0] * 10)],
    "nothing": [batch(value=[]), batch(value=[b"v"] * 40)],
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options", [{}, {"batch_bytes": 200}, {"batch_records": 3}, {"segment_bytes": 400, "batch_bytes": 150}], ids=str
)
@pytest.mark.parametrize("case", CASES)
def test_both_ways_write_the_same_records(tmp_path: Path, case: str, options: dict[str, Any]) -> None:
    check(tmp_path, CASES[case], **options)


def test_most_of_them_are_native(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def reject(*_: object) -> None:
        raise AssertionError("row by row")

    monkeypatch.setattr(staging, "entries", reject)
    slow = {"partitions that alternate", "times of the broker", "nothing"}
    for case in sorted(set(CASES) - slow):
        written(tmp_path / case, CASES[case], LogTarget(str(tmp_path), topic="orders"), natively=True)
    for case in sorted(slow - {"nothing"}):
        with pytest.raises(AssertionError, match="row by row"):
            written(tmp_path / case, CASES[case], LogTarget(str(tmp_path), topic="orders"), natively=True)


@pytest.mark.thorough
@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.none() | st.binary(max_size=200), st.none() | st.binary(max_size=200), st.integers(1, 3)),
        min_size=1,
    ),
    most=st.none() | st.integers(100, 2000),
)
def test_any_rows(tmp_path_factory: pytest.TempPathFactory, rows: list[Any], most: int | None) -> None:
    keys, values, steps = (list(each) for each in zip(*rows, strict=True))
    offsets = [sum(steps[: n + 1]) for n in range(len(steps))]
    check(tmp_path_factory.mktemp("rows"), [batch(key=keys, value=values, offset=offsets)], batch_bytes=most)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"offset": [*range(20), 7, *range(21, 40)]}, "offset 7 after offset 19; sort within partitions"),
        ({"offset": [-1, *range(39)]}, "baseOffset -1"),
        (
            {"offset": [*range(38), (1 << 63) - 1, 0]},
            "offset 0 after offset 9223372036854775807; sort within partitions",
        ),
        ({"tombstone": [True] * 40}, "tombstone"),
        ({"headers": [[{"key": "k", "value": b""}]] * 39 + [[None]]}, "a null header"),
        ({"timestampType": [0, 1, -1, None] * 9 + [0, 0, 0, 2]}, "timestampType 2; expected 0"),
    ],
    ids=["order", "negative", "highest", "tombstone", "header", "timestampType"],
)
def test_rows_that_can_not_be_written(tmp_path: Path, columns: dict[str, list[Any]], reason: str) -> None:
    batches = [batch(value=[b"v"] * 40, **columns)]
    for natively in (True, False):
        with pytest.raises(PipelineError, match=reason):
            written(tmp_path / str(natively), batches, LogTarget(str(tmp_path), topic="orders"), natively=natively)


@pytest.mark.parametrize(
    "name",
    [
        *("partition", "format", "compression", "partitionLeaderEpoch", "producerId", "producerEpoch", "baseOffset"),
        *("isTransactional", "headers", "tombstone", "timestamp", "key", "sequence", "timestampType", "isControl"),
    ],
)
def test_columns_of_arrow_type_null(tmp_path: Path, name: str) -> None:
    check(tmp_path, [batch(value=[b"v"] * 40, offset=NUMBERS).append_column(name, pa.nulls(40))])


def test_buffers_that_are_too_small_are_rejected() -> None:
    from tagwire._records import Rows

    for column in [(None, b"\0" * 8, b"", 0), (None, b"\5\0\0\0\0\0\0\0\0\0\0\0", b"", 0), (b"", b"\0" * 12, b"", 0)]:
        with pytest.raises(ValueError):
            Rows(2, column, None, None, None, None, 0)
    with pytest.raises(ValueError):
        Rows(2, None, None, (None, b"\0" * 15, 0), None, None, 0)
    with pytest.raises(ValueError):
        Rows(1, (None, b"\0" * 16, b"", 1 << 61), None, None, None, None, 0)
    pairs = None, b"\0" * 8, b"", 0
    Rows(2, None, None, None, None, (None, b"\0\0\0\0\1\0\0\0\1\0\0\0", 0, 1, pairs, pairs), 0)
    with pytest.raises(ValueError):
        Rows(2, None, None, None, None, (None, b"\0\0\0\0\1\0\0\0\2\0\0\0", 0, 1, pairs, pairs), 0)
