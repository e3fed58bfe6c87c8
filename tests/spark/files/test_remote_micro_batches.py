from contextlib import suppress
from typing import Any

import pytest
from bucket_writes import Bucket, every_step, failure, from_request, interrupted, moves, requests, values
from object_storage import ConditionalFileSystem
from written_logs import run_micro_batch, staged_in_run

from tagwire_spark import PipelineError
from tagwire_spark.log_write.driver import LogStreamWriter, Staged
from tagwire_spark.log_write.micro_batch import MicroBatch

pytestmark = pytest.mark.spark


def run(bucket: Bucket, monkeypatch: pytest.MonkeyPatch, url: str, query: str, number: int, *tasks: list[Any]) -> None:
    run_micro_batch(monkeypatch, url, query, number, *tasks, **bucket.options)


def two_runs(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> tuple[str, list[tuple[LogStreamWriter, list[Staged]]]]:
    """Write a row of batch 1 in two runs of query q, but don't commit it. Return the log's URL and both writes."""
    url, runs = bucket.new(), (MicroBatch("q", 1, run) for run in ("r1", "r2"))
    bucket.write(url, values(b"0"))
    return url, [staged_in_run(monkeypatch, url, each, values(b"1"), **bucket.options) for each in runs]


def test_repeated_micro_batch(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    url = bucket.new()
    run(bucket, monkeypatch, url, "q", 0, values(b"0", b"1"), values(b"2"))
    run(bucket, monkeypatch, url, "q", 1, values(b"3"), values())
    before = bucket.visible(url)
    for number, tasks in ((1, [values(b"3")]), (1, [values(b"7")]), (0, [values()]), (0, [values(b"9")])):
        run(bucket, monkeypatch, url, "q", number, *tasks)
        assert bucket.visible(url) == before and bucket.hidden(url) == []
    run(bucket, monkeypatch, url, "other", 0, values(b"4"))
    bucket.write(url, values(b"5"), batchId="7", queryId="mine")
    bucket.write(url, values(b"5"), batchId="7", queryId="mine")
    run(bucket, monkeypatch, url, "q", 1, values(b"6"))
    assert bucket.read(url) == {"t-0": [b"%d" % n for n in range(6)]} and bucket.hidden(url) == []


@pytest.mark.thorough
def test_stream_driver_dies_before_each_request(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill the driver before each request. The repeated batch and the next batch must each be written once."""
    for step in every_step():
        url = bucket.new()
        run(bucket, monkeypatch, url, "q", 0, values(b"0"))
        with requests(from_request(step)) as sent:
            try:
                run(bucket, monkeypatch, url, "q", 1, values(b"1"), values(b"2", b"3"))
            except PipelineError as error:
                assert "very-hidden" not in str(error)
            total = len(sent)
        for _ in range(2):
            run(bucket, monkeypatch, url, "q", 1, values(b"1"), values(b"2", b"3"))
        run(bucket, monkeypatch, url, "q", 2, values(b"4"))
        assert bucket.read(url) == {"t-0": [b"%d" % n for n in range(5)]} and bucket.hidden(url) == [], step
        if total <= step:
            break


@pytest.mark.thorough
def test_another_run_of_a_micro_batch_is_undone_at_each_request(
    bucket: Bucket, one_at_a_time: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that a run of a micro-batch does not delete rows that were written after another run was undone."""
    for step in every_step():
        url, [(one, staged), (other, of_other)] = two_runs(bucket, monkeypatch)

        def undone(url: str = url, other: LogStreamWriter = other, of_other: list[Staged] = of_other) -> None:
            with requests(lambda _, sent: sent.startswith("copy")), suppress(PipelineError):
                other.commit(of_other, 1)
            bucket.write(url, values(b"2"))

        with interrupted(step, undone) as hits:
            error = failure(one, staged, 1)
        found = bucket.read(url)["t-0"]
        expected = [b"0", *([] if error else [b"1"]), *([b"2"] if hits else [])]
        assert sorted(found) == expected and len(found) == len({*found}), (step, error)
        if not hits:
            break


def test_run_of_a_micro_batch_is_committed_at_each_request_of_an_abort(
    bucket: Bucket, one_at_a_time: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that an abort keeps the files of another run whose driver dies before it has copied them."""
    for step in every_step():
        url, [(one, staged), (other, of_other)] = two_runs(bucket, monkeypatch)

        def committed(one: LogStreamWriter = one, staged: list[Staged] = staged) -> None:
            with requests(moves), pytest.raises(PipelineError, match="the write is committed"):
                one.commit(staged, 1)

        with interrupted(step, committed) as hits:
            other.abort(of_other, 1)
        assert bucket.read(url) == {"t-0": [b"0", b"1"] if hits else [b"0"]}, step
        if not hits:
            break


def test_failed_cleanup_after_a_micro_batch(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """A micro-batch that is committed must not fail if the leftovers of earlier ones can't be listed."""
    url = bucket.new()
    run(bucket, monkeypatch, url, "q", 0, values(b"0"))

    def fails(_: int, sent: str) -> bool:
        is_done = any(each.startswith("delete") and each.endswith(".json") for each in ConditionalFileSystem.requests)
        return is_done and sent.startswith("list")

    with requests(fails):
        run(bucket, monkeypatch, url, "q", 1, values(b"1"))
    assert bucket.read(url) == {"t-0": [b"0", b"1"]}
