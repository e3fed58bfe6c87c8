"""Compute the current groups, transactions and share partitions from the logs of Kafka's coordinators.

The results are nested dicts and lists for `tagwire.log.topics`, with field names as in the JSON form of messages.
In each group, `offsets` lists the committed offsets. All other records are stored by the name of their message. If the
key of such a record has a second field (such as the member), there is a dict of records, by the value of this field.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tagwire.errors import DecodeError, UnsupportedVersionError
from tagwire.log.topics import Entry, StateMessage
from tagwire.message.json import hidden_json
from tagwire.sensitive import hides

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry


class Range(NamedTuple):
    """Consecutive offsets of a share partition that have the same delivery count and delivery state."""

    first: int
    last: int
    deliveries: int
    state: int


def _updated(snapshot: Any, update: Any) -> Any:
    """Return a ShareSnapshotValue with a ShareUpdateValue applied. Its fields with the value -1 change nothing.

    Source: KIP-932.
    """
    names = "leader_epoch", "start_offset", "delivery_complete_count"
    changes = {name: getattr(update, name) for name in names if getattr(update, name) != -1}
    start = changes.get("start_offset", snapshot.start_offset)
    ranges = merged([*map(_range, snapshot.state_batches), *map(_range, update.state_batches)], start)
    make: Any = next(row.struct for row in snapshot.FIELDS if row.name == "state_batches")
    batches = tuple(
        make(first_offset=first, last_offset=last, delivery_count=deliveries, delivery_state=state)
        for first, last, deliveries, state in ranges
    )
    return snapshot.replace(**changes, state_batches=batches)


def _range(batch: Any) -> Range:
    return Range(batch.first_offset, batch.last_offset, batch.delivery_count, batch.delivery_state)


def merged(ranges: list[Range], start: int) -> list[Range]:
    """Resolve overlaps of a share partition's ranges, join adjacent equal ranges, and drop offsets below `start`.

    Where ranges overlap, the range with the higher delivery count wins. If the counts are equal, the range with the
    higher delivery state (a number) wins.
    """
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


class Kept(NamedTuple):
    """A key's current value, or a value whose transaction is still open."""

    offset: int
    entry: Entry


class KeyedState:
    """The last value of every key in a coordinator's log. Entries must be added in log order.

    The entries of a transaction take effect at its commit marker; an abort marker discards them. A committed entry does
    not replace a value with a higher offset: that value was written later, outside the transaction. A tombstone also
    deletes the key's values in open transactions. Source: OffsetMetadataManager.replay in Kafka 4.
    """

    def __init__(self) -> None:
        self._kept: dict[Any, Kept] = {}
        self._pending: dict[int, dict[Any, Kept]] = {}
        """The last value of each key in every open transaction, by producer."""

    def add(self, offset: int, entry: Entry, producer_id: int | None = None) -> None:
        """Add the next entry. `producer_id` is the producer whose transaction contains the entry, or None."""
        if entry.key is None:
            self._settle(entry.name, -1 if producer_id is None else producer_id)
        elif entry.is_tombstone:
            key = _identity(entry)
            for values in (self._kept, *self._pending.values()):
                values.pop(key, None)
        else:
            values = self._kept if producer_id is None else self._pending.setdefault(producer_id, {})
            values[_identity(entry)] = Kept(offset, entry)

    def _settle(self, marker: str, producer_id: int) -> None:
        if marker not in ("abort", "commit"):
            return
        for key, kept in self._pending.pop(producer_id, {}).items():
            if marker == "commit" and kept.offset >= self._kept.get(key, kept).offset:
                self._kept[key] = kept

    def entries(self) -> Iterator[Entry]:
        return (kept.entry for kept in self._kept.values())

    def pending(self) -> Iterator[Entry]:
        return (kept.entry for each in self._pending.values() for kept in each.values())


