"""Kill workers in the middle of a task and drivers at any step, and run attempts twice.

The output must be complete or absent.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from shutil import copytree
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import InputPartition
from written_logs import SAMPLE, files, job, problems, register_source, table

from tagwire.log import find_partitions
from tagwire.records.format_set import format_set
from tagwire_spark import PipelineError
from tagwire_spark.files.commit_folder import DONE
from tagwire_spark.jobs import compact_logs, convert_logs, export_logs, import_logs, whatif_logs
from tagwire_spark.jobs.export import _found
from tagwire_spark.jobs.export_part import ExportOptions, export_part
from tagwire_spark.jobs.exported import column_names
from tagwire_spark.jobs.outputs import JobOutput, staging
from tagwire_spark.jobs.tasks import run_units
from tagwire_spark.jobs.units import job_inputs
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.rows import full_schema, rows_of
from tagwire_spark.log_read.splits import plan
from tagwire_spark.log_source import LogReader
from tagwire_spark.log_write.driver import LogWriter
from tagwire_spark.log_write.target import log_target

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.spark,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL"),
]


def test_worker_killed_while_it_reads(spark: SparkSession, tmp_path: Path) -> None:
    """Kill a worker in the middle of a batch of rows: no row may be lost or repeated."""
    marker = tmp_path / "died"

    class DyingReader(LogReader):
        def read(self, partition: InputPartition) -> Iterator[Any]:
            for batch in super().read(partition):
                yield batch.slice(0, batch.num_rows // 2)
                if not marker.exists():
                    marker.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                yield batch.slice(batch.num_rows // 2)

    register_source(spark, "kafka_log_dying_reader", reader=DyingReader)
    df = spark.read.format("kafka_log_dying_reader").schema("partition int, offset long").load(str(SAMPLE))
    rows = sorted((row.partition, row.offset) for row in df.collect())
    assert marker.exists() and rows == [(partition, offset) for partition in (0, 1) for offset in range(30)]


def dying(marker: Path, times: int) -> Callable[..., list[Any]]:
    """Return a replacement for `run_units` that kills `times` workers, each after writing its unit's output."""

    def run(spark: Any, units: Sequence[Any], sizes: Sequence[int], work: Callable[[Any], Any]) -> list[Any]:
        def killed(unit: Any) -> Any:
            result = work(unit)
            deaths = len(list(marker.parent.glob(f"{marker.name}*")))
            if deaths < times:
                marker.with_name(f"{marker.name}{deaths}").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return run_units(spark, units, sizes, killed)

    return run


JOBS: dict[str, Callable[[Any, Path, Path], Any]] = {
    "convert": lambda spark, source, output: convert_logs(spark, source, output, codec="zstd"),
    "compact": lambda spark, source, output: compact_logs(spark, source, output, drop_keyless=True, now=1 << 50),
    "export": lambda spark, source, output: export_logs(spark, source, output),
    "restore": lambda spark, source, output: import_logs(spark, source, output),
}


@pytest.fixture
def source(request: pytest.FixtureRequest, here: None, tmp_path: Path) -> Path:
    if request.node.callspec.params["job"] != "restore":
        return SAMPLE
    export_logs(None, SAMPLE, tmp_path / "exported")  # type: ignore[arg-type]
    return tmp_path / "exported"


@pytest.mark.parametrize("job", JOBS)
def test_a_worker_that_is_killed_in_a_job(
    spark: SparkSession, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str
) -> None:
    (tmp_path / "in").mkdir()
    monkeypatch.setattr(f"tagwire_spark.jobs.{job}.run_units", run_units)
    JOBS[job](spark, source, tmp_path / "in" / "expected")
    monkeypatch.setattr(f"tagwire_spark.jobs.{job}.run_units", dying(tmp_path / "died", 1))
    JOBS[job](spark, source, tmp_path / "in" / "got")
    assert (tmp_path / "died0").exists()
    assert files(tmp_path / "in" / "got") == files(tmp_path / "in" / "expected") != {}
    assert {path.name for path in (tmp_path / "in").iterdir()} == {"expected", "got"}


@pytest.mark.parametrize("job", ["export", "restore"])
def test_workers_that_are_killed_each_time(
    spark: SparkSession, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str
) -> None:
    (tmp_path / "in").mkdir()
    monkeypatch.setattr(f"tagwire_spark.jobs.{job}.run_units", dying(tmp_path / "died", 99))
    with pytest.raises(PipelineError, match=r"^\[SPARK_FAILED\] Spark failed: .*worker exited unexpectedly"):
        JOBS[job](spark, source, tmp_path / "in" / "out")
    assert list((tmp_path / "in").iterdir()) == [] and len(list(tmp_path.glob("died*"))) >= 2


