import gzip
import zlib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")

from streamed_logs import segment, stream, triggers
from written_logs import arrow_rows, read_rows

from tagwire.records import Record, build
from tagwire_spark import PipelineError

OPTIONS: list[dict[str, str]] = [
    {},
    {"level": "batch"},
    {"isolation.level": "read_committed"},
    {"maxSplitBytes": "60"},
    {"startingOffsets": '{"t": {"0": 3}}'},
    {"endingOffsets": '{"t": {"0": 8}}'},
    {"startingOffsetsByTimestamp": '{"t": {"0": 3}}'},
]


def message(offset: int, magic: int, attributes: int, value: bytes) -> bytes:
    time = (5).to_bytes(8, "big") if magic else b""
    body = bytes([magic, attributes]) + time + b"\xff" * 4 + len(value).to_bytes(4, "big") + value
    crc = zlib.crc32(body).to_bytes(4, "big")
    return offset.to_bytes(8, "big") + (len(body) + 4).to_bytes(4, "big") + crc + body


def wrapper(first: int, magic: int) -> bytes:
    records = [Record(first + n, 5 if magic else -1, b"k", b"value") for n in range(3)]
    return build(records, f"v{magic}", compression="gzip").encode()


def payload(magic: int, bend: str) -> bytes:
    inner = b"".join(message(n if magic else 3 + n, magic, 0, b"value") for n in range(3))
    if bend == "a short message":
        inner = inner[:-3]
    elif bend == "an inner length":
        inner = inner[:8] + b"\x7f" + inner[9:]
    packed = bytearray(gzip.compress(inner))
    if bend in ("header", "middle", "end"):
        packed[{"header": 1, "middle": len(packed) // 2, "end": -3}[bend]] ^= 0xFF
    return b"" if bend == "nothing" else bytes(packed)


@pytest.mark.parametrize("bend", ["header", "middle", "end", "nothing", "a short message", "an inner length"])
@pytest.mark.parametrize("magic", [0, 1])
def test_messages_around_damage_are_read(tmp_path: Path, magic: int, bend: str) -> None:
    path = segment(
        tmp_path / "t-0", 0, wrapper(0, magic), message(5, magic, 1, payload(magic, bend)), wrapper(6, magic)
    )
    for options in OPTIONS if magic else OPTIONS[:-1]:  # messages of magic 0 have no timestamps
        rows = read_rows(tmp_path, mode="PERMISSIVE", **options)
        if "level" in options:
            assert [row["lastOffset"] for row in rows if not row["_error"]] in ([2, 5, 8], [2, 8])
            continue
        good = [row["offset"] for row in rows if not row["_error"] and not 3 <= row["offset"] < 6]
        expected = [n for n in (0, 1, 2, 6, 7, 8) if n < (8 if "endingOffsets" in options else 9)]
        assert good == [n for n in expected if n >= (3 if "startingOffsets" in options else 0)] or "Time" in str(
            options
        )
        assert {row["file"] for row in rows if row["_error"]} == {str(path)}
        dropped = read_rows(tmp_path, mode="DROPMALFORMED", **options)
        assert [row["offset"] for row in dropped] == [row["offset"] for row in rows if not row["_error"]]
        with pytest.raises(PipelineError, match=rf"MALFORMED_KAFKA_LOG\] {path}: "):
            list(arrow_rows(tmp_path, **options))
    reader = stream(tmp_path, mode="PERMISSIVE", maxBytesPerTrigger=50)
    found: list[Any] = [row for _, part in triggers(reader, {}) for row in part]
    assert [row["offset"] for row in found if not row["_error"]][-3:] == [6, 7, 8]


def test_header_keys_that_are_numbers_have_names(tmp_path: Path) -> None:
    record = Record(0, 5, b"k", b"v", ((1, b"me"), (70_000, b"x")))
    segment(tmp_path / "t-0", 0, build([record, Record(1, 5, b"k", b"v")], "kip82-int").encode())
    [batch] = arrow_rows(tmp_path, recordFormat="kip82-int")
    assert batch.column("headerNames").to_pylist() == [["client.id", "70000"], None]


def test_a_lenient_read_takes_header_keys_that_are_not_utf_8(tmp_path: Path) -> None:
    data = build([Record(0, 5, b"k", b"v", (("key", b"x"),))], "v2").encode().replace(b"key", b"k\xffy")
    from google_crc32c import value as crc32c

    data = data[:17] + crc32c(data[21:]).to_bytes(4, "big") + data[21:]
    segment(tmp_path / "t-0", 0, data)
    with pytest.raises(PipelineError, match="MALFORMED_KAFKA_LOG"):
        list(arrow_rows(tmp_path))
    [batch] = arrow_rows(tmp_path, strict="false")
    assert batch.column("headers").to_pylist() == [[{"key": "k\ufffdy", "value": b"x"}]]
