"""The open transactions of a partition, updated batch by batch."""

from typing import Final

from tagwire.log.batch_rules import Seen
from tagwire.log.indexes import AbortedTransaction

ABORT: Final = 0
COMMIT: Final = 1
"""The types of control records that end a transaction."""


class Transactions:
    """The transactions of the batches seen so far. Pass batches in log order."""

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        """The first offset of each open transaction, by producer."""
        self.ended: set[int] = set()
        """Producers that have ended a transaction."""

    def followed_by(self, later: "Transactions") -> "Transactions":
        """Join the result of a segment that was read alone."""
        found = Transactions()
        found.open = later.open | {each: first for each, first in self.open.items() if each not in later.ended}
        found.ended = self.ended | later.ended
        return found

    def see(self, seen: Seen) -> AbortedTransaction | None:
        """Add the next batch; return the transaction if this batch aborts one with records.

        Its last stable offset is the first offset of the remaining open transactions, or the one after the marker.
        """
        batch = seen.batch
        if seen.marker is None:
            if batch.is_transactional and seen.records:
                self.open.setdefault(batch.producer_id, batch.base_offset)
            return None
        if seen.marker not in (ABORT, COMMIT):
            return None
        self.ended.add(batch.producer_id)
        first = self.open.pop(batch.producer_id, None)
        if first is None or seen.marker != ABORT:
            return None
        marker = batch.base_offset
        return AbortedTransaction(batch.producer_id, first, marker, min(self.open.values(), default=marker + 1))