def test_records_are_counted_once(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagwire_spark.jobs.convert.run_units", dying(tmp_path / "died", 1))
    assert whatif_logs(spark, SAMPLE, "v3").total().records == 60 and (tmp_path / "died0").exists()


def test_two_concurrent_attempts_of_a_write(tmp_path: Path) -> None:
    """Run each task twice, as speculative execution does. The output must contain each row once."""
    query = log_query({"path": str(SAMPLE)})
    writer = LogWriter(log_target({"path": str(tmp_path)}), overwrite=False)
    tasks = [list(rows_of(split, query, full_schema(query))) for split in plan(query)]
    first = [writer.write(iter(task)) for task in tasks]
    second = [writer.write(iter(task)) for task in reversed(tasks)]
    assert len({segment.files for staged in (*first, *second) for segment in staged.segments}) == 2 * len(tasks)
    writer.commit([first[0], second[0]])
    found = {(s.topic, s.partition, row["offset"]) for s in plan(log_query({"path": str(tmp_path)}))
             for batch in rows_of(s, query, full_schema(query)) for row in batch.to_pylist()}  # fmt: skip
    assert len(found) == 60 and not list(tmp_path.glob(".*"))


def test_two_attempts_at_once_of_an_export(tmp_path: Path) -> None:
    [unit, *_], _ = _found(job_inputs(SAMPLE, ExitStack()))
    how = ExportOptions(column_names(None), False, format_set("auto"))
    with staging(JobOutput(tmp_path / "out"), cast(SparkSession, None)) as staged:
        first, second = (export_part(unit, str(staged.attempts), how) for _ in range(2))
        assert first.attempt != second.attempt
        assert files(staged.attempts / first.attempt) == files(staged.attempts / second.attempt)


_KILLED_AT_EACH_STEP = """
import os, signal, sys
from pathlib import Path
from shutil import copytree, rmtree

STEPS = ("replace", "rename", "unlink", "mkdir", "rmdir", "write_text")

def at_each_step(root, prepare, act):
    '''Fork before each step on files that `act` does, and kill there; yields the folder as it then is.'''
    for steps in range(1000):
        folder = Path(root, str(steps))
        folder.mkdir()
        ready = prepare(folder)
        child = os.fork()
        if not child:
            left = [steps]
            def counted(original):
                def step(*arguments, **named):
                    left[0] -= 1
                    if left[0] < 0:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return original(*arguments, **named)
                return step
            for name in STEPS:
                setattr(Path, name, counted(getattr(Path, name)))
            act(folder, ready)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert status in (0, signal.SIGKILL), status
        yield folder
        if status == 0:
            return
"""

_A_WRITE = _KILLED_AT_EACH_STEP + """
from tagwire_spark import PipelineError
from tagwire_spark.log_read.splits import plan
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.rows import full_schema, rows_of
from tagwire_spark.log_write.target import log_target
from tagwire_spark.log_write.driver import LogWriter

def rows(path):
    query = log_query({"path": str(path)})
    try:
        splits = plan(query)
    except PipelineError as error:  # nothing is there yet
        if error.condition != "KAFKA_LOG_NOT_FOUND":
            raise
        splits = []
    return [list(rows_of(split, query, full_schema(query))) for split in splits]

def prepare(folder):
    writer = LogWriter(log_target({"path": str(folder)}), overwrite=False)
    return writer, [writer.write(iter(task)) for task in rows(sys.argv[1])]

def act(folder, ready):
    writer, staged = ready
    writer.commit(staged)

for folder in at_each_step(sys.argv[2], prepare, act):
    print(sum(batch.num_rows for task in rows(folder) for batch in task))
"""

_A_MICRO_BATCH = _KILLED_AT_EACH_STEP + """
from uuid import uuid4
from tagwire.log import find_partitions
from tagwire_spark.log_write import driver
from tagwire_spark.log_write.micro_batch import MicroBatch
from tagwire_spark.log_write.target import log_target
import pyarrow as pa

STEPS = (*STEPS, "open", "hardlink_to", "write_bytes")

def micro_batch(folder, number):
    batch = MicroBatch("q", number, uuid4().hex)
    driver.batch_of_stream = lambda: batch
    target = log_target({"path": str(folder), "topic": "t", "compression": "gzip"}, is_stream=True)
    rows = [pa.record_batch({"value": [b"%d" % (4 * number + n) for n in part]}) for part in ((0, 1, 2), (3,))]
    staged = [driver.LogStreamWriter(target, overwrite=False).write(iter([each])) for each in rows]
    driver.LogStreamWriter(target, overwrite=False).commit(staged, number)

steps = at_each_step(sys.argv[2], lambda folder: micro_batch(folder, 0), lambda folder, _: micro_batch(folder, 1))
for folder in steps:
    for number in (1, 1, 2):
        micro_batch(folder, number)
    values = [int(record.value) for each in find_partitions(folder) for batch in each.batches() for record in batch]
    assert values == list(range(12)), (folder, values)
    assert not list(folder.glob(".*")), folder
    print(len(values))
"""

_AN_EXPORT = _KILLED_AT_EACH_STEP + """
from tagwire_spark.jobs import export, export_logs, import_logs, restore

def here(spark, units, sizes, work):
    import pickle
    return [pickle.loads(pickle.dumps(work(pickle.loads(pickle.dumps(unit))))) for unit in units]

export.run_units = restore.run_units = here

def act(folder, _):
    export_logs(None, sys.argv[1], folder / "out")

for folder in at_each_step(sys.argv[2], lambda folder: None, act):
    if not (folder / "out").exists():
        act(folder, None)  # what was left there is in nobody's way
        print(0)
    else:
        print(60)
    import_logs(None, folder / "out", folder / "back")
    assert not list((folder / "out").rglob(".*"))
    for path in Path(sys.argv[1]).rglob("*.log"):
        assert (folder / "back" / path.relative_to(sys.argv[1])).read_bytes() == path.read_bytes()
"""


def numbers_printed(program: str, folder: Path) -> list[int]:
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    copytree(SAMPLE, folder / "sample")
    (folder / "runs").mkdir()
    arguments = [sys.executable, "-c", program, str(folder / "sample"), str(folder / "runs")]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


@pytest.mark.parametrize("program", [_A_WRITE, _AN_EXPORT], ids=["write", "export"])
def test_driver_killed_at_any_step(tmp_path: Path, program: str) -> None:
    """Kill the driver after the tasks, or at any step of the commit: the output must be complete or absent."""
    found = numbers_printed(program, tmp_path)
    assert found == sorted(found) and set(found) == {0, 60} and len(found) >= 4


def test_micro_batch_killed_at_any_step(tmp_path: Path) -> None:
    """Kill a process while it runs a micro-batch's tasks, commits it or cleans up. Then repeat it, as Spark does."""
    assert len(numbers_printed(_A_MICRO_BATCH, tmp_path)) > 30


_A_STREAM = """
import sys
from pyspark.sql import SparkSession
from tagwire_spark import spark_conf

source, root, checkpoint, how = sys.argv[1:]
settings = {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
            "spark.log.level": "OFF"}
spark = SparkSession.builder.master("local[2]").config(map={**spark_conf(), **settings}).getOrCreate()
stream = spark.readStream.format("kafka_log").option("maxOffsetsPerTrigger", 200).load(source)

def write(df, number):
    df.write.format("kafka_log").mode("append").option("batchId", number).save(root)

def writer():
    rows = stream.select("topic", "partition", "value").writeStream.option("checkpointLocation", checkpoint)
    return rows.foreachBatch(write) if how == "foreachBatch" else rows.format("kafka_log").option("path", root)

writer().trigger(availableNow=True).start().awaitTermination()
"""


@pytest.mark.slow
@pytest.mark.usefixtures("can_start_spark")
@pytest.mark.parametrize(("how", "kills"), [("sink", 2), ("foreachBatch", 1)])
def test_stream_whose_spark_is_killed_repeatedly(tmp_path: Path, how: str, kills: int) -> None:
    """Kill the driver, the JVM and the workers together, at any moment: every row must be written exactly once."""
    source, root = tmp_path / "source", tmp_path / "logs"
    rows = [("t", n % 3, n // 3, None, b"v%d" % n) for n in range(2000)]
    job(source, table(*rows), batchRecords=20)
    arguments = [sys.executable, "-c", _A_STREAM, str(source), str(root), str(tmp_path / "checkpoint"), how]
    chance, killed, end = random.Random(24), 0, time.monotonic() + 900
    while True:
        before = _committed(root)
        with (
            (tmp_path / "stderr.txt").open("w") as stderr,
            subprocess.Popen(arguments, start_new_session=True, stderr=stderr) as spark,
        ):
            while spark.poll() is None and (killed == kills or _committed(root) == before):
                assert time.monotonic() < end
                time.sleep(0.02)
            if spark.poll() is None:
                time.sleep(chance.uniform(0, 0.5))
            ended = spark.poll()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(spark.pid, signal.SIGKILL)
        if ended == 0:
            break
        if ended is None:
            killed += 1
        else:  # on a busy machine, a Python worker may start too late
            errors = (tmp_path / "stderr.txt").read_text()
            assert "Python worker failed to connect back" in errors, errors
    found = [record.value or b"" for each in find_partitions(root) for batch in each.batches() for record in batch]
    assert sorted(found) == sorted(row[4] for row in rows)
    assert killed == kills and problems(root) == []
    # With foreachBatch, files of the killed job may remain.
    assert how != "sink" or not list(root.glob(".*"))


def _committed(root: Path) -> bytes:
    return (root / DONE).read_bytes() if (root / DONE).exists() else b""
