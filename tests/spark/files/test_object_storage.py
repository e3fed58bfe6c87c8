import json
import pickle
import threading
from collections.abc import Callable, Iterator
from struct import pack
from typing import Any

import pytest
from object_storage import CountedFileSystem, counted, offsets, s3_server
from streamed_logs import batch, stream, triggers
from written_logs import arrow_rows, job, read_rows, table

from tagwire import engine
from tagwire_spark import PipelineError
from tagwire_spark.files.store import StorageOptions
from tagwire_spark.jobs.read import _units
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.rows import full_schema, rows_of_task
from tagwire_spark.log_read.splits import plan

pytestmark = pytest.mark.spark
SIZE = len(batch(0, 5, 4000))
BATCHES = 300


def log(base: int = 0, count: int = BATCHES) -> dict[str, bytes]:
    """Return a segment with indexes. Like a broker's indexes, they have no entry for the first batch."""
    name = f"orders-0/{base:020}"
    return {
        f"{name}.log": b"".join(batch(base + 5 * n, 5, 4000) for n in range(count)),
        f"{name}.index": b"".join(pack(">ii", 5 * n, n * SIZE) for n in range(1, count)),
        f"{name}.timeindex": b"".join(pack(">qi", 1_700_000_000_004 + 5 * n, 5 * n + 4) for n in range(1, count)),
    }


@pytest.fixture
def store() -> Iterator[Any]:
    system = counted()
    for base in (0, 5 * BATCHES):
        for name, data in log(base).items():
            system.pipe(f"/k/{name}", data)
    system.pipe(f"/k/orders-1/{0:020}.log", batch(0))
    system.pipe("/k/log-start-offset-checkpoint", b"0\n1\norders 0 7\n")
    system.requests.clear()
    yield system
    counted()


def planned(path: str, **options: Any) -> tuple[Any, list[str]]:
    CountedFileSystem.requests.clear()
    splits = plan(log_query({"path": path, **options}))
    return splits, [*CountedFileSystem.requests]


@pytest.mark.parametrize(("path", "options", "expected"), [
    ("k", {}, ["list /k"]),
    ("k", {"maxSplitBytes": "1m"}, ["list /k"]),
    ("k/orders-0", {}, ["list /k/orders-0"]),
    ("k/orders-*", {}, ["list /k"]),
    ("k/orders-*/*.log", {}, ["list /k"]),
    (f"k/orders-0/{0:020}.log", {}, ["list /k/orders-0"]),
    ("k", {"respectLogStart": "true", "assign": '{"orders": [1]}'},
     ["list /k", "get /k/log-start-offset-checkpoint 0-15"]),
    ("k", {"startingOffsets": '{"orders": {"0": 20}}'}, ["list /k", f"get /k/orders-0/{0:020}.index 0-2392"]),
])  # fmt: skip
def test_planning_lists_once_and_reads_what_options_need(
    store: Any, path: str, options: dict[str, str], expected: list[str]
) -> None:
    splits, requests = planned(f"counted://{path}", **options)
    assert splits and requests == expected


