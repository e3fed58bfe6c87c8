import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from shutil import copytree, rmtree
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")

from pyspark.errors import PySparkException
from written_logs import (
    SAMPLE,
    Stop,
    arrow_rows,
    at_once,
    by_partition,
    columns,
    commit_or_abort,
    failing_steps,
    files,
    job,
    offsets,
    once,
    problems,
    register_source,
    save,
    table,
)

from tagwire_spark import PipelineError, in_log_order
from tagwire_spark.files import commit, local_commit
from tagwire_spark.files.commit_folder import manifest_name
from tagwire_spark.files.local_commit import LocalFolder
from tagwire_spark.jobs.units import found_partitions, job_inputs
from tagwire_spark.log_read import listing, splits
from tagwire_spark.log_write.driver import LogWriter, Staged, _Commit
from tagwire_spark.log_write.target import log_target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def dies_before_moves(patch: pytest.MonkeyPatch) -> None:
    """Let a process die after it has claimed a commit number, before it moves any files."""

    def die(*_: Any, **named: Any) -> None:
        raise Stop

    patch.setattr(LocalFolder, "carry_out", die)


def written(root: Path) -> tuple[Path, LogWriter, list[Staged]]:
    job(root, table(*[("t", 0, n, None, b"v") for n in range(3)]))
    writer = LogWriter(log_target({"path": str(root)}), overwrite=False)
    tasks = [table(("t", 0, 3, None, b"v")), table(("u", 0, 0, None, b"v"))]
    return root, writer, [writer.write(iter(each)) for each in tasks]


BEFORE = {"t-0": [0, 1, 2]}
AFTER = {"t-0": [0, 1, 2, 3], "u-0": [0]}


def read_offsets(root: Path) -> dict[str, list[int]]:
    return by_partition(root, "offset")


def test_staged_rows_are_not_visible(tmp_path: Path) -> None:
    root, writer, staged = written(tmp_path)
    assert read_offsets(root) == offsets(root) == BEFORE
    writer.abort([*staged, None])
    assert read_offsets(root) == BEFORE and not list(root.glob(".*"))


@pytest.mark.thorough
@pytest.mark.parametrize("overwrite", [False, True])
def test_driver_dies_before_each_step(tmp_path: Path, overwrite: bool) -> None:
    """Stop the driver before each step of a commit: the next reader must find either the whole output or nothing."""
    seen = []
    for steps in range(40):
        root, writer, staged = written(tmp_path / str(steps))
        writer.overwrite = overwrite
        names = ("replace", "hardlink_to", "unlink", "mkdir", "rmdir", "write_text")
        with failing_steps(range(steps + 1, 1000), *names, error=Stop):
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


