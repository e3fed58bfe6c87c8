import json
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")

from object_storage import ConditionalFileSystem, conditional, s3_server
from written_logs import arrow_rows, columns, job, table

from tagwire_spark import PipelineError
from tagwire_spark.files import commit
from tagwire_spark.files.commit import leftovers
from tagwire_spark.files.commit_folder import DONE
from tagwire_spark.files.store import ConditionalObjects, store
from tagwire_spark.log_write import driver
from tagwire_spark.log_write.driver import LogStreamWriter, LogWriter, Staged
from tagwire_spark.log_write.micro_batch import MicroBatch
from tagwire_spark.log_write.target import log_target

pytestmark = pytest.mark.spark

PLAIN = columns("topic string, value binary")
WITH_EPOCHS = columns("topic string, offset long, value binary, partitionLeaderEpoch int")


class Bucket:
    def __init__(self, system: Any, url: str, options: dict[str, Any]) -> None:
        self.system = system
        self.url = url
        self.options = {"storageOptions": json.dumps(options)}
        self.count = 0

    def new(self) -> str:
        self.count += 1
        return f"{self.url}/{self.count}/k"

    def names(self, url: str) -> list[str]:
        self.system.invalidate_cache()
        return [str(each).partition("/k/")[2] for each in self.system.find(self.system._strip_protocol(url))]

    def visible(self, url: str) -> dict[str, bytes]:
        return {name: self.system.cat_file(f"{url}/{name}") for name in self.names(url) if not name.startswith(".")}

    def hidden(self, url: str) -> list[str]:
        return [name for name in self.names(url) if name.startswith(".")]

    def read(self, url: str, **options: str) -> dict[str, list[bytes]]:
        found: dict[str, list[tuple[int, bytes]]] = {}
        for each in arrow_rows(url, **self.options, **options):
            for row in each.to_pylist():
                found.setdefault(f"{row['topic']}-{row['partition']}", []).append((row["offset"], row["value"]))
        return {name: [value for _, value in sorted(rows)] for name, rows in found.items()}

    def write(self, url: str, *tasks: list[Any], overwrite: bool = False, **options: Any) -> None:
        job(url, *tasks, overwrite=overwrite, **self.options, **options)  # type: ignore[arg-type]

    def writer(self, url: str, *, overwrite: bool = False, **options: str) -> LogWriter:
        return LogWriter(log_target({"path": url, **self.options, **options}), overwrite=overwrite)

    def done(self, url: str) -> dict[str, Any]:
        return dict(json.loads(self.system.cat_file(f"{url}/{DONE}")))


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    monkeypatch.setattr(commit, "_PATIENCE", 0.0)
    monkeypatch.setattr("tagwire_spark.files.store._PAUSE", 0)
    yield Bucket(conditional(), "kept:/", {"key": "testing-id", "secret": "very-hidden"})
    conditional()


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Any, dict[str, Any]]]:
    with s3_server() as (system, options, _):
        yield system, options


