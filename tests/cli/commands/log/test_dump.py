import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command import tagwire_outcome, tagwire_output, tagwire_result, tagwire_rows
from small_logs import write_segment
from terminal import on_terminal

from tagwire.interpreter.reader import decode
from tagwire.limits import Limits
from tagwire.log import dump
from tagwire.records import Record, build, format_of
from tagwire.wire.compression import compress, decompress
from tagwire_cli.output import log_lines

ROOT = Path(__file__).parents[4]
ORDERS = ROOT / "tests" / "data" / "sample_log" / "orders-0"
TXN = "kafka4/alpha-txn-many-0"
dumped = partial(tagwire_output, "log", "dump")


@pytest.mark.parametrize(
    ("words", "offsets"),
    [
        (["--start-offset", 3, "--end-offset", 6], [3, 4, 5]),
        (["--end-offset", 2], [0, 1]),
        (["--count", 2, "--start-offset", 28], [28, 29]),
        (["--count", 0], []),
        (["--start-time", "2023-11-14T22:41:20+00:00"], [28, 29]),
        (["--start-time", 1700001680000, "--end-time", 1700001740000], [28]),
        (["--key", "order-1"], [2, 16, 23]),
        (["--header", "trace", "--end-offset", 10], [0, 5]),
        (["--header", "trace=d0718c1a"], [5]),
        (["--header", "nothing"], []),
    ],
)
def test_some_records(words: list[object], offsets: list[int]) -> None:
    assert [int(line.split("\t")[0]) for line in dumped(ORDERS, *words).splitlines()] == offsets
    assert [json.loads(line)["offset"] for line in dumped(ORDERS, *words, "--json").splitlines()] == offsets


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are UTF-16 there")
@pytest.mark.parametrize("option", ["--key={}", "--header=h={}"])
def test_records_with_bytes_that_are_not_text(tmp_path: Path, option: str) -> None:
    records = [Record(0, 0, b"\xff", b"v", (("h", b"\xff"),)), Record(1, 0, b"\xfe", b"v", (("h", b"\xfe"),))]
    (tmp_path / "s.log").write_bytes(build(records, "v2").encode())
    assert dumped(tmp_path / "s.log", option.format(os.fsdecode(b"\xfe")), "--template", "{offset}") == "1\n"


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("{offset} {key}", "0 order-14"),
        (r"{topic}-{partition}\t{timestamp}\\", "orders-0\t1700000000000\\"),
        ("{headers}: {attributes}", "trace=b46ee1da: has headers"),
    ],
)
def test_templates(template: str, line: str) -> None:
    assert dumped(ORDERS, "--count", 1, "--template", template) == f"{line}\n"


def test_wrong_templates_and_times() -> None:
    assert "unknown placeholder {ofset}; did you mean 'offset'?" in dumped(ORDERS, "--template", "{ofset}", code=2)
    assert "expected milliseconds since 1970" in dumped(ORDERS, "--start-time", "noon", code=2)


FILES = (
    (f"{TXN}/{0:020}.index", {"offset", "position"}),
    (f"{TXN}/{0:020}.timeindex", {"timestamp", "offset"}),
    (f"{TXN}/{0:020}.txnindex", {"producerId", "firstOffset", "lastOffset", "lastStableOffset"}),
    (f"{TXN}/{14:020}.snapshot", {"producerId", "epoch", "lastSequence", "lastOffset", "timestamp"}),
    (f"{TXN}/leader-epoch-checkpoint", {"epoch", "startOffset"}),
    (f"{TXN}/partition.metadata", {"name", "value"}),
    ("kafka4/log-start-offset-checkpoint", {"topic", "partition", "offset"}),
    ("kafka4/meta.properties", {"name", "value"}),
)


@pytest.mark.parametrize(("name", "keys"), FILES, ids=[name for name, _ in FILES])
def test_files_next_to_segments(logs: Path, name: str, keys: set[str]) -> None:
    path = logs / name
    rows = [json.loads(line) for line in dumped(path, "--json").splitlines()]
    assert all({"file", *keys} <= row.keys() for row in rows)
    assert len(rows) == len(dumped(path).splitlines())


def test_a_damaged_index_is_reported(tmp_path: Path) -> None:
    path = tmp_path / f"{0:020}.index"
    path.write_bytes(bytes(9))
    assert "byte 8: found 1 byte after the last whole entry, expected entries of 8 bytes" in dumped(path, code=1)


SEGMENT = "00000000000000000000.log"


