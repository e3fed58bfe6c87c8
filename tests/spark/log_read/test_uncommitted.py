from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from shutil import copytree
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from streamed_logs import rows, segment, stream, triggers
from written_logs import arrow_rows, read_rows

from tagwire.records import Record, build
from tagwire_spark import PipelineError
from tagwire_spark.log_read import uncommitted

ABORT, COMMIT = b"\0\0\0\0", b"\0\0\0\1"
COMMITTED = {"isolation.level": "read_committed"}


def batch(first: int, producer: int = -1, format: str = "v2", count: int = 3) -> bytes:
    records = [Record(first + n, 1_700_000_000_000, b"k", b"value") for n in range(count)]
    return build(records, format, producer_id=producer, is_transactional=producer >= 0).encode()


def marker(offset: int, producer: int, key: bytes | None, format: str = "v2") -> bytes:
    record = Record(offset, 1_700_000_000_000, key, bytes(6))
    return build([record], format, producer_id=producer, is_transactional=True, is_control=True).encode()


def transactions(format: str) -> list[bytes]:
    aborted = [batch(0, 1, format), marker(3, 1, ABORT, format)]
    return [*aborted, batch(4, format=format), batch(7, 2, format), marker(10, 2, COMMIT, format)]


def flipped(data: bytes, at: int = 30) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def read(path: Path, **options: str) -> list[tuple[int | None, bool]]:
    found = read_rows(path, **COMMITTED, **options)
    return [(row["offset"], bool(row.get("_error"))) for row in found if not row["isControl"]]


def streamed(path: Path, start: dict[str, Any] | None = None, **options: str) -> tuple[dict[str, Any], list[Any]]:
    reader, start = stream(path, **COMMITTED, **options), start or {}
    end = reader.latestOffset(start, ReadAllAvailable())
    return end, [(row["offset"], bool(row.get("_error"))) for row in rows(reader, start, end)]


@pytest.mark.parametrize("format", ["v2", "v3", "v3-zigzag", "kip82-int", "kip87", "kip82-int+kip87"])
def test_all_records_are_committed_in_formats_without_transactions(tmp_path: Path, format: str) -> None:
    has_them = format.startswith("v")
    segment(tmp_path / "t-0", 0, *(transactions(format) if has_them else [batch(4, format=format, count=6)]))
    expected = [(offset, False) for offset in range(4, 10)]
    assert read(tmp_path, recordFormat=format) == expected
    assert streamed(tmp_path, recordFormat=format) == ({"t": {"0": 11 if has_them else 10}}, expected)


@pytest.mark.parametrize(("spoiled", "expected"), [
    (2, [(None, True), (7, False), (8, False), (9, False)]),
    (0, [(None, True), (4, False), (5, False), (6, False), (7, False), (8, False), (9, False)]),
    (4, [(4, False), (5, False), (6, False), (None, True)]),  # the damage includes a marker
])  # fmt: skip
def test_damage_in_permissive_mode(tmp_path: Path, spoiled: int, expected: list[tuple[int | None, bool]]) -> None:
    """Damage causes an error row. It also hides transactions whose marker may be in the damaged bytes."""
    batches = transactions("v2")
    batches[spoiled] = flipped(batches[spoiled])
    segment(tmp_path / "t-0", 0, *batches, batch(11))
    assert read(tmp_path, mode="PERMISSIVE") == [
        *expected,
        *([(11 + n, False) for n in range(3)] if spoiled < 4 else []),
    ]
    end, found = streamed(tmp_path, mode="PERMISSIVE")
    if spoiled < 4:
        assert end == {"t": {"0": 14}} and found == read(tmp_path, mode="PERMISSIVE")
    else:  # a stream stops before an open transaction
        assert end == {"t": {"0": 7}} and found == expected[:3]
    for call in (read, streamed):
        with pytest.raises(PipelineError, match=r"^\[MALFORMED_KAFKA_LOG\] .*\.log: .* crc at byte"):
            call(tmp_path)


@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE"])
def test_marker_with_an_invalid_key(tmp_path: Path, mode: str) -> None:
    segment(tmp_path / "t-0", 0, batch(0), batch(3, 1), marker(6, 1, b"\0"))
    if mode == "PERMISSIVE":
        assert [offset for offset, _ in read(tmp_path, mode=mode)] == [0, 1, 2]
        return
    with pytest.raises(PipelineError, match=r"^\[MALFORMED_KAFKA_LOG\] .*\.log: control record: key at byte"):
        read(tmp_path)


