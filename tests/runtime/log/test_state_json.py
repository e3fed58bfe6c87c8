import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import tagwire_messages as messages
from tagwire import log
from tagwire.log.state import state, state_json_text
from tagwire.log.topics import StateMessage, state_text, state_values
from tagwire.sensitive import showing_sensitive

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
