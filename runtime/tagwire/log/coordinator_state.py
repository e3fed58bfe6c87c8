"""The current state of the coordinators' logs: groups with their offsets, transactions, share partitions.

The results are trees for `tagwire.log.state_json`. Fields have the names of the messages' JSON. In each group,
`offsets` has the committed offsets, and every other kind of record is under its message name: the record itself if
there is one per group, otherwise records by member, or by the key field that follows the group. New kinds of records
need no change here.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from tagwire.errors import DecodeError
from tagwire.log.share_state import SharePartition
from tagwire.log.state_json import StateMessage
from tagwire.log.topics import Entry
from tagwire.message.json import hidden_json
from tagwire.sensitive import hides

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry

_OFFSET_COMMITS: Final = ("OffsetCommit", "LegacyOffsetCommit")
_CONSUMER: Final = "consumer"


def groups(kept: Iterable[Entry], pending: Iterable[Entry], registry: "Registry") -> dict[str, Any]:
    """Return by group id: `offsets`, `pendingOffsets` of open transactions, and other records by message name."""
    found: dict[str, Any] = {}
    for name, entries in (("offsets", kept), ("pendingOffsets", pending)):
        for entry in entries:
            fields = [field.name for field in entry.key.FIELDS]
            group = found.setdefault(getattr(entry.key, fields[0]), {"offsets": []})
            if entry.name in _OFFSET_COMMITS:
                place = {"topic": entry.key.topic, "partition": entry.key.partition}
                group.setdefault(name, []).append(StateMessage(entry.value, entry.version, place))
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
    """Return the state of each transactional id."""
    return {
        entry.key.transactional_id: _value(entry) for entry in sorted(kept, key=lambda each: each.key.transactional_id)
    }


def share_partitions(entries: Iterable[Entry]) -> list[StateMessage]:
    """Return the partitions of share groups: each snapshot joined with later updates. Entries are in log order."""
    found: dict[tuple[Any, ...], SharePartition] = {}
    for entry in entries:
        key = (entry.key.group_id, entry.key.topic_id, entry.key.partition)
        if entry.is_tombstone:
            if entry.name == "ShareSnapshot":
                found.pop(key, None)
        elif entry.name == "ShareSnapshot":
            found[key] = SharePartition(entry)
        elif key in found:
            found[key].update(entry.value)
    return [found[key].shown() for key in sorted(found, key=lambda key: (key[0], str(key[1]), key[2]))]


def _value(entry: Entry) -> StateMessage:
    return StateMessage(entry.value, entry.version)


def _group_metadata(entry: Entry, registry: "Registry") -> StateMessage | dict[str, Any]:
    """Return a classic group with its consumers' bytes decoded; leave invalid bytes and other protocols as they are."""
    value: dict[str, Any] = entry.value.to_json(entry.version)
    if value.get("protocolType") != _CONSUMER:
        return _value(entry)
    for member in value["members"]:
        for name, message in (
            ("subscription", "ConsumerProtocolSubscription"),
            ("assignment", "ConsumerProtocolAssignment"),
        ):
            member[name] = _protocol(member[name], registry, message)
    return hidden_json(entry.value, value) if hides() else value


def _protocol(text: str, registry: "Registry", name: str) -> Any:
    """Return the JSON of a version and a message in base64; like clients, read higher versions as the highest known."""
    from base64 import b64decode

    data, cls = b64decode(text), registry[name]
    if len(data) < 2:
        return text
    version = min(int.from_bytes(data[:2], "big", signed=True), cls.VERSIONS.highest)
    if version not in cls.VERSIONS:
        return text
    try:
        message = cls.decode(data[2:], version, strict=False)
    except DecodeError:
        return text
    return {"version": version} | message.to_json(version)
