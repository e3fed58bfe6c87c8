import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import peak_memory
import pytest
from peak_memory import PEAK_KIB, peak_kib
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.datasource import InputPartition
from streamed_logs import segment
from written_logs import arrow_rows, register_source

from tagwire.records import Record, build
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.splits import plan
from tagwire_spark.log_source import LogReader
from tagwire_spark.log_write.driver import LogWriter, Staged
from tagwire_spark.log_write.target import log_target

# Pickle this module by value, because Spark's workers can't import modules of the tests.
cloudpickle.register_pickle_by_value(peak_memory)  # type: ignore[no-untyped-call]
pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc"),
]

MIB = 1 << 20
MOST = 400
"""The most memory that a worker may use, in MiB, however large the segment is."""


def big_segment(root: Path, mebibytes: int, size: int) -> int:
    (root / "t-0").mkdir(parents=True)
    count = max(1, 16384 // size)
    data = build([Record(n, 1_700_000_000_000, b"k", bytes(size)) for n in range(count)], "v2").encode()
    batches = mebibytes * MIB // len(data)
    with (root / "t-0" / f"{0:020}.log").open("wb") as file:
        for number in range(batches):
            file.write((number * count).to_bytes(8, "big") + data[8:])
    return batches * count


@pytest.mark.slow
@pytest.mark.parametrize("size", [4096, 300_000])
def test_worker_holds_little_of_a_segment(spark: SparkSession, tmp_path: Path, size: int) -> None:
    class Measured(LogReader):
        def read(self, partition: InputPartition) -> Iterator[Any]:
            yield from super().read(partition)
            Path(self.query.paths[0], "peak").write_text(str(peak_kib() // 1024))

    records = big_segment(tmp_path, 500, size)
    register_source(spark, "kafka_log_measured", reader=Measured)
    read = spark.read.format("kafka_log_measured").schema("offset long, value binary")
    df = read.option("maxSplitBytes", str(1 << 30)).load(str(tmp_path))
    assert df.selectExpr("count(offset)", "sum(length(value))").first() == (records, records * size)
    assert int((tmp_path / "peak").read_text()) < MOST
    (tmp_path / "t-0" / f"{0:020}.log").unlink()


@pytest.mark.slow
def test_worker_writes_more_than_its_memory_limit(spark: SparkSession, tmp_path: Path) -> None:
    class Measured(LogWriter):
        def write(self, iterator: Iterator[Any]) -> Staged:
            done = super().write(iterator)
            Path(self.job.root, "peak").write_text(str(peak_kib() // 1024))
            return done

    register_source(spark, "kafka_log_measured_sink", writer=Measured)
    df = spark.range(5000).selectExpr("'t' as topic", "id as offset", "repeat('v', 100000) as value").coalesce(1)
    df.write.format("kafka_log_measured_sink").mode("append").save(str(tmp_path))
    assert int((tmp_path / "peak").read_text()) < MOST
    [path] = tmp_path.glob("t-0/*.log")
    assert path.stat().st_size > 500_000_000
    path.unlink()


_THERE = f"""
import sys
from pathlib import Path
from tagwire.records.format_set import format_set
from tagwire_spark.files.storage import Location
from tagwire_spark.jobs.export import _found
from tagwire_spark.jobs.export_part import ExportOptions, export_part
from tagwire_spark.jobs.exported import column_names

{PEAK_KIB}
root = Path(sys.argv[1])
(root / "attempts").mkdir()
[unit], _ = _found([Location(root / "logs", is_named=True)])
options = ExportOptions(column_names(None), False, format_set("auto"))
done = export_part(unit, str(root / "attempts"), options)
(root / "attempts" / done.attempt).rename(root / "exported")
print(done.report.records, peak_kib() // 1024)
"""
_BACK = f"""
import sys
from pathlib import Path
from tagwire_spark.files.store import NO_OPTIONS
from tagwire_spark.jobs.exported import ExportedFiles
from tagwire_spark.jobs.restore import _import

{PEAK_KIB}
root = Path(sys.argv[1])
[log] = (root / "logs").rglob("*.log")
part = ExportedFiles(0, "t-0", ((log.name, log.stat().st_size),), "table/part-00000.parquet")
_, batches = _import((part, None), str(root / "exported"), str(root / "attempts"), NO_OPTIONS)
print(batches[0], peak_kib() // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("size", [100, 4096, 300_000])
def test_export_holds_little_of_a_segment(tmp_path: Path, size: int) -> None:
    records = big_segment(tmp_path / "logs", 500 if size > 100 else 100, size)
    for program, expected in ((_THERE, records), (_BACK, records // max(1, 16384 // size))):
        arguments = [sys.executable, "-c", program, str(tmp_path)]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=600, check=True)
        found, most = map(int, done.stdout.split())
        assert found == expected and most < MOST
    shutil.rmtree(tmp_path)


def test_planning_reads_no_records(tmp_path: Path) -> None:
    segment(tmp_path / "t-0", 0, bytes(range(256)) * 1000)
    splits = plan(log_query({"path": str(tmp_path), "maxSplitBytes": "1000"}))
    assert len(splits) == 256 and len(pickle.dumps(splits)) < 64 * len(splits) + 1000


def test_results_of_tasks_contain_no_records(tmp_path: Path) -> None:
    records = big_segment(tmp_path / "from", 2, 1000)
    writer = LogWriter(log_target({"path": str(tmp_path / "to")}), overwrite=False)
    report = writer.write(arrow_rows(tmp_path / "from"))
    assert report.segments[0].records == records and len(pickle.dumps(report)) < 1000