def test_concurrent_and_sequential_reads_of_time_indexes_give_equal_plans(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for base in range(10, 210, 5):
        store.pipe(f"/k/t-0/{base:020}.log", batch(base))
        store.pipe(f"/k/t-0/{base:020}.timeindex", pack(">qi", 1_700_000_000_004, 4))
    given = {"recordsFromTimestamp": str(1_700_000_000_005)}
    together = threading.Barrier(16, timeout=30)
    store.before.extend(16 * [together.wait])
    splits, requests = planned("counted://k/t-0", **given)
    assert [split.file.rpartition("/")[2] for split in splits] == [f"{205:020}.log"] and len(requests) > 80
    monkeypatch.setattr(CountedFileSystem, "async_impl", False)
    assert planned("counted://k/t-0", **given)[0] == splits


def test_large_index_is_read_in_ranges(store: Any) -> None:
    entries = 60_000
    store.pipe(f"/k/orders-0/{0:020}.index", b"".join(pack(">ii", n, n * SIZE // 250) for n in range(1, entries)))
    _, requests = planned("counted://k/orders-0", startingOffsets='{"orders": {"0": 700}}', maxSplitBytes="1m")
    pieces = [each for each in requests if each.startswith("get")]
    assert 1 < len(pieces) <= 6 and all(".index" in each for each in pieces)
    assert sum(-eval(each.split()[-1]) for each in pieces) <= 6 * 24576


def test_a_split_is_read_ahead_in_growing_blocks(store: Any) -> None:
    query = log_query({"path": "counted://k/orders-0"})
    [first, second] = plan(query)
    store.requests.clear()
    assert sum(each.num_rows for each in rows_of_task([first, second], query, full_schema(query))) == 10 * BATCHES
    gets = [each for each in store.requests if each.startswith("get")]
    size, mib = BATCHES * SIZE, 1 << 20
    of_one = [f"0-{mib}", f"{mib}-{3 * mib}", f"{3 * mib}-{size}"]
    assert sorted(each.split()[-1] for each in gets) == sorted(2 * of_one)
    # One more request per file checks that the file is unchanged.
    assert len(store.requests) - len(gets) == 2


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE"])
@pytest.mark.parametrize("level", ["record", "batch"])
def test_splits_have_every_batch_once(store: Any, mode: str, level: str) -> None:
    for size in ("70000", "1m"):
        rows = arrow_rows("counted://k/orders-0", maxSplitBytes=size, mode=mode, level=level)
        name = "offset" if level == "record" else "baseOffset"
        found = [row[name] for each in rows for row in each.to_pylist()]
        assert found == [*range(0, 10 * BATCHES, 1 if level == "record" else 5)]
    assert all(int(each.split()[-1].partition("-")[2]) for each in store.requests if each.startswith("get"))


def test_task_reads_its_split_and_one_piece_of_the_index(store: Any) -> None:
    query = log_query({"path": "counted://k/orders-0", "maxSplitBytes": "1m"})
    split = plan(query)[2]
    store.requests.clear()
    assert sum(each.num_rows for each in rows_of_task([split], query, full_schema(query)))
    kinds = [each for each in store.requests if each.startswith("get")]
    assert len(kinds) <= (3 if engine() == "native" else 4) and ".index" in kinds[0]


def test_a_segment_that_changes_before_it_is_read(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    query = log_query({"path": "counted://k/orders-0"})
    splits = plan(query)
    with monkeypatch.context() as context, pytest.raises(PipelineError, match=r"KAFKA_LOG_UNREADABLE.*were requested"):
        context.setattr("tagwire_spark.files.store._PAUSE", 0)
        context.setattr(CountedFileSystem, "cat_file", lambda system, path, **_: system.store[path].getvalue())
        list(rows_of_task(splits, query, full_schema(query)))  # the server ignores the requested ranges
    store.pipe(f"/k/orders-0/{0:020}.log", log()[f"orders-0/{0:020}.log"][:-1] + b"x")
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_CHANGED.*counted://k/orders-0.*ETag"):
        list(rows_of_task(splits, query, full_schema(query)))
    store.rm(f"/k/orders-0/{0:020}.log")
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_CHANGED.*the file no longer exists"):
        list(rows_of_task(splits, query, full_schema(query)))


def test_stream_of_a_prefix_reads_each_record_once(store: Any) -> None:
    reader = stream("counted://k", maxFilesPerTrigger=1)
    position: dict[str, Any] = {}
    found: list[tuple[int, int]] = []
    for end, part in triggers(reader, position):
        position, found = end, found + [(row["partition"], row["offset"]) for row in part]
    assert sorted(found) == [*((0, n) for n in range(10 * BATCHES)), *((1, n) for n in range(5))]
    store.requests.clear()
    assert reader.latestOffset(position, reader.getDefaultReadLimit()) == position
    assert store.requests == ["list /k"]
    store.pipe(f"/k/orders-1/{0:020}.log", batch(0) + batch(5) + batch(10)[:-1])  # the last batch is truncated
    [(end, part)] = triggers(reader, position)
    assert [row["offset"] for row in part] == [*range(5, 10)] and end == {"orders": {"0": 10 * BATCHES, "1": 10}}
    store.rm(f"/k/orders-1/{0:020}.log")
    with pytest.raises(PipelineError, match="KAFKA_LOG_DATA_LOSS"):
        reader.latestOffset(end, reader.getDefaultReadLimit())


@pytest.mark.parametrize(
    ("name", "data"), [("cleaner-offset-checkpoint", b"0\n1\norders 1 20\n"), ("_SUCCESS", b'{"number": 1}')]
)
def test_log_with_a_missing_segment(store: Any, name: str, data: bytes) -> None:
    """A missing segment is data loss, unless a file shows that compaction or `kafka_log` left the gap."""
    store.pipe(f"/k/orders-1/{20:020}.log", batch(20))
    reads: tuple[Callable[[], list[Any]], ...] = (
        lambda: [row for _, part in triggers(stream("counted://k/", assign='{"orders": [1]}'), {}) for row in part],
        lambda: read_rows("counted://k/orders-1"),
    )
    for read in reads:
        with pytest.raises(PipelineError, match=r"KAFKA_LOG_DATA_LOSS.*begins at offset 20"):
            read()
        store.pipe(f"/k/{name}", data)
        assert [row["offset"] for row in read()] == [*range(5), *range(20, 25)]
        store.rm(f"/k/{name}")


def test_a_worker_has_the_reader_of_a_stream(store: Any) -> None:
    reader = stream("counted://k/orders-1", storageOptions='{"secret": "here"}')
    end = reader.latestOffset({}, reader.getDefaultReadLimit())
    [task] = reader.partitions({}, end)
    sent = pickle.loads(pickle.dumps(reader))
    assert sent.query.storage == {"secret": "here"}
    assert [each["offset"] for part in sent.read(task) for each in part.to_pylist()] == [*range(5)]


@pytest.fixture(scope="module")
def s3() -> Iterator[Any]:
    with s3_server() as (system, options, seen):
        for name, data in log().items():
            system.pipe(f"logs/k/{name}", data)
        yield system, options, seen


def test_s3_receives_one_listing_and_range_requests_with_an_etag(s3: Any) -> None:
    _, options, seen = s3
    given = {"storageOptions": json.dumps(options)}
    for path, size in (("k", "64m"), ("k/orders-*", "1m"), (f"k/orders-0/{0:020}.log", "3m")):
        seen.clear()
        assert offsets(f"s3://logs/{path}", maxSplitBytes=size, **given) == [*range(5 * BATCHES)]
        listings = [each for each in seen if "list-type" in each[1]]
        assert len(listings) == 1 and {each[0] for each in seen} == {"GET"}
        assert all(each[2].startswith("bytes=") and each[3] for each in seen if each not in listings)
        assert not any("timeindex" in each[1] for each in seen)


def test_markers_of_s3_folders_are_not_files(s3: Any) -> None:
    system, options, _ = s3
    given = {"storageOptions": json.dumps(options)}
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_NOT_FOUND.*a folder exists only while it contains objects"):
        stream("s3://logs/m", **given).initialOffset()
    system.touch("logs/m/")
    assert stream("s3://logs/m", **given).initialOffset() == {}
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_NOT_FOUND.*no log segment found"):
        offsets("s3://logs/m", **given)
    system.touch("logs/m/t-0/")
    job("s3://logs/m", table(("t", 0, 0, None, b"v")), **given)  # type: ignore[arg-type]
    assert offsets("s3://logs/m", **given) == [0]


def test_s3_rejects_a_range_of_another_object(s3: Any) -> None:
    system, options, _ = s3
    query = log_query({"path": "s3://logs/n", "storageOptions": json.dumps(options)})
    for base in (0, 5):
        system.pipe(f"logs/n/orders-0/{base:020}.log", batch(base))
    splits = plan(query)
    system.pipe(f"logs/n/orders-0/{5:020}.log", batch(5) + batch(10))  # the last segment may grow
    assert sum(each.num_rows for each in rows_of_task(splits, query, full_schema(query))) == 10
    system.pipe(f"logs/n/orders-0/{0:020}.log", batch(0, 5, 41))
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_CHANGED.*s3://logs/n/orders-0"):
        list(rows_of_task(splits, query, full_schema(query)))


@pytest.mark.thorough
def test_truncated_replies_of_s3_are_requested_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all replies are truncated, the error must say that the file is unreadable, not that it is missing."""
    monkeypatch.setattr("tagwire_spark.files.store._PAUSE", 0)
    cut = [False, True]
    with s3_server(lambda number: cut[number % len(cut)]) as (system, options, seen):
        system.pipe({f"logs/{name}": data for name, data in log().items()})
        given = {"storageOptions": json.dumps(options), "maxSplitBytes": "1m"}
        query = log_query({"path": "s3://logs/orders-0", **given})
        splits = plan(query)
        seen.clear()
        for _ in range(3):
            assert offsets("s3://logs/orders-0", **given) == [*range(5 * BATCHES)]
        ranges = [each[1:3] for each in seen if each[2]]
        assert len(ranges) > len({*ranges}) * 3
        cut[:] = [True]
        with pytest.raises(PipelineError, match=r"KAFKA_LOG_UNREADABLE.*s3://logs/orders-0"):
            list(rows_of_task(splits, query, full_schema(query)))


@pytest.mark.thorough
def test_truncated_replies_while_a_read_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests for checkpoints, `_SUCCESS` and listings must be repeated like those for segments."""
    monkeypatch.setattr("tagwire_spark.files.store._PAUSE", 0)
    cut = [False]
    with s3_server(lambda number: cut[number % len(cut)]) as (system, options, _):
        given = {"storageOptions": json.dumps(options)}
        for first in (0, 5):
            job("s3://logs/k", table(*(("t", 0, first + n, None, b"v") for n in range(5))), **given)  # type: ignore[arg-type]
        system.pipe("logs/k/log-start-offset-checkpoint", b"0\n1\nt 0 2\n")
        query = log_query({"path": "s3://logs/k", **given})
        for cut[:] in ([True, False], [False, True]):
            assert offsets("s3://logs/k/t-0", respectLogStart="true", **given) == [*range(2, 10)]
            assert [unit[::2] for unit in _units(query)] == [("s3://logs/k/t-0", 2)]
        cut[:] = [True, False]
        job("s3://logs/k", table(("t", 0, 10, None, b"v")), **given)  # type: ignore[arg-type]
        assert offsets("s3://logs/k", **given) == [*range(11)]


def test_secrets_are_not_shown(s3: Any) -> None:
    _, options, _ = s3
    query = log_query({"path": "s3://logs/k", "storageOptions": json.dumps(options)})
    for text in (repr(query), str(query), repr(query.storage), f"{query.storage}", f"{query}"):
        assert "very-hidden" not in text and "testing-id" not in text
    text = 'at "very-hidden" of http://user:pass@host/x?sig=a&X-Amz-Signature=b%2F&x=1: no'
    assert query.storage.hidden(text) == 'at "***" of http://user:***@host/x?sig=***&X-Amz-Signature=***&x=1: no'
    others = StorageOptions({"client": {"auth": ["user", "4-5-6-7-8"]}, "passphrase": "1-2-3-4-5"})
    assert others.hidden("1-2-3-4-5 4-5-6-7-8") == "*** ***"
    with pytest.raises(PipelineError, match=r"INVALID_TAGWIRE_OPTION.*storageOptions must be a JSON object") as caught:
        log_query({"path": "s3://logs/k", "storageOptions": '{"secret": "very-hidden"'})
    assert "very-hidden" not in str(caught.value)


def test_an_error_of_a_file_system_has_no_secret(store: Any) -> None:
    class Failing(CountedFileSystem):
        protocol = "failing"

        def find(self, *arguments: Any, **named: Any) -> Any:
            raise OSError(f"denied for {self.storage_options}")

    import fsspec

    fsspec.register_implementation("failing", Failing, clobber=True)
    given = json.dumps({"client": {"sas_token": "abc-def"}, "secret": "ghi"})
    with pytest.raises(PipelineError, match=r"can't be reached by fsspec: denied for .*\*\*\*") as caught:
        plan(log_query({"path": "failing://k", "storageOptions": given}))
    assert "abc-def" not in str(caught.value) and "ghi" not in str(caught.value)