def test_only_records_from_the_log_start_are_dumped(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    write_segment(folder, build([Record(index, 7, None, b"v") for index in range(6)], "v2"))
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 4\n")
    for how in ([], ["--json"], ["--messages", "--json"]):
        assert len(dumped(folder, *how).splitlines()) == 6
        paths = folder, folder / SEGMENT
        assert [len(dumped(path, *how, "--from-log-start").splitlines()) for path in paths] == [2, 2]
        assert len(dumped(folder / SEGMENT, *how, "--start-offset", 3).splitlines()) == 3


DATA = Path(__file__).parents[3] / "data" / "logs"
PRODUCER = ("producerId", "producerEpoch", "baseSequence")
BATCH_FIELDS = ("baseOffset", "magic", "compression", "timestampType", "isTransactional", "isControl", *PRODUCER)
RECORD_FIELDS = ("offset", "timestamp", "key", "value", "headers")
outcome = partial(tagwire_outcome, "log")
rows = partial(tagwire_rows, "log")


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


def test_a_partition_with_only_a_snapshot_is_empty(logs: Path, tmp_path: Path) -> None:
    shutil.copytree(logs / "kafka4/__cluster_metadata-0", tmp_path / "t-0", ignore=shutil.ignore_patterns("*.log"))
    assert tagwire_result("log", "dump", tmp_path).stderr == "tagwire: the log is empty\n"


def test_dump_with_messages(logs: Path) -> None:
    found = rows("dump", logs / "kafka4" / "__cluster_metadata-0", "--messages")
    assert {row["message"]["type"] for row in found} >= {"TopicRecord", "leader_change"}
    commit, *_ = rows("dump", logs / "kafka0.8" / "__consumer_offsets-0" / SEGMENT, "--messages")
    assert commit["message"]["key"]["topic"] and commit["message"]["value"]["offset"] >= 0
    markers = rows("dump", logs / "kafka4" / "alpha-txn-many-0", "--messages")
    assert {row["message"]["type"] for row in markers if "message" in row} in ({"abort", "commit"}, {"abort"})
    code, out, _ = outcome("dump", logs / "kafka4" / "__transaction_state-0", "--messages")
    assert code == 0 and '{"type": "TransactionLog"' in out.splitlines()[0]
    assert '"transactionStatus": "Ongoing"' in out.splitlines()[1]  # spelled as in the output of kafka-dump-log.sh
    assert '"transactionStatus": 1' in json.dumps(rows("dump", logs / "kafka4" / "__transaction_state-0", "--messages"))
    _, out, _ = outcome("dump", logs / "kafka4" / "__cluster_metadata-0", "--messages")
    assert '"securityProtocol": "PLAINTEXT"' in out and '"resourceType": 4' not in out


def test_dump_as_text(tmp_path: Path) -> None:
    records = [
        Record(0, 300, None, b"v\n", (("h", None), ("h", b"x"))),
        Record(1, 301, "ключ".encode(), b"\xff"),
        Record(2, 302, b"", None),
    ]
    (tmp_path / "a.log").write_bytes(build(records, "v2").encode())
    _, out, _ = outcome("dump", tmp_path / "a.log")
    assert out.splitlines() == [
        "0\t300\t<null>\t<760a>\th=<null>, h=x\thas headers",
        "1\t301\tключ\t<ff>",
        "2\t302\t\t<null>\t\ttombstone",
    ]
    (tmp_path / "quorum-state").write_text('{"currentVoters": [{"voterId": 1}], "votedId": null}')
    assert dumped(tmp_path / "quorum-state") == 'currentVoters: [{"voterId": 1}]  votedId: null\n'


def test_dump_of_header_keys_that_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(build([Record(0, 300, b"", b"", ((7, b"x"),))], "kip82-int").encode())
    assert rows("dump", tmp_path / "a.log", "--format", "kip82-int")[0]["headers"] == [[7, "eA=="]]


def test_dump_stops_at_an_error(logs: Path, tmp_path: Path) -> None:
    data = (logs / "kafka28" / "alpha-upgrade2-0" / SEGMENT).read_bytes()
    (tmp_path / "a.log").write_bytes(data[:-1])
    code, out, err = outcome("dump", tmp_path / "a.log", "--json")
    assert code == 1 and len(out.splitlines()) > 200 and "a.log: log: byte 7449: found a batch of" in err
    assert outcome("dump", tmp_path / "a.log", "--partial")[0] == 0
    bad = build([Record(0, 300, b"k", b"v")], "v2").replace(count=2).encode()
    (tmp_path / "a.log").write_bytes(data + bad)
    code, _, err = outcome("dump", tmp_path / "a.log")
    assert code == 1 and f"byte {len(data) + 61}: found a count of 2" in err


DUMP = [sys.executable, "-m", "tagwire_cli", "log", "dump"]
ENCODINGS = pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])


def some(first: int, count: int, format: str = "v2", **how: Any) -> bytes:
    records = [Record(first + n, 7, b"key %d" % n, b"v" * 50) for n in range(count)]
    return build(records, format, **how).encode()


