import json
import struct
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command import rejected, tagwire_outcome, tagwire_result

import tagwire_messages as messages
from tagwire import log
from tagwire.log.state import state
from tagwire.records import Record, build

SEGMENT = "00000000000000000000.log"
OFFSETS = "__consumer_offsets-0"
run = partial(tagwire_result, "log")


def encoded(message: Any, version: int) -> bytes:
    return messages.registry.encode_record(message, version)


def commit(group: str, offset: int) -> tuple[bytes, bytes]:
    key = messages.OffsetCommitKey(group=group, topic="t", partition=0)
    return encoded(key, 0), encoded(messages.OffsetCommitValue(offset=offset), 3)


def written(folder: Path, *records: tuple[bytes | None, bytes | None], name: str = OFFSETS, base: int = 0) -> Path:
    path = folder / name
    path.mkdir(parents=True)
    found = [Record(base + index, 7, key, value) for index, (key, value) in enumerate(records)]
    (path / f"{base:020}.log").write_bytes(build(found, "v2").encode())
    return path


TRANSACTION = (encoded(messages.TransactionLogKey(transactional_id="x"), 0), encoded(messages.TransactionLogValue(), 1))
SHARE_KEY = messages.ShareSnapshotKey(group_id="g", topic_id=messages.TopicRecord().topic_id, partition=0)
SHARE = (encoded(SHARE_KEY, 0), encoded(messages.ShareSnapshotValue(), 0))
CLUSTER = (None, encoded(messages.FeatureLevelRecord(name="f", feature_level=1), 0))
REMOTE = (None, encoded(messages.RemoteLogSegmentMetadataRecord(), 0))
SOUND = {
    "__consumer_offsets-0": (commit("g", 42), commit("h", 77)),
    "__transaction_state-0": (TRANSACTION, TRANSACTION),
    "__share_group_state-0": (SHARE, SHARE),
    "__cluster_metadata-0": (CLUSTER, CLUSTER),
    "__remote_log_metadata-0": (REMOTE, REMOTE),
}
UNKNOWN: dict[str, tuple[bytes | None, bytes | None]] = {
    "unknown type": (struct.pack(">hh", 99, 0), b"\0\0"),
    "text for a key": (b"kegs", b"x"),
    "short key": (b"\0", b"\0\0"),
    "empty key": (b"", b""),
    "null key": (None, b"\0\0"),
    "invalid value": (commit("g", 1)[0], b"\0\3garbage"),
    "unknown version": (commit("g", 1)[0], struct.pack(">h", 99)),
    "empty value": (commit("g", 1)[0], b""),
}


@pytest.mark.parametrize("unknown", UNKNOWN)
@pytest.mark.parametrize("name", SOUND)
def test_an_unknown_record_is_reported_and_skipped(name: str, unknown: str, tmp_path: Path) -> None:
    first, last = SOUND[name]
    sound = written(tmp_path / "sound", first, last, name=name)
    folder = written(tmp_path / "all", first, UNKNOWN[unknown], last, name=name)
    if name != "__remote_log_metadata-0":  # `log state` does not support this topic
        shown, expected = run("state", folder, "--json"), run("state", sound, "--json")
        assert (expected.exit_code, expected.stderr) == (0, "")
        assert (shown.exit_code, json.loads(shown.stdout)) == (1, json.loads(expected.stdout))
        assert f"{folder / SEGMENT}: " in shown.stderr and "the record at offset 1" in shown.stderr
        with pytest.raises(log.LogError, match="the record at offset 1"):
            state([log.Partition(folder)], messages.registry)

    dumped = run("dump", folder, "--messages", "--json")
    lines = [json.loads(line) for line in dumped.stdout.splitlines()]
    assert [(line["offset"], line["message"] is None) for line in lines] == [(0, False), (1, True), (2, False)]
    assert dumped.exit_code == 1 and "the record at offset 1" in dumped.stderr
    text = run("dump", folder, "--messages")
    assert [line.split("\t")[0] for line in text.stdout.splitlines()] == ["0", "1", "2"]


def test_replicas_of_a_partition_are_not_joined(tmp_path: Path) -> None:
    written(tmp_path / "broker1", commit("g", 50), commit("g", 99))
    written(tmp_path / "broker2", commit("g", 50))
    rejected(run("state", tmp_path, "--json"), "broker1", "broker2", OFFSETS, code=1)
    assert run("state", tmp_path / "broker1", "--json").exit_code == 0


@pytest.mark.parametrize(
    ("name", "start", "snapshot", "is_complete"),
    [
        ("__consumer_offsets-0", None, None, False),
        ("__share_group_state-0", 5, None, True),
        ("__share_group_state-0", 4, None, False),
        ("__cluster_metadata-0", 5, None, False),
        ("__cluster_metadata-0", None, 4, False),
        ("__cluster_metadata-0", None, 5, True),
    ],
)
def test_topic_without_its_beginning(
    name: str, start: int | None, snapshot: int | None, is_complete: bool, tmp_path: Path
) -> None:
    folder = written(tmp_path, *SOUND[name], name=name, base=5)
    if start is not None:
        (tmp_path / "log-start-offset-checkpoint").write_text(f"0\n1\n{name[:-2]} 0 {start}\n")
    if snapshot is not None:
        (folder / f"{snapshot:020}-0000000001.checkpoint").write_bytes(build([Record(0, 7, *CLUSTER)], "v2").encode())
    result = run("state", folder, "--json")
    assert result.exit_code == int(not is_complete) and json.loads(result.stdout)
    assert ("incomplete" in result.stderr) is not is_complete


outcome = partial(tagwire_outcome, "log")


def test_state(logs: Path) -> None:
    code, out, _ = outcome("state", logs / "kafka4", "--json")
    assert code == 0 and set(json.loads(out)) == {"groups", "transactions", "sharePartitions", "cluster"}
    code, out, _ = outcome("state", logs / "kafka4")
    assert code == 0 and "CompleteCommit" in out and "alpha-delrec" in out
    code, out, err = outcome("state", logs / "kafka4", logs / "kafka4" / "__transaction_state-0" / SEGMENT)
    assert (code, out) == (1, "") and "a single segment can't be summarized; give the folder of its partition" in err
    for more in ([], ["--json"]):
        code, out, err = outcome("state", logs / "kafka4" / "alpha-empty-0", *more)
        assert (code, out) == (1, "") and "no partition of Kafka's" in err
