import time
from collections.abc import Iterator
from pathlib import Path
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
    from_request,
    moves,
    only_request,
    requests,
    rows,
    values,
    with_epoch,
)
from written_logs import job

from tagwire_spark import PipelineError
from tagwire_spark.files.commit import leftovers
from tagwire_spark.files.commit_folder import DONE
from tagwire_spark.log_write.driver import LogWriter
from tagwire_spark.log_write.target import log_target

pytestmark = pytest.mark.spark


def test_appends_and_overwrites_are_read_back(bucket: Bucket) -> None:
    url = bucket.new()
    bucket.write(url, rows("t", 0, b"a", b"b"), rows("u", 0, b"c"))
    bucket.write(url + "/", values(b"d"), values(b"e", b"f"))
    assert bucket.read(url) == {"t-0": [b"a", b"b", b"d", b"e", b"f"], "u-0": [b"c"]}
    assert bucket.read(f"{url}/t-0") == bucket.read(f"{url}/t-*") == {"t-0": [b"a", b"b", b"d", b"e", b"f"]}
    assert bucket.hidden(url) == []
    bucket.write(url, rows("t", 7, b"g"), overwrite=True, partitionOverwriteMode="dynamic")
    assert bucket.read(url) == {"t-0": [b"g"], "u-0": [b"c"]}
    bucket.write(url, rows("v", 0, b"h"), overwrite=True)
    assert bucket.names(url) == [DONE, *(f"v-0/{0:020}.{kind}" for kind in ("index", "log", "timeindex"))]
    with pytest.raises(PipelineError, match=rf"KAFKA_LOG_EXISTS.*{url}/v-0 already exists"):
        bucket.write(url, values(b"x", topic="v"), ifExists="error")
    with pytest.raises(PipelineError, match=rf"KAFKA_LOG_EXISTS.*{url}/v-0 ends with offset 0"):
        bucket.write(url, rows("v", 0, b"x"))
    assert bucket.read(url) == {"v-0": [b"h"]} and bucket.hidden(url) == []


