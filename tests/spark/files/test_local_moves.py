import errno
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from local_writes import AFTER, BEFORE, begun, is_clean
from written_logs import Stop, by_partition, columns, failing_steps, files, job, table

from tagwire_spark import PipelineError
from tagwire_spark.files import local_moves
from tagwire_spark.files.commit_folder import manifest_name
from tagwire_spark.files.local_commit import LocalFolder
from tagwire_spark.log_write.driver import LogWriter, Staged
from tagwire_spark.log_write.target import log_target

pytestmark = pytest.mark.spark

WITH_EPOCHS = columns("topic string, offset long, value binary, partitionLeaderEpoch int")


def staged_in_three_partitions(root: Path, *, overwrite: bool) -> tuple[LogWriter, list[Staged]]:
    """Write partitions t-0 and u-0. Then begin a write to t-0, u-0 and w-0 that replaces the epoch checkpoints."""
    job(root, table(("t", 0, b"old", 0), ("u", 0, b"old", 0), schema=WITH_EPOCHS))
    writer = LogWriter(log_target({"path": str(root)}), overwrite=overwrite)
    tasks = [table((name, 1, b"new", 4), schema=WITH_EPOCHS) for name in ("t", "u", "w")]
    return writer, [writer.write(iter(each)) for each in tasks]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(("block", "text"), [
    (lambda root: (root / "w-0").write_text("a file"), "w-0 can't be written: expected a folder, got a file"),
    (lambda root: (root / "w-0" / f"{1:020}.log").mkdir(parents=True), "written: expected a file, got a folder"),
    (lambda root: rmtree(next(root.glob(".tagwire-*"))), "No such file"),
])  # fmt: skip
def test_files_that_can_not_be_moved_are_found_before_the_commit(
    tmp_path: Path, block: Any, text: str, overwrite: bool
) -> None:
    writer, staged = staged_in_three_partitions(tmp_path, overwrite=overwrite)
    before = by_partition(tmp_path)
    block(tmp_path)
    with pytest.raises(PipelineError, match=f"KAFKA_LOG_WRITE_FAILED.*{text}"):
        writer.commit(staged)
    writer.abort([*staged])
    assert is_clean(tmp_path) and by_partition(tmp_path) == before


def seen_files(root: Path) -> dict[str, bytes]:
    return {name: data for name, data in files(root).items() if not name.startswith(".")}


@pytest.mark.parametrize("overwrite", [False, True])
def test_commit_that_fails_at_any_step_is_undone(tmp_path: Path, overwrite: bool) -> None:
    """If a disk operation fails after the manifest exists, the commit must be undone or carried out completely."""
    for steps in range(60):
        root = tmp_path / str(steps)
        writer, staged = staged_in_three_partitions(root, overwrite=overwrite)
        before = seen_files(root)
        with failing_steps([steps + 1]):
            try:
                writer.commit(staged)
            except PipelineError as error:
                assert "Input/output error" in str(error)
            else:
                break
        writer.abort([*staged])
        assert by_partition(root) == {"t-0": [b"old"], "u-0": [b"old"]}
        assert seen_files(root) == before and is_clean(root, manifest_name(2))  # keeps other writers from this number
        job(root, table(("t", 1, b"again", 4), schema=WITH_EPOCHS))
    else:
        pytest.fail("a commit never came to its end")
    assert steps >= 9
    old, checkpoint = ([], "0\n1\n4 1\n") if overwrite else ([b"old"], "0\n2\n0 0\n4 1\n")
    assert by_partition(root) == {"t-0": [*old, b"new"], "u-0": [*old, b"new"], "w-0": [b"new"]}
    assert (root / "t-0" / "leader-epoch-checkpoint").read_text() == checkpoint


@pytest.mark.usefixtures("neither_locks_nor_patience")
def test_two_failures_while_a_commit_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a writer can't find out whether its commit was undone, the error must say that the rows may still appear."""
    writer, messages = begun(tmp_path)
    failed = list[Path]()

    def fails(path: Path, *_: Any) -> None:
        failed.append(path)
        raise OSError(errno.EIO, "Input/output error", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(local_moves, "_rename", fails)
        patch.setattr(local_moves, "is_undone", fails)
        with pytest.raises(PipelineError, match=r"Input/output error.*check whether they exist"):
            writer.commit(messages)
    assert len(failed) == 2 and by_partition(tmp_path) == AFTER and is_clean(tmp_path)


@pytest.mark.usefixtures("neither_locks_nor_patience")
def test_process_dies_while_undoing_a_commit(tmp_path: Path) -> None:
    """If a process dies while it rolls back a commit, the next reader must complete the rollback without an error."""
    writer, messages = begun(tmp_path)
    with failing_steps([3]), failing_steps([5], error=Stop), pytest.raises(Stop):
        writer.commit(messages)
    assert LocalFolder(str(tmp_path)).pending() == [2]
    assert by_partition(tmp_path) == BEFORE and LocalFolder(str(tmp_path)).pending() == []


@pytest.mark.usefixtures("neither_locks_nor_patience")
def test_files_that_stay_where_they_were_moved_to_are_moved_back_later(tmp_path: Path) -> None:
    writer, messages = begun(tmp_path)
    text = r"Input/output error\. The write is not committed, but .* removes them"
    with failing_steps([3, 5]), pytest.raises(PipelineError, match=text):
        writer.commit(messages)
    writer.abort(messages)
    assert by_partition(tmp_path) == BEFORE and LocalFolder(str(tmp_path)).pending() == []
