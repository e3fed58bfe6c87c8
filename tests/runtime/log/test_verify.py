import errno
import os
import struct
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest

from tagwire import log
from tagwire.log.errors import LogReadError
from tagwire.log.verify import FileReport, verify_directory_files, verify_partition
from tagwire.records import BatchBuilder, Record, build

CopyOf = Callable[[str], Path]
TXN = "kafka4/alpha-txn-many-0"
SEGS = "kafka28/alpha-m0-segs-0"
UPGRADE = "kafka28/alpha-upgrade2-0"
METADATA = "kafka4/__cluster_metadata-0"


def problems(folder: Path, format: str = "auto") -> list[tuple[str, int, str]]:
    reports = verify_partition(log.Partition(folder), format)
    return [(report.file.name, each.position, each.rule) for report in reports for each in report.problems]


def test_real_logs_break_no_rule(logs: Path) -> None:
    reports: list[FileReport] = []
    for broker in sorted(logs.iterdir()):
        reports += verify_directory_files(broker)
    for partition in log.find_partitions(logs):
        reports += verify_partition(partition)
    assert [(report.file, report.problems) for report in reports if report.problems] == []
    files = {path for path in logs.rglob("*") if path.is_file() and path.name != ".kafka_cleanshutdown"}
    assert {report.file for report in reports} == files
    assert sum(report.bytes for report in reports) == sum(path.stat().st_size for path in files)


def edit(name: str, position: int, data: bytes, *, cut: int = 0) -> Callable[[Path], None]:
    """Return a function that overwrites bytes at `position` (negative: from the end) and drops the last `cut` bytes."""

    def change(folder: Path) -> None:
        path = folder / name
        old = path.read_bytes()
        at = position if position >= 0 else len(old) + position
        path.write_bytes((old[:at] + data + old[at + len(data) :])[: len(old) - cut])

    return change


def write(name: str, data: bytes) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return change


