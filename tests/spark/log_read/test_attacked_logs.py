import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")

from tagwire import TagwireError
from tagwire.log import LogPathError
from tagwire.log.file_bytes import FileBytes
from tagwire.records import Record, build
from tagwire_spark.jobs.last_offsets import _ascending, last_offsets_between
from tagwire_spark.jobs.outputs import JobOutput, staging
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.rows import full_schema, rows_of
from tagwire_spark.log_read.splits import plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_SPARK = cast("SparkSession", None)


def segment(folder: Path, batches: int = 200) -> Path:
    batch = build([Record(n, 5, b"k", b"v" * 500) for n in range(30)], "v2")
    folder.mkdir(parents=True)
    path = folder / f"{0:020}.log"
    path.write_bytes(b"".join(batch.replace(base_offset=30 * n).encode() for n in range(batches)))
    return path


@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE"])
def test_a_segment_that_is_cut_while_a_task_reads_it_is_an_error(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = segment(tmp_path / "alpha-0")
    query = log_query({"path": str(tmp_path), "mode": mode})
    splits = plan(query)
    read, reads = FileBytes.read, 0

    def cut(self: Any, start: int, size: int) -> bytes:
        nonlocal reads
        reads += 1
        if reads == 2:
            os.truncate(path, 100_000)
        return read(self, start, size)

    monkeypatch.setattr(FileBytes, "read", cut)
    with pytest.raises(TagwireError, match="was truncated while it was read"):
        for split in splits:
            list(rows_of(split, query, full_schema(query)))


def test_second_job_on_one_output_is_rejected_while_the_first_works(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with staging(JobOutput(output), NO_SPARK) as staged:
        (staged.output / "first").write_bytes(b"1")
        with (
            pytest.raises(LogPathError, match=f"process {os.getpid()} on .* is writing this folder"),
            staging(JobOutput(output), NO_SPARK),
        ):
            pass
    assert [each.name for each in output.iterdir()] == ["first"]
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_one_of_many_jobs_writes_an_output(tmp_path: Path) -> None:
    output, barrier, rejected = tmp_path / "out", threading.Barrier(6), []

    def job(number: int) -> None:
        barrier.wait()
        try:
            with staging(JobOutput(output), NO_SPARK) as staged:
                (staged.output / str(number)).write_bytes(b"")
        except LogPathError as error:
            rejected.append(error)

    threads = [threading.Thread(target=job, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rejected) == 5
    assert len(list(output.iterdir())) == 1


def test_last_offsets_are_found_in_files(tmp_path: Path) -> None:
    import pyarrow as pa

    for task, offsets in (("a", [5, 1, 9]), ("b", [7, 3, 1 << 40])):
        (tmp_path / task).mkdir()
        (tmp_path / task / "4").write_bytes(_ascending(pa.array(offsets, pa.int64())))
    found = last_offsets_between(tmp_path, 4, 3, 9)
    assert [offset for offset in range(12) if found.is_last(b"", offset)] == [3, 5, 7]