@pytest.fixture(scope="module")
def segment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a segment of 60 batches with 50 records each, which is too large for the pipe and output buffers."""
    path = tmp_path_factory.mktemp("dump") / f"{0:020}.log"
    path.write_bytes(b"".join(some(50 * n, 50) for n in range(60)))
    return path


def header_of(data: bytes, format: str) -> dict[str, Any]:
    header: dict[str, Any] = decode(format_of(format).header, data, whole=False, strict=True, limits=Limits())[0]
    header.pop("crc")
    return header


def with_a_bad_message(first: int) -> bytes:
    """Return a compressed wrapper of three messages, the last of which has a wrong checksum."""
    header = header_of(some(first, 3, "v1", compression="gzip"), "v1")
    header["value"] = compress("gzip", decompress("gzip", header["value"], Limits())[:-1] + b"?")
    return format_of("v1").encode_header(header)


def with_a_bad_record(first: int) -> bytes:
    """Return a batch of three records, the last of which is truncated. The batch checksum is valid."""
    header = header_of(some(first, 3), "v2")
    header["payload"] = header["payload"][:-9]
    return format_of("v2").encode_header(header)


def in_shell(path: Path, form: list[str], rest: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = " ".join([*([] if "|" in rest else ["exec"]), *DUMP, str(path), *form, rest])
    env = os.environ | environment
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, env=env)


@pytest.mark.thorough
@ENCODINGS
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_closed_pipe_after_one_line_is_silent(segment: Path, form: list[str], unbuffered: str) -> None:
    result = in_shell(segment, form, "| head -n 1", PYTHONUNBUFFERED=unbuffered)
    whole = in_shell(segment, form, "", PYTHONUNBUFFERED=unbuffered)
    assert (result.stdout, result.stderr) == (whole.stdout.splitlines(keepends=True)[0], "")
    assert (whole.returncode, whole.stderr, whole.stdout.count("\n")) == (0, "", 3000)


@pytest.mark.thorough
@ENCODINGS
@pytest.mark.parametrize("good", [0, 40])
@pytest.mark.parametrize("engine", ["python", ""])
def test_records_before_an_error_are_printed_first(tmp_path: Path, form: list[str], good: int, engine: str) -> None:
    path = tmp_path / "a.log"
    before = b"".join(some(50 * n, 50) for n in range(good))
    for data, lines, where in (
        (with_a_bad_record(9000), 2, "v2: records[2].length at byte"),
        # No message is printed, because the last message determines the offsets, so the whole wrapper is read first.
        (with_a_bad_message(9000), 0, "crc at byte"),
        (some(9000, 3)[:-1] + b"?", 0, "v2: crc at byte"),
        (some(9000, 3)[:-9], 0, "at byte"),
    ):
        path.write_bytes(before + data + some(9900, 1))
        both = in_shell(path, form, "2>&1", TAGWIRE_ENGINE=engine)
        *printed, error = both.stdout.splitlines()
        assert (both.returncode, both.stderr, len(printed)) == (1, "", 50 * good + lines)
        assert error.startswith(f"tagwire: {path}: ") and where in error
        assert not any("tagwire: " in line for line in printed)
        result = tagwire_result("log", "dump", path, *form)
        lines_printed = "".join(f"{line}\n" for line in printed)
        assert (result.exit_code, result.stdout, result.stderr) == (1, lines_printed, error + "\n")


@pytest.mark.thorough
@ENCODINGS
def test_lines_on_a_terminal_have_no_bar_among_them(segment: Path, form: list[str]) -> None:
    whole = in_shell(segment, form, "").stdout
    assert on_terminal("log", "dump", str(segment), *form) == (0, whole)


CELLS = [None, b"", b"text", b"<null>", b"<ab>", b"<x", b"a\tb", b"\0\x7f", "\xfc".encode(), b"\xff", b"~ !"]


@pytest.mark.thorough
@pytest.mark.parametrize("format", ["v2", "v3"])
@pytest.mark.parametrize("settings", [{}, {"is_transactional": True, "compression": "gzip"}], ids=["plain", "flags"])
def test_native_code_prints_the_same_text(
    format: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [(key, value) for key in CELLS for value in CELLS]
    records = [Record(at, at - 3, *cell, [("h", cell[0]), ("<k>", cell[1])][: at % 3]) for at, cell in enumerate(cells)]
    batches = [build([record], format, **settings) for record in records] + [build(records, format, **settings)]
    found = [b"".join(log_lines._batch_text(batch, None, None)) for batch in batches]
    monkeypatch.setattr(dump, "native_source", lambda batch: None)
    assert found == [b"".join(log_lines._batch_text(batch, None, None)) for batch in batches]
    assert found[0].startswith(b"0\t-3\t<null>\t<null>\t\t") and found[0].endswith(b"tombstone\n")