def remove(*names: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return change


def batch_of(*records: Record, **fields: int) -> bytes:
    return build(records, "v2").replace(**fields).encode() if fields else build(records, "v2").encode()


def message_of(key_length: int) -> bytes:
    """Return a message of magic 0 that has this key length, but no key bytes. Its value is null, its checksum valid."""
    body = struct.pack(">bbii", 0, 0, key_length, -1)
    return struct.pack(">qiI", 0, 4 + len(body), crc32(body)) + body


FIRST = "00000000000000000000"
ONE = Record(0, 300, b"k", b"v")
KIP87_NULL = BatchBuilder("kip87", as_read=True).extend([Record(0, 300, b"k", None, tombstone=False)]).build().encode()
RULES: list[tuple[str, str, Callable[[Path], None], tuple[str, int]]] = [
    ("TWL101", UPGRADE, edit(f"{FIRST}.log", 0, b"", cut=1), (f"{FIRST}.log", 7449)),
    ("TWL102", UPGRADE, edit(f"{FIRST}.log", 8, b"\0\0\0\x05"), (f"{FIRST}.log", 8)),
    ("TWL103", UPGRADE, edit(f"{FIRST}.log", 16, b"\x07"), (f"{FIRST}.log", 16)),
    ("TWL104", UPGRADE, edit(f"{FIRST}.log", 24, b"\x7f"), (f"{FIRST}.log", 12)),
    ("TWL105", UPGRADE, write(f"{FIRST}.log", message_of(-5)), (f"{FIRST}.log", 18)),
    ("TWL106", UPGRADE, write(f"{FIRST}.log", batch_of(ONE, count=2)), (f"{FIRST}.log", 61)),
    (
        "TWL107",
        UPGRADE,
        write(f"{FIRST}.log", batch_of(ONE, Record(1, 300, b"", b""), last_offset_delta=0)),
        (f"{FIRST}.log", 0),
    ),
    ("TWL108", UPGRADE, write(f"{FIRST}.log", batch_of(ONE) + batch_of(ONE)), (f"{FIRST}.log", 70)),
    ("TWL109", SEGS, write(f"{91:020}.log", batch_of(ONE)), (f"{91:020}.log", 0)),
    ("TWL110", SEGS, write(f"{FIRST}.log", batch_of(Record(91, 300, b"k", b"v"))), (f"{FIRST}.log", 0)),
    ("TWL111", SEGS, write(f"{FIRST}.log", batch_of(ONE) + bytes(100)), (f"{FIRST}.log", 70)),
    (
        "TWL112",
        SEGS,
        write(
            f"{FIRST}.log",
            batch_of(ONE, partition_leader_epoch=3) + batch_of(Record(1, 300, b"k", b"v"), partition_leader_epoch=2),
        ),
        (f"{FIRST}.log", 70),
    ),
    ("TWL113", UPGRADE, write(f"{FIRST}.log", batch_of(ONE, max_timestamp=299)), (f"{FIRST}.log", 0)),
    ("TWL114", UPGRADE, write(f"{FIRST}.log", KIP87_NULL), (f"{FIRST}.log", 0)),
    ("TWL201", UPGRADE, edit(f"{FIRST}.index", 0, b"", cut=3), (f"{FIRST}.index", 80)),
    ("TWL201", TXN, edit(f"{FIRST}.txnindex", 0, b"", cut=3), (f"{FIRST}.txnindex", 170)),
    ("TWL202", UPGRADE, edit(f"{FIRST}.index", 8, b"\0\0\0\0"), (f"{FIRST}.index", 8)),
    ("TWL202", TXN, edit(f"{14:020}.timeindex", 12, bytes(8)), (f"{14:020}.timeindex", 12)),
    ("TWL203", UPGRADE, edit(f"{FIRST}.index", 7, b"\x01"), (f"{FIRST}.index", 0)),
    ("TWL203", UPGRADE, edit(f"{FIRST}.index", -8, b"\0\0\x01\0"), (f"{FIRST}.index", 80)),
    ("TWL204", SEGS, write(f"{17:020}.index", b""), (f"{17:020}.index", 0)),
    ("TWL211", TXN, edit(f"{FIRST}.timeindex", 6, b"\0"), (f"{FIRST}.timeindex", 0)),
    ("TWL212", TXN, edit(f"{FIRST}.timeindex", 5, b"\xff"), (f"{FIRST}.timeindex", 0)),
    ("TWL212", TXN, edit(f"{FIRST}.timeindex", 10, b"\x7f"), (f"{FIRST}.timeindex", 0)),
    ("TWL221", TXN, edit(f"{FIRST}.txnindex", 35, b"\x01"), (f"{FIRST}.txnindex", 34)),
    ("TWL222", TXN, edit(f"{FIRST}.txnindex", 9, b"\x7f"), (f"{FIRST}.txnindex", 0)),
    ("TWL222", TXN, edit(f"{FIRST}.txnindex", 17, b"\x7f"), (f"{FIRST}.txnindex", 0)),
    ("TWL222", TXN, edit(f"{FIRST}.txnindex", 51, b"\x00"), (f"{FIRST}.txnindex", 34)),
    ("TWL223", TXN, remove(f"{14:020}.txnindex"), (f"{14:020}.log", 87)),
    ("TWL231", TXN, edit(f"{14:020}.snapshot", 12, b"\x7f"), (f"{14:020}.snapshot", 2)),
    ("TWL231", TXN, edit(f"{14:020}.snapshot", 1, b"\x09"), (f"{14:020}.snapshot", 0)),
    ("TWL231", TXN, write(f"{14:020}.snapshot", b"\0\1"), (f"{14:020}.snapshot", 0)),
    ("TWL241", TXN, write("leader-epoch-checkpoint", b"1\n0\n"), ("leader-epoch-checkpoint", 0)),
    ("TWL241", TXN, write("leader-epoch-checkpoint", b"0\n2\n0 0\n"), ("leader-epoch-checkpoint", 2)),
    ("TWL241", TXN, write("leader-epoch-checkpoint", b"0\n1\n0 x\n"), ("leader-epoch-checkpoint", 4)),
    ("TWL241", TXN, write("leader-epoch-checkpoint", b"0\n1\n0\n"), ("leader-epoch-checkpoint", 4)),
    ("TWL241", TXN, write("leader-epoch-checkpoint", b"0\n1\n\xff 0\n"), ("leader-epoch-checkpoint", 4)),
    ("TWL241", TXN, write("partition.metadata", b"version 0\n"), ("partition.metadata", 0)),
    ("TWL241", TXN, write("partition.metadata", b"version=0\ntopic_id=\\u12\n"), ("partition.metadata", 10)),
    ("TWL241", TXN, write("partition.metadata", b"topic_id=x\n"), ("partition.metadata", 0)),
    ("TWL241", METADATA, write("quorum-state", b"[]"), ("quorum-state", 0)),
    ("TWL242", TXN, write("leader-epoch-checkpoint", b"0\n2\n3 0\n2 90\n"), ("leader-epoch-checkpoint", 8)),
    ("TWL243", TXN, write("leader-epoch-checkpoint", b"0\n1\n7 0\n"), (f"{FIRST}.log", 0)),
    ("TWL104", METADATA, edit(f"{FIRST}-0000000000.checkpoint", 100, b"\xff"), (f"{FIRST}-0000000000.checkpoint", 17)),
]


@pytest.mark.parametrize(
    ("rule", "name", "change", "position"), RULES, ids=[f"{row[0]}-{n}" for n, row in enumerate(RULES)]
)
def test_every_rule_rejects(
    rule: str, name: str, change: Callable[[Path], None], position: tuple[str, int], copy_of: CopyOf
) -> None:
    folder = copy_of(name)
    change(folder)
    format = "kip87" if rule == "TWL114" else "auto"
    assert (*position, rule) in problems(folder, format)


def cut_index_of_swap(folder: Path) -> None:
    """Cut the first segment's transaction index, and name the segment's files as if compaction had just written it."""
    edit(f"{FIRST}.txnindex", 0, b"", cut=3)(folder)
    for path in [*folder.glob(f"{FIRST}.*")]:
        if path.suffix in (".log", ".index", ".timeindex", ".txnindex"):
            path.rename(folder / f"{path.name}.swap")


NO_RULES: list[tuple[str, str, Callable[[Path], None]]] = [
    ("TWL223", TXN, edit(f"{FIRST}.txnindex", 0, b"", cut=3)),
    ("TWL223", TXN, cut_index_of_swap),
    ("TWL242", TXN, write("leader-epoch-checkpoint", b"0\n2\n0 0\n1 0\n")),
]
"""Each case: (rule, log, change). The change modifies a file that the rule checks, but does not break the rule."""


@pytest.mark.parametrize(("rule", "name", "change"), NO_RULES, ids=[f"{row[0]}-{n}" for n, row in enumerate(NO_RULES)])
def test_changes_that_break_no_rule(rule: str, name: str, change: Callable[[Path], None], copy_of: CopyOf) -> None:
    folder = copy_of(name)
    change(folder)
    assert rule not in [found for _, _, found in problems(folder)]


def test_entries_of_a_time_index_in_a_wrong_place(tmp_path: Path) -> None:
    (tmp_path / f"{FIRST}.log").write_bytes(batch_of(ONE) + batch_of(Record(10, 400, b"k", b"v")))
    (tmp_path / f"{FIRST}.timeindex").write_bytes(struct.pack(">qi", 400, 5))
    assert problems(tmp_path) == [(f"{FIRST}.timeindex", 0, "TWL212")]
    (tmp_path / f"{FIRST}.timeindex").write_bytes(struct.pack(">qiqi", 400, 5, 300, 6))
    messages = [found.message for report in verify_partition(log.Partition(tmp_path)) for found in report.problems]
    assert "timestamp 300 for offset 6 follows 400 for offset 5" in messages


def test_unreadable_files_of_a_log_folder_are_not_missing(
    broken_status: Callable[[Path], None], tmp_path: Path
) -> None:
    for read, name in (
        (lambda: list(verify_directory_files(tmp_path)), "meta.properties"),
        (lambda: log.LogDirectory(tmp_path).was_stopped_cleanly, ".kafka_cleanshutdown"),
        (lambda: log.LogDirectory(tmp_path).partitions, "alpha-0"),
    ):
        (tmp_path / name).touch()
        broken_status(tmp_path / name)
        with pytest.raises(LogReadError, match=f"{name} can't be read: {os.strerror(errno.EIO)}"):
            read()


def test_every_rule_has_a_test() -> None:
    by_itself = "TWL100"  # test_odd_folders.py tests this rule
    assert {row[0] for row in RULES} | {by_itself} == set(log.RULES)


def test_the_docs_have_every_rule() -> None:
    page = (Path(__file__).parents[3] / "docs" / "logs.md").read_text(encoding="utf-8")
    rows = dict(line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| TWL"))
    assert rows == log.RULES
