import base64
import gzip
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command import tagwire_outcome

from tagwire.records import Record, build

DATA = Path(__file__).parents[2] / "data" / "logs"
SEGMENT = "00000000000000000000.log"
BATCH_FIELDS = (
    "baseOffset",
    "magic",
    "compression",
    "timestampType",
    "isTransactional",
    "isControl",
    "producerId",
    "producerEpoch",
    "baseSequence",
)
RECORD_FIELDS = ("offset", "timestamp", "key", "value", "headers")


run = partial(tagwire_outcome, "log")


def rows(*arguments: object) -> list[dict[str, Any]]:
    code, out, err = run(*arguments, "--json")
    assert (code, err) == (0, "")
    return [json.loads(line) for line in out.splitlines()]


def in_hex(text: str | None) -> str | None:
    return None if text is None else base64.b64decode(text).hex()


def test_dump_equals_what_kafka_reads(logs: Path) -> None:
    lines = gzip.decompress((DATA / "kafka_reader.jsonl.gz").read_bytes()).splitlines()
    expected = []
    for row in sorted(map(json.loads, lines), key=lambda row: (row["file"].rpartition("/")[0], row["file"])):
        if row["file"].endswith(".log"):
            batch = {name: row["batch"][name] for name in BATCH_FIELDS}
            for record in row["records"]:
                expected.append(
                    {"file": str(logs / row["file"])} | batch | {name: record[name] for name in RECORD_FIELDS}
                )
    found = rows("dump", logs)
    for row in found:  # remove the columns that Kafka's reader does not print
        value = row["value"]
        ours = row.pop("deleteHorizonMs"), row.pop("hasHeaders"), row.pop("isTombstone")
        assert ours[1:] == (row["headers"] != [], value is None)
    assert all(list(row) == ["file", *BATCH_FIELDS, *RECORD_FIELDS] for row in found)
    for row in found:
        row["key"], row["value"] = in_hex(row["key"]), in_hex(row["value"])
        row["headers"] = [[key, in_hex(value)] for key, value in row["headers"]]
    assert found == expected


def test_dump_from_an_offset_on(logs: Path) -> None:
    folder = logs / "kafka4" / "alpha-delrec-0"
    assert rows("dump", folder)[0]["offset"] == 60
    assert rows("dump", folder, "--from-log-start")[0]["offset"] <= 77
    assert rows("dump", folder, "--start-offset", 131)[0]["baseOffset"] == 120
    assert rows("dump", folder / f"{150:020}.log", "--start-offset", 160)[0]["offset"] >= 150
    assert rows("dump", folder, "--start-offset", 9999) == []


def test_dump_with_messages(logs: Path) -> None:
    found = rows("dump", logs / "kafka4" / "__cluster_metadata-0", "--messages")
    assert {row["message"]["type"] for row in found} >= {"TopicRecord", "leader_change"}
    commit, *_ = rows("dump", logs / "kafka0.8" / "__consumer_offsets-0" / SEGMENT, "--messages")
    assert commit["message"]["key"]["topic"] and commit["message"]["value"]["offset"] >= 0
    markers = rows("dump", logs / "kafka4" / "alpha-txn-many-0", "--messages")
    assert {row["message"]["type"] for row in markers if "message" in row} in ({"abort", "commit"}, {"abort"})
    code, out, _ = run("dump", logs / "kafka4" / "__transaction_state-0", "--messages")
    assert code == 0 and '{"type": "TransactionLog"' in out.splitlines()[0]
    assert '"transactionStatus": "Ongoing"' in out.splitlines()[1]  # spelled as in the output of kafka-dump-log.sh
    assert '"transactionStatus": 1' in json.dumps(rows("dump", logs / "kafka4" / "__transaction_state-0", "--messages"))
    _, out, _ = run("dump", logs / "kafka4" / "__cluster_metadata-0", "--messages")
    assert '"securityProtocol": "PLAINTEXT"' in out and '"resourceType": 4' not in out


def test_dump_as_text(tmp_path: Path) -> None:
    records = [
        Record(0, 300, None, b"v\n", (("h", None), ("h", b"x"))),
        Record(1, 301, "ключ".encode(), b"\xff"),
        Record(2, 302, b"", None),
    ]
    (tmp_path / "a.log").write_bytes(build(records, "v2").encode())
    _, out, _ = run("dump", tmp_path / "a.log")
    assert out.splitlines() == [
        "0\t300\t<null>\t<760a>\th=<null>, h=x\thas headers",
        "1\t301\tключ\t<ff>",
        "2\t302\t\t<null>\t\ttombstone",
    ]


def test_dump_of_header_keys_that_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(build([Record(0, 300, b"", b"", ((7, b"x"),))], "kip82-int").encode())
    assert rows("dump", tmp_path / "a.log", "--format", "kip82-int")[0]["headers"] == [[7, "eA=="]]


