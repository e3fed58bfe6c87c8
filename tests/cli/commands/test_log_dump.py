import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import tagwire_result
from terminal import on_terminal

from tagwire.interpreter.reader import decode
from tagwire.limits import Limits
from tagwire.log import dump
from tagwire.records import Record, build, format_names, format_of, read_batches
from tagwire.wire.compression import compress, decompress
from tagwire_cli.output import log_lines

pytestmark = pytest.mark.thorough

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


def with_a_bad_message(first: int) -> bytes:
    """Return a compressed wrapper of three messages, the last of which has a wrong checksum."""
    format = format_of("v1")
    header, _ = decode(
        format.header, some(first, 3, "v1", compression="gzip"), whole=False, strict=True, limits=Limits()
    )
    header.pop("crc")
    header["value"] = compress("gzip", decompress("gzip", header["value"], Limits())[:-1] + b"?")
    return format.encode_header(header)


def with_a_bad_record(first: int) -> bytes:
    """Return a batch of three records, the last of which is truncated. The batch checksum is valid."""
    format = format_of("v2")
    header, _ = decode(format.header, some(first, 3), whole=False, strict=True, limits=Limits())
    header.pop("crc")
    header["payload"] = header["payload"][:-9]
    return format.encode_header(header)


def in_shell(path: Path, form: list[str], rest: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = " ".join([*([] if "|" in rest else ["exec"]), *DUMP, str(path), *form, rest])
    env = os.environ | environment
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, env=env)


@ENCODINGS
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_closed_pipe_after_one_line_is_silent(segment: Path, form: list[str], unbuffered: str) -> None:
    result = in_shell(segment, form, "| head -n 1", PYTHONUNBUFFERED=unbuffered)
    whole = in_shell(segment, form, "", PYTHONUNBUFFERED=unbuffered)
    assert (result.stdout, result.stderr) == (whole.stdout.splitlines(keepends=True)[0], "")
    assert (whole.returncode, whole.stderr, whole.stdout.count("\n")) == (0, "", 3000)


@ENCODINGS
def test_standard_output_that_is_closed_or_full(segment: Path, form: list[str]) -> None:
    closed = in_shell(segment, form, ">&-")
    assert (closed.returncode, closed.stderr) == (0, "")
    if Path("/dev/full").exists():
        full = in_shell(segment, form, ">/dev/full")
        assert (full.returncode, full.stderr) == (1, "tagwire: No space left on device\n")


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
        assert (result.exit_code, result.stdout, result.stderr) == (
            1,
            "".join(f"{line}\n" for line in printed),
            error + "\n",
        )


@ENCODINGS
def test_lines_on_a_terminal_have_no_bar_among_them(segment: Path, form: list[str]) -> None:
    whole = in_shell(segment, form, "").stdout
    assert on_terminal("log", "dump", str(segment), *form) == (0, whole)


SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "packed": {"compression": "gzip"},
    "append": {"timestamp_type": "append", "append_time": 99},
    "lz4 append": {"compression": "lz4", "timestamp_type": "append", "append_time": 99},
    "transaction": {"producer_id": 9, "producer_epoch": 3, "base_sequence": 5, "is_transactional": True},
}
TYPES = {"create": "CreateTime", "append": "LogAppendTime"}


@pytest.mark.parametrize(
    ("format", "how"),
    [
        (name, how)
        for name in format_names()
        for how, settings in SETTINGS.items()
        if {"timestamp_type", "producer_id"} & settings.keys() <= {*format_of(name).fields, *format_of(name).bits}
    ],
)
def test_lines_match_the_properties_of_their_batch(tmp_path: Path, format: str, how: str) -> None:
    path = tmp_path / 'a "quoted" é.log'
    time = 7 if "base_timestamp" in format_of(format).fields else -1
    path.write_bytes(build([Record(5 + n, time, b"k", b"v") for n in range(3)], format, **SETTINGS[how]).encode())
    expected = [
        {
            "file": str(path),
            "baseOffset": batch.base_offset,
            "magic": batch.magic,
            "compression": batch.compression,
            "timestampType": TYPES[batch.timestamp_type] if batch.magic else "NoTimestampType",
            "isTransactional": batch.is_transactional,
            "isControl": batch.is_control,
            "deleteHorizonMs": batch.delete_horizon_ms,
            "producerId": batch.producer_id,
            "producerEpoch": batch.producer_epoch,
            "baseSequence": batch.base_sequence,
            "offset": record.offset,
        }
        for batch in read_batches(path.read_bytes(), format)
        for record in batch
    ]
    result = tagwire_result("log", "dump", path, "--format", format, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [list(line.items())[: len(expected[0])] for line in found] == [list(each.items()) for each in expected]
    assert [line["offset"] for line in found] == [5, 6, 7]


CELLS = [None, b"", b"text", b"<null>", b"<ab>", b"<x", b"a\tb", b"\0\x7f", "\xfc".encode(), b"\xff", b"~ !"]


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
