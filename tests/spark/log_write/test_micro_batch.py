import errno
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from written_logs import (
    Stop,
    columns,
    failing_steps,
    files,
    job,
    offsets,
    problems,
    read_rows,
    run_micro_batch,
    save,
    staged_in_run,
    table,
)

from tagwire import log
from tagwire_spark import PipelineError
from tagwire_spark.files import local_commit, local_moves
from tagwire_spark.files.commit_folder import DONE, Job
from tagwire_spark.files.local_commit import LocalFolder
from tagwire_spark.log_source import LogSource
from tagwire_spark.log_write import driver
from tagwire_spark.log_write.driver import LogStreamWriter, LogWriter
from tagwire_spark.log_write.micro_batch import MicroBatch, batch_of_stream
from tagwire_spark.log_write.target import log_target

pytestmark = pytest.mark.spark

PLAIN = columns("topic string, value binary")


def rows(*values: int, topic: str = "t") -> list[Any]:
    return table(*[(topic, b"v%d" % n) for n in values], schema=PLAIN)


def values(root: Path, partition: str = "t-0") -> list[int]:
    return [int(record.value[1:]) for batch in log.read(root / partition) for record in batch if record.value]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    return partial(run_micro_batch, monkeypatch)


def test_repeated_batches(tmp_path: Path, run: Any) -> None:
    """Check that repeating a committed micro-batch changes nothing, even if its rows differ or are missing."""
    run(tmp_path, "q", 0, rows(0, 1), rows(2))
    run(tmp_path, "q", 1, rows(3), rows())
    before = {name: data for name, data in files(tmp_path).items() if name != DONE}
    for number, tasks in ((1, [rows(3)]), (1, [rows(7, 8)]), (0, [rows()]), (0, [rows(9)])):
        run(tmp_path, "q", number, *tasks)
        assert {name: data for name, data in files(tmp_path).items() if name != DONE} == before
    run(tmp_path, "q", 2, rows())
    run(tmp_path, "q", 2, rows(5))  # ignored, because batch 2 is already committed
    run(tmp_path, "other", 0, rows(4))
    job(tmp_path, rows(5))  # after this batch write, micro-batch 2 must still count as committed
    run(tmp_path, "q", 2, rows(6))
    assert values(tmp_path) == [0, 1, 2, 3, 4, 5] and problems(tmp_path) == []
    assert not list(tmp_path.glob(".*"))


def test_second_write_with_the_same_batch_number_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that writing different rows with a used batch number is an error."""
    monkeypatch.setattr("tagwire_spark.log_write.micro_batch._of_task", lambda: ("q", "4", "r1"))

    def write(topic: str, *tasks: tuple[int, ...], **options: Any) -> None:
        job(tmp_path, *(rows(*each, topic=topic) for each in tasks), batchId="4", **options)

    write("good", (1, 2), (3,))
    write("good", (1, 2), (3,))
    write("good", (3,), (2, 1))  # in another order, as after a shuffle
    rejected = r"KAFKA_LOG_EXISTS.*Batch 4 of query q.*its own queryId"
    # These rows differ from the committed rows, but have the same size.
    for topic, values in (("bad", (1, 2, 3)), ("good", (1, 2, 4))):
        with pytest.raises(PipelineError, match=rejected):
            write(topic, values)
    write("bad", (1,), queryId="q-bad")
    write("bad", (1,), queryId="q-bad")
    assert offsets(tmp_path) == {"good-0": [0, 1, 2], "bad-0": [0]} and not list(tmp_path.glob(".*"))


@pytest.mark.thorough
def test_driver_dies_before_each_step(tmp_path: Path, run: Any) -> None:
    """Stop a commit before each of its steps, and repeat it. Its batch and the next one must each be written once."""
    for steps in range(60):
        root = tmp_path / str(steps)
        run(root, "q", 0, rows(0))
        died = False
        names = ("replace", "hardlink_to", "unlink", "mkdir", "rmdir", "write_text", "open")
        with failing_steps(range(steps + 1, 1000), *names, error=Stop):
            try:
                run(root, "q", 1, rows(1), rows(2, 3))
            except Stop:
                died = True
        for _ in range(2):
            run(root, "q", 1, rows(1), rows(2, 3))
        run(root, "q", 2, rows(4))
        assert values(root) == [0, 1, 2, 3, 4] and problems(root) == [] and not list(root.glob(".*")), steps
        if not died:
            assert steps > 15
            return
    pytest.fail("a commit never came to its end")


def test_attempts_after_the_commit(tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that late attempts at a committed micro-batch write nothing, even if a later micro-batch is committed."""
    run(tmp_path, "q", 0, rows(0))
    run(tmp_path, "q", 1, rows(1))
    writer = LogStreamWriter(log_target({"path": str(tmp_path)}, is_stream=True), overwrite=False)
    for number in (1, 0):
        monkeypatch.setattr(driver, "batch_of_stream", lambda number=number: MicroBatch("q", number, "r"))
        staged = writer.write(iter(rows(9)))
        assert staged.segments == [] and not list(tmp_path.glob(".*"))
    monkeypatch.setattr(driver, "batch_of_stream", lambda: MicroBatch("q", 2, "r"))
    assert writer.write(iter(rows(9))).segments


