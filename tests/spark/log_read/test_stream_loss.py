import errno
import os
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes
from streamed_logs import batch, rows, segment, stream, triggers
from written_logs import failing_calls

from tagwire import log
from tagwire.records import Record, build
from tagwire_spark import PipelineError
from tagwire_spark.files import storage
from tagwire_spark.log_read import splits, stream_offsets
from tagwire_spark.log_read import stream as log_stream
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.rows import full_schema, rows_of_task


def lose_the_first(root: Path) -> None:
    (root / "t-0" / f"{0:020}.log").unlink()


def lose_all(root: Path) -> None:
    rmtree(root / "t-0")
    segment(root / "u-0", 0)


def cut(root: Path) -> None:
    lose_all(root)
    segment(root / "t-0", 0, batch(0, 1))


@pytest.mark.parametrize(("loss", "text", "left"), [
    (lose_the_first, "offsets 5 to 9 were deleted", [10, 11, 12, 13, 14]),
    (lose_all, "t-0 no longer exists; the next offset to read was 5", []),
    (cut, "t-0 ends at offset 1, but the next offset to read is 5", []),
])  # fmt: skip
def test_deleted_records_are_reported(tmp_path: Path, loss: Any, text: str, left: list[int]) -> None:
    segment(tmp_path / "t-0", 0, batch(0), batch(5))
    segment(tmp_path / "t-0", 10, batch(10))
    start = {"t": {"0": 5}}
    end = stream(tmp_path).latestOffset(start, ReadAllAvailable())
    loss(tmp_path)
    with pytest.raises(PipelineError, match=r"^\[KAFKA_LOG_DATA_LOSS\]") as rejected:
        stream(tmp_path).latestOffset(start, ReadAllAvailable())
    assert text in str(rejected.value) and "failOnDataLoss" in str(rejected.value)
    with pytest.raises(PipelineError, match="KAFKA_LOG_DATA_LOSS"):
        stream(tmp_path).partitions(start, end)
    calm = stream(tmp_path, failOnDataLoss="false")
    assert [row["offset"] for _, part in triggers(calm, start) for row in part] == left
    assert [row["offset"] for row in rows(calm, start, end)] == left


def test_stream_continues_at_the_end_without_fail_on_data_loss(tmp_path: Path) -> None:
    segment(tmp_path / "t-0", 0, batch(0, 1))
    reader = stream(tmp_path, failOnDataLoss="false")
    end = reader.latestOffset({"t": {"0": 20}}, ReadAllAvailable())
    assert end == {"t": {"0": 1}} and reader.partitions({"t": {"0": 20}}, end) == []
    segment(tmp_path / "t-0", 0, batch(0, 1), batch(1))
    assert [row["offset"] for _, part in triggers(reader, end) for row in part] == [1, 2, 3, 4, 5]


def test_segment_removed_during_a_read(tmp_path: Path) -> None:
    """Check that a removed segment counts as expired only if the log begins after its records."""
    for fails, left, condition in (("true", 5, "DATA_LOSS"), ("false", 5, None), ("false", 4, "UNREADABLE")):
        path = segment(tmp_path / "t-0", 0, batch(0))
        reader = stream(tmp_path, failOnDataLoss=fails)
        [task] = reader.partitions({}, {"t": {"0": 5}})
        segment(tmp_path / "t-0", left, batch(5))
        path.unlink()
        if condition:
            with pytest.raises(PipelineError, match=f"^.KAFKA_LOG_{condition}"):
                list(reader.read(task))
        else:
            assert list(reader.read(task)) == []
        (tmp_path / "t-0" / f"{left:020}.log").unlink()


