import pickle
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwire.log.batch_summary import BatchSummary
from tagwire.records import Record, RecordBatch, build
from tagwire.records.building import BatchBuilder
from tagwire.records.control import control_type

COMMIT, ABORT, LEADER_CHANGE = b"\0\0\0\1", b"\0\0\0\0", b"\0\0\0\2"


@cache
def batch(kind: str, offset: int, producer: int = 1, epoch: int = 0, time: int = 100, size: int = 2) -> RecordBatch:
    """Return a batch of `size` records, or a control batch. If `kind` begins with "empty", the batch has no records."""
    what, of = kind.rpartition(" ")[::2]
    settings: dict[str, Any] = {} if producer < 0 else {"producer_id": producer, "producer_epoch": epoch}
    settings["is_transactional"] = of != "plain"
    if of in ("commit", "abort", "leader"):
        key = {"commit": COMMIT, "abort": ABORT, "leader": LEADER_CHANGE}[of]
        settings["is_control"], size = True, 1
        records = [Record(offset, time, key, b"\0\0\0\0\0\0")]
    else:
        settings |= {"base_sequence": offset} if producer >= 0 else {}
        records = [Record(offset + each, time + each, b"k", b"v") for each in range(size)]
    if what == "empty":
        offsets: dict[str, Any] = {"base_offset": offset, "last_offset": offset + size - 1, "max_timestamp": time}
        return BatchBuilder("v2", **settings, **offsets).build()
    return build(records, "v2", **settings)


def summary(batches: Sequence[RecordBatch]) -> BatchSummary:
    found = BatchSummary()
    for each in batches:
        found.see(each)
    return found


def producer_facts(found: BatchSummary) -> dict[int, list[Any]]:
    names = ("epoch", "last_data_offset", "last_timestamp", "is_steady")
    return {each: [getattr(of, name) for name in names] for each, of in found.producers.items()}


def facts(found: BatchSummary) -> dict[str, Any]:
    aborted = {each: spans for each, spans in found.aborted.items() if spans}
    return {**vars(found), "producers": producer_facts(found), "aborted": aborted}


PRODUCERS = [
    ([batch("txn", 5)], [0, 6, 101, True]),
    ([batch("plain", 5), batch("plain", 7, time=300)], [0, 8, 301, True]),
    ([batch("txn", 5), batch("commit", 7, time=200)], [0, 6, 200, True]),
    (
        [batch("txn", 5), batch("commit", 7, epoch=1)],
        [1, None, 100, False],
    ),  # the marker's newer epoch fences the producer
    ([batch("commit", 7, epoch=1)], [1, None, 100, True]),
    ([batch("txn", 5), batch("txn", 7, epoch=1)], [1, 8, 101, False]),
    ([batch("txn", 5), batch("abort", 7, epoch=1), batch("txn", 8, epoch=1)], [1, 9, 101, False]),
    ([batch("txn", 5), batch("leader", 7, epoch=1)], [0, 6, 101, True]),
    ([batch("txn", 5, epoch=0), batch("empty commit", 7, time=250)], [0, 6, 250, True]),
    # A producer returns to an older epoch.
    ([batch("txn", 5), batch("commit", 7, epoch=1), batch("commit", 8)], [0, None, 100, False]),
]


@pytest.mark.parametrize(("batches", "known"), PRODUCERS)
def test_summary_of_a_producer(batches: list[RecordBatch], known: list[Any]) -> None:
    assert producer_facts(summary(batches)) == {1: known}


def test_every_producer_id_is_a_producer() -> None:
    found = summary([batch("plain", 0, -1), batch("txn", 2, 0), batch("txn", 4, 7)])
    assert found.producers.keys() == found.begun.keys() == found.open.keys() == {0, 7}