def test_commit_with_a_different_batch_number_than_its_tasks(tmp_path: Path, run: Any) -> None:
    run(tmp_path, "q", 0, rows(0))
    before = files(tmp_path)
    with pytest.raises(
        PipelineError, match="asked to commit micro-batch 1, but the tasks wrote micro-batch 2, so nothing was"
    ):
        run(tmp_path, "q", 2, rows(1), committed=1)
    assert files(tmp_path) == before


def test_file_system_without_links(tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a stream to a file system without hard links fails at once, unless the folder already has a commit."""
    target = log_target({"path": str(tmp_path / "new")}, is_stream=True)
    run(tmp_path / "old", "q", 0, rows(0))

    def link(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", link)
    with pytest.raises(
        PipelineError,
        match=r"KAFKA_LOG_WRITE_FAILED.*hard links, which .* does not support \(Operation not permitted\)",
    ):
        LogStreamWriter(target, overwrite=False)
    assert not list((tmp_path / "new").iterdir())
    LogStreamWriter(target._replace(root=str(tmp_path / "old")), overwrite=False)


def test_two_drivers_of_one_query_commit_a_batch_once(
    tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, staged = staged_in_run(monkeypatch, tmp_path, MicroBatch("q", 0, "r"), rows(0, 1))
    run(tmp_path, "q", 0, rows(0, 1))
    slow.commit(staged, 0)
    assert values(tmp_path) == [0, 1] and not list(tmp_path.glob(".*"))


def test_one_driver_aborts_a_batch_while_another_commits_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without file locks, an abort must not remove the files of a commit that begins after the abort's checks."""
    monkeypatch.setattr(local_commit, "file_locks", lambda: None)
    monkeypatch.setattr("tagwire_spark.files.commit._PATIENCE", 0.0)
    first, its_messages = staged_in_run(monkeypatch, tmp_path, MicroBatch("q", 0, "r1"), rows(0, 1))
    second, messages = staged_in_run(monkeypatch, tmp_path, MicroBatch("q", 0, "r2"), rows(0, 1))

    remove, waiting = LocalFolder.remove, [first]

    def dies(*_: Any) -> None:
        raise Stop

    def removed(folder: LocalFolder, job: Job) -> None:
        if waiting:
            with monkeypatch.context() as patch, pytest.raises(Stop):
                patch.setattr(local_moves, "move", dies)
                waiting.pop().commit(its_messages, 0)
        remove(folder, job)

    monkeypatch.setattr(LocalFolder, "remove", removed)
    second.abort(messages, 0)
    assert not waiting
    assert [row["value"] for row in read_rows(tmp_path)] == [b"v0", b"v1"] and not list(tmp_path.glob(".*"))


def test_next_commit_removes_leftovers_of_attempts_and_drivers(
    tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, "q", 0, rows(0))
    # Create the folders of a late attempt of a task, and of a driver that died while it removed its folder.
    for id in ("q-r-0", "q-s-0-ended"):
        (tmp_path / f".tagwire-{id}.writing" / "attempt" / "t-0").mkdir(parents=True)
    other = LogWriter(log_target({"path": str(tmp_path)}), overwrite=False)
    assert len(list(tmp_path.glob(".*.writing"))) == 3
    run(tmp_path, "q", 1, rows(1))
    assert [path.name for path in tmp_path.glob(".*")] == [f".tagwire-{other.job.id}.writing"]


@pytest.mark.parametrize("task", [("", "4", "r"), ("q", "", "r"), ("q", "4", "")])
def test_tasks_of_an_unknown_micro_batch(monkeypatch: pytest.MonkeyPatch, task: tuple[str, str, str]) -> None:
    monkeypatch.setattr("tagwire_spark.log_write.micro_batch._of_task", lambda: task)
    with pytest.raises(PipelineError, match="micro-batch is unknown; write with foreachBatch"):
        batch_of_stream()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"batchId": "0"}, "Unknown option 'batchid'; "),
        ({"ifExists": "error"}, "Unknown option 'ifexists'; "),
        ({"path": "memory://logs"}, "mount"),
        ({"path": ""}, "path is missing"),
        ({"compression": "rar"}, "rar"),
    ],
)
def test_streams_that_are_rejected_before_they_begin(tmp_path: Path, options: dict[str, str], text: str) -> None:
    given = {"path": str(tmp_path / "new"), "checkpointLocation": "c", "queryName": "n", **options}
    with pytest.raises(PipelineError) as rejected:
        LogSource({name.lower(): value for name, value in given.items()}).streamWriter(PLAIN, overwrite=False)
    assert text in str(rejected.value) and not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"batchId": "-1"}, "batchId: expected 0 or more, got -1"),
        ({"batchId": "x"}, "expected an integer"),
        ({"queryId": "q"}, "queryId is given without batchId"),
        ({"batchId": "3"}, "the query of that batch is unknown; set option queryId"),
    ],
)
def test_sink_options_that_do_not_identify_batches(tmp_path: Path, options: dict[str, Any], text: str) -> None:
    with pytest.raises(PipelineError, match=r"^\[INVALID_TAGWIRE_OPTION\]") as rejected:
        job(tmp_path, rows(1), **options)
    assert text in str(rejected.value) and files(tmp_path) == {}


