from collections.abc import Sequence

import pytest

import tagwire
from tagwire import records
from tagwire_messages.fetch_response import AbortedTransaction, PartitionData


def batch(base: int, producer: int = -1, count: int = 2, *, marker: int | None = None) -> bytes:
    builder = records.BatchBuilder(
        "v2",
        base_offset=base,
        producer_id=producer,
        producer_epoch=0 if producer >= 0 else -1,
        is_transactional=producer >= 0,
        is_control=marker is not None,
    )
    for _ in range(1 if marker is not None else count):
        builder.append(None if marker is None else bytes((0, 0, 0, marker)), b"v")
    return builder.build().encode()


ABORT, COMMIT = 0, 1
LOG = [
    batch(0, 7), batch(2), batch(4, 8), batch(6, 7, marker=ABORT), batch(7, 8, marker=COMMIT), batch(8, 7),
    batch(10, 7, marker=COMMIT),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "aborted", "start", "want"), [
    (LOG, [(7, 0)], None, [2, 3, 4, 5, 8, 9]),
    (LOG, [(7, 0), (8, 4)], None, [2, 3, 8, 9]),
    (LOG, None, None, [0, 1, 2, 3, 4, 5, 8, 9]),
    (LOG, [(7, 0)], 3, [3, 4, 5, 8, 9]),
    ([*LOG[1:3], LOG[5][:-1]], [], None, [2, 3, 4, 5]),
    ([LOG[1][:30]], None, None, []),
    ([], None, None, []),
])  # fmt: skip
def test_committed_records(
    parts: Sequence[bytes], aborted: list[tuple[int, int]] | None, start: int | None, want: list[int]
) -> None:
    transactions = None if aborted is None else [AbortedTransaction(producer_id=p, first_offset=o) for p, o in aborted]
    partition = PartitionData(records=b"".join(parts) or None, aborted_transactions=transactions)
    assert [record.offset for record in records.committed(partition, start=start)] == want


@pytest.mark.parametrize("value", [b"".join(LOG), None])
def test_a_value_that_is_not_a_partition(value: object) -> None:
    with pytest.raises(tagwire.TagwireError, match=r"expected a partition of a FetchResponse, got .*read_batches"):
        next(records.committed(value))


def test_a_marker_without_its_messages() -> None:
    marker = records.control_record(records.Record(0, 1, bytes.fromhex("00000001"), bytes.fromhex("000000000007")))
    assert (marker.type, marker.message.coordinator_epoch) == ("commit", 7)
    unknown = records.control_record(records.Record(0, 1, bytes.fromhex("0000002a"), b"??"))
    assert (unknown.type, unknown.number, unknown.message, unknown.value) == ("unknown", 42, None, b"??")


def test_a_marker_that_is_cut_off() -> None:
    key = bytes.fromhex("00000001")
    assert records.control_record(records.Record(0, 1, key, b"\0")).message is None
    with pytest.raises(tagwire.DecodeError, match="coordinator_epoch"):
        records.control_record(records.Record(0, 1, key, b"\0\0"))


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0"])
def test_control_record_with_an_invalid_key(key: bytes | None) -> None:
    with pytest.raises(tagwire.DecodeError, match="a version and a type"):
        records.control_record(records.Record(0, 1, key, b""))
