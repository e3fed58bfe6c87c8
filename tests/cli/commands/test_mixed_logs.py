import json
from pathlib import Path
from typing import Any

import pytest
from command import tagwire_output, tagwire_result, tagwire_rows
from mixed_logs import MIXTURES, Mixture, log_of

from tagwire.records import BatchBuilder, Record, build, format_of

SOME = [each for each in MIXTURES if len(each.older) == 2]


@pytest.mark.parametrize("mixture", SOME, ids=str)
def test_every_command_reads_the_whole_log(tmp_path: Path, mixture: Mixture) -> None:
    expected = log_of(tmp_path / "t-0", mixture)
    named, folder = ("--format", mixture.named), tmp_path / "t-0"
    tagwire_output("log", "verify", folder, *named)
    lines = tagwire_rows("log", "dump", folder, *named)
    assert [(row["offset"], row["isTombstone"], row["hasHeaders"]) for row in lines] == [
        (record.offset, record.is_tombstone, bool(record.headers)) for _, record in expected
    ]
    assert len(tagwire_output("log", "dump", folder, *named).splitlines()) == len(expected)
    assert sum(row["records"] for row in tagwire_rows("log", "stat", folder, *named)) == len(expected)
    saved = tagwire_rows("log", "salvage", folder, *named, "--output", tmp_path / "saved")
    assert all(row["lostBytes"] == 0 for row in saved)
    [compacted] = tagwire_rows("log", "compact", folder, *named, "--include-active", "--output", tmp_path / "compacted")
    assert compacted["keys"] == 7
    converted = tagwire_result("log", "convert", folder, *named, "--to", "v2", "--output", str(tmp_path / "v2"))
    assert converted.exception is None or isinstance(converted.exception, SystemExit)
    stats = tagwire_rows("log", "stat", tmp_path / "v2" / "t-0", "--format", "v2")
    assert sum(row["records"] for row in stats) == len(expected)
    whatif = json.loads(tagwire_output("whatif", folder, *named, "--to", "v3", "--json"))
    assert whatif["total"]["records"] == len(expected)
    segment = next(folder.glob("*.log"))
    traces = json.loads(tagwire_output("explain", *named, "--json", segment))
    assert {trace["message"] for trace in traces} == {format_of(each).layout.name for each in mixture.formats}
    assert len(tagwire_output("log", "state", folder, *named, code=1)) > 0


def test_only_the_given_format_is_read(tmp_path: Path) -> None:
    segment = tmp_path / "00000000000000000000.log"
    parts = [build([Record(0, 5, b"k", b"v")], "v1"), build([Record(1, 5, b"k", b"v")], "kip87")]
    segment.write_bytes(b"".join(part.encode() for part in parts))
    assert "no problems" in tagwire_output("log", "verify", segment, "--format", "kip87")
    for words in ("log dump --format", "explain --format", "convert v2 --format"):
        output = tagwire_output(*words.split(), "kip87", "--only-format", segment, code=1)
        assert "found magic 1, expected 2" in output
    for command in ("log dump", "log stat", "explain", "convert v2"):
        output = tagwire_output(*command.split(), "--only-format", segment, code=2)
        assert "--only-format needs --record-format with the name of a format" in output
    output = tagwire_output("log", "verify", segment, "--format", "kip87,kip82-int", code=2)
    assert "kip87 and kip82-int both have magic 2" in output