def test_dump_stops_at_an_error(logs: Path, tmp_path: Path) -> None:
    data = (logs / "kafka28" / "alpha-upgrade2-0" / SEGMENT).read_bytes()
    (tmp_path / "a.log").write_bytes(data[:-1])
    code, out, err = run("dump", tmp_path / "a.log", "--json")
    assert code == 1 and len(out.splitlines()) > 200 and "a.log: log: byte 7449: found a batch of" in err
    assert run("dump", tmp_path / "a.log", "--partial")[0] == 0
    bad = build([Record(0, 300, b"k", b"v")], "v2").replace(count=2).encode()
    (tmp_path / "a.log").write_bytes(data + bad)
    code, _, err = run("dump", tmp_path / "a.log")
    assert code == 1 and f"byte {len(data) + 61}: found a count of 2" in err


def test_stat(logs: Path) -> None:
    (row,) = rows("stat", logs / "kafka28" / "alpha-upgrade2-0")
    assert row["formats"] == {"v0": 23, "v1": 23, "v2": 4} and row["records"] == 240 and row["endOffset"] == 240
    found = rows("stat", logs / "kafka4")
    assert sum(row["controlBatches"] for row in found) > 10 and sum(row["emptyBatches"] for row in found) > 0
    assert any(row["file"].endswith(".checkpoint") for row in found)
    code, out, _ = run("stat", logs / "kafka4" / "alpha-empty-0", logs / "kafka28" / "alpha-upgrade2-0")
    assert code == 0 and "v0 23, v1 23, v2 4" in out


def test_verify(logs: Path, tmp_path: Path) -> None:
    found = rows("verify", logs)
    assert all(list(row) == ["file", "batches", "records", "bytes", "problems"] for row in found)
    assert all(row["problems"] == [] for row in found)
    assert any(row["file"].endswith("recovery-point-offset-checkpoint") for row in found)
    data = (logs / "kafka28" / "alpha-upgrade2-0" / SEGMENT).read_bytes()
    path = tmp_path / SEGMENT
    path.write_bytes(data[:100] + b"\xff" + data[101:])
    code, out, _ = run("verify", path, "--json")
    (report,) = map(json.loads, out.splitlines())
    assert code == 1 and [list(each) for each in report["problems"]] == [["position", "rule", "message"]]
    code, out, err = run("verify", tmp_path)
    assert code == 1 and f"{path}:93: TWL104 crc: found" in out and err == "1 segment, 1 problem\n"


def test_state(logs: Path) -> None:
    code, out, _ = run("state", logs / "kafka4", "--json")
    assert code == 0 and set(json.loads(out)) == {"groups", "transactions", "sharePartitions", "cluster"}
    code, out, _ = run("state", logs / "kafka4")
    assert code == 0 and "CompleteCommit" in out and "alpha-delrec" in out
    code, out, err = run("state", logs / "kafka4", logs / "kafka4" / "__transaction_state-0" / SEGMENT)
    assert (code, out) == (1, "") and "a single segment can't be summarized; give the folder of its partition" in err
    code, _, err = run("state", logs / "kafka4" / "alpha-empty-0")
    assert code == 1 and "no partition of Kafka's" in err


def test_salvage(logs: Path, tmp_path: Path) -> None:
    source = tmp_path / "broken" / "alpha-0"
    source.mkdir(parents=True)
    data = (logs / "kafka28" / "alpha-upgrade2-0" / SEGMENT).read_bytes()
    (source / SEGMENT).write_bytes(data[:100] + b"\xff" + data[101:])
    code, out, err = run("salvage", source, "--output", tmp_path / "saved")
    assert code == 1 and "kept 49 intact batches, 239 records" in out
    assert "skipped" in err and f"{source / SEGMENT}:93: TWL104" in err
    assert run("verify", tmp_path / "saved")[0] == 0
    code, _, err = run("salvage", source, "--output", tmp_path / "saved")
    assert code == 1 and "already exists" in err
    code, out, _ = run("salvage", tmp_path / "saved", "--output", tmp_path / "again", "--json")
    assert code == 0 and json.loads(out)["lostBytes"] == 0


def stock(folder: Path) -> Path:
    """Write a segment (two records with key a, a tombstone for key b) and an active segment (a record with key a)."""
    folder.mkdir()
    some = [Record(0, 5, b"a", b"v"), Record(1, 6, b"b", None), Record(2, 7, b"a", b"w")]
    (folder / SEGMENT).write_bytes(build(some, "v2").encode())
    (folder / "00000000000000000003.log").write_bytes(build([Record(3, 8, b"a", b"x")], "v2").encode())
    return folder


