"""Map IDs that servers assign, so that requests contain the target server's IDs instead of the recorded ones.

Each server assigns its own IDs to topics, group members, producers and sessions, and rejects unknown IDs. If the ID in
a response differs from the recorded ID, the new ID replaces the recorded ID in all later requests and expected
responses. Epochs are mapped in the same way. `by_key` finds the elements of two arrays that correspond to each other.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final
from uuid import UUID

from tagwire.errors import TagwireError
from tagwire.frames.registry import Registry
from tagwire.message.field_table import FieldRow
from tagwire.message.struct_class import Struct
from tagwire.testing.peer.journal import MISSING, by_position

_IDS: Final = {
    "client_instance_id": "client",
    "cluster_id": "cluster",
    "leader": "member",  # a group's leader; partition leaders are numbers
    "member_id": "member",
    "producer_id": "producer",
    "session_id": "session",
    "topic_id": "topic",
    "v3_and_below_producer_id": "producer",
}
"""Fields that contain an ID, with the kind of the ID."""
_EPOCHS: Final = {
    "generation_id": "member",
    "generation_id_or_member_epoch": "member",
    "member_epoch": "member",
    "producer_epoch": "producer",
    "v3_and_below_producer_epoch": "producer",
}
"""Maps each field that contains an epoch to the kind of ID that the epoch belongs to. Both are in the same struct."""
_NAMES: Final = ("name", "topic", "group_id", "transactional_id")
"""Fields that name the owner of an ID, such as a topic. Two IDs are paired only if their owners have equal names."""

_KEYS: Final = (
    "name",
    "topic",
    "topic_name",
    "topic_id",
    "index",
    "partition",
    "partition_id",
    "partition_index",
    "group_id",
    "member_id",
    "transactional_id",
    "producer_id",
    "node_id",
    "broker_id",
    "api_key",
    "resource_type",
    "resource_name",
    "feature",
    "path",
)
"""Fields that identify an array element. They are used if the message class doesn't define the array's keys."""
_ASSIGNED: Final = ("topic_id", "member_id", "producer_id")
"""Fields whose values the server assigns. They are used only if no other field identifies the elements."""


class IdMapping:
    """Maps recorded IDs and epochs to those that the target server assigned."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._ids: dict[tuple[str, Any], Any] = {}
        self._taken: set[tuple[str, Any]] = set()
        self._epochs: dict[tuple[str, Any, int], int] = {}
        self._is_needed = False

    def learn(self, recorded: Any, received: Any) -> None:
        """Compare two responses, and map recorded IDs to received IDs. IDs that are already mapped stay unchanged.

        An ID that occurs in both responses is mapped to itself. Other IDs are paired if the names in their structs,
        such as topic names, are equal (`_NAMES`).
        """
        for kind, id_ in {*_ids_in(recorded)} & {*_ids_in(received)}:
            self._learn_id(kind, id_, id_)
        self._learn_positions(recorded, received)

    def _learn_positions(self, recorded: Any, received: Any) -> None:
        if type(recorded) is not type(received):
            return
        if any(getattr(recorded, name, None) != getattr(received, name, None) for name in _NAMES):
            return
        for row in recorded.FIELDS:
            one, other = getattr(recorded, row.name), getattr(received, row.name)
            if _is_id(row, one) and _is_id(row, other):
                self._learn_id(_IDS[row.name], one, other)
            elif isinstance(one, Struct):
                self._learn_positions(one, other)
            elif row.struct is not None and isinstance(one, list | tuple) and isinstance(other, list | tuple):
                for pair in _paired(one, other, row.unique):
                    self._learn_positions(*pair)
        for row in recorded.FIELDS:
            if row.name in _EPOCHS:
                self._learn_epoch(row, recorded, received)

    def request(self, frame: bytes) -> bytes:
        """Return a recorded request with the target server's IDs. Return it unchanged if it can't be read."""
        if not self._is_needed:
            return frame
        try:
            request = self._registry.decode_request(frame)
            body = request.message.encode(request.version)
            changed = self.message(request.message)
            if changed is request.message or not frame.endswith(body):
                return frame
            return frame[: len(frame) - len(body)] + bytes(changed.encode(request.version))
        except TagwireError:
            return frame

    def message(self, recorded: Any) -> Any:
        """Return a recorded message or struct with the target server's IDs, or the same object if nothing changes."""
        changes = {}
        for row in recorded.FIELDS if self._is_needed else ():
            value = getattr(recorded, row.name)
            new = self._value(row, value, recorded)
            if new is not value:
                changes[row.name] = new
        return recorded.replace(**changes) if changes else recorded

    def _learn_id(self, kind: str, one: Any, other: Any) -> None:
        if (kind, one) not in self._ids and (kind, other) not in self._taken:
            self._ids[kind, one] = other
            self._taken.add((kind, other))
            self._is_needed |= one != other

    def _learn_epoch(self, row: FieldRow, recorded: Struct, received: Struct) -> None:
        kind = _EPOCHS[row.name]
        one, other = _id_of(kind, recorded), _id_of(kind, received)
        if one is None or self._ids.get((kind, one)) != other:
            return
        before, after = getattr(recorded, row.name), getattr(received, row.name)
        if isinstance(before, int) and before >= 0 and after >= 0:
            self._epochs.setdefault((kind, one, before), after)
            self._is_needed |= before != after

    def _value(self, row: FieldRow, value: Any, holder: Struct) -> Any:
        """Return a field's recorded value with its IDs and epochs replaced by the target server's."""
        if row.name in _IDS and _are_ids(value):
            return self._ids.get((_IDS[row.name], value), value)
        if row.name in _EPOCHS and isinstance(value, int):
            kind = _EPOCHS[row.name]
            return self._epochs.get((kind, _id_of(kind, holder), value), value)
        if row.type == "records":
            return self._records(value) if value else value
        if isinstance(value, Struct):
            return self.message(value)
        if row.struct is None or not isinstance(value, list | tuple):
            return value
        new = [self.message(each) if isinstance(each, Struct) else each for each in value]
        return value if all(one is other for one, other in zip(value, new, strict=True)) else new

    def _records(self, data: Any) -> Any:
        """Return record batches with the target server's producer IDs and epochs. Return other bytes unchanged."""
        from tagwire.records import read_batches

        changed = []
        is_changed = False
        try:
            for batch in read_batches(data):
                new = batch
                id_ = self._ids.get(("producer", batch.producer_id), batch.producer_id)
                epoch = self._epochs.get(("producer", batch.producer_id, batch.producer_epoch), batch.producer_epoch)
                if (id_, epoch) != (batch.producer_id, batch.producer_epoch):
                    new, is_changed = batch.replace(producer_id=id_, producer_epoch=epoch), True
                changed.append(new.encode())
        except TagwireError:
            return data
        return b"".join(changed) if is_changed else data


