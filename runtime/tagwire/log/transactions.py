"""The open transactions of a partition, updated batch by batch."""

from typing import Final

from tagwire.log.batch_rules import Seen
from tagwire.log.indexes import AbortedTransaction

ABORT: Final = 0
COMMIT: Final = 1
"""The types of control records that end a transaction."""


class Transactions:
    """Feed it batches in the order of the log."""

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        """Producer, and the first offset of its transaction."""
        self.ended: set[int] = set()
        """Producers that have ended one."""

    def followed_by(self, later: "Transactions") -> "Transactions":
        """Join the result of a segment that was read alone."""
        found = Transactions()
        found.open = later.open | {each: first for each, first in self.open.items() if each not in later.ended}
        found.ended = self.ended | later.ended
        return found

    def see(self, seen: Seen) -> AbortedTransaction | None:
        """Take the next batch; returns the transaction if the batch is a marker that aborts one with records.

        Its last stable offset is the first offset of the transactions that are still open, or the one after the marker.
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
