import errno
import os
import random
import shutil
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")

from local_writes import AFTER, BEFORE, COLUMNS, begun, is_clean, staged
from written_logs import at_once, by_partition, failing_steps, job, once, table

from tagwire_spark import PipelineError
from tagwire_spark.files import commit, local_commit, local_moves
from tagwire_spark.files.commit_folder import manifest_name
from tagwire_spark.files.local_commit import LocalFolder
from tagwire_spark.files.store import NO_OPTIONS
from tagwire_spark.log_write import existing_log
from tagwire_spark.log_write.driver import _Commit

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("neither_locks_nor_patience")]


def carried_out_by_another(root: Path) -> None:
    LocalFolder(str(root)).carry_out(2, is_own=False)


def test_slow_writer_takes_the_number_of_a_finished_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a slow job's manifest has the number of a commit that is already finished, processes must ignore it."""
    writer, messages = begun(tmp_path)
    second, its_messages = staged(tmp_path, b"late")
    draft = second.job.folder / "manifest-late.json"
    draft.write_text('{"number": 2, "job": "late", "moves": [], "removes": [], "draft": ".tagwire-late.writing/none"}')
    name = tmp_path / manifest_name(2)
    ended = threading.Event()

    def finish_and_link() -> None:
        LocalFolder(str(tmp_path)).carry_out(2, is_own=False)
        name.hardlink_to(draft)
        ended.set()

    def another() -> None:
        once(monkeypatch, local_moves, "move", finish_and_link)
        carried_out_by_another(tmp_path)

    once(monkeypatch, local_moves, "move", another)
    writer.commit(messages)
    assert ended.is_set() and name.exists() and by_partition(tmp_path) == AFTER
    carried_out_by_another(tmp_path)  # must change nothing
    name.unlink()
    second.abort(its_messages)
    assert by_partition(tmp_path) == AFTER and is_clean(tmp_path)


def test_files_that_another_writer_removes_while_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, messages = begun(tmp_path)
    other, its_messages = staged(tmp_path, b"other", "u", overwrite=True)
    once(monkeypatch, existing_log, "end_of", lambda: other.commit(its_messages))
    writer.commit(messages)
    assert by_partition(tmp_path) == {"t-0": [b"new"], "u-0": [b"other", b"new"]} and is_clean(tmp_path)


def test_unreadable_number_of_the_last_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a writer can't check whether its number has been used, it must not report success."""
    writer, messages = begun(tmp_path)
    other, its_messages = staged(tmp_path, b"other", "t")
    link, read_bytes, fails = LocalFolder._link, Path.read_bytes, list[Path]()

    def late(self: LocalFolder, file: Path, name: Path) -> None:
        monkeypatch.setattr(LocalFolder, "_link", link)
        other.commit(its_messages)
        link(self, file, name)
        fails.append(tmp_path / "_SUCCESS")

    def failing(path: Path) -> bytes:
        if path in fails:
            fails.remove(path)
            raise OSError(errno.EIO, "Input/output error", str(path))
        return read_bytes(path)

    monkeypatch.setattr(LocalFolder, "_link", late)
    monkeypatch.setattr(Path, "read_bytes", failing)
    with pytest.raises(PipelineError, match=r"Input/output error.*check whether they exist"):
        writer.commit(messages)
    writer.abort(messages)
    assert by_partition(tmp_path) == {"t-0": [b"old", b"other"]}


def test_commit_finished_by_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a commit succeeds if another process finishes it before the writer reads `_SUCCESS`."""
    writer, messages = begun(tmp_path)
    once(monkeypatch, LocalFolder, "_is_done", lambda: carried_out_by_another(tmp_path))
    writer.commit(messages)
    assert by_partition(tmp_path) == AFTER and is_clean(tmp_path)


@pytest.mark.parametrize("is_followed", [False, True], ids=["last commit", "another follows"])
@pytest.mark.parametrize("function", ["move", "_rename", "_folders"])
def test_commit_undone_by_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, is_followed: bool
) -> None:
    """Check that a writer fails if another process rolls back its commit, before or after its files were moved."""
    writer, messages = begun(tmp_path)
    other, its_messages = staged(tmp_path, b"other", "t")

    def undo() -> None:
        with failing_steps([1]), pytest.raises(OSError, match="Input/output"):
            carried_out_by_another(tmp_path)
        if is_followed:
            other.commit(its_messages)

    once(monkeypatch, local_moves, function, undo)
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_WRITE_FAILED.*another process could not put all files"):
        writer.commit(messages)
    writer.abort(messages)
    if not is_followed:
        other.abort(its_messages)
    assert by_partition(tmp_path) == ({"t-0": [b"old", b"other"]} if is_followed else BEFORE)
    assert is_clean(tmp_path, *([] if is_followed else [manifest_name(2)]))


def test_slow_process_does_not_remove_the_new_files_of_an_overwrite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If others carry out an overwrite, a process that is still removing old files must not remove the new ones."""
    writer, messages = begun(tmp_path, overwrite=True)
    once(monkeypatch, local_moves, "_rename", lambda: carried_out_by_another(tmp_path))
    writer.commit(messages)
    assert by_partition(tmp_path) == {"t-0": [b"new"], "u-0": [b"new"]} and is_clean(tmp_path)