def _identity(entry: Entry) -> tuple[Any, ...]:
    """Return a tuple that identifies an entry's key in all versions."""
    key = entry.key
    return entry.name.removeprefix("Legacy"), *(getattr(key, field.name) for field in key.FIELDS)


_OFFSET_COMMITS: Final = ("OffsetCommit", "LegacyOffsetCommit")


def groups(kept: Iterable[Entry], pending: Iterable[Entry], registry: "Registry") -> dict[str, Any]:
    """Return each group's offsets, pending offsets (from open transactions) and other records, by group ID."""
    found: dict[str, Any] = {}
    for name, entries in (("offsets", kept), ("pendingOffsets", pending)):
        for entry in entries:
            fields = [field.name for field in entry.key.FIELDS]
            group = found.setdefault(getattr(entry.key, fields[0]), {"offsets": []})
            if entry.name in _OFFSET_COMMITS:
                partition = {"topic": entry.key.topic, "partition": entry.key.partition}
                group.setdefault(name, []).append(StateMessage(entry.value, entry.version, partition))
                continue
            value = _group_metadata(entry, registry) if entry.name == "GroupMetadata" else _value(entry)
            if len(fields) == 1:
                group[entry.name] = value
            else:
                group.setdefault(entry.name, {})[str(getattr(entry.key, fields[1]))] = value
    for group in found.values():
        for name in ("offsets", "pendingOffsets"):
            group.get(name, []).sort(key=lambda commit: (commit.ahead["topic"], commit.ahead["partition"]))
    return dict(sorted(found.items()))


def transactions(kept: Iterable[Entry]) -> dict[str, Any]:
    """Return the state of each transaction, by transactional ID."""
    return {
        entry.key.transactional_id: _value(entry) for entry in sorted(kept, key=lambda each: each.key.transactional_id)
    }


def share_partitions(entries: Iterable[Entry]) -> list[StateMessage]:
    """Return the state of each share partition, from its last snapshot and the updates after it, in log order."""
    found: dict[tuple[Any, ...], Entry] = {}
    for entry in entries:
        key = (entry.key.group_id, entry.key.topic_id, entry.key.partition)
        if entry.is_tombstone:
            if entry.name == "ShareSnapshot":
                found.pop(key, None)
        elif entry.name == "ShareSnapshot":
            found[key] = entry
        elif key in found:
            found[key] = found[key]._replace(value=_updated(found[key].value, entry.value))
    ordered = [found[key] for key in sorted(found, key=lambda key: (key[0], str(key[1]), key[2]))]
    return [StateMessage(each.value, each.version, each.key.to_json(each.key.VERSIONS.highest)) for each in ordered]


def _value(entry: Entry) -> StateMessage:
    return StateMessage(entry.value, entry.version)


def _group_metadata(entry: Entry, registry: "Registry") -> StateMessage | dict[str, Any]:
    """Return the metadata of a classic group.

    If its protocol type is `consumer`, each member's subscription and assignment are decoded. Bytes that can't be
    decoded remain base64.
    """
    value: dict[str, Any] = entry.value.to_json(entry.version)
    if value.get("protocolType") != "consumer":
        return _value(entry)
    for member in value["members"]:
        for name, message in (
            ("subscription", "ConsumerProtocolSubscription"),
            ("assignment", "ConsumerProtocolAssignment"),
        ):
            member[name] = _protocol(member[name], registry, message)
    return hidden_json(entry.value, value) if hides() else value


def _protocol(text: str, registry: "Registry", name: str) -> Any:
    """Decode base64 text that contains an int16 version and a message, and return the message as JSON.

    Like Kafka's clients, read an unknown newer version as the highest known one. If the text can't be decoded, return
    it unchanged.
    """
    from base64 import b64decode

    try:
        frame = registry.decode_prefixed(name, b64decode(text), strict=False)
    except (DecodeError, UnsupportedVersionError):
        return text
    return {"version": frame.version} | frame.message.to_json(frame.version)
