from pathlib import Path
from typing import Any

import pytest
from written_logs import columns, files, job, offsets, problems, table

from tagwire import log
from tagwire_spark import PipelineError
from tagwire_spark.log_write.driver import LogWriter
from tagwire_spark.log_write.target import log_target

PLAIN = columns("topic string, value binary")
FORMATS = [("v0", "none"), ("v1", "none"), ("v1", "gzip"), ("v2", "none"), ("v2", "zstd"), ("v3", "none"),
           ("v3", "gzip"), ("kip82-str", "none"), ("kip87", "snappy"), ("v3-zigzag", "none")]  # fmt: skip


def rows(first: int, count: int) -> list[Any]:
    return table(*[("t", b"v%d" % n) for n in range(first, first + count)], schema=PLAIN)


@pytest.mark.parametrize(("format", "codec"), FORMATS)
def test_offsets_of_several_tasks_continue_the_log(tmp_path: Path, format: str, codec: str) -> None:
    options: dict[str, Any] = {"recordFormat": format, "compression": codec, "batchRecords": 3, "segmentBytes": 4000}
    job(tmp_path, rows(0, 10), **options)
    job(tmp_path, rows(10, 200), rows(210, 7), rows(217, 100), **options)
    partition = log.Partition(tmp_path / "t-0")
    found = [record for batch in partition.batches(format=format) for record in batch]
    assert [(record.offset, record.value) for record in found] == [(n, b"v%d" % n) for n in range(317)]
    bases = [segment.base_offset or 0 for segment in partition.segments]
    assert bases == sorted(bases) and {0, 10, 210, 217} <= {*bases} and len(bases) > 4
    assert format not in ("v0", "v1", "v2", "v3") or problems(tmp_path, format) == []
    assert not [name for name in files(tmp_path) if "places" in name]


def test_wrappers_of_v0_are_renumbered_inside(tmp_path: Path) -> None:
    """Check that a write fails if v0 wrappers need new offsets, which their checksums cover."""
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_ROWS_NOT_IN_ORDER.*batches of v0 .*repartition by topic"):
        job(tmp_path, rows(0, 5), rows(5, 5), recordFormat="v0", compression="gzip")
    job(tmp_path, rows(0, 5), recordFormat="v0", compression="gzip")
    job(tmp_path, rows(5, 5), recordFormat="v0", compression="gzip")
    assert offsets(tmp_path) == {"t-0": [*range(10)]}


def test_two_concurrent_writes(tmp_path: Path) -> None:
    """If two writes begin at the same offset, the second commit must give its records and leader epochs new offsets."""
    schema = columns("topic string, value binary, partitionLeaderEpoch int")
    writers = [LogWriter(log_target({"path": str(tmp_path)}), overwrite=False) for _ in range(2)]
    staged = [
        [writer.write(iter(table(*[("t", b"v", epoch)] * 5, schema=schema)))] for epoch, writer in enumerate(writers)
    ]
    for writer, each in zip(writers, staged, strict=True):
        writer.commit(each)
    assert offsets(tmp_path) == {"t-0": [*range(10)]} and problems(tmp_path) == []
    assert [tuple(e) for e in log.Partition(tmp_path / "t-0").leader_epochs] == [(0, 0), (1, 5)]


def test_transactions_after_a_concurrent_write(tmp_path: Path) -> None:
    """Check that a write with transactions is rejected if another write is committed while it is running."""
    schema = columns("topic string, value binary, producerId long, producerEpoch int, isTransactional boolean")
    row = ("t", b"v", 7, 0, True)
    job(tmp_path, rows(0, 3))
    writer = LogWriter(log_target({"path": str(tmp_path)}), overwrite=False)
    staged = [writer.write(iter(table(row, schema=schema)))]
    job(tmp_path, rows(3, 3))
    with pytest.raises(PipelineError, match="batches with transactions can't be renumbered"):
        writer.commit(staged)
    writer.abort(staged)
    assert offsets(tmp_path) == {"t-0": [*range(6)]} and not list(tmp_path.glob(".*"))