@pytest.fixture
def s3(server: Any, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    monkeypatch.setattr(commit, "_PATIENCE", 0.0)
    system, options = server
    return Bucket(system, f"s3://logs/{time.monotonic_ns()}", options)


def values(*found: bytes, topic: str = "t") -> list[Any]:
    return table(*[(topic, each) for each in found], schema=PLAIN)


def rows(topic: str, offset: int, *found: bytes) -> list[Any]:
    return table(*[(topic, 0, offset + n, None, each) for n, each in enumerate(found)])


def with_epoch(offset: int, value: bytes, epoch: int) -> list[Any]:
    return table(("t", offset, value, epoch), schema=WITH_EPOCHS)


@contextmanager
def requests(fails: Callable[[int, str], bool]) -> Generator[list[str]]:
    """Fail all requests for which `fails(number, text)` is true. Yield a list of the requests in the `with` block."""
    sent, all_fails = ConditionalFileSystem.requests, ConditionalFileSystem.fails
    sent.clear()
    all_fails.append(fails)
    try:
        yield sent
    finally:
        all_fails.clear()


def from_request(first: int) -> Callable[[int, str], bool]:
    """Return a function that is true for all requests from number `first` on."""
    return lambda number, _: number >= first


def only_request(one: int) -> Callable[[int, str], bool]:
    return lambda number, _: number == one


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


def test_a_worker_keeps_no_segment_that_is_full(bucket: Bucket, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    url, most = bucket.new(), 0

    def batches() -> Iterator[Any]:
        nonlocal most
        for n in range(40):
            most = max(most, sum(p.stat().st_size for p in tmp_path.rglob("*.log")))
            yield from rows("t", n, b"v" * 1000)

    writer = LogWriter(
        log_target({"path": url, "segmentBytes": "4000", "batchRecords": "1", **bucket.options}), overwrite=False
    )
    writer.commit([writer.write(batches())])
    assert len(bucket.read(url)["t-0"]) == 40 and most <= 8000 and not list(tmp_path.iterdir())
    assert len([name for name in bucket.names(url) if name.endswith(".log")]) > 10


def test_no_secret_is_written(bucket: Bucket) -> None:
    url = bucket.new()
    bucket.write(url, values(b"a"))
    assert all(b"very-hidden" not in data and b"testing-id" not in data for data in bucket.visible(url).values())
    assert "very-hidden" not in repr(bucket.writer(url).__dict__)


BEFORE = {"t-0": [b"a", b"b"], "u-0": [b"c"]}
APPENDED = {"t-0": [b"a", b"b", b"d"], "u-0": [b"c"], "w-0": [b"e"]}
WRITTEN_ANEW = {"t-0": [b"d"], "w-0": [b"e"]}


def begun(bucket: Bucket, *, overwrite: bool = False) -> tuple[str, LogWriter, list[Staged]]:
    """Return a log's URL and an uncommitted write. It appends to the log or, if `overwrite` is set, replaces it."""
    url = bucket.new()
    bucket.write(url, table(("t", 0, b"a", 0), ("t", 1, b"b", 1), schema=WITH_EPOCHS), rows("u", 0, b"c"))
    writer = bucket.writer(url, overwrite=overwrite)
    return (
        url,
        writer,
        [writer.write(iter(with_epoch(0 if overwrite else 2, b"d", 5))), writer.write(iter(rows("w", 0, b"e")))],
    )


def every_step(last: int = 150) -> Iterator[int]:
    yield from range(last)
    pytest.fail("a commit never came to its end")


@pytest.mark.thorough
@pytest.mark.parametrize("overwrite", [False, True])
def test_driver_dies_before_each_request(bucket: Bucket, overwrite: bool) -> None:
    """Check that the next process, alternately a reader and a writer, finds the whole commit or nothing."""
    after, outcomes = WRITTEN_ANEW if overwrite else APPENDED, []
    for step in every_step():
        url, writer, staged = begun(bucket, overwrite=overwrite)
        is_done = True
        with requests(from_request(step)) as sent:
            try:
                writer.commit(staged)
            except PipelineError as error:
                assert "the connection is lost" in str(error) and url in str(error)
                is_done = False
            total = len(sent)
        is_write = (step + overwrite) % 2 == 1
        if is_write:
            bucket.write(url, rows("z", 0, b"z"))
            found = bucket.read(url)
            assert found.pop("z-0") == [b"z"]
        else:
            found = bucket.read(url)
        assert found in (BEFORE, after) and (found == after or not is_done), step
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
        before, failure = bucket.visible(url), ""
        with requests(only_request(step)) as sent:
            try:
                writer.commit(staged)
            except PipelineError as error:
                failure = str(error)
            total = len(sent)
        writer.abort([*staged])
        found = bucket.read(url)
        if not failure:
            assert found == after, step
        elif "the write is committed" not in failure:
            assert found == BEFORE and bucket.hidden(url) == [], (step, failure)
            now = bucket.visible(url)
            assert {**now, DONE: b""} == {**before, DONE: b""}, step
            bucket.write(url, rows("w", 0, b"again"))
            assert bucket.read(url) == {**BEFORE, "w-0": [b"again"]}
        else:
            assert found in (BEFORE, after)
        messages.add("" if not failure else "the write is committed" in failure)
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

    def stops(_: int, sent: str) -> bool:
        return sent.startswith(("copy", "delete")) or (sent.startswith("put") and sent.endswith(DONE))

    with requests(stops), pytest.raises(PipelineError, match="the connection is lost"):
        writer.commit(staged)
    bucket.system.rm_file(f"{url}/{staged[1].segments[0].files[-1]}")
    assert bucket.read(url) == BEFORE and bucket.hidden(url) == []
    assert [number for number, _ in bucket.done(url)["undone"]] == [2]
    bucket.write(url, rows("w", 0, b"f"))
    assert bucket.read(url) == {**BEFORE, "w-0": [b"f"]} and bucket.done(url)["number"] == 3


def at_once(*calls: Callable[[], object]) -> list[str]:
    """Make calls in concurrent threads. Return the error conditions (such as KAFKA_LOG_EXISTS) of the failed calls."""
    start, found = threading.Barrier(len(calls)), []

    def run(call: Callable[[], object]) -> None:
        start.wait(30)
        try:
            call()
        except PipelineError as error:
            found.append(error.condition)

    threads = [threading.Thread(target=run, args=(each,)) for each in calls]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    return found


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

        def commits(n: int, writers: Any = writers, staged: Any = staged) -> None:
            try:
                writers[n].commit(staged[n])
            except PipelineError:
                writers[n].abort(staged[n])
                raise

        rejected = at_once(*(partial(commits, n) for n in range(3)))
        found = bucket.read(url)["t-0"]
        assert found[0] == b"a" and len(found) == 4 - len(rejected) and bucket.hidden(url) == []
        assert rejected == (["KAFKA_LOG_EXISTS"] * 2 if has_offsets else [])
        assert has_offsets or sorted(found[1:]) == [b"0", b"1", b"2"]


def test_commit_between_the_check_and_the_change_of_another(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    url, first, staged = begun(bucket)
    second = bucket.writer(url)
    other = [second.write(iter(values(b"x")))]
    change, waiting = driver._Commit._change, [first]

    def changed(self: Any, before: Any) -> Any:
        found = change(self, before)
        if self.job == second.job and waiting:
            waiting.pop().commit(staged)
        return found

    monkeypatch.setattr(driver._Commit, "_change", changed)
    second.commit(other)
    assert bucket.read(url) == {**APPENDED, "t-0": [b"a", b"b", b"d", b"x"]} and bucket.hidden(url) == []
    assert bucket.done(url)["number"] == 3


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send the requests of each process one after another, so that the order of all requests is the same each time."""
    monkeypatch.setattr("tagwire_spark.files.store._AT_ONCE", 1)


@contextmanager
def interrupted(step: int, process: Callable[[], object]) -> Generator[list[int]]:
    """Run `process` before request `step` in the `with` block. The yielded list is empty until then."""
    hits: list[int] = []

    def comes(number: int, _: str) -> bool:
        if number >= step and not hits:
            hits.append(number)
            ConditionalFileSystem.fails.remove(comes)
            process()
        return False

    with requests(comes):
        yield hits


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

        failure = ""
        with interrupted(step, undoes) as hits:
            try:
                writer.commit(staged)
            except PipelineError as error:
                failure = str(error)
                writer.abort([*staged])
        found = bucket.read(url)
        assert found == (BEFORE if failure else WRITTEN_ANEW if overwrite else APPENDED), (step, failure)
        assert bucket.hidden(url) == []
        bucket.write(url, rows("z", 0, b"z"))
        assert bucket.read(url) == {**found, "z-0": [b"z"]}
        failures.add(failure.replace(url, ""))
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


def run(bucket: Bucket, monkeypatch: pytest.MonkeyPatch, url: str, query: str, number: int, *tasks: list[Any]) -> None:
    """Run a micro-batch as Spark does: write the output of its tasks, then commit it with a separate writer object."""
    batch = MicroBatch(query, number, uuid4().hex)
    monkeypatch.setattr(driver, "batch_of_stream", lambda: batch)
    target = log_target({"path": url, **bucket.options}, is_stream=True)
    staged = [LogStreamWriter(target, overwrite=False).write(iter(each)) for each in tasks]
    writer = LogStreamWriter(target, overwrite=False)
    try:
        writer.commit(staged, number)
    except PipelineError:
        writer.abort(staged, number)
        raise


def staged_by_run(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, url: str, run: str
) -> tuple[LogStreamWriter, list[Staged]]:
    """Write a row of batch 1 in a run of query q, but don't commit it."""
    monkeypatch.setattr(driver, "batch_of_stream", lambda: MicroBatch("q", 1, run))
    writer = LogStreamWriter(log_target({"path": url, **bucket.options}, is_stream=True), overwrite=False)
    return writer, [writer.write(iter(values(b"1")))]


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
        url, failure = bucket.new(), ""
        bucket.write(url, values(b"0"))
        one, staged = staged_by_run(bucket, monkeypatch, url, "r1")
        other, of_other = staged_by_run(bucket, monkeypatch, url, "r2")

        def undone(url: str = url, other: LogStreamWriter = other, of_other: list[Staged] = of_other) -> None:
            with requests(lambda _, sent: sent.startswith("copy")), suppress(PipelineError):
                other.commit(of_other, 1)
            bucket.write(url, values(b"2"))

        with interrupted(step, undone) as hits:
            try:
                one.commit(staged, 1)
            except PipelineError as error:
                failure = str(error)
        found = bucket.read(url)["t-0"]
        expected = [b"0", *([] if failure else [b"1"]), *([b"2"] if hits else [])]
        assert sorted(found) == expected and len(found) == len({*found}), (step, failure)
        if not hits:
            break


def test_run_of_a_micro_batch_is_committed_at_each_request_of_an_abort(
    bucket: Bucket, one_at_a_time: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that an abort keeps the files of another run whose driver dies before it has copied them."""
    for step in every_step():
        url = bucket.new()
        bucket.write(url, values(b"0"))
        one, staged = staged_by_run(bucket, monkeypatch, url, "r1")
        other, of_other = staged_by_run(bucket, monkeypatch, url, "r2")

        def committed(one: LogStreamWriter = one, staged: list[Staged] = staged) -> None:
            dead = requests(lambda _, sent: sent.startswith("copy") or ("_SUCCESS" in sent and sent.startswith("put")))
            with dead, pytest.raises(PipelineError, match="the write is committed"):
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


def test_a_store_that_ignores_conditions(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    url = bucket.new()
    monkeypatch.setattr(ConditionalFileSystem, "keeps_conditions", False)
    with pytest.raises(
        PipelineError, match=rf"KAFKA_LOG_WRITE_FAILED.*{url}: commits need conditional puts, but this store"
    ):
        bucket.writer(url)
    assert bucket.names(url) == []


@pytest.mark.parametrize("url", ["memory://logs/k", "https://localhost/k"])
def test_a_file_system_without_conditions(bucket: Bucket, url: str) -> None:
    with pytest.raises(
        PipelineError, match=rf"KAFKA_LOG_WRITE_FAILED.*{url}.*fsspec does not support them for"
    ) as rejected:
        LogWriter(log_target({"path": url}), overwrite=False)
    assert "very-hidden" not in str(rejected.value)


def test_users_without_write_permission(bucket: Bucket) -> None:
    """For users without write permission, a write must fail at once, and a read must report an unfinished commit."""

    def denied(_: int, sent: str) -> bool:
        if sent.startswith(("put", "copy", "delete")):
            raise PermissionError("Access Denied with very-hidden")
        return False

    url, writer, staged = begun(bucket)
    with requests(denied), pytest.raises(PipelineError, match=rf"WRITE_FAILED.*{url} can't be written: Access Denied"):
        bucket.writer(url)
    failing = requests(lambda _, sent: sent.startswith("copy") or ("_SUCCESS" in sent and sent.startswith("put")))
    with failing, pytest.raises(PipelineError, match="the write is committed"):
        writer.commit(staged)
    with (
        requests(denied),
        pytest.raises(PipelineError, match=rf"{url}: the write is committed.*Access Denied") as rejected,
    ):
        bucket.read(url)
    assert "very-hidden" not in str(rejected.value)
    assert bucket.read(url) == APPENDED and bucket.hidden(url) == []


@pytest.mark.thorough
def test_conditional_writes_on_s3(s3: Bucket) -> None:
    """On an S3 server, check two concurrent appends, a micro-batch that is written twice, and an overwrite."""
    url = s3.new()
    s3.write(url, values(b"a"))
    first, second = s3.writer(url), s3.writer(url)
    of_first, of_second = [first.write(iter(values(b"b")))], [second.write(iter(values(b"c")))]
    first.commit(of_first)
    second.commit(of_second)
    for _ in range(2):
        s3.write(url, values(b"d"), batchId="1", queryId="q")
    assert s3.read(url) == {"t-0": [b"a", b"b", b"c", b"d"]} and s3.hidden(url) == []
    s3.write(url, rows("t", 0, b"e"), rows("t", 1, b"f"), overwrite=True)
    assert s3.read(f"{url}/t-0") == {"t-0": [b"e", b"f"]} and s3.hidden(url) == []


def test_s3_lets_only_one_writer_create_an_object(s3: Bucket) -> None:
    storage = log_target({"path": "s3://logs", **s3.options}).storage
    objects = ConditionalObjects(*store(s3.new(), storage))
    assert objects.create("x", b"1") and not objects.create("x", b"2")
    data, tag = objects.tagged("x")
    assert data == b"1" and tag is not None
    assert not objects.replace("x", b"3", '"0"')
    assert objects.replace("x", b"4", tag) and objects.get("x") == b"4"


def test_a_bucket_that_is_missing(s3: Bucket) -> None:
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_WRITE_FAILED.*s3://absent/k can't be written: .*bucket") as no:
        s3.write("s3://absent/k", values(b"a"))
    assert "very-hidden" not in str(no.value)