BOTH = {"headers": ((1, b"1"),), "tombstone": True}
FLAGS: list[tuple[str, dict[str, Any], dict[str, Any], str, str]] = [
    # Each case: format, batch settings, record settings, the attributes that `explain` shows, the text that `log dump`
    # shows.
    ("v0", {"compression": "gzip"}, {"timestamp": -1}, "1 (compression gzip)", "compression gzip"),
    ("v1", {"compression": "gzip"}, {}, "1 (compression gzip)", "compression gzip"),
    ("v1", {"timestamp_type": "append", "append_time": 9}, {}, "8 (timestamp type append)", "timestamp type append"),
    ("v2", {"is_transactional": True, "producer_id": 4}, {}, "16 (transactional)", "transactional"),
    ("v2", {"is_control": True}, {}, "32 (control)", "control"),
    ("v2", {"delete_horizon_ms": 7}, {"value": None}, "64 (has delete horizon)", "has delete horizon, tombstone"),
    ("v2", {}, {"headers": (("h", b"1"),)}, "", "has headers"),
    ("v3", {}, {"value": None}, "128 (ignore message attributes)", "ignore message attributes, tombstone"),
    ("kip82-int", {}, {"headers": ((1, b"1"),)}, "16 (has headers)", "has headers"),
    ("kip82-str", {}, {"value": None}, "2 (value is null)", "tombstone"),
    ("kip87", {}, {"tombstone": True}, "32 (tombstone)", "tombstone"),
    ("kip87", {"compression": "gzip"}, {"tombstone": True}, "32 (tombstone)", "compression gzip, tombstone"),
    ("kip87", {}, {"value": None, "tombstone": False}, "", ""),
    ("kip82-int+kip87", {}, BOTH, "48 (has headers, tombstone)", "has headers, tombstone"),
]


@pytest.mark.parametrize(("format", "batch", "record", "bits", "words"), FLAGS)
def test_attributes_have_names(
    tmp_path: Path, format: str, batch: dict[str, Any], record: dict[str, Any], bits: str, words: str
) -> None:
    segment = tmp_path / "00000000000000000000.log"
    one = Record(0, 5, b"k", b"v").replace(**record)
    segment.write_bytes(BatchBuilder(format, as_read=True, **batch).extend([one]).build().encode())
    explained = tagwire_output("explain", "--format", format, segment).splitlines()
    found = [line for line in explained if "attributes" in line]
    assert not bits or any(line.endswith(f" {bits}") for line in found)
    assert bits or all(line.endswith(" 0") for line in found)
    [line] = tagwire_output("log", "dump", segment, "--format", format).splitlines()
    assert line.split("\t")[5:] == ([words] if words else [])
    [row] = tagwire_rows("log", "dump", segment, "--format", format)
    assert (row["isTombstone"], row["hasHeaders"]) == (one.is_tombstone, bool(one.headers))
    assert row["deleteHorizonMs"] == batch.get("delete_horizon_ms")
    assert (row["timestampType"] == "LogAppendTime") == ("append_time" in batch)


def test_bits_as_json(tmp_path: Path) -> None:
    segment = tmp_path / "00000000000000000000.log"
    one = Record(0, 5, b"k", b"v", ((1, b"1"),), tombstone=True)
    segment.write_bytes(build([one], "kip82-int+kip87").encode())
    [trace] = json.loads(tagwire_output("explain", "--format", "kip82-int+kip87", "--json", segment))
    [attributes] = [node for node in trace["root"]["children"] if node["path"] == "attributes"]
    expected = {"compression": "none", "timestamp_type": "create", "has_headers": True, "is_tombstone": True}
    assert attributes["bits"] == expected


def test_stat_counts_batches_with_attributes(tmp_path: Path) -> None:
    segment = tmp_path / "00000000000000000000.log"
    parts = [
        build([Record(0, 5, b"k", None)], "v1", timestamp_type="append", append_time=9),
        BatchBuilder("kip82-int+kip87", as_read=True)
        .extend([Record(1, 5, b"k", None, ((1, b"1"),), tombstone=False), Record(2, 5, b"k", b"v", tombstone=True)])
        .build(),
    ]
    segment.write_bytes(b"".join(part.encode() for part in parts))
    named = ("--format", "kip82-int+kip87")
    [stat] = tagwire_rows("log", "stat", segment, *named)
    counts = ("appendTimeBatches", "deleteHorizonBatches", "tombstones", "recordsWithHeaders", "nullsWithoutFlag")
    assert [stat[name] for name in counts] == [1, 0, 2, 1, 1]
    output = " ".join(tagwire_output("log", "stat", segment, *named).split())
    assert "append time 1, tombstone 2, null without flag 1, has headers 1" in output