def test_slow_process_removes_the_empty_folder_of_a_new_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the end of an earlier commit, a slow process removes empty folders. This must not make a commit fail."""
    writer, messages = begun(tmp_path, topics="u")
    once(monkeypatch, local_moves, "_rename", (tmp_path / "u-0").rmdir)
    writer.commit(messages)
    assert by_partition(tmp_path) == {**BEFORE, "u-0": [b"new"]} and is_clean(tmp_path)


def test_slow_process_does_not_carry_out_an_overwrite_whose_folder_is_being_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one process removes the folder of a finished overwrite, a slow process must not remove its new files."""
    writer, messages = begun(tmp_path, overwrite=True)
    rmtree, take_over, deleted = shutil.rmtree, local_moves._take_over, list[Path]()

    def slow(staging: Path) -> Path | None:
        monkeypatch.setattr(local_moves, "_take_over", take_over)
        monkeypatch.setattr(shutil, "rmtree", in_part)
        carried_out_by_another(tmp_path)
        monkeypatch.setattr(shutil, "rmtree", rmtree)
        return take_over(staging)

    def in_part(folder: Path, ignore_errors: bool) -> None:
        for path in folder.rglob("removed/*/*"):
            path.unlink()
            deleted.append(path)

    monkeypatch.setattr(local_moves, "_take_over", slow)
    writer.commit(messages)
    assert deleted and by_partition(tmp_path) == {"t-0": [b"new"], "u-0": [b"new"]}


def test_slow_process_does_not_undo_a_later_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If others undo a commit and make another, a process that is still undoing the first must leave their files."""
    writer, messages = begun(tmp_path)
    other, its_messages = staged(tmp_path, b"other", "t")
    rename, steps = local_moves._rename, ["fail", "wait"]

    def slow(source: Path, target: Path) -> None:
        if target.parent.name == "u-0" and "fail" in steps:
            steps.remove("fail")
            raise OSError(errno.EIO, "Input/output error", str(target))
        if (source.parent.name, source.suffix, steps) == ("t-0", ".log", ["wait"]):
            steps.remove("wait")
            carried_out_by_another(tmp_path)
            other.commit(its_messages)
        rename(source, target)

    monkeypatch.setattr(local_moves, "_rename", slow)
    with pytest.raises(PipelineError, match="Input/output error"):
        writer.commit(messages)
    writer.abort(messages)
    assert not steps and by_partition(tmp_path) == {"t-0": [b"old", b"other"]} and is_clean(tmp_path)


def failing_overwrite(root: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]) -> None:
    """Overwrite a log. Call `meanwhile` after the old file is moved away, then fail, so that the file is moved back."""
    writer, messages = staged(root, overwrite=True)
    rename, failed = local_moves._rename, list[Path]()

    def fails(source: Path, target: Path) -> None:
        if target.parent.name == "t-0" and not failed:
            failed.append(target)
            meanwhile()
            raise OSError(errno.EIO, "Input/output error", str(target))
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(local_moves, "_rename", fails)
        with pytest.raises(PipelineError, match="Input/output error"):
            writer.commit(messages)
    writer.abort(messages)


def test_writer_that_lists_the_files_during_an_overwrite_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that saw no old files must not get the number of the undone overwrite, or it would replace the files."""
    writer, messages = begun(tmp_path, b"late", "t")
    change, plans = _Commit._change, list[Any]()

    def outdated(self: _Commit, notes: Any) -> Any:
        if plans:
            return change(self, notes)
        monkeypatch.setattr(_Commit, "_change", change)
        failing_overwrite(tmp_path, monkeypatch, lambda: plans.append(change(self, notes)))
        return plans[0]

    monkeypatch.setattr(_Commit, "_change", outdated)
    writer.commit(messages)
    assert plans and by_partition(tmp_path) == {"t-0": [b"old", b"late"]} and is_clean(tmp_path)