def _paired(recorded: Any, received: Any, keys: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    """Pair recorded elements with received elements: by equal keys, and the others by position."""
    found = by_key(recorded, received, keys)
    yield from (pair for pair in found if MISSING not in pair)
    yield from zip(
        [one for one, other in found if other is MISSING],
        [other for one, other in found if one is MISSING],
        strict=False,
    )


def _is_id(row: FieldRow, value: object) -> bool:
    """Return whether a field's value is an ID, and not a default such as -1, which means "none"."""
    return row.name in _IDS and _are_ids(value) and value != row.default


def _ids_in(holder: Struct) -> Iterator[tuple[str, Any]]:
    """Yield (kind, ID), such as ("producer", 7), for each ID in a struct and its nested structs."""
    for row in holder.FIELDS:
        value = getattr(holder, row.name)
        if _is_id(row, value):
            yield _IDS[row.name], value
        for inner in value if isinstance(value, list | tuple) else (value,):
            if isinstance(inner, Struct):
                yield from _ids_in(inner)


def _are_ids(*values: object) -> bool:
    return all(isinstance(each, int | str | UUID) for each in values)


def _id_of(kind: str, holder: Struct) -> Any:
    ids = (getattr(holder, row.name) for row in holder.FIELDS if _IDS.get(row.name) == kind)
    return next(filter(_are_ids, ids), None)


def by_key(recorded: Sequence[Any], received: Sequence[Any], keys: Sequence[str] = ()) -> list[tuple[Any, Any]]:
    """Pair recorded and received elements with the same key. An element without a partner is paired with MISSING.

    Elements are paired by position if their fields contain no unique key, or if two arrays of equal length have no key
    in common.
    """
    for names in _choices([*recorded, *received], keys):
        ones, others = (
            {repr([getattr(each, name) for name in names]): each for each in side} for side in (recorded, received)
        )
        are_unique = len(ones) == len(recorded) and len(others) == len(received)
        if are_unique and (ones.keys() & others.keys() or len(ones) != len(others)):
            found = [(one, others.pop(key, MISSING)) for key, one in ones.items()]
            return found + [(MISSING, other) for other in others.values()]
    return list(by_position(recorded, received))


def _choices(elements: Sequence[Any], keys: Sequence[str]) -> Iterator[Sequence[str]]:
    if not all(isinstance(each, Struct) and type(each) is type(elements[0]) for each in elements):
        return
    fields = {row.name for each in elements[:1] for row in each.FIELDS}
    names = keys or [name for name in _KEYS if name in fields]
    yield from filter(None, ([name for name in names if name not in _ASSIGNED], names))
