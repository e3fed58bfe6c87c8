"""The commit of a write by `kafka_log`: all of it is there or nothing, whoever dies, waits, or tries again."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType
from written_logs import arrow_rows, files, job, offsets, problems, save, table

from tagwire_spark import PipelineError, in_log_order
from tagwire_spark.files import commit
from tagwire_spark.log_write.driver import LogWriter, Staged
from tagwire_spark.log_write.target import log_target
from tagwire_spark.sources.log import LogSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SAMPLE = Path(__file__).parents[2] / "data" / "sample_log"


class Stop(BaseException):
    """The end of a process."""


def written(root: Path) -> tuple[Path, LogWriter, list[Staged]]:
    """A folder with a log, and a write that is ready to be committed: it goes on in one, and begins another."""
    job(root, table(*[("t", 0, n, None, b"v") for n in range(3)]))
    writer = LogWriter(log_target({"path": str(root)}), overwrite=False)
    tasks = [table(("t", 0, 3, None, b"v")), table(("u", 0, 0, None, b"v"))]
    return root, writer, [writer.write(iter(each)) for each in tasks]


BEFORE = {"t-0": [0, 1, 2]}
AFTER = {"t-0": [0, 1, 2, 3], "u-0": [0]}


def read_offsets(root: Path) -> dict[str, list[int]]:
    """As the source sees them."""
    found: dict[str, list[int]] = {}
    for batch in arrow_rows(root):
        for row in batch.to_pylist():
            found.setdefault(f"{row['topic']}-{row['partition']}", []).append(row["offset"])
    return {name: sorted(each) for name, each in found.items()}


def test_what_is_staged_is_not_seen(tmp_path: Path) -> None:
    root, writer, staged = written(tmp_path)
    assert read_offsets(root) == offsets(root) == BEFORE
    writer.abort([*staged, None])
    assert read_offsets(root) == BEFORE and not list(root.glob(".*"))


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_driver_that_dies_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool) -> None:
    """Killed before each step of a commit; the next reader finds all of the job, or nothing."""
    seen = []
    for steps in range(40):
        root, writer, staged = written(tmp_path / str(steps))
        writer.overwrite = overwrite
        left = steps

        def step(name: str, original: Any, *arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Stop
            return original(*arguments, **named)

        with monkeypatch.context() as patch:
            for name in ("replace", "rename", "unlink", "mkdir", "rmdir", "write_text"):
                original = getattr(Path, name)
                patch.setattr(Path, name, lambda *a, _n=name, _o=original, **k: step(_n, _o, *a, **k))
            try:
                writer.commit(staged)
            except Stop:
                pass
            else:
                break
        found = read_offsets(root)
        assert found in (BEFORE, {"t-0": [3], "u-0": [0]} if overwrite else AFTER), steps
        seen.append(found == BEFORE)
        assert problems(root) == []
    else:
        pytest.fail("a commit never came to its end")
    assert seen == sorted(seen, reverse=True) and True in seen and False in seen


def test_who_appends_next_does_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, writer, staged = written(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(commit, "_do", lambda job: (_ for _ in ()).throw(Stop()))
        with pytest.raises(Stop):
            writer.commit(staged)
    writer.abort(staged)  # what was committed stays so
    job(root, table(("t", 0, 4, None, b"v")))
    assert offsets(root) == {"t-0": [0, 1, 2, 3, 4], "u-0": [0]}


def test_a_commit_that_is_no_json(tmp_path: Path) -> None:
    job(tmp_path, table(("t", 0, 0, None, b"v")))
    (tmp_path / ".tagwire-1.json").write_text("{")
    with pytest.raises(PipelineError, match="KAFKA_LOG_WRITE_FAILED"):
        list(arrow_rows(tmp_path))


def test_two_writers_at_once(tmp_path: Path) -> None:
    """Both begin behind the same offset; the second to commit is refused, and has changed nothing."""
    root, first, staged = written(tmp_path)
    second = LogWriter(log_target({"path": str(root)}), overwrite=False)
    other = [second.write(iter(table(("t", 0, 3, None, b"w"))))]
    first.commit(staged)
    with pytest.raises(PipelineError, match="KAFKA_LOG_EXISTS"):
        second.commit(other)
    second.abort(other)
    assert offsets(root) == AFTER and not list(root.glob(".*"))


def test_an_attempt_that_comes_too_late(tmp_path: Path) -> None:
    root, writer, staged = written(tmp_path)
    writer.commit(staged)
    with pytest.raises(PipelineError, match="came too late"):
        writer.write(iter(table(("t", 0, 9, None, b"v"))))
    assert offsets(root) == AFTER and not list(root.glob(".*"))


def test_readers_wait_for_a_commit(tmp_path: Path) -> None:
    """Another process that plans while a commit is under way sees none of it, and then all."""
    root, writer, staged = written(tmp_path)
    program = (
        "import sys; from tagwire_spark.log_read import query, splits;"
        "print('ready', flush=True); print(len(splits.plan(query.log_query({'path': sys.argv[1]}))))"
    )
    with commit.alone(root):
        reader = subprocess.Popen([sys.executable, "-c", program, str(root)], stdout=subprocess.PIPE, text=True)
        assert reader.stdout is not None and reader.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            reader.wait(0.3)
    writer.commit(staged)
    assert reader.stdout is not None and reader.stdout.readline() in ("1\n", "3\n")
    reader.wait(30)


@pytest.mark.parametrize("how", ["raise", "kill"])
def test_tasks_that_are_tried_again(spark: "SparkSession", tmp_path: Path, how: str) -> None:
    """A task that fails, and a worker that is killed, when they have written half of their rows: Spark tries again."""

    class DyingWriter(LogWriter):
        def write(self, iterator: Iterator[Any]) -> Staged:
            return super().write(self.dying(iterator))

        def dying(self, iterator: Iterator[Any]) -> Iterator[Any]:
            for batch in iterator:
                yield batch.slice(0, batch.num_rows // 2)
                if batch.num_rows and not Path(self.job.root, "died").exists():
                    Path(self.job.root, "died").touch()
                    if how == "kill":
                        os.kill(os.getpid(), signal.SIGKILL)
                    raise ValueError("for the first time")
                yield batch.slice(batch.num_rows // 2)

    class DyingSource(LogSource):
        @classmethod
        def name(cls) -> str:
            return "kafka_log_dying"

        def writer(self, schema: StructType, overwrite: bool) -> LogWriter:
            return DyingWriter(log_target(self.options), overwrite=overwrite)

    spark.dataSource.register(DyingSource)
    df = spark.range(1000).selectExpr("'t' topic", "cast(id % 2 as int) partition", "id as offset", "'v' as value")
    in_log_order(df).write.format("kafka_log_dying").mode("append").save(str(tmp_path))
    assert (tmp_path / "died").exists()
    assert offsets(tmp_path) == {"t-0": list(range(0, 1000, 2)), "t-1": list(range(1, 1000, 2))}
    assert problems(tmp_path) == [] and not list(tmp_path.glob(".*"))


def test_a_job_that_fails_leaves_nothing(spark: "SparkSession", tmp_path: Path) -> None:
    copytree(SAMPLE, tmp_path, dirs_exist_ok=True)
    before = files(tmp_path)
    df = spark.read.format("kafka_log").load(str(SAMPLE)).orderBy("value")
    with pytest.raises(PySparkException, match="KAFKA_LOG_ROWS_NOT_IN_ORDER"):
        save(df, tmp_path)
    assert files(tmp_path) == before and not list(tmp_path.glob(".*"))
