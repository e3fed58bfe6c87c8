import json
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import tagwire_messages as messages
from tagwire import log
from tagwire.log.cluster_state import ClusterState
from tagwire.log.coordinator_state import KeyedState, groups, merged, share_partitions
from tagwire.log.state import entries, state, state_json_text
from tagwire.log.topics import INTERNAL_TOPICS, Entry, StateMessage, state_text, state_values
from tagwire.records import Record, build, read_batches
from tagwire.sensitive import showing_sensitive

CopyOf = Callable[[str], Path]


def state_of(*folders: Path) -> dict[str, Any]:
    return state(map(log.Partition, folders), messages.registry)


def test_every_record_of_every_topic_is_a_message(logs: Path) -> None:
    names = set()
    for partition in log.find_partitions(logs):
        if partition.topic in INTERNAL_TOPICS:
            for entry in entries(partition, messages.registry):
                assert entry.to_json()["type"] == entry.name
                assert entry.to_json_text() == json.dumps(entry.to_json(), ensure_ascii=False)
                assert entry.is_tombstone == (entry.version == -1)
                names.add((entry.name, entry.version))
    assert {
        ("LegacyOffsetCommit", 0), ("OffsetCommit", 1), ("OffsetCommit", 4), ("OffsetCommit", -1),
        ("GroupMetadata", 0), ("ConsumerGroupMemberMetadata", 0), ("ShareUpdate", 0), ("TransactionLog", 0),
        ("TransactionLog", 1), ("PartitionChangeRecord", 2), ("commit", 0), ("leader_change", 0),
    } <= names  # fmt: skip


def test_other_topics_have_no_messages(logs: Path) -> None:
    partition = log.Partition(logs / "kafka4" / "alpha-txn-many-0")
    with pytest.raises(log.LogPathError, match="records of this topic can't be decoded"):
        next(entries(partition, messages.registry))
    assert state([partition], messages.registry) == {}


def test_cluster_state_equals_its_disk(logs: Path) -> None:
    cluster = state_of(logs / "kafka4" / "__cluster_metadata-0")["cluster"]
    assert len(cluster["topics"]) == 59 and [each["brokerId"] for each in cluster["brokers"]] == [1]
    for partition in log.LogDirectory(logs / "kafka4").partitions:
        if partition.topic != "__cluster_metadata":
            assert partition.topic is not None and partition.partition is not None
            topic = cluster["topics"][partition.topic]
            expected = topic["partitions"][partition.partition]
            assert messages.TopicRecord.from_json({"name": "", "topicId": topic["topicId"]}, 0).topic_id == (
                partition.topic_id
            )
            assert expected["leaderEpoch"] >= max((start.epoch for start in partition.leader_epochs), default=0)
    assert {each["name"] for each in cluster["features"]} >= {"metadata.version", "share.version"}
    assert len(cluster["acls"]) == 4 and len(cluster["scramCredentials"]) == 4 and cluster["delegationTokens"] == []


@pytest.mark.parametrize("name", ["kafka4/__consumer_offsets-1", "kafka4/__cluster_metadata-0"])
def test_a_log_in_two_segments_has_the_same_state_but_not_without_the_first(copy_of: CopyOf, name: str) -> None:
    folder = copy_of(name)
    expected = state_of(folder)
    [segment] = log.Partition(folder).segments
    data = segment.path.read_bytes()
    [*_, last] = read_batches(data)
    (folder / f"{last.base_offset:020}.log").write_bytes(data[-last.size :])
    segment.path.write_bytes(data[: -last.size])
    assert state_of(folder) == expected
    for path in (segment.path, *folder.glob("*.checkpoint")):
        path.unlink()
    with pytest.raises(log.LogPathError, match=f"the log begins at offset {last.base_offset} .*files are missing"):
        state_of(folder)


def test_groups_and_their_offsets(logs: Path) -> None:
    old = state_of(logs / "kafka0.9" / "__consumer_offsets-0")["groups"]
    assert {name: len(group["offsets"]) for name, group in old.items()} == {"alpha-b0.9-okp9": 40}
    new = state_of(logs / "kafka4" / "__consumer_offsets-1")["groups"]
    assert all("offsets" in group for group in new.values())
    assert all("pendingOffsets" not in group for group in new.values())


@pytest.mark.parametrize(("protocol", "topics"), [("consumer", ["t"]), ("connect", None)])
def test_subscriptions_of_classic_consumers_are_decoded(protocol: str, topics: list[str] | None) -> None:
    subscription = b"\0\1" + messages.ConsumerProtocolSubscription(topics=["t"]).encode(1)
    member = messages.group_metadata_value.MemberMetadata(member_id="m", subscription=subscription)
    value = messages.GroupMetadataValue(protocol_type=protocol, members=[member])
    entry = Entry("GroupMetadata", messages.GroupMetadataKey(group="g"), value, 3)
    [shown] = state_values(groups([entry], [], messages.registry))["g"]["GroupMetadata"]["members"]
    assert (shown["subscription"]["topics"] if topics else None) == topics
    assert topics or b64decode(shown["subscription"]) == subscription