def numbers(spark: SparkSession, per_batch: int = 40) -> DataFrame:
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", per_batch).option("numPartitions", 2)
    return source.load().select(
        F.lit("t").alias("topic"), (F.col("value") % 3).cast("int").alias("partition"),
        F.concat(F.lit("v"), F.col("value")).alias("value"),
    )  # fmt: skip


def until(root: Path, query: Any, batches: int) -> None:
    end = time.monotonic() + 600
    while query.isActive and time.monotonic() < end:
        noted = json.loads((root / DONE).read_text()) if (root / DONE).exists() else {}
        if any(each["batchId"] >= batches - 1 for each in noted.get("batches", {}).values()):
            break
        time.sleep(0.1)
    query.stop()
    assert query.exception() is None
    assert time.monotonic() < end


def read_numbers(root: Path) -> list[int]:
    return sorted(number for partition in log.find_partitions(root) for number in values(root, partition.path.name))


def test_interleaved_partitions_from_several_tasks(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "logs"

    def start(**trigger: Any) -> Any:
        writer = numbers(spark).writeStream.format("kafka_log").option("compression", "zstd").queryName("numbers")
        writer = writer.trigger(**trigger) if trigger else writer
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start(str(root))

    def last_run(query: Any) -> str:
        return str(json.loads((root / DONE).read_text())["batches"][query.id]["runId"])

    query = start()
    until(root, query, 2)
    assert last_run(query) == query.runId
    # Stopping the query may have interrupted a commit, which the next run carries out or repeats.
    query = start(availableNow=True)
    assert query.awaitTermination(600) and last_run(query) == query.runId
    found = read_numbers(root)
    assert len(found) >= 120 and len(found) % 40 == 0 and found == [*range(len(found))] and problems(root) == []
    assert {name: found == [*range(len(found))] for name, found in offsets(root).items()} == {
        f"t-{n}": True for n in range(3)
    }
    assert not list(root.glob(".*"))


@pytest.mark.thorough
def test_driver_died_before_spark_recorded_the_commit(spark: SparkSession, tmp_path: Path) -> None:
    root, checkpoint = tmp_path / "logs", tmp_path / "checkpoint"

    def start() -> Any:
        source = spark.readStream.format("kafka_log").option("maxOffsetsPerTrigger", 20).load(str(tmp_path / "source"))
        writer = source.select("topic", "partition", "offset", "value").writeStream.format("kafka_log")
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start(str(root))
        query.awaitTermination(600)

    job(tmp_path / "source", *[table(*[("t", 0, n, None, b"v%d" % n) for n in range(60)])], batchRecords=10)
    start()
    assert values(root) == [*range(60)]
    for note in (checkpoint / "commits").glob("*2*"):
        note.unlink()
    before = files(root)
    start()
    assert files(root) == before
    job(tmp_path / "source", *[table(*[("t", 0, n, None, b"v%d" % n) for n in range(60, 70)])])
    start()
    assert values(root) == [*range(70)]


def test_foreach_batch_repeats_a_batch_after_its_commit(spark: SparkSession, tmp_path: Path) -> None:
    root, failures = tmp_path / "logs", iter([False, True, False])

    def write(df: DataFrame, number: int) -> None:
        save(df, root, batchId=number, batchRecords=7)
        if next(failures, False):
            raise ValueError("the driver's own error")

    def run() -> None:
        writer = numbers(spark).writeStream.foreachBatch(write).trigger(availableNow=True)
        assert writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination(600)

    run()
    with pytest.raises(PySparkException, match="the driver's own error"):
        run()
    run()
    run()
    found = read_numbers(root)
    assert len(found) >= 120 and found == [*range(len(found))] and problems(root) == []


@pytest.mark.thorough
def test_complete_mode_writes_anew(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "logs"
    counts = numbers(spark).groupBy("topic").agg(F.concat(F.lit("v"), F.count("*")).alias("value"))
    writer = counts.writeStream.format("kafka_log").outputMode("complete").trigger(availableNow=True)
    for count in (40, 80):
        assert writer.option("checkpointLocation", str(tmp_path / "c")).start(str(root)).awaitTermination(600)
        assert values(root) == [count]
    writer = writer.outputMode("update").option("checkpointLocation", str(tmp_path / "d"))
    with pytest.raises(PySparkException, match="does not support Update mode"):
        writer.start(str(root)).awaitTermination(600)