@pytest.mark.parametrize("options", [{}, {"minOffsetsPerTrigger": "1"}, {"maxOffsetsPerTrigger": "1"}])
def test_stream_that_starts_within_an_open_transaction(tmp_path: Path, options: dict[str, str]) -> None:
    """Check that the stream waits for the end of the transaction."""
    segment(tmp_path / "t-0", 0, batch(0, 1), batch(3), batch(6))
    reader = stream(tmp_path, startingOffsets='{"t": {"0": 4}}', **COMMITTED, **options)
    start = reader.initialOffset()
    assert start == {"t": {"0": 4}} and reader.latestOffset(start, reader.getDefaultReadLimit()) == start
    reader.prepareForTriggerAvailableNow()
    assert reader.latestOffset(start, reader.getDefaultReadLimit()) == start
    segment(tmp_path / "t-0", 0, batch(0, 1), batch(3), batch(6), marker(9, 1, COMMIT))
    reader = stream(tmp_path, **COMMITTED, **options)
    assert [row["offset"] for _, part in triggers(reader, start) for row in part] == [*range(4, 9)]
    with pytest.raises(PipelineError, match="ends at offset 10, but"):
        reader.latestOffset({"t": {"0": 11}}, reader.getDefaultReadLimit())


@pytest.mark.parametrize("zeros", [0, 400])
def test_log_that_grows_byte_by_byte(tmp_path: Path, zeros: int) -> None:
    whole = b"".join(transactions("v2"))
    position: dict[str, Any] = {"t": {"0": 0}}
    got: list[int] = []
    for end in (*range(0, len(whole), 7), len(whole)):
        segment(tmp_path / "t-0", 0, whole[:end], bytes(zeros))
        position, found = streamed(tmp_path, position)
        got += [offset for offset, _ in found]
    assert got == list(range(4, 10)) and position == {"t": {"0": 11}}


@pytest.mark.parametrize("count", [3, 500])
@pytest.mark.parametrize("damaged", [flipped, lambda data: data[:-5]], ids=["flipped", "truncated"])
def test_damage_after_the_requested_batches(tmp_path: Path, damaged: Callable[[bytes], bytes], count: int) -> None:
    """Damage after the requested range must be ignored in the last segment, and fail the read in other segments.

    Both a small and a large segment are tested: Python reads small segments, and native code reads large ones.
    """
    segment(tmp_path / "t-0", 0, batch(0), damaged(batch(3, count=count)))
    assert [offset for offset, _ in read(tmp_path, endingOffsets='{"t": {"0": 3}}')] == [0, 1, 2]
    with pytest.raises(PipelineError, match="MALFORMED_KAFKA_LOG"):
        read(tmp_path)
    segment(tmp_path / "t-0", 3 + count, batch(3 + count))
    with pytest.raises(PipelineError, match="MALFORMED_KAFKA_LOG"):
        read(tmp_path, endingOffsets='{"t": {"0": 3}}')


@pytest.mark.parametrize("index", ["whole", "missing", "empty", "shortened"])
@pytest.mark.parametrize("level", ["record", "batch"])
def test_index_without_an_abort_is_rejected(tmp_path: Path, logs: Path, index: str, level: str) -> None:
    """A missing abort in the transaction index is an error if there is a producer snapshot."""
    folder = next(each.parent for each in sorted(logs.rglob("*.txnindex")) if each.stat().st_size > 34)
    copytree(folder, tmp_path / folder.name)
    expected = [*arrow_rows(tmp_path, **COMMITTED, level=level)]
    [path] = (tmp_path / folder.name).glob("*.txnindex")
    data = path.read_bytes()
    path.unlink() if index == "missing" else path.write_bytes({"empty": b"", "shortened": data[:34]}.get(index, data))
    if index == "whole":
        assert [*arrow_rows(tmp_path, **COMMITTED, level=level)] == expected
    else:
        with pytest.raises(PipelineError, match=r"MALFORMED_KAFKA_LOG.*aborted a transaction at offset \d+.*snapsh"):
            list(arrow_rows(tmp_path, **COMMITTED, level=level))
    for each in (tmp_path / folder.name).glob("*.snapshot"):
        each.unlink()
    assert [*arrow_rows(tmp_path, **COMMITTED, level=level)] == expected


@pytest.mark.parametrize("level", ["record", "batch"])
@pytest.mark.parametrize("end", [{}, {"maxSplitBytes": "100"}])
@pytest.mark.parametrize("key", [ABORT, COMMIT])
def test_index_without_an_abort_after_the_end_of_the_read(
    tmp_path: Path, key: bytes, end: dict[str, str], level: str
) -> None:
    """A read that ends before an abort marker must fail if the transaction index lacks the abort."""
    segment(tmp_path / "t-0", 0, batch(0, 1), batch(3), batch(6, 2))
    segment(tmp_path / "t-0", 9, batch(9), marker(12, 2, COMMIT), marker(13, 1, key))
    segment(tmp_path / "t-0", 14, batch(14))
    # A producer snapshot: version 1, CRC-32C, and no producers.
    (tmp_path / "t-0" / f"{14:020}.snapshot").write_bytes(bytes.fromhex("0001 48674bc7 00000000"))
    for offset in (1, 3, 6, 9, 12):
        options = {"endingOffsets": f'{{"t": {{"0": {offset}}}}}', "level": level} | end

        def read_to(options: dict[str, str] = options) -> list[Any]:
            return [row["baseOffset"] for row in read_rows(tmp_path, **COMMITTED, **options)]

        reader = stream(tmp_path, **COMMITTED, level=level, **end)
        for call in (read_to, lambda offset=offset, reader=reader: rows(reader, {}, {"t": {"0": offset}})):
            if key == COMMIT:
                assert call()
            else:
                with pytest.raises(PipelineError, match=r"producer 1 aborted a transaction at offset 13, but no"):
                    call()


