"""Compute the state of a KRaft cluster from its metadata log: topics, brokers, configurations, ACLs and so on.

A record sets, removes or changes an entry of the state (see `_LISTS`, `_REMOVALS` and `_CHANGES`). The records of a
transaction are applied only when it ends, because an AbortTransactionRecord may still discard them.
Source: KIP-631, KIP-866, KIP-868.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final
from uuid import UUID

from tagwire.log.topics import Entry, StateMessage

_NO_LEADER_CHANGE: Final = -2
_NO_CHANGE: Final = {"leader": _NO_LEADER_CHANGE, "leader_recovery_state": -1}
"""Maps fields of a PartitionChangeRecord to the number that means "unchanged" in them."""
_FENCING: Final = {-1: False, 1: True}
"""Maps the field `fenced` of a broker change record to whether the broker is fenced. 0 (unchanged) is left out."""


class ClusterState:
    """The state of a cluster. First `add` all entries of the snapshot (if there is one), then the log's entries."""

    def __init__(self) -> None:
        self._topics: dict[UUID, Any] = {}
        self._partitions: dict[UUID, dict[int, Any]] = {}
        self._facts: dict[str, dict[Any, Any]] = {}
        """The entries that consist of one record each, such as brokers and configurations, by record name."""
        self._waiting: list[Entry] | None = None

    def add(self, entry: Entry) -> None:
        """Apply a log or snapshot entry. Entries that don't change the state, such as markers, are ignored."""
        if entry.name == "BeginTransactionRecord":
            self._waiting = []
        elif entry.name in ("EndTransactionRecord", "AbortTransactionRecord"):
            waiting, self._waiting = self._waiting or [], None
            for each in waiting if entry.name == "EndTransactionRecord" else ():
                self._apply(each)
        elif self._waiting is not None:
            self._waiting.append(entry)
        else:
            self._apply(entry)

    def _apply(self, entry: Entry) -> None:
        record = entry.value
        if entry.name in _LISTS:
            facts = self._facts.setdefault(entry.name, {})
            key = _key(record, _LISTS[entry.name][1:])
            if _removes(entry.name, record):
                facts.pop(key, None)
            else:
                facts[key] = record
        elif entry.name in _REMOVALS:
            name, *fields = _REMOVALS[entry.name]
            self._facts.get(name, {}).pop(_key(record, fields), None)
        elif method := _CHANGES.get(entry.name):
            method(self, record)

    def topic(self, record: Any) -> None:
        self._topics[record.topic_id] = record
        self._partitions.setdefault(record.topic_id, {})

    def remove_topic(self, record: Any) -> None:
        topic = self._topics.pop(record.topic_id, None)
        self._partitions.pop(record.topic_id, None)
        configs = self._facts.get("ConfigRecord", {})
        for key in [key for key in configs if topic is not None and key[:2] == (_TOPIC_CONFIG, topic.name)]:
            del configs[key]

    def partition(self, record: Any) -> None:
        self._partitions.setdefault(record.topic_id, {})[record.partition_id] = record

    def change_partition(self, record: Any) -> None:
        """Apply a PartitionChangeRecord. Null fields change nothing. Setting a leader increments the leader epoch."""
        partitions = self._partitions.get(record.topic_id, {})
        current = partitions.get(record.partition_id)
        if current is None:
            return
        named = [row.name for row in record.FIELDS if row.name not in ("partition_id", "topic_id")]
        changes = {name: new for name in named if (new := getattr(record, name)) not in (None, _NO_CHANGE.get(name))}
        epoch = current.leader_epoch + ("leader" in changes)
        changes |= {"leader_epoch": epoch, "partition_epoch": current.partition_epoch + 1}
        partitions[record.partition_id] = current.replace(**changes)

    def clear_elr(self, record: Any) -> None:
        """Clear the eligible leader replicas of one topic. If the record names no topic, clear those of all topics."""
        for topic_id, topic in self._topics.items():
            if record.topic_name in ("", topic.name):
                partitions = self._partitions[topic_id].items()
                cleared = {"eligible_leader_replicas": None, "last_known_elr": None}
                self._partitions[topic_id] = {number: each.replace(**cleared) for number, each in partitions}

    def change_broker(self, record: Any) -> None:
        changes: dict[str, Any] = {}
        if record.fenced in _FENCING:
            changes["fenced"] = _FENCING[record.fenced]
        if record.in_controlled_shutdown == 1:
            changes["in_controlled_shutdown"] = True
        unchanged = {"log_dirs": (), "cordoned_log_dirs": None}  # an empty list of cordoned folders is a change
        changes |= {name: value for name, none in unchanged.items() if (value := getattr(record, name)) != none}
        self.replace_broker(record.broker_id, changes)

    def replace_broker(self, broker: int, changes: dict[str, Any]) -> None:
        brokers = self._facts.get("RegisterBrokerRecord", {})
        if (broker,) in brokers:
            brokers[broker,] = brokers[broker,].replace(**changes)

    def tree(self) -> dict[str, Any]:
        """Return the state as JSON values: topics by name, and a list for each other type of entry."""
        ordered = sorted(self._topics.values(), key=lambda topic: str(topic.name))
        topics = {topic.name: self._topic_tree(topic) for topic in ordered}
        lists = {
            plural: [_in_highest_version(each) for each in self._sorted(name)] for name, (plural, *_) in _LISTS.items()
        }
        return {"topics": topics} | lists

    def _topic_tree(self, topic: Any) -> dict[str, Any]:
        partitions = self._partitions[topic.topic_id]
        return {
            "topicId": _in_highest_version(topic).to_json()[_TOPIC_ID],
            "partitions": [_in_highest_version(partitions[number], without=_TOPIC_ID) for number in sorted(partitions)],
        }

    def _sorted(self, name: str) -> list[Any]:
        facts = self._facts.get(name, {})
        return [facts[key] for key in sorted(facts, key=repr)]


