"""Commits to object storage while other processes read, write, carry out the same commit, or undo it."""

from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from bucket_writes import (
    APPENDED,
    BEFORE,
    WRITTEN_ANEW,
    Bucket,
    begun,
    every_step,
    failure,
    interrupted,
    requests,
    rows,
    values,
)
from object_storage import ConditionalFileSystem
from written_logs import at_once, commit_or_abort, once

from tagwire_spark import PipelineError
from tagwire_spark.files import commit
from tagwire_spark.files.commit_folder import DONE
from tagwire_spark.log_write import driver
from tagwire_spark.log_write.driver import LogWriter, Staged

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("has_offsets", [False, True])
@pytest.mark.parametrize("patience", [0.0, pytest.param(3.0, marks=pytest.mark.thorough)])
def test_concurrent_writers(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, has_offsets: bool, patience: float
) -> None:
    """Check concurrent writes. If rows have no offsets, all writes succeed; with equal offsets, only one succeeds."""
    monkeypatch.setattr(commit, "_PATIENCE", patience)
    for _ in range(4):
        url = bucket.new()
        bucket.write(url, rows("t", 0, b"a"))
        writers = [bucket.writer(url) for _ in range(3)]
        tasks = [rows("t", 1, b"%d" % n) if has_offsets else values(b"%d" % n) for n in range(3)]
        staged = [[writer.write(iter(task))] for writer, task in zip(writers, tasks, strict=True)]

        rejected = at_once(*(partial(commit_or_abort, *each) for each in zip(writers, staged, strict=True)))
        found = bucket.read(url)["t-0"]
        assert found[0] == b"a" and len(found) == 4 - len(rejected) and bucket.hidden(url) == []
        assert rejected == (["KAFKA_LOG_EXISTS"] * 2 if has_offsets else [])
        assert has_offsets or sorted(found[1:]) == [b"0", b"1", b"2"]


def test_commit_between_the_check_and_the_change_of_another(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    url, first, staged = begun(bucket)
    second = bucket.writer(url)
    other = [second.write(iter(values(b"x")))]
    once(monkeypatch, driver._Commit, "_change", lambda: first.commit(staged), after=True)
    second.commit(other)
    assert bucket.read(url) == {**APPENDED, "t-0": [b"a", b"b", b"d", b"x"]} and bucket.hidden(url) == []
    assert bucket.done(url)["number"] == 3


@pytest.mark.thorough
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("is_write", [False, True])
def test_another_process_carries_out_the_commit_at_each_request(
    bucket: Bucket, one_at_a_time: None, overwrite: bool, is_write: bool
) -> None:
    """Check that a commit succeeds if another process carries it out, and possibly writes something itself."""
    for step in every_step():
        url, writer, staged = begun(bucket, overwrite=overwrite)
        other = partial(bucket.write, url, rows("z", 0, b"z")) if is_write else None
        with interrupted(step, other or partial(commit.settle, writer.job.root, writer.job.storage)) as hits:
            writer.commit(staged)
        found = bucket.read(url)
        if found.pop("z-0", None) is None:
            assert overwrite or not (hits and is_write), step
        assert found == (WRITTEN_ANEW if overwrite else APPENDED), step
        assert bucket.hidden(url) == []
        if not hits:
            break


@pytest.mark.thorough
@pytest.mark.parametrize("overwrite", [False, True])
def test_another_process_undoes_the_commit_at_each_request(
    bucket: Bucket, one_at_a_time: None, overwrite: bool
) -> None:
    """Check that a write fails if another process, which can't copy an object, undoes its commit."""
    failures = set()
    for step in every_step():
        url, writer, staged = begun(bucket, overwrite=overwrite)

        def undoes(writer: LogWriter = writer) -> None:
            with requests(lambda _, sent: sent.startswith("copy")), suppress(PipelineError):
                commit.settle(writer.job.root, writer.job.storage)

        with interrupted(step, undoes) as hits:
            error = failure(writer, staged)
            if error:
                writer.abort([*staged])
        found = bucket.read(url)
        assert found == (BEFORE if error else WRITTEN_ANEW if overwrite else APPENDED), (step, error)
        assert bucket.hidden(url) == []
        bucket.write(url, rows("z", 0, b"z"))
        assert bucket.read(url) == {**found, "z-0": [b"z"]}
        failures.add(error.replace(url, ""))
        if not hits:
            break
    text = "can't be written: another process could not put all files of this write in place, so it undid the write;"
    assert len(failures) > 1 and all(text in each for each in failures - {""}), failures


@pytest.mark.thorough
def test_another_driver_dies_after_its_decision_at_each_request(bucket: Bucket, one_at_a_time: None) -> None:
    """Check that a writer finishes the overwrite of a driver that dies while this writer commits."""
    for step in every_step():
        url, writer, staged = begun(bucket, overwrite=True)
        second = bucket.writer(url)
        other = [second.write(iter(rows("z", 0, b"z")))]

        decided: list[bool] = []

        def dies(
            url: str = url, writer: LogWriter = writer, staged: list[Staged] = staged, decided: list[bool] = decided
        ) -> None:
            sent = ConditionalFileSystem.requests
            with (
                requests(lambda *_: any(each.startswith("put") and each.endswith(DONE) for each in sent[:-1])),
                suppress(PipelineError),
            ):
                writer.commit(staged)
            decided.append(bucket.done(url)["job"] == writer.job.id)

        with interrupted(step, dies) as hits:
            second.commit(other)
        found = bucket.read(url)
        if found.pop("z-0", None) is None:
            assert hits, step
        assert found == WRITTEN_ANEW or (found == BEFORE and decided != [True]), step
        assert not [name for name in bucket.hidden(url) if name.endswith(".json")], step
        if not hits:
            break


def test_reads_between_any_two_requests_of_a_commit(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    for overwrite in (False, True):
        url, writer, staged = begun(bucket, overwrite=overwrite)
        seen: list[dict[str, list[bytes]]] = []
        done = WRITTEN_ANEW if overwrite else APPENDED

        def reads(_: int, sent: str, url: str = url, seen: Any = seen, done: Any = done) -> bool:
            if sent.startswith(("put", "copy", "delete")):
                saved = [*ConditionalFileSystem.fails]
                ConditionalFileSystem.fails.clear()
                try:
                    seen.append(bucket.read(url))
                    part = bucket.read(f"{url}/t-0")
                    assert part["t-0"] in (BEFORE["t-0"], done["t-0"])
                finally:
                    ConditionalFileSystem.fails.extend(saved)
            return False

        with requests(reads):
            writer.commit(staged)
        assert all(each in (BEFORE, done) for each in seen) and BEFORE in seen and done in seen


def test_listing_interrupted_by_a_commit_is_repeated(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    url, writer, staged = begun(bucket)
    find, waiting = ConditionalFileSystem.find, [writer]

    def found(self: Any, path: str, **named: Any) -> Any:
        first = find(self, path, **named)
        if waiting:
            waiting.pop().commit(staged)
            return {
                name: facts for name, facts in {**find(self, path, **named), **first}.items() if "/w-0/" not in name
            }
        return first

    monkeypatch.setattr(ConditionalFileSystem, "find", found)
    assert bucket.read(url) == APPENDED