TRANSACTIONS: list[tuple[list[RecordBatch], tuple[Any, ...]]] = [
    ([batch("plain", 5)], ({}, {}, {}, {})),
    ([batch("txn", 5), batch("txn", 7)], ({1: 5}, {1: 5}, {}, {})),
    ([batch("empty txn", 5)], ({1: 5}, {}, {}, {})),
    ([batch("empty txn", 5), batch("txn", 7)], ({1: 5}, {1: 7}, {}, {})),
    ([batch("txn", 5), batch("commit", 7)], ({}, {}, {}, {1: (1, 7)})),
    ([batch("txn", 5), batch("abort", 7)], ({}, {}, {1: [(5, 7)]}, {1: (0, 7)})),
    ([batch("abort", 7)], ({}, {}, {}, {1: (0, 7)})),
    # an empty batch has no records to abort
    ([batch("empty txn", 5), batch("abort", 7)], ({}, {}, {}, {1: (0, 7)})),
    ([batch("txn", 5), batch("leader", 7)], ({1: 5}, {1: 5}, {}, {})),
    # the marker has no record, so nothing says whether it is a commit or an abort
    ([batch("txn", 5), batch("empty abort", 7)], ({}, {}, {}, {1: (-1, 7)})),
    (
        [
            batch("txn", 5),
            batch("abort", 7),
            batch("txn", 8),
            batch("commit", 10),
            batch("txn", 11),
            batch("abort", 13),
        ],
        ({}, {}, {1: [(5, 7), (11, 13)]}, {1: (0, 7)}),
    ),
    (
        [batch("txn", 5, 1), batch("txn", 7, 2), batch("abort", 9, 2), batch("txn", 10, 2)],
        ({1: 5, 2: 10}, {1: 5, 2: 10}, {2: [(7, 9)]}, {2: (0, 9)}),
    ),
]


@pytest.mark.parametrize(("batches", "known"), TRANSACTIONS)
def test_summary_of_transactions(batches: list[RecordBatch], known: tuple[Any, ...]) -> None:
    found = summary(batches)
    assert (found.begun, found.open, found.aborted, found.markers) == known


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (b"\0\0\0\1", 1),
        (b"\0\0\0\0", 0),
        (b"\0\0\1\2", 258),
        (b"\0\0\xff\xff", -1),
        (b"\0\5\0\1more", 1),
        (b"\0\0\1", -1),
        (None, -1),
    ],
)
def test_type_of_a_marker_is_an_int16_after_the_version(key: bytes | None, kind: int) -> None:
    assert control_type(key) == kind
    assert control_type(None) == -1


@pytest.mark.parametrize(
    ("offsets", "ascends"),
    [([5, 7], True), ([5, 9], True), ([5, 6], False), ([5, 5], False), ([5, 6, 9], False), ([9, 5, 20], False)],
)
def test_summary_detects_descending_batches(offsets: list[int], ascends: bool) -> None:
    found = summary([batch("plain", offset) for offset in offsets])
    assert (found.first, found.end, found.ascends) == (offsets[0], offsets[-1] + 2, ascends)


def test_the_newest_timestamp() -> None:
    assert BatchSummary().newest == -1
    assert summary([batch("plain", 0, time=500), batch("plain", 2, time=100)]).newest == 501


def test_wrappers_are_not_decompressed() -> None:
    """A summary must begin at the last offset of a compressed v1 batch.

    The first offset of such a batch is known only after decompression.
    """
    found = summary([build([Record(n, 100, b"k", b"v") for n in (4, 5)], "v1", compression="gzip")])
    assert (found.first, found.end, found.ascends) == (5, 6, True)


KINDS = st.sampled_from(("txn", "plain", "commit", "abort", "leader", "empty txn", "empty abort"))
STEPS = st.tuples(KINDS, st.sampled_from((-1, 1, 2)), st.sampled_from((0, 0, 1)), st.sampled_from((2, 2, 2, 5, 1)))


def assert_same_when_cut(batches: list[RecordBatch], cuts: list[int]) -> None:
    together = BatchSummary()
    for begin, end in zip([0, *cuts], [*cuts, len(batches)], strict=True):
        together.go_on(pickle.loads(pickle.dumps(summary(batches[begin:end]))))
    assert facts(together) == facts(summary(batches))


@given(st.lists(STEPS, max_size=8), st.lists(st.integers(0, 8), max_size=3))
def test_summary_is_independent_of_segments(steps: list[tuple[str, int, int, int]], cuts: list[int]) -> None:
    batches, offset = [], 0
    for number, (kind, producer, epoch, step) in enumerate(steps):
        batches.append(batch(kind, offset, producer, epoch, 100 + number * 37 % 5))
        offset += step
    assert_same_when_cut(batches, sorted(min(cut, len(batches)) for cut in cuts))


@pytest.mark.parametrize("batches", [batches for batches, _ in (*PRODUCERS, *TRANSACTIONS)])
def test_each_case_in_segments(batches: list[RecordBatch]) -> None:
    for cut in range(len(batches) + 1):
        assert_same_when_cut(batches, [cut])
    assert_same_when_cut(batches, [*range(len(batches) + 1)])