def test_transactions_and_shares(logs: Path) -> None:
    found = state_of(
        logs / "kafka4" / "__transaction_state-0",
        logs / "kafka4" / "__share_group_state-1",
        logs / "kafka28" / "__transaction_state-1",
    )
    assert all(each["transactionStatus"] in range(8) for each in found["transactions"].values())
    assert found["transactions"] and list(found) == ["transactions", "sharePartitions"]
    assert {(each["groupId"], each["partition"]) for each in found["sharePartitions"]}


def test_undecodable_message_has_a_position(copy_of: CopyOf) -> None:
    folder = copy_of("kafka28/__transaction_state-1")
    bad = build([Record(0, 300, b"\0\0\0\2ab", b"\0\1garbage")], "v2").encode()
    (folder / "00000000000000000000.log").write_bytes(bad)
    with pytest.raises(log.LogError, match=r"TransactionLogValue.*of the record at offset 0") as caught:
        state_of(folder)
    assert caught.value.rule == "TWL106"


def commit(partition: int, offset: int | None) -> Entry:
    key = messages.OffsetCommitKey(group="g", topic="t", partition=partition)
    value = None if offset is None else messages.OffsetCommitValue(offset=offset)
    return Entry("OffsetCommit", key, value, -1 if value is None else 3)


def marker(name: str) -> Entry:
    return Entry(name, None, messages.EndTxnMarker(), 0)


def offsets(keyed: KeyedState) -> dict[int, int]:
    return {entry.key.partition: entry.value.offset for entry in keyed.entries()}


def test_transactions_count_when_they_commit_and_tombstones_at_once() -> None:
    keyed = KeyedState()
    old = messages.LegacyOffsetCommitKey(group="g", topic="t", partition=0)  # the same key as that of commit(0)
    keyed.add(0, Entry("LegacyOffsetCommit", old, messages.LegacyOffsetCommitValue(offset=10), 0))
    for offset, producer in enumerate((7, 7, 8, 8, 7), 1):
        keyed.add(offset, commit((0, 1, 2, 2, 3)[offset - 1], 19 + offset), producer)
    keyed.add(6, commit(1, 30))  # a later commit for partition 1, outside of the transaction
    keyed.add(7, commit(3, None))
    assert [entry.value.offset for entry in keyed.pending()] == [20, 21, 23]
    keyed.add(8, marker("commit"), 7)
    keyed.add(9, marker("abort"), 8)
    assert offsets(keyed) == {0: 20, 1: 30} and list(keyed.pending()) == []
    keyed.add(10, commit(0, None))
    assert offsets(keyed) == {1: 30}


def cluster_of(*records: Any) -> dict[str, Any]:
    cluster = ClusterState()
    for record in records:
        cluster.add(Entry(record.NAME, None, record, record.VERSIONS.highest))
    found: dict[str, Any] = state_values(cluster.tree())
    assert json.loads(state_text(cluster.tree())) == found
    return found


ID = UUID(int=77)
TOPIC = messages.TopicRecord(name="t", topic_id=ID)
PARTITION = messages.PartitionRecord(partition_id=0, topic_id=ID, replicas=[1, 2], isr=[1, 2], leader=1, leader_epoch=4)


def change(**fields: Any) -> Any:
    return messages.PartitionChangeRecord(partition_id=0, topic_id=ID, **fields)


def config(name: str, value: str | None, topic: str = "t") -> Any:
    return messages.ConfigRecord(resource_type=2, resource_name=topic, name=name, value=value)


def test_changes_of_partitions() -> None:
    cluster = cluster_of(TOPIC, PARTITION, change(isr=[1]), change(leader=2, adding_replicas=[3]))
    (partition,) = cluster["topics"]["t"]["partitions"]
    assert (partition["isr"], partition["replicas"], partition["addingReplicas"]) == ([1], [1, 2], [3])
    assert (partition["leader"], partition["leaderEpoch"], partition["partitionEpoch"]) == (2, 5, 1)
    assert "leaderRecoveryState" not in partition and change().leader_recovery_state == -1
    (recovering,) = cluster_of(TOPIC, PARTITION, change(leader_recovery_state=1))["topics"]["t"]["partitions"]
    assert (recovering["leaderRecoveryState"], recovering["leader"], recovering["leaderEpoch"]) == (1, 1, 4)
    elr = cluster_of(TOPIC, PARTITION, change(eligible_leader_replicas=[2]), messages.ClearElrRecord(topic_name="t"))
    assert "eligibleLeaderReplicas" not in elr["topics"]["t"]["partitions"][0]