def test_segments_are_bytes_as_on_a_disk(bucket: Bucket, tmp_path: Any) -> None:
    url, tasks = bucket.new(), [with_epoch(n, b"v" * 40, n // 2) for n in range(6)]
    for each in tasks:
        for root in (str(tmp_path), url):
            options = bucket.options if root == url else {}
            job(root, each, **options)  # type: ignore[arg-type]
    on_disk = {p.relative_to(tmp_path).as_posix(): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    found = bucket.visible(url)
    assert {**found, DONE: b""} == {**on_disk, DONE: b""}
    assert found["t-0/leader-epoch-checkpoint"] == b"0\n3\n0 0\n1 2\n2 4\n"


def test_a_worker_keeps_no_segment_that_is_full(bucket: Bucket, scratch: Path) -> None:
    url, most = bucket.new(), 0

    def batches() -> Iterator[Any]:
        nonlocal most
        for n in range(40):
            most = max(most, sum(p.stat().st_size for p in scratch.rglob("*.log")))
            yield from rows("t", n, b"v" * 200_000)

    writer = LogWriter(
        log_target({"path": url, "segmentBytes": "800000", "batchRecords": "1", **bucket.options}), overwrite=False
    )
    writer.commit([writer.write(batches())])
    assert len(bucket.read(url)["t-0"]) == 40 and 0 < most <= 1_600_000
    assert len([name for name in bucket.names(url) if name.endswith(".log")]) > 10


def test_no_secret_is_written(bucket: Bucket) -> None:
    url = bucket.new()
    bucket.write(url, values(b"a"))
    assert all(b"very-hidden" not in data and b"testing-id" not in data for data in bucket.visible(url).values())
    assert "very-hidden" not in repr(bucket.writer(url).__dict__)


@pytest.mark.thorough
@pytest.mark.parametrize("overwrite", [False, True])
def test_driver_dies_before_each_request(bucket: Bucket, overwrite: bool) -> None:
    """Check that the next process, alternately a reader and a writer, finds the whole commit or nothing."""
    after, outcomes = WRITTEN_ANEW if overwrite else APPENDED, []
    for step in every_step():
        url, writer, staged = begun(bucket, overwrite=overwrite)
        with requests(from_request(step)) as sent:
            error = failure(writer, staged)
            total = len(sent)
        assert not error or ("the connection is lost" in error and url in error)
        is_write = (step + overwrite) % 2 == 1
        if is_write:
            bucket.write(url, rows("z", 0, b"z"))
            found = bucket.read(url)
            assert found.pop("z-0") == [b"z"]
        else:
            found = bucket.read(url)
        assert found in (BEFORE, after) and (found == after or error), step
        assert bucket.read(url) in ([{**found, "z-0": [b"z"]}] if is_write else [found])
        names = [name for name in bucket.names(url) if name.endswith(".json")]
        assert names == [], step
        outcomes.append(found == BEFORE)
        if total <= step:
            break
    assert outcomes == sorted(outcomes, reverse=True) and {*outcomes} == {True, False}


@pytest.mark.thorough
@pytest.mark.parametrize("overwrite", [False, True])
def test_failed_requests(bucket: Bucket, overwrite: bool) -> None:
    """Fail each request in turn: the commit must succeed, be undone, or be reported as unfinished."""
    after, messages = WRITTEN_ANEW if overwrite else APPENDED, set()
    for step in every_step():
        url, writer, staged = begun(bucket, overwrite=overwrite)
        before = bucket.visible(url)
        with requests(only_request(step)) as sent:
            error = failure(writer, staged)
            total = len(sent)
        writer.abort([*staged])
        found = bucket.read(url)
        if not error:
            assert found == after, step
        elif "the write is committed" not in error:
            assert found == BEFORE and bucket.hidden(url) == [], (step, error)
            now = bucket.visible(url)
            assert {**now, DONE: b""} == {**before, DONE: b""}, step
            bucket.write(url, rows("w", 0, b"again"))
            assert bucket.read(url) == {**BEFORE, "w-0": [b"again"]}
        else:
            assert found in (BEFORE, after)
        messages.add("" if not error else "the write is committed" in error)
        if total <= step:
            break
    assert messages == {"", True, False}


def test_decided_overwrite_is_finished_by_the_next_process(bucket: Bucket) -> None:
    """Check that the next reader finishes an overwrite that is committed, but has not deleted the old objects yet."""
    url, writer, staged = begun(bucket, overwrite=True)
    with (
        requests(lambda _, kind: kind.startswith("delete ")),
        pytest.raises(PipelineError, match="the write is committed"),
    ):
        writer.commit(staged)
    assert any(name.startswith("u-0/") for name in bucket.names(url)) and bucket.done(url)["number"] == 2
    assert bucket.read(url) == WRITTEN_ANEW
    assert not any(name.startswith("u-0/") for name in bucket.names(url)) and bucket.hidden(url) == []


def test_lost_staged_objects(bucket: Bucket) -> None:
    """Delete staged objects: the commit must be rejected or, if its manifest is already written, undone."""
    url, writer, staged = begun(bucket)
    lost = staged[1].segments[0].files[-1]
    bucket.system.rm_file(f"{url}/{lost}")
    with pytest.raises(PipelineError, match=rf"KAFKA_LOG_WRITE_FAILED.*{lost}.*was deleted after"):
        writer.commit(staged)
    writer.abort([*staged])
    assert bucket.read(url) == BEFORE and bucket.hidden(url) == []
    url, writer, staged = begun(bucket)
    with requests(moves), pytest.raises(PipelineError, match="the connection is lost"):
        writer.commit(staged)
    bucket.system.rm_file(f"{url}/{staged[1].segments[0].files[-1]}")
    assert bucket.read(url) == BEFORE and bucket.hidden(url) == []
    assert [number for number, _ in bucket.done(url)["undone"]] == [2]
    bucket.write(url, rows("w", 0, b"f"))
    assert bucket.read(url) == {**BEFORE, "w-0": [b"f"]} and bucket.done(url)["number"] == 3


def test_rows_of_dead_and_late_attempts(bucket: Bucket) -> None:
    """Check that rows of dead and late attempts never appear."""
    url, writer, staged = begun(bucket)
    writer.write(iter(rows("t", 2, b"twice")))
    late = bucket.writer(url)
    late.job = writer.job

    def slow() -> Iterator[Any]:
        yield from rows("t", 2, b"late")
        writer.commit(staged)

    with pytest.raises(PipelineError, match="had finished before it started"):
        late.write(slow())
    assert bucket.read(url) == APPENDED and len(bucket.hidden(url)) == 1  # left by the late attempt
    with pytest.raises(PipelineError, match="had finished before it started"):
        writer.write(iter(rows("t", 3, b"x")))


def test_old_leftovers_are_listed_and_removed(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    url, writer, _ = begun(bucket)
    storage = writer.target.storage
    [left] = leftovers(url, storage)
    assert left.path == f"{url}/{writer.job.name}" and left.files == len(bucket.hidden(url)) > 2 and left.bytes > 100
    now = time.time()
    assert abs(left.last_written - now) < 600
    bucket.write(url, rows("v", 0, b"f"))
    assert leftovers(url, storage) == [left]
    monkeypatch.setattr(time, "time", lambda: now + 3600 * 169)
    bucket.write(url, rows("v", 1, b"g"))
    assert leftovers(url, storage) == [] == bucket.hidden(url)


def test_a_job_that_fails_leaves_nothing(bucket: Bucket) -> None:
    url, writer, staged = begun(bucket)
    with pytest.raises(PipelineError, match="KAFKA_LOG_ROWS_NOT_IN_ORDER"):
        writer.write(iter([*rows("t", 5, b"x"), *rows("t", 4, b"y")]))
    writer.abort([*staged, None])
    assert bucket.read(url) == BEFORE and bucket.hidden(url) == []


def test_users_without_write_permission(bucket: Bucket) -> None:
    """For users without write permission, a write must fail at once, and a read must report an unfinished commit."""

    def denied(_: int, sent: str) -> bool:
        if sent.startswith(("put", "copy", "delete")):
            raise PermissionError("Access Denied with very-hidden")
        return False

    url, writer, staged = begun(bucket)
    with requests(denied), pytest.raises(PipelineError, match=rf"WRITE_FAILED.*{url} can't be written: Access Denied"):
        bucket.writer(url)
    with requests(moves), pytest.raises(PipelineError, match="the write is committed"):
        writer.commit(staged)
    with (
        requests(denied),
        pytest.raises(PipelineError, match=rf"{url}: the write is committed.*Access Denied") as rejected,
    ):
        bucket.read(url)
    assert "very-hidden" not in str(rejected.value)
    assert bucket.read(url) == APPENDED and bucket.hidden(url) == []