def committed_before_moves(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the driver of a write die after the commit, then abort the write, which must keep the committed rows."""
    _, writer, staged = written(root)
    with monkeypatch.context() as patch:
        dies_before_moves(patch)
        with pytest.raises(Stop):
            writer.commit(staged)
    writer.abort(staged)


def test_next_writer_finishes_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed_before_moves(tmp_path, monkeypatch)
    job(tmp_path, table(("t", 0, 4, None, b"v")))
    assert offsets(tmp_path) == {"t-0": [0, 1, 2, 3, 4], "u-0": [0]}


def test_reading_job_finishes_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed_before_moves(tmp_path, monkeypatch)
    with ExitStack() as stack:
        [location] = job_inputs(tmp_path, stack)
        found = {each.target: len(each.partition.segments) for each in found_partitions(location)}
    assert found == {"t-0": 2, "u-0": 1}


FOREIGN = '{"job": "j", "draft": ".tagwire-j.writing/m", "moves": [], "removes": ["t-0/x"]}'


@pytest.mark.parametrize(("manifest", "text"), [
    ("{", "is not a list of a commit's files"),
    (FOREIGN.replace("[]", '[["../home/key", "t-0/key"]]'), "'../home/key' points outside"),
    (FOREIGN.replace("t-0/x", "../home/key"), "'../home/key' points outside"),
    (FOREIGN.replace("t-0/x", "link/key"), "the link .*link leads outside the log folder"),
    (FOREIGN.replace(".tagwire-j.writing/m", "m"), "'m' is not in the folder of job 'j'"),
    (FOREIGN.replace('"j"', '"x/../../home"'), "points outside"),
])  # fmt: skip
def test_manifests_of_others_move_no_files_outside_the_folder(tmp_path: Path, manifest: str, text: str) -> None:
    root, key = tmp_path / "logs", tmp_path / "home" / "key"
    job(root, table(("t", 0, 0, None, b"v")))
    key.parent.mkdir()
    key.touch()
    (root / "link").symlink_to(key.parent)
    (root / manifest_name(2)).write_text(manifest)
    with pytest.raises(PipelineError, match=text):
        list(arrow_rows(root))
    assert key.exists()


def test_two_concurrent_writers(tmp_path: Path) -> None:
    """If two writes begin at the same offset, the later commit must be rejected and must not change anything."""
    root, first, staged = written(tmp_path)
    second = LogWriter(log_target({"path": str(root)}), overwrite=False)
    other = [second.write(iter(table(("t", 0, 3, None, b"w"))))]
    first.commit(staged)
    with pytest.raises(PipelineError, match="KAFKA_LOG_EXISTS"):
        second.commit(other)
    second.abort(other)
    assert offsets(root) == AFTER and not list(root.glob(".*"))


def test_task_that_finishes_after_the_commit(tmp_path: Path) -> None:
    root, writer, staged = written(tmp_path)
    writer.commit(staged)
    with pytest.raises(PipelineError, match="had finished before it started"):
        writer.write(iter(table(("t", 0, 9, None, b"v"))))
    assert offsets(root) == AFTER and not list(root.glob(".*"))


def test_readers_during_a_commit(tmp_path: Path) -> None:
    """Check that a reader waits while the folder is locked, and then sees either all of the next commit or nothing."""
    root, writer, staged = written(tmp_path)
    program = (
        "import sys; from tagwire_spark.log_read import query, splits;"
        "print('ready', flush=True); print(len(splits.plan(query.log_query({'path': sys.argv[1]}))))"
    )
    with commit._alone(LocalFolder(str(root))):
        reader = subprocess.Popen([sys.executable, "-c", program, str(root)], stdout=subprocess.PIPE, text=True)
        assert reader.stdout is not None and reader.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            reader.wait(0.3)
    writer.commit(staged)
    assert reader.stdout is not None and reader.stdout.readline() in ("1\n", "3\n")
    reader.wait(30)


@pytest.mark.parametrize("how", ["raise", "kill"])
def test_retried_tasks_write_their_rows_once(spark: "SparkSession", tmp_path: Path, how: str) -> None:
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

    register_source(spark, "kafka_log_dying", writer=DyingWriter)
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


class NoLocks:
    """A stand-in for `fcntl` on a file system without locks."""

    LOCK_SH = LOCK_EX = 0

    @staticmethod
    def flock(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")


@pytest.fixture(params=["flock fails", "flock holds nothing", "there is no flock"])
def no_locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {
        "flock fails": NoLocks,
        "flock holds nothing": SimpleNamespace(LOCK_SH=0, LOCK_EX=0, flock=lambda *_: None),
    }
    monkeypatch.setattr(local_commit, "file_locks", lambda: found.get(request.param))
    monkeypatch.setattr(commit, "_PATIENCE", 0.3)


@pytest.mark.usefixtures("no_locks")
@pytest.mark.parametrize("has_offsets", [True, False])
@pytest.mark.parametrize("dies", [False, True])
def test_commit_between_the_check_and_the_link_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: bool, has_offsets: bool
) -> None:
    """Commit a first write after a second write has checked the log, but before it links its manifest.

    The second write must be rejected if its rows have offsets. Otherwise, the rows must be appended.
    """
    root, first, staged = written(tmp_path)
    second = LogWriter(log_target({"path": str(root)}), overwrite=False)
    row = (
        table(("t", 0, 3, None, b"w"))
        if has_offsets
        else table(("t", b"w"), schema=columns("topic string, value binary"))
    )
    other = [second.write(iter(row))]

    def commit_first() -> None:
        with pytest.MonkeyPatch.context() as patch, suppress(Stop):
            if dies:
                dies_before_moves(patch)
            first.commit(staged)

    once(monkeypatch, _Commit, "_change", commit_first, after=True)
    if has_offsets:
        with pytest.raises(PipelineError, match="KAFKA_LOG_EXISTS"):
            second.commit(other)
        second.abort(other)
    else:
        second.commit(other)
    expected = AFTER if has_offsets else {**AFTER, "t-0": [0, 1, 2, 3, 4]}
    assert offsets(root) == expected and not list(root.glob(".*"))


@pytest.mark.usefixtures("no_locks")
def test_one_of_many_writers_without_locks_commits(tmp_path: Path) -> None:
    for number in range(10):
        root = tmp_path / str(number)
        job(root, table(("t", 0, 0, None, b"v")))
        writers = [LogWriter(log_target({"path": str(root)}), overwrite=False) for _ in range(3)]
        staged = [[each.write(iter(table(("t", 0, 1, None, b"%d" % n))))] for n, each in enumerate(writers)]
        rejected = at_once(*(partial(commit_or_abort, *each) for each in zip(writers, staged, strict=True)))
        assert rejected == ["KAFKA_LOG_EXISTS"] * 2 and offsets(root) == {"t-0": [0, 1]}


@pytest.mark.usefixtures("no_locks")
def test_read_interrupted_by_a_commit_lists_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, writer, staged = written(tmp_path)
    find, waiting = listing.partitions_of, [writer]

    def found(*arguments: Any) -> Iterator[Any]:
        for each in find(*arguments):
            yield each
            if waiting:
                waiting.pop().commit(staged)

    monkeypatch.setattr(splits, "partitions_of", found)
    assert read_offsets(root) == AFTER


def test_commit_that_can_not_be_undone(tmp_path: Path) -> None:
    """If all disk operations fail after the manifest is in place, the error must report the write as committed."""
    root, writer, staged = written(tmp_path)
    text = r"Input/output error\. The write is committed nevertheless\. .* finishes"
    with failing_steps(range(2, 1000)):
        with pytest.raises(PipelineError, match=text):
            writer.commit(staged)
        writer.abort([*staged])
    assert read_offsets(root) == AFTER and not list(root.glob(".*"))


@pytest.mark.parametrize("name", ["write_text", "hardlink_to"])
def test_error_names_the_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    schema = columns("topic string, offset long, value binary, partitionLeaderEpoch int")
    writer = LogWriter(log_target({"path": str(tmp_path)}), overwrite=False)
    staged = [writer.write(iter(table(("t", 1, b"v", 4), schema=schema)))]

    def full(path: Path, *_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, name, full)
        with pytest.raises(PipelineError, match=r"KAFKA_LOG_WRITE_FAILED.*be written: No space left on device\. SQL"):
            writer.commit(staged)
    writer.abort([*staged])
    assert not list(tmp_path.iterdir())


def test_job_is_abandoned_with_a_locked_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl", reason="there are no file locks on Windows")
    root, writer, staged = written(tmp_path)
    handle = os.open(root, os.O_RDONLY)
    removed: list[object] = []

    def remove(folder: LocalFolder, job: object) -> None:
        with pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        removed.append(job)

    monkeypatch.setattr(LocalFolder, "remove", remove)
    try:
        writer.abort([*staged])
    finally:
        os.close(handle)
    assert removed == [writer.job]


def test_next_write_removes_the_folder_of_a_dead_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, writer, staged = written(tmp_path)

    def die(path: Path, **named: Any) -> None:
        if path.exists() and writer.job.id in path.name:
            raise Stop
        rmtree(path, **named)

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", die)
        with pytest.raises(Stop):
            writer.commit(staged)
    assert read_offsets(root) == AFTER and list(root.glob(".*"))
    job(root, table(("t", 0, 4, None, b"v")))
    assert offsets(root) == {"t-0": [0, 1, 2, 3, 4], "u-0": [0]} and not list(root.glob(".*"))


def test_leftovers_that_vanish_during_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a committed write doesn't fail if files vanish while it searches for leftovers."""
    root, writer, staged = written(tmp_path)
    other = LogWriter(log_target({"path": str(root)}), overwrite=False)
    going = [other.write(iter(table(("u", 1, 0, None, b"v"))))]
    scandir, waiting = os.scandir, [other]

    def scanned(path: Any = ".") -> Any:
        if str(path).startswith(str(other.job.folder)) and waiting:
            waiting.pop().abort(going)
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", scanned)
        writer.commit(staged)
    assert not waiting and read_offsets(root) == AFTER and not list(root.glob(".*"))