_TOPIC_CONFIG: Final = 2
_TOPIC_ID: Final = "topicId"
"""The JSON name of the topic ID. It is left out of partitions, because they are listed inside their topic."""

_LISTS: Final[dict[str, tuple[str, ...]]] = {
    "RegisterBrokerRecord": ("brokers", "broker_id"),
    "RegisterControllerRecord": ("controllers", "controller_id"),
    "ConfigRecord": ("configs", "resource_type", "resource_name", "name"),
    "FeatureLevelRecord": ("features", "name"),
    "ClientQuotaRecord": ("clientQuotas", "entity", "key"),
    "ProducerIdsRecord": ("producerIds",),
    "AccessControlEntryRecord": ("acls", "id"),
    "UserScramCredentialRecord": ("scramCredentials", "name", "mechanism"),
    "DelegationTokenRecord": ("delegationTokens", "token_id"),
    "ZkMigrationStateRecord": ("zkMigrationState",),
}
"""Maps each record type that sets an entry of the state to the JSON name of the list of these entries, and the fields
that identify an entry. A later record with the same values in these fields replaces the entry.
"""

_REMOVALS: Final = {
    "UnregisterBrokerRecord": ("RegisterBrokerRecord", "broker_id"),
    "UnregisterControllerRecord": ("RegisterControllerRecord", "controller_id"),
    "RemoveFeatureLevelRecord": ("FeatureLevelRecord", "name"),
    "RemoveAccessControlEntryRecord": ("AccessControlEntryRecord", "id"),
    "RemoveUserScramCredentialRecord": ("UserScramCredentialRecord", "name", "mechanism"),
    "RemoveDelegationTokenRecord": ("DelegationTokenRecord", "token_id"),
}
"""Maps each record type that removes an entry to the type that sets the entry, and the fields that identify it."""

_CHANGES: Final[dict[str, Callable[[ClusterState, Any], None]]] = {
    "TopicRecord": ClusterState.topic,
    "RemoveTopicRecord": ClusterState.remove_topic,
    "PartitionRecord": ClusterState.partition,
    "PartitionChangeRecord": ClusterState.change_partition,
    "ClearElrRecord": ClusterState.clear_elr,
    "BrokerRegistrationChangeRecord": ClusterState.change_broker,
    "FenceBrokerRecord": lambda state, record: state.replace_broker(record.id, {"fenced": True}),
    "UnfenceBrokerRecord": lambda state, record: state.replace_broker(record.id, {"fenced": False}),
}


def _removes(name: str, record: Any) -> bool:
    if name == "ConfigRecord":
        return record.value is None
    if name == "FeatureLevelRecord":
        return bool(record.feature_level == 0)
    return name == "ClientQuotaRecord" and bool(record.remove)


def _key(record: Any, fields: Iterable[str]) -> tuple[Any, ...]:
    return tuple(_hashable(getattr(record, name)) for name in fields)


def _hashable(value: Any) -> Any:
    """Return a hashable form of a key field.

    A quota entity is an array of structs in arbitrary order, so it becomes a sorted tuple.
    """
    if isinstance(value, tuple | list):
        return tuple(sorted((each.entity_type, each.entity_name or "", each.entity_name is None) for each in value))
    return value


def _in_highest_version(record: Any, without: str = "") -> StateMessage:
    """Return a `StateMessage` for the record in its highest version, because that version has all fields."""
    return StateMessage(record, record.VERSIONS.highest, without=without)