def test_records_before_the_snapshot_are_not_applied_again(tmp_path: Path) -> None:
    changes = change(leader=2), config("a", "1"), change(leader=1), change(isr=[1])  # at offsets 3 to 6
    snapshot = TOPIC, PARTITION.replace(leader_epoch=7, partition_epoch=3)  # the state after offset 5
    (folder := tmp_path / "__cluster_metadata-0").mkdir()
    for name, base, found in (f"{3:020}.log", 3, changes), (f"{6:020}-0000000001.checkpoint", 0, snapshot):
        values = [messages.registry.encode_record(each, each.VERSIONS.highest) for each in found]
        records = [Record(base + number, 5, None, value) for number, value in enumerate(values)]
        (folder / name).write_bytes(build(records, "v2").encode())
    cluster = state_of(folder)["cluster"]
    (partition,) = cluster["topics"]["t"]["partitions"]
    assert (partition["leaderEpoch"], partition["partitionEpoch"], cluster["configs"]) == (7, 4, [])


def test_records_removed_with_a_topic() -> None:
    records = (TOPIC, PARTITION, config("a", "1"), config("b", "2", "other"), messages.RemoveTopicRecord(topic_id=ID))
    cluster = cluster_of(*records, change(leader=2))
    assert cluster["topics"] == {} and [each["resourceName"] for each in cluster["configs"]] == ["other"]


def test_transactions_of_metadata() -> None:
    begin, end, abort = (getattr(messages, f"{name}TransactionRecord")() for name in ("Begin", "End", "Abort"))
    assert list(cluster_of(begin, TOPIC)["topics"]) == []
    assert list(cluster_of(begin, TOPIC, end)["topics"]) == ["t"]
    assert list(cluster_of(begin, TOPIC, abort)["topics"]) == []


def test_facts_and_their_removal() -> None:
    broker = messages.RegisterBrokerRecord(broker_id=1, fenced=True, log_dirs=[ID], cordoned_log_dirs=[ID])
    quota: dict[str, Any] = {
        "entity": [messages.client_quota_record.EntityData(entity_type="user", entity_name=None)],
        "key": "k",
    }
    facts = (
        broker,
        messages.BrokerRegistrationChangeRecord(broker_id=1, fenced=-1, in_controlled_shutdown=1, cordoned_log_dirs=[]),
        config("a", "1"),
        messages.FeatureLevelRecord(name="f", feature_level=3),
        messages.ClientQuotaRecord(**quota, value=5.0),
        messages.UserScramCredentialRecord(name="u", mechanism=1),
        messages.AccessControlEntryRecord(id=ID),
        messages.DelegationTokenRecord(token_id="d"),
        messages.RegisterControllerRecord(controller_id=9),
    )
    there = cluster_of(*facts)
    [one] = there["brokers"]
    assert not one["fenced"] and one["inControlledShutdown"] and one["logDirs"] and one["cordonedLogDirs"] == []
    assert cluster_of(*facts, messages.FenceBrokerRecord(id=1))["brokers"][0]["fenced"]
    assert not cluster_of(broker, messages.UnfenceBrokerRecord(id=1))["brokers"][0]["fenced"]
    removed = cluster_of(
        *facts,
        messages.UnregisterBrokerRecord(broker_id=1),
        config("a", None),
        messages.FeatureLevelRecord(name="f", feature_level=0),
        messages.ClientQuotaRecord(**quota, remove=True),
        messages.RemoveUserScramCredentialRecord(name="u", mechanism=1),
        messages.RemoveAccessControlEntryRecord(id=ID),
        messages.RemoveDelegationTokenRecord(token_id="d"),
        messages.UnregisterControllerRecord(controller_id=9),
    )
    full = {name for name, facts_now in there.items() if facts_now}
    assert len(full) == 8 and {name for name in full if removed[name]} == set()


@pytest.mark.parametrize(
    ("ranges", "start", "expected"),
    [
        ([(0, 9, 1, 0)], 0, [(0, 9, 1, 0)]),
        ([(0, 9, 1, 0)], 4, [(4, 9, 1, 0)]),
        ([(0, 9, 1, 0), (3, 5, 1, 2)], 0, [(0, 2, 1, 0), (3, 5, 1, 2), (6, 9, 1, 0)]),
        ([(0, 9, 2, 0), (3, 5, 1, 4)], 0, [(0, 9, 2, 0)]),
        ([(0, 4, 1, 2), (5, 9, 1, 2)], 0, [(0, 9, 1, 2)]),
        ([(0, 4, 1, 2), (6, 9, 1, 2)], 0, [(0, 4, 1, 2), (6, 9, 1, 2)]),
        ([(0, 4, 1, 2)], 9, []),
    ],
)
def test_batches_of_shares(ranges: list[Any], start: int, expected: list[Any]) -> None:
    from tagwire.log.coordinator_state import Range

    assert [tuple(each) for each in merged([Range(*each) for each in ranges], start)] == expected


