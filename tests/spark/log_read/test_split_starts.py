from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")

from tagwire.log.scan import Scan
from tagwire.message.engines import engine
from tagwire.records import Record, build
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.rows import full_schema, rows_of
from tagwire_spark.log_read.splits import plan

BATCHES = 40


def segment(folder: Path) -> int:
    folder.mkdir()
    batch = build([Record(n, 5, b"k", bytes(400)) for n in range(5)], "v2")
    data = b"".join(batch.replace(base_offset=5 * n).encode() for n in range(BATCHES))
    (folder / f"{0:020}.log").write_bytes(data)
    return len(data) // BATCHES


def offsets(path: Path, split_bytes: int) -> list[list[int]]:
    query = log_query({"path": str(path), "maxSplitBytes": split_bytes})
    schema = full_schema(query)
    return [
        [row["offset"] for batch in rows_of(split, query, schema) for row in batch.to_pylist()] for split in plan(query)
    ]


@pytest.mark.skipif(engine() != "native", reason="only the native engine skips batch headers")
def test_native_code_skips_headers_before_a_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    span = Scan.span

    def counted(scan: Scan, position: int) -> Any:
        seen.append(position)
        return span(scan, position)

    size = segment(tmp_path / "t-0")
    monkeypatch.setattr(Scan, "span", counted)
    found = offsets(tmp_path, 10 * size)
    assert found == [[*range(first, first + 50)] for first in range(0, 5 * BATCHES, 50)]
    assert seen == [10 * size, 20 * size, 30 * size]


def test_a_split_may_begin_within_a_batch(tmp_path: Path) -> None:
    found = offsets(tmp_path, 10 * segment(tmp_path / "t-0") - 7)
    assert [each[0] for each in found] == [0, 50, 100, 150]
    assert [offset for each in found for offset in each] == [*range(5 * BATCHES)]


def test_a_file_of_zeros_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020}.log").write_bytes(bytes(100_000))
    assert offsets(tmp_path, 30_000) == [[], [], [], []]


def test_small_remainder_joins_the_last_split(tmp_path: Path) -> None:
    size = segment(tmp_path / "t-0")
    assert [len(each) for each in offsets(tmp_path, 13 * size)] == [65, 65, 70]
    assert [len(each) for each in offsets(tmp_path, 12 * size)] == [60, 60, 60, 20]