def test_marker_without_a_key_ends_no_transaction(tmp_path: Path) -> None:
    segment(tmp_path / "t-0", 0, batch(0, 1), marker(3, 1, None))
    segment(tmp_path / "t-0", 4, batch(4), marker(7, 1, COMMIT))
    (tmp_path / "t-0" / f"{8:020}.snapshot").write_bytes(bytes.fromhex("0001 48674bc7 00000000"))
    (tmp_path / "t-0" / f"{0:020}.txnindex").write_bytes(b"")
    (tmp_path / "t-0" / f"{4:020}.txnindex").write_bytes(b"")
    assert read(tmp_path) == [(offset, False) for offset in (0, 1, 2, 4, 5, 6)]


@pytest.fixture
def gone_over(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that collects the base offset of each batch that is scanned for transactions."""
    seen: list[int] = []
    original = uncommitted._headers

    def noted(*arguments: Any, **named: Any) -> Iterator[Any]:
        for found in original(*arguments, **named):
            seen.extend(header.base_offset for header in found[2])
            yield found

    monkeypatch.setattr(uncommitted, "_headers", noted)
    return seen


def test_stream_scans_a_log_once(tmp_path: Path, gone_over: list[int]) -> None:
    parts = [batch(0, 1), marker(3, 1, ABORT), batch(4, 2), batch(7), marker(10, 2, COMMIT), batch(11, 3)]
    position: dict[str, Any] = {"t": {"0": 0}}
    got: list[int] = []
    for count in range(1, len(parts) + 1):
        segment(tmp_path / "t-0", 0, *parts[:count])
        gone_over.clear()
        position, found = streamed(tmp_path, position)
        got += [offset for offset, _ in found]
        assert gone_over == [{1: 0, 2: 3, 3: 4, 4: 7, 5: 10, 6: 11}[count]]
    assert got == [*range(4, 10)] and position == {"t": {"0": 11}}
    assert [offset for offset, _ in read(tmp_path)] == got


def test_truncated_and_rewritten_log_is_scanned_again(tmp_path: Path, gone_over: list[int]) -> None:
    """The open transaction of the old log may be committed in the rewritten log."""
    segment(tmp_path / "t-0", 0, batch(0), batch(3, 1))
    assert [offset for offset, _ in read(tmp_path)] == [0, 1, 2]
    segment(tmp_path / "t-0", 0, batch(0), batch(3, count=2), batch(5, 1, count=1), marker(6, 1, COMMIT))
    gone_over.clear()
    assert [offset for offset, _ in read(tmp_path)] == [*range(6)] and gone_over == [0, 3, 5, 6]
    segment(tmp_path / "t-0", 0, batch(0))
    assert [offset for offset, _ in read(tmp_path)] == [0, 1, 2]


class Counted(tuple[tuple[int, int, int], ...]):
    """A tuple of transactions. Iteration fails the test, because the tuple must be searched by bisection."""

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        pytest.fail("all transactions are gone over for one batch")


def test_lookup_among_thousands_of_transactions() -> None:
    """Check that look-ups among random transactions, some of which overlap, agree with a linear search."""
    random = Random(7)
    for count in (0, 1, 5, 60, 3000):
        firsts = [(random.randrange(5), random.randrange(0, 4 * count + 1)) for _ in range(count)]
        aborted = {(producer, first, first + random.randrange(9)) for producer, first in firsts}
        known = uncommitted.Transactions(Counted(uncommitted._joined(aborted)), 1 << 62)
        for offset in [*range(40), *random.sample(range(4 * count + 20), 20)]:
            for producer in range(6):
                expected = any(each == producer and first <= offset <= last for each, first, last in aborted)
                assert known.hides(offset, producer, True, False) == expected


def test_a_stream_from_a_timestamp_does_not_start_earlier_because_of_an_open_transaction(tmp_path: Path) -> None:
    def at(offset: int, producer: int = -1) -> bytes:
        record = Record(offset, 1_000 + offset, b"k", b"value")
        return build([record], "v2", producer_id=producer, is_transactional=producer >= 0).encode()

    open_transaction = [at(0), at(1, 1), at(2), at(3)]
    segment(tmp_path / "t-0", 0, *open_transaction)
    reader = stream(tmp_path, **COMMITTED, startingTimestamp="1002")
    start = reader.initialOffset()
    assert start == {"t": {"0": 2}} == reader.latestOffset(start, ReadAllAvailable())
    segment(tmp_path / "t-0", 0, *open_transaction, marker(4, 1, COMMIT))
    assert [row["offset"] for row in rows(reader, start, reader.latestOffset(start, ReadAllAvailable()))] == [2, 3]