def test_snapshots_and_updates_of_shares() -> None:
    names: dict[str, Any] = {"group_id": "g", "topic_id": ID, "partition": 0}
    key, update_key = messages.ShareSnapshotKey(**names), messages.ShareUpdateKey(**names)
    snapshot = messages.ShareSnapshotValue(snapshot_epoch=3, start_offset=5, leader_epoch=2, delivery_complete_count=1)
    batch = messages.share_update_value.StateBatch(first_offset=7, last_offset=8, delivery_state=2, delivery_count=1)
    update = messages.ShareUpdateValue(
        snapshot_epoch=3, start_offset=-1, leader_epoch=4, delivery_complete_count=-1, state_batches=[batch]
    )
    first, second = Entry("ShareSnapshot", key, snapshot, 0), Entry("ShareUpdate", update_key, update, 0)
    assert share_partitions([second]) == []
    (found,) = state_values(share_partitions([first, second]))
    assert (found["startOffset"], found["leaderEpoch"], found["deliveryCompleteCount"]) == (5, 4, 1)
    assert [each["firstOffset"] for each in found["stateBatches"]] == [7]
    assert share_partitions([first, second, Entry("ShareSnapshot", key, None, -1)]) == []


COMMIT = messages.OffsetCommitValue(offset=7, metadata='a\n  "offset": 1,\n"b\u2028', commit_timestamp=5)
TAGGED = messages.PartitionRecord(partition_id=1, topic_id=UUID(int=9), replicas=[1, 2], unknown_tags={99: b"x"})
SECRET = messages.UserScramCredentialRecord(name="u", mechanism=1, salt=b"salt", stored_key=b"key", iterations=4096)

SHOWN = {
    "a message": StateMessage(COMMIT, 3),
    "a lower version": StateMessage(COMMIT, 1),
    "members ahead": StateMessage(COMMIT, 3, {"topic": 't "é"\n', "partition": 0}),
    "a member ahead that the message has too": StateMessage(COMMIT, 3, {"offset": 1, "topic": "t"}),
    "without the first member": StateMessage(COMMIT, 3, {}, "offset"),
    "without the last member": StateMessage(COMMIT, 3, {}, "commitTimestamp"),
    "without a member of a nested struct's name": StateMessage(COMMIT, 3, {}, "topicId"),
    "tags, without a member": StateMessage(TAGGED, 2, {"ahead": [1, 2]}, "topicId"),
    "without its only member": StateMessage(messages.EndTransactionRecord(), 0, {}, "x"),
    "nothing but members ahead": StateMessage(messages.EndTransactionRecord(), 0, {"ahead": {}}),
    "secrets": StateMessage(SECRET, 0, {"ahead": 1}),
}


@pytest.mark.parametrize("tree", SHOWN.values(), ids=SHOWN)
@pytest.mark.parametrize("shows", [False, True])
def test_text_equals_the_values(each_engine: str, tree: StateMessage, shows: bool) -> None:
    def check(tree: Any) -> None:
        assert state_text(tree) == json.dumps(state_values(tree), indent=2, ensure_ascii=False)

    for each in (tree, [tree, tree], {'a "name"\n': {"é": tree, "none": None}, "empty": [{}, []]}):
        if shows:
            with showing_sensitive():
                check(each)
        else:
            check(each)


def test_secrets_are_hidden_in_both() -> None:
    hidden = state_values(SHOWN["secrets"])
    assert hidden["salt"] == hidden["storedKey"] == "<hidden>" and hidden["iterations"] == 4096
    assert json.loads(state_text(SHOWN["secrets"])) == hidden
    with showing_sensitive():
        assert json.loads(state_text(SHOWN["secrets"]))["salt"] == "c2FsdA=="


def test_text_of_all_topics(each_engine: str, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {each.path.name: each for each in log.find_partitions(logs) if not each.state}.values()
    expected = json.dumps(state(found, messages.registry), indent=2, ensure_ascii=False)
    assert {*json.loads(expected)} == {"groups", "transactions", "sharePartitions", "cluster"}

    def reject(message: Any, version: int, *, style: str = "lossless") -> Any:
        raise AssertionError("a dict was made of a message")

    for cls in (messages.OffsetCommitValue, messages.PartitionRecord, messages.TransactionLogValue):
        monkeypatch.setattr(cls, "to_json", reject)
    assert state_json_text(found, messages.registry) == expected