def test_compact(tmp_path: Path) -> None:
    folder = stock(tmp_path / "stock-0")
    code, out, err = run("compact", folder, "--now", 1000, "--explain", "--output", tmp_path / "to")
    assert (code, err) == (0, "")
    assert out.splitlines()[:3] == [
        "0\tremoved\ta later record has its key",
        "1\tkept\ta tombstone that has not expired",
        "2\tkept\tthe last of its key",
    ]
    assert out.splitlines()[-1] == f"{folder}: compacted up to offset 3: the active segment begins there"
    assert [row["offset"] for row in rows("dump", tmp_path / "to" / "stock-0")] == [1, 2, 3]
    assert run("verify", tmp_path / "to")[0] == 0


def test_compact_as_json(tmp_path: Path) -> None:
    folder = stock(tmp_path / "stock-0")
    rules = ("--now", 1000, "--include-active", "--delete-retention-ms", 0)
    *records, report = rows("compact", folder, *rules, "--explain", "--output", tmp_path / "to")
    kept = [False, False, False, True]
    assert [(row["offset"], row["kept"], row["file"]) for row in records] == [
        (n, kept[n], str(folder / (SEGMENT if n < 3 else "00000000000000000003.log"))) for n in range(4)
    ]
    assert [row["reason"] for row in records] == ["superseded", "expired_tombstone", "superseded", "latest"]
    assert (report["partition"], report["compactedTo"], report["keys"]) == (str(folder), 4, 2)
    assert [(each["records"], each["newRecords"], each["removed"]) for each in report["segments"]] == [
        (3, 0, {"superseded": 2, "expired_tombstone": 1}),
        (1, 1, {}),
    ]


def test_compact_a_folder_of_logs(logs: Path, tmp_path: Path) -> None:
    found = rows("compact", logs / "kafka4", "--drop-keyless", "--now", 0, "--output", tmp_path)
    assert len(found) == len([path for path in (logs / "kafka4").iterdir() if path.is_dir()])
    assert (tmp_path / "meta.properties").is_file()
    assert (tmp_path / "cleaner-offset-checkpoint").is_file()
    assert run("verify", tmp_path)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("dump", "missing"), 2, "missing can't be read: No such file"),
        (("dump", "empty"), 1, "no partition found in this folder"),
        (("salvage", "a.log", "--output", "b"), 1, "give the folder of its partition"),
        (("salvage", "c-0", "a.log", "--output", "b"), 1, "a.log: a single segment can't be salvaged"),
        (("dump", "empty", "--format", "v22"), 2, "'--format': there is no record format 'v22'; did you mean 'v2'"),
        (("convert", "c-0", "--to", "auto", "--output", "b"), 2, "'--to': there is no record format 'auto'"),
        (("dump", "a.log", "--limit", "x=1"), 2, "expected NAME=N"),
        (("dump", "a.log.gz"), 1, "a.log.gz is compressed by gzip; decompress it first"),
        (("state", "a.log.gz"), 1, "a.log.gz is compressed by gzip; decompress it first"),
        (("dump", "a.log", "--start-offset", "-5"), 2, "-5 is not in the range x>=0"),
        (("dump", "a.log", "--start-offset", "9", "--end-offset", "9"), 2, "--end-offset must be after --start-offset"),
        (("dump", "a.log", "--start-time", "9", "--end-time", "5"), 2, "--end-time must be after --start-time"),
        (("shrink",), 2, "No such command"),
    ],
)
def test_rejected_input(
    arguments: tuple[str, ...], code: int, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    for path in (Path("a.log"), Path("c-0", SEGMENT)):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(build([Record(0, 300, b"k", b"v")], "v2").encode())
    Path("a.log.gz").write_bytes(gzip.compress(Path("a.log").read_bytes()))
    found, _, err = run(*arguments)
    assert found == code and sentence in err and not Path("b").exists()


@pytest.mark.parametrize("output", ["c-0", "c-0/deep/new", "sub/../c-0", "link/new"])
def test_output_inside_a_source(output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("link").symlink_to(stock(Path("c-0")))
    stock(Path("b-0"))
    before = sorted(tmp_path.rglob("*"))
    for command in ("compact", "convert", "salvage"):
        for paths in (["c-0"], ["b-0", "c-0"], ["."]):
            code, _, err = run(command, *paths, "--output", output)
            assert code == 1 and "is inside the partition that is being read; choose another output" in err
            assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="paths are text there")
def test_paths_that_are_not_text(tmp_path: Path) -> None:
    folder = stock(Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff-0")))
    for command in (("dump",), ("stat",), ("verify",), ("compact", "--output", tmp_path / "to")):
        row = rows(command[0], folder, *command[1:])[0]
        assert row.get("file", row.get("partition", "")).startswith(str(folder)), command
