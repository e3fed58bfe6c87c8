"""The records of a Fetch response that a consumer sees."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.records.control import CONTROL_TYPES, control_type
from tagwire.records.format_set import AUTO, Formats
from tagwire.records.reading import read_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tagwire.records.record import Record


def committed(
    partition: Any, *, start: int | None = None, format: Formats = AUTO, limits: Limits = DEFAULT_LIMITS
) -> Iterator[Record]:
    """Iterate over the records of a partition in a FetchResponse, as a consumer sees them.

    `partition` has `records`, and `aborted_transactions` if the request was READ_COMMITTED: records of these
    transactions are left out, as in Kafka's consumer. So are markers, and a last batch that the broker has cut off to
    fill the requested size. With `start`, the requested offset, earlier records in the same batch are left out. Raises
    DecodeError, LimitError.
    """
    aborted = deque(sorted((each.first_offset, each.producer_id) for each in partition.aborted_transactions or ()))
    open_aborted: set[int] = set()
    for batch in read_batches(partition.records or b"", format, limits, partial=True):
        while aborted and aborted[0][0] <= batch.last_offset:
            open_aborted.add(aborted.popleft()[1])
        if batch.is_control:
            if any(CONTROL_TYPES.get(control_type(record), ("",))[0] == "abort" for record in batch):
                open_aborted.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in open_aborted):
            yield from (record for record in batch if start is None or record.offset >= start)