def test_reader_that_lists_the_files_during_an_overwrite_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job(tmp_path, table(("t", 0, b"old"), schema=COLUMNS))
    number = commit.settled_number(str(tmp_path), NO_OPTIONS)
    with pytest.raises(PipelineError, match="KAFKA_LOG_CHANGED"), commit.settled(tmp_path):
        failing_overwrite(tmp_path, monkeypatch, lambda: None)
    with (
        pytest.raises(PipelineError, match="KAFKA_LOG_CHANGED"),
        commit.unchanged_since(str(tmp_path), number, NO_OPTIONS),
    ):
        pass
    with commit.unchanged_since(str(tmp_path), commit.settled_number(str(tmp_path), NO_OPTIONS), NO_OPTIONS):
        assert by_partition(tmp_path) == {"t-0": [b"old"]}


def test_segment_is_not_renumbered_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If an edited segment can't be flushed, and another write is committed meanwhile, the write must fail."""
    other, its_messages = begun(tmp_path, b"other", "t")
    writer, messages = staged(tmp_path, b"new", "t")
    job(tmp_path, table(("t", 0, b"second"), schema=COLUMNS))  # now the offsets of both writers have to change

    def fails() -> None:
        other.commit(its_messages)
        raise OSError(errno.EIO, "Input/output error")

    once(monkeypatch, local_commit, "on_disk", fails)
    with pytest.raises(PipelineError, match="Input/output error"):
        writer.commit(messages)
    writer.abort(messages)
    assert by_partition(tmp_path) == {"t-0": [b"old", b"second", b"other"]}


@pytest.mark.parametrize("name", ["pending", "done"])
def test_folder_that_can_not_be_read_during_a_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    writer, messages = begun(tmp_path)

    def fails(self: LocalFolder) -> None:
        raise OSError(errno.EIO, "Input/output error", str(self.path))

    with monkeypatch.context() as patch:
        patch.setattr(LocalFolder, name, fails)
        with pytest.raises(PipelineError, match=r"KAFKA_LOG_WRITE_FAILED.*Input/output error"):
            writer.commit(messages)
        if name == "pending":
            with pytest.raises(PipelineError, match=r"KAFKA_LOG_WRITE_FAILED.*Input/output error"):
                writer.abort(messages)
    writer.abort(messages)
    assert by_partition(tmp_path) == BEFORE and is_clean(tmp_path)


@pytest.mark.parametrize("number", [errno.EEXIST, errno.EIO], ids=["tried again", "given up"])
def test_link_whose_reply_was_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Check that a commit succeeds if its link was created, but an error is reported because the reply was lost."""
    writer, messages = begun(tmp_path)
    link = Path.hardlink_to

    def linked(self: Path, target: Path) -> None:
        link(self, target)
        if self.suffix == ".json":
            raise OSError(number, os.strerror(number), str(self))

    monkeypatch.setattr(Path, "hardlink_to", linked)
    writer.commit(messages)
    assert by_partition(tmp_path) == AFTER and is_clean(tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(40))
def test_three_writers_on_an_unreliable_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Despite disk errors, a write that reports success must be complete, and a write that fails must leave no rows."""
    job(tmp_path, table(("t", 0, b"old"), schema=COLUMNS))
    writers = [staged(tmp_path, b"%d" % number, "tuv") for number in range(3)]
    outcomes, replace, chance = dict[bytes, str](), Path.replace, random.Random(seed)

    def failing(path: Path, target: Any) -> Any:
        if chance.random() < 0.05:
            raise OSError(errno.EIO, "Input/output error", str(path))
        return replace(path, target)

    def commits(number: int) -> None:
        writer, messages = writers[number]
        try:
            writer.commit(messages)
            outcomes[b"%d" % number] = "is committed"
        except PipelineError as error:
            outcomes[b"%d" % number] = error.text
            writer.abort(messages)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", failing)
        at_once(*(partial(commits, number) for number in range(3)))
    found = by_partition(tmp_path)
    there = {*found["t-0"]} - {b"old"}
    assert len(outcomes) == 3 and len(found["t-0"]) == len(there) + 1
    assert found["t-0"] == [b"old", *found.get("u-0", ())]
    assert found.get("u-0") == found.get("v-0")
    for value, text in outcomes.items():
        assert (value in there) == ("is committed" in text) or "committed nevertheless" in text, (value, text)
