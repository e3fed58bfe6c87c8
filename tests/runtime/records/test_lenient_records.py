import gzip
import struct
from pathlib import Path
from zlib import crc32

import pyarrow as pa
import pytest
from command import tagwire_result
from small_logs import message, sealed, write_segment

from tagwire import DecodeError, Limits, log
from tagwire.records import FormatSet, Record, build, read_batches


def with_a_bad_key(first: int, compression: str = "none") -> bytes:
    """Return three records. The second has a header key with an invalid byte, which Kafka reads as U+FFFD."""
    records = [Record(first + n, 7, b"k", b"v", (("a~", b"1"),)) for n in range(3)]
    data = bytearray(build(records, "v2").encode())
    at = data.index(b"a~", data.index(b"a~") + 1)
    data[at + 1] = 0xFF
    return sealed(data)


def mixed(magic: int, inner: tuple[tuple[int, int], ...], last: int, attributes: int = 1) -> bytes:
    """Return a wrapper at the offset `last` that contains a message for each (offset, magic byte) in `inner`."""
    value = b"".join(message(offset, kind, b"v", time=4) for offset, kind in inner)
    return message(last, magic, gzip.compress(value), attributes)


CASES = [
    (with_a_bad_key(0), [(n, 7, (("a\ufffd" if n == 1 else "a~", b"1"),)) for n in range(3)]),
    (mixed(1, ((0, 0), (1, 0), (2, 1)), 2), [(0, -1, ()), (1, -1, ()), (2, 4, ())]),
    (mixed(1, ((0, 0), (1, 1)), 1, attributes=9), [(0, -1, ()), (1, 5, ())]),
    (mixed(0, ((0, 1), (1, 0), (2, 0)), 2), [(0, 4, ()), (1, -1, ()), (2, -1, ())]),
]
"""Each case: bytes, and the offsets, timestamps and headers that Kafka reads from them."""


WRITERS = {"convert --to v2 --codec zstd": None, "compact --include-active --drop-keyless": [9]}
"""Maps each tested `tagwire log` command to the offsets of the records that it keeps, or to None if it keeps all."""


@pytest.mark.parametrize(("data", "expected"), CASES, ids=["key", "v1", "v1 append", "v0"])
def test_lenient_readers_accept_what_kafka_accepts(
    data: bytes, expected: list[tuple[int, int, tuple[tuple[str, bytes], ...]]], tmp_path: Path
) -> None:
    (strict,) = read_batches(data)
    with pytest.raises(DecodeError):
        list(strict)
    (lenient,) = read_batches(data, strict=False)
    assert [(each.offset, each.timestamp, each.headers) for each in lenient] == expected
    assert lenient.encode() == data

    after = build([Record(9, 7, b"k", b"v")], "v2").encode()
    path = write_segment(tmp_path / "t-0", data, after)
    offsets = [*(each[0] for each in expected), 9]
    assert [record.offset for batch in log.read(path, strict=False) for record in batch] == offsets
    assert pa.table(log.columns(path, ["offset"], strict=False)).column("offset").to_pylist() == offsets
    assert pa.table(log.columns(path, ["offset"], format=FormatSet("v2", strict=False))).num_rows == len(offsets)

    dumped = tagwire_result("log", "dump", path)
    assert dumped.exit_code == 1 and f"{path}: " in dumped.stderr and "\n9\t" not in dumped.stdout
    dumped = tagwire_result("log", "dump", path, "--lenient")
    assert [int(line.split("\t")[0]) for line in dumped.stdout.splitlines()] == offsets
    assert dumped.exit_code == 1 and dumped.stderr.count(f"{path}: ") == 1
    counted = tagwire_result("log", "stat", path, "--lenient")
    assert counted.exit_code == 1 and counted.stderr.count(f"{path}: ") == 1 and f" {len(offsets)} " in counted.stdout
    tagwire_result("log", "verify", path, "--lenient", code=0)
    saved = tagwire_result("log", "salvage", str(path.parent), "--output", str(tmp_path / "saved"))
    assert saved.exit_code == 0 and (tmp_path / "saved" / "t-0" / path.name).read_bytes() == data + after
    for name, left in WRITERS.items():
        words = [*("log", *name.split(), str(path.parent), "--output"), str(tmp_path / name)]
        strict_run = tagwire_result(*words)
        assert strict_run.exit_code == 1 and f"{path}: " in strict_run.output and not list(tmp_path.glob(f"{name}/*"))
        run = tagwire_result(*words, "--lenient")
        assert run.exit_code == 1 and run.stderr.count(f"{path}: ") == 1, run.output
        batches = log.read(tmp_path / name / "t-0")
        assert [record.offset for batch in batches for record in batch] == (offsets if left is None else left)


def test_damage_stays_damage(tmp_path: Path) -> None:
    path = write_segment(tmp_path / "t-0", sealed(with_a_bad_key(0)[:-1]), with_a_bad_key(3)[:40])
    skipped: list[object] = []
    found = [record.offset for batch in log.read(path, strict=False, skip=skipped.append) for record in batch]
    assert (found, [error.rule for error in skipped if isinstance(error, log.LogError)]) == (
        [0, 1],
        ["TWL106", "TWL106", "TWL101"],
    )
    for name in ("convert --to v1", "convert --batch-records 1", "compact --include-active"):
        words = ["log", *name.split(), str(path.parent), "--lenient", "--output", str(tmp_path / name)]
        run = tagwire_result(*words)
        assert (run.exit_code, run.stderr.count("skipped: ")) == (1, 3), run.output
        batches = list(log.read(tmp_path / name / "t-0", skip=skipped.append, strict=False))
        assert [record.offset for batch in batches for record in batch][-1:] == [1]


def test_element_with_an_error_is_counted_once() -> None:
    """An element with an error counts only once, so the invalid third header doesn't exceed a limit of three."""
    headers = [(key, b"abc") for key in (1, 2, 3)]
    data = bytearray(build([Record(0, 7, b"k", b"v", headers)], "kip82-int").encode())
    at = data.index(b"\0\0\0\3\0\0\0\3abc", data.index(b"\0\0\0\2\0\0\0\3abc")) + 4
    data[at : at + 4] = b"\xff\xff\xff\xff"
    data[12:16] = struct.pack(">I", crc32(bytes(data[16:])))
    with pytest.raises(DecodeError, match=r"headers\[2\]") as caught:
        [list(batch) for batch in read_batches(bytes(data), "kip82-int", Limits(elements=3))]
    assert type(caught.value) is DecodeError
