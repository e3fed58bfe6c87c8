"""The state of a share group's partition: a snapshot, and the updates after it.

An update has new batches of offsets with a delivery state and a delivery count. Where they overlap older ones, the
higher count wins, and with equal counts the higher state. Adjacent batches with equal state and count are joined.
Offsets below the start offset are finished. Source: KIP-932.
"""

from itertools import pairwise
from typing import Any, NamedTuple

from tagwire.log.state_json import StateMessage
from tagwire.log.topics import Entry


class Range(NamedTuple):
    """Offsets in one state."""

    first: int
    last: int
    deliveries: int
    state: int


class SharePartition:
    """One partition of one share group, from its snapshot on."""

    def __init__(self, snapshot: Entry) -> None:
        self.key = snapshot.key
        self.value = snapshot.value
        self.version = snapshot.version

    def update(self, update: Any) -> None:
        """Apply an update; fields that are -1 in the update keep their values."""
        changes = {
            name: getattr(update, name)
            for name in ("leader_epoch", "start_offset", "delivery_complete_count")
            if getattr(update, name) != -1
        }
        start = changes.get("start_offset", self.value.start_offset)
        ranges = merged([*map(_range, self.value.state_batches), *map(_range, update.state_batches)], start)
        batches = tuple(map(self._batch, ranges))
        self.value = self.value.replace(**changes, state_batches=batches)

    def _batch(self, each: Range) -> Any:
        make: Any = next(row.struct for row in self.value.FIELDS if row.name == "state_batches")
        return make(
            first_offset=each.first, last_offset=each.last, delivery_count=each.deliveries, delivery_state=each.state
        )

    def shown(self) -> StateMessage:
        """Return the fields of the key and the value."""
        return StateMessage(self.value, self.version, self.key.to_json(self.key.VERSIONS.highest))


def _range(batch: Any) -> Range:
    return Range(batch.first_offset, batch.last_offset, batch.delivery_count, batch.delivery_state)


def merged(ranges: list[Range], start: int) -> list[Range]:
    """Return the ranges without overlaps, from `start` on."""
    edges = sorted({edge for each in ranges for edge in (max(each.first, start), max(each.last + 1, start))})
    pieces = []
    for first, after in pairwise(edges):
        over = [each for each in ranges if each.first <= first and each.last >= after - 1]
        if over:
            best = max(over, key=lambda each: (each.deliveries, each.state))
            pieces.append(Range(first, after - 1, best.deliveries, best.state))
    joined: list[Range] = []
    for piece in pieces:
        before = joined[-1] if joined else None
        if before and before.last + 1 == piece.first and before[2:] == piece[2:]:
            joined[-1] = before._replace(last=piece.last)
        else:
            joined.append(piece)
    return joined