@pytest.mark.parametrize(("step", "function"), [
    ("latestOffset", "Segment.__init__"), ("latestOffset", "Segment.size"), ("latestOffset", "bytes_end"),
    ("latestOffset", "transactions_of"), ("partitions", "file_status"), ("partitions", "whole_splits"),
    ("partitions", "settled_location"), ("partitions", "transactions_of"),
])  # fmt: skip
@pytest.mark.parametrize("fails", ["true", "false"])
@pytest.mark.parametrize("begin", [0, 5])
def test_segment_renamed_between_listing_and_reading(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, begin: int, fails: str, step: str, function: str
) -> None:
    """Renaming a listed segment to `.deleted` is data loss only if the stream has not read the segment yet."""
    old, start = segment(tmp_path / "t-0", 0, batch(0)), {"t": {"0": begin}}
    for base in (5, 10):
        segment(tmp_path / "t-0", base, batch(base))
    options = {"failOnDataLoss": fails, "maxBytesPerTrigger": 100}
    reader = stream(tmp_path, isolation__level="read_committed", mode="PERMISSIVE", **options)
    end = {"t": {"0": 15}}

    def go(look: Any) -> Any:
        def after(*args: Any, **named: Any) -> Any:
            if old.exists():
                old.rename(f"{old}.deleted")
            return look(*args, **named)

        return after

    owner, _, name = function.rpartition(".")
    if name == "size":
        monkeypatch.setattr(log.Segment, "size", property(go(log.Segment.size.fget)))  # type: ignore[attr-defined]
    elif owner:
        monkeypatch.setattr(log.Segment, name, go(getattr(log.Segment, name)))
    else:
        for module in (log_stream, splits, storage, stream_offsets):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, go(getattr(module, name)))
    if begin == 0 and fails == "true":
        with pytest.raises(
            PipelineError, match=r"^\[KAFKA_LOG_DATA_LOSS\] t-0 now begins at offset 5, so offsets 0 to 4 "
        ):
            reader.latestOffset(start, ReadMaxBytes(100)) if step == "latestOffset" else reader.partitions(start, end)
    elif step == "latestOffset":
        assert [row["offset"] for _, part in triggers(reader, start) for row in part] == [*range(5, 15)]
    else:
        assert [row["offset"] for row in rows(reader, start, end)] == [*range(5, 15)]
    assert not old.exists()


@pytest.mark.parametrize("error", [errno.EIO, errno.EACCES, errno.ESTALE, errno.ENOENT])
@pytest.mark.parametrize("begins_later", [False, True])
def test_failed_read_is_not_taken_for_a_deletion(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: int, begins_later: bool
) -> None:
    for base in (0, 5):
        segment(tmp_path / "t-0", base, batch(base))
    reader = stream(tmp_path, failOnDataLoss="false")
    tasks = reader.partitions({}, {"t": {"0": 10}})

    def fail(file: Any, size: int, start: int) -> bytes:
        raise OSError(error, os.strerror(error))

    if begins_later:
        (tmp_path / "t-0" / f"{0:020}.log").unlink()
    monkeypatch.setattr("tagwire.log.file_bytes.pread", fail)
    code = errno.errorcode[errno.ENOENT if begins_later and error == errno.ENOENT else error]
    with pytest.raises(PipelineError, match=rf"^\[KAFKA_LOG_UNREADABLE\] .*\(errno \d+, {code}\)"):
        list(reader.read(tasks[0]))


@pytest.mark.parametrize(("step", "name"), [
    ("plan", "t-0"), ("plan", ".log"), ("read", ".log"), ("read", ".index"),
])  # fmt: skip
@pytest.mark.parametrize("error", [errno.EIO, errno.EACCES, errno.ESTALE])
def test_file_whose_status_is_unknown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: int, step: str, name: str
) -> None:
    """Check that reading fails if `stat` fails for a segment."""
    for base in (0, 5):
        segment(tmp_path / "t-0", base, batch(base, 2), batch(base + 2, 3))
    query = log_query({"path": str(tmp_path / "t-0"), "maxSplitBytes": "100"})
    task = splits.plan(query)

    def read() -> list[int]:
        found = splits.plan(query) if step == "plan" else task
        return [row["offset"] for part in rows_of_task(found, query, full_schema(query)) for row in part.to_pylist()]

    failing_calls(monkeypatch, os, "stat", error, lambda path: path.name.endswith(name))
    if name == ".index":
        assert read() == [*range(10)]
        return
    monkeypatch.setattr("tagwire.log.file_bytes.pread", lambda *_: (tmp_path / name).stat())
    with pytest.raises(PipelineError, match=rf"^\[KAFKA_LOG_UNREADABLE\] .*{errno.errorcode[error]}\)"):
        read()


def test_a_driver_without_the_folders_fails(tmp_path: Path) -> None:
    segment(tmp_path / "t-0", 0, batch(0))
    (tmp_path / "t-0").rename(tmp_path.parent / f"{tmp_path.name}-elsewhere")
    with pytest.raises(PipelineError, match="KAFKA_LOG_UNREADABLE"):
        stream(tmp_path, failOnDataLoss="false").partitions({"t": {"0": 0}}, {"t": {"0": 5}})


