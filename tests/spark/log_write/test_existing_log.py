import errno
import os
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from small_logs import write_segment
from written_logs import arrow_rows, columns, files, job, table

from tagwire import log
from tagwire.records import Record, build, format_of
from tagwire_spark import PipelineError

pytestmark = pytest.mark.spark

FORMATS = ("v0", "v1", "v2", "v3", "kip82-int", "kip82-str", "kip87", "v3-zigzag")


def can_stand_together(before: str, format: str) -> bool:
    """Return whether a write in `format` can append to a log in the format `before`.

    It can if `before` is v0 to v3, which the writer recognizes by the magic byte, and `format` has another magic byte.
    """
    has_format = before in ("v0", "v1", "v2", "v3")
    return has_format and format_of(before).magic != format_of(format).magic


@pytest.mark.parametrize(("before", "format"), [("v2", "kip87"), ("kip87", "kip82-str"), ("v3", "v3-zigzag")])
def test_two_formats_of_one_magic_byte_in_one_log(tmp_path: Path, before: str, format: str) -> None:
    first = table(("t", b"v"), schema=columns("topic string, value binary"))
    job(tmp_path, first, recordFormat=before)
    with pytest.raises(PipelineError, match=f"KAFKA_LOG_EXISTS.*the magic byte of {format} for another format"):
        job(tmp_path, first, recordFormat=format)
    rows = table(("u", b"v", before), ("u", b"v", format), schema=columns("topic string, value binary, format string"))
    with pytest.raises(
        PipelineError, match=f"Rows of u-0 use the formats {before} and {format}, which both have magic"
    ):
        job(tmp_path, rows)


PAIRS = [pair for pair in product(FORMATS, FORMATS) if can_stand_together(*pair) or len(set(pair)) == 1]


@pytest.mark.parametrize(
    ("before", "format", "by_column"), [(*pair, number % 2 == 1) for number, pair in enumerate(PAIRS)]
)
def test_offsets_continue_after_logs_of_any_format(tmp_path: Path, before: str, format: str, by_column: bool) -> None:
    schema = columns("topic string, value binary, format string" if by_column else "topic string, value binary")
    for name in (before, format):
        row = ("t", b"v" * 100, name)[: len(schema)]
        options: dict[str, Any] = {} if by_column else {"recordFormat": name}
        job(tmp_path, table(*[row] * 120, schema=schema), batchRecords=7, **options)
    first, second = log.Partition(tmp_path / "t-0").segments
    got = [
        [record.offset for batch in segment.batches(format=name) for record in batch]
        for segment, name in ((first, before), (second, format))
    ]
    assert got == [[*range(120)], [*range(120, 240)]]


def test_transactions_continued_in_a_format_without_them(tmp_path: Path) -> None:
    schema = columns(
        "topic string, key binary, value binary, producerId long, producerEpoch int, isTransactional boolean, "
        "isControl boolean"
    )
    data = ("t", None, b"v", 7, 0, True, False)
    abort = ("t", bytes(4), bytes(6), 7, 0, True, True)
    for row in (data, abort):
        job(tmp_path, table(row, schema=schema), recordFormat="v3-zigzag")
    _, second = log.Partition(tmp_path / "t-0").segments
    assert [(each.first_offset, each.last_offset) for each in second.aborted_transactions] == [(0, 1)]


@pytest.mark.parametrize("format", ["kip87", "v3-zigzag"])
def test_appending_to_a_log_that_nobody_can_tell_the_format_of(tmp_path: Path, format: str) -> None:
    job(tmp_path, table(*[("t", 0, n, None, b"v") for n in range(3)]), recordFormat=format)
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_EXISTS.*after its last batch.* magic byte of v2 for another"):
        job(tmp_path, table(("t", 0, 3, None, b"v")))


def test_overwriting_a_folder_that_can_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job(tmp_path, table(("t", 0, 0, None, b"old")))
    before, stat = files(tmp_path), os.stat

    def failing(path: Any, **options: Any) -> os.stat_result:
        if path == str(tmp_path):
            raise OSError(errno.EIO, "Input/output error", path)
        return stat(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", failing)
        with pytest.raises(PipelineError, match=r"KAFKA_LOG_UNREADABLE.*can't be read: Input/output error"):
            job(tmp_path, table(("t", 0, 0, None, b"new")), overwrite=True)
    assert files(tmp_path) == before


def test_preallocated_log_is_rejected(tmp_path: Path) -> None:
    """Check that a log with zeros after its last batch is rejected, because new batches would follow the zeros."""
    data = build([Record(n, 5, None, b"v") for n in range(3)], "v2").encode()
    write_segment(tmp_path / "t-0", data, bytes(1000))
    with pytest.raises(PipelineError, match="1000 bytes after its last batch"):
        job(tmp_path, table(("t", 0, 3, None, b"v")))


def test_open_transactions_of_the_log_are_aborted(tmp_path: Path, logs: Path) -> None:
    source = logs / "kafka4" / "alpha-txn-many-0"
    rows = (
        pa.Table.from_batches(list(arrow_rows(source, includeControlRecords="true"))).combine_chunks().to_batches()[0]
    )
    for cut in range(0, rows.num_rows, rows.num_rows // 5):
        root = tmp_path / str(cut)
        job(root, [rows.slice(0, cut)])
        job(root, [rows.slice(cut)])
        got = [e for s in log.Partition(root / source.name).segments for e in s.aborted_transactions]
        assert got == [e for s in log.Partition(source).segments for e in s.aborted_transactions]