def test_a_worker_without_the_folder_fails(tmp_path: Path) -> None:
    segment(tmp_path / "t-0", 0, batch(0))
    reader = stream(tmp_path, failOnDataLoss="false")
    tasks = reader.partitions({}, {"t": {"0": 5}})
    (tmp_path / "t-0").rename(tmp_path / "elsewhere")
    with pytest.raises(PipelineError, match="KAFKA_LOG_UNREADABLE"):
        list(reader.read(tasks[0]))
    (tmp_path / "t-0").mkdir()
    with pytest.raises(PipelineError, match="KAFKA_LOG_UNREADABLE"):
        list(reader.read(tasks[0]))


def test_a_file_that_is_cut_while_it_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    segment(tmp_path / "t-0", 0, batch(0))
    reader = stream(tmp_path, failOnDataLoss="false")
    [task] = reader.partitions({}, {"t": {"0": 5}})
    monkeypatch.setattr("tagwire.log.file_bytes.pread", lambda *_: b"")
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_UNREADABLE.*was truncated while it was read"):
        list(reader.read(task))


def test_logs_without_read_permission(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: Any) -> None:
        raise PermissionError(13, "Permission denied", "x.log")

    monkeypatch.setattr(log_stream, "settled_location", fail)
    why = r"^\[KAFKA_LOG_UNREADABLE\] x.log can't be read: Permission denied \(errno 13, EACCES\)\."
    with pytest.raises(PipelineError, match=why):
        stream(tmp_path).initialOffset()


def in_three_segments(root: Path) -> Path:
    segment(root / "t-0", 0, batch(0), batch(5))
    segment(root / "t-0", 15, batch(15))
    return segment(root / "t-0", 10, batch(10))


@pytest.mark.parametrize("limit", [{}, {"maxFilesPerTrigger": 1}, {"maxOffsetsPerTrigger": 3}])
@pytest.mark.parametrize("start", [0, 5, 7, 10])
def test_missing_middle_segment(tmp_path: Path, start: int, limit: Any) -> None:
    """Check that a missing middle segment is data loss, whether reading starts before or at the gap."""
    in_three_segments(tmp_path).unlink()
    begin = {"t": {"0": start}}
    with pytest.raises(
        PipelineError,
        match=r"KAFKA_LOG_DATA_LOSS\] .*0\.log ends before offset 10, but the next segment begins at offset 15; ",
    ):
        list(triggers(stream(tmp_path, **limit), begin))
    calm = stream(tmp_path, failOnDataLoss="false", **limit)
    found = [row["offset"] for _, part in triggers(calm, begin) for row in part]
    assert found == [*range(start, 10), *range(15, 20)]


def test_gap_before_the_start_is_not_a_loss(tmp_path: Path) -> None:
    in_three_segments(tmp_path).unlink()
    assert [row["offset"] for _, part in triggers(stream(tmp_path), {"t": {"0": 15}}) for row in part] == [
        *range(15, 20)
    ]


@pytest.mark.parametrize("how", ["checkpoint", "inside", "in a batch", "empty"])
def test_gaps_of_a_compacted_log_are_no_loss(tmp_path: Path, how: str) -> None:
    in_three_segments(tmp_path).unlink()
    if how in ("checkpoint", "empty"):
        (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 15\n")
    elif how == "inside":
        segment(tmp_path / "t-0", 0, batch(0), batch(6, 4))
    elif how == "in a batch":
        few = build([Record(n, 5, b"k", b"v") for n in (0, 9)], "v2").encode()
        segment(tmp_path / "t-0", 0, few)
    if how == "empty":
        segment(tmp_path / "t-0", 0)
    rows_found = [row["offset"] for _, part in triggers(stream(tmp_path), {}) for row in part]
    assert rows_found[-5:] == [*range(15, 20)]


def metadata(root: Path, topic_id: str, *epochs: tuple[int, int]) -> None:
    (root / "t-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    lines = "".join(f"{epoch} {start}\n" for epoch, start in epochs)
    (root / "t-0" / "leader-epoch-checkpoint").write_text(f"0\n{len(epochs)}\n{lines}")


def test_a_topic_that_was_created_anew(tmp_path: Path) -> None:
    segment(tmp_path / "t-0", 0, batch(0))
    metadata(tmp_path, "AAAAAAAAAAAAAAAAAAAAAQ")
    [(end, _)] = triggers(stream(tmp_path), stream(tmp_path).initialOffset())
    segment(tmp_path / "t-0", 0, batch(0), batch(5))
    assert [row["offset"] for _, part in triggers(stream(tmp_path), end) for row in part] == [*range(5, 10)]
    metadata(tmp_path, "AAAAAAAAAAAAAAAAAAAAAg")
    with pytest.raises(PipelineError, match=r"DATA_LOSS. .*t-0 belongs to a new topic: its ID is now"):
        list(triggers(stream(tmp_path), end))
    calm = stream(tmp_path, failOnDataLoss="false")
    assert [row["offset"] for _, part in triggers(calm, end) for row in part] == [*range(10)]


@pytest.mark.parametrize("late", ["", "no topic", "no ID", "no ID of one"])
def test_a_topic_that_was_created_anew_in_steps(tmp_path: Path, late: str) -> None:
    """A stream must notice a recreated topic, even if the topic has no folder or ID for a while."""
    for number in range(2):
        segment(tmp_path / f"t-{number}", 0, batch(0))
    metadata(tmp_path, "AAAAAAAAAAAAAAAAAAAAAQ")
    options = {"failOnDataLoss": "false"}
    [(end, _)] = triggers(stream(tmp_path, **options), {})
    (tmp_path / "t-0" / "partition.metadata").unlink()
    if late:
        segment(tmp_path / "u-0", 0, batch(0))
        for number in range(2):
            if late == "no topic":
                (tmp_path / f"t-{number}").rename(tmp_path / f"t-{number}.{'a' * 32}-delete")
            segment(tmp_path / f"t-{number}", 0, batch(0))
        if late == "no topic":
            for number in range(2):
                rmtree(tmp_path / f"t-{number}")
        [(end, _)] = triggers(stream(tmp_path, **options), end)
    for number in range(2):
        segment(tmp_path / f"t-{number}", 0, batch(0), batch(5))
    metadata(tmp_path, "AAAAAAAAAAAAAAAAAAAAAg")
    with pytest.raises(PipelineError, match=r"DATA_LOSS. .*t-0 belongs to a new topic: its ID is now"):
        list(triggers(stream(tmp_path), end))
    found = [row for _, part in triggers(stream(tmp_path, **options), end) for row in part if row["topic"] == "t"]
    assert sorted((row["partition"], row["offset"]) for row in found) == [
        (n, each) for n in (0, 1) for each in range(10)
    ]


@pytest.mark.parametrize("fails", [True, False])
def test_a_topic_that_was_created_anew_before_a_planned_micro_batch_is_read(tmp_path: Path, fails: bool) -> None:
    """If a topic is recreated after a micro-batch was planned, the micro-batch must not read the new topic."""
    segment(tmp_path / "t-0", 0, batch(0), batch(5))
    metadata(tmp_path, "AAAAAAAAAAAAAAAAAAAAAQ", (3, 0))
    reader = stream(tmp_path, failOnDataLoss=str(fails).lower())
    end = reader.latestOffset({}, ReadAllAvailable())
    metadata(tmp_path, "AAAAAAAAAAAAAAAAAAAAAg", (3, 0))
    if fails:
        with pytest.raises(PipelineError, match=r"DATA_LOSS. .*t-0 belongs to a new topic: its ID is now"):
            reader.partitions({}, end)
    else:
        assert rows(reader, {}, end) == []
        assert [row["offset"] for _, part in triggers(reader, end) for row in part] == [*range(10)]
    metadata(tmp_path, "AAAAAAAAAAAAAAAAAAAAAQ", (3, 0), (4, 5))
    if fails:
        with pytest.raises(
            PipelineError,
            match="before offset 10 has leader epoch 4, but the stream read a record with leader epoch 3 there",
        ):
            reader.partitions({}, end)
    else:
        assert [row["offset"] for row in rows(reader, {}, end)] == [*range(10)]


def test_a_log_that_was_cut_and_continued(tmp_path: Path) -> None:
    segment(tmp_path / "t-0", 0, batch(0), batch(5))
    metadata(tmp_path, "AAAAAAAAAAAAAAAAAAAAAQ", (3, 0), (4, 5))
    [(end, _)] = triggers(stream(tmp_path), {})
    metadata(tmp_path, "AAAAAAAAAAAAAAAAAAAAAQ", (3, 0), (4, 5), (7, 10))
    assert [*triggers(stream(tmp_path), end)] == []
    metadata(tmp_path, "AAAAAAAAAAAAAAAAAAAAAQ", (3, 0), (7, 5))
    with pytest.raises(
        PipelineError,
        match="before offset 10 has leader epoch 7, but the stream read a record with leader epoch 4 there",
    ):
        list(triggers(stream(tmp_path), end))
