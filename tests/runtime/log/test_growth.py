"""Check that reading a crafted log takes at most linear time and constant memory.

Instead of seconds, the tests count the bytes and objects that are processed.
"""

import gzip
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from native_engine import native
from peak_memory import PEAK_KIB, SANITIZED
from small_logs import sealed, write_segment

from tagwire import log
from tagwire.log import damage
from tagwire.log.damage import RangeSums, pieces
from tagwire.log.scan import Scan
from tagwire.log.verify import verify_partition, verify_segment
from tagwire.records import Record, build
from tagwire.wire.checksums import checksum

pytestmark = pytest.mark.thorough

_APART = 300


def batch_headers(count: int, magic: int) -> bytes:
    """Return batch headers in which each length covers half of the remaining bytes, so the batches would overlap."""
    return b"".join(
        struct.pack(">qiibI", n + 5, max(60, (count - n) * _APART // 2), 0, magic, 0).ljust(_APART, b"\xff")
        for n in range(count)
    )


@pytest.mark.parametrize("algorithm", ["crc32", "crc32c"])
def test_a_sum_of_a_range_is_the_checksum_of_its_bytes(algorithm: str) -> None:
    rnd = random.Random(algorithm)
    data = rnd.randbytes(300_000)
    sums = RangeSums(data, algorithm)
    for _ in range(300):
        start, end = sorted((rnd.randrange(300_001), rnd.randrange(300_001)))
        assert sums.of(start, end) == checksum(algorithm, data[start:end])
    for start, end in ((0, 300_000), (0, 1 << 17), (1 << 14, 1 << 17), (1, (1 << 17) - 1), (5, 5)):
        assert sums.of(start, end) == checksum(algorithm, data[start:end])


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_crafted_headers_take_linear_work(magic: int, monkeypatch: pytest.MonkeyPatch) -> None:
    work = 0

    def counted(algorithm: str, value: int, data: bytes) -> int:
        nonlocal work
        work += len(data)
        return 0

    monkeypatch.setattr(damage, "extended", counted)
    of = RangeSums.of
    monkeypatch.setattr(RangeSums, "of", lambda sums, start, end: of(sums, start, end) ^ 1)
    # Use the Python search, whose work can be counted. The native search does the same work.
    monkeypatch.setattr(Scan, "search", None)
    costs, decoded, batch = [], list[int](), Scan.batch

    def counted_batch(scan: Scan, position: int) -> Any:
        decoded.append(position)
        return batch(scan, position)

    monkeypatch.setattr(Scan, "batch", counted_batch)
    for count in (1_500, 3_000):
        work = 0
        decoded.clear()
        assert len(list(pieces(Scan("file", batch_headers(count, magic))))) == 1
        assert len(decoded) < 4, "headers are decoded only if their checksum is right"
        costs.append(work)
    assert costs[1] < 3 * costs[0]


def damaged(rnd: random.Random) -> bytes:
    parts, offset = [], 0
    for _ in range(6):
        value = rnd.randbytes(rnd.choice((5, 3000, 70_000, 120_000)))
        format = rnd.choice(("v0", "v1", "v2", "v3"))
        data = bytearray(build([Record(offset, -1 if format == "v0" else 5, b"k", value)], format).encode())
        if rnd.random() < 0.5:
            data[rnd.choice((3, 9, 12, 16, 18, len(data) // 2, len(data) - 1))] ^= 1 << rnd.randrange(8)
        parts.append(bytes(data[: rnd.choice((len(data), len(data), 30))]))
        offset += rnd.choice((1, 300))
    return b"".join(parts)


def test_damage_is_reported_as_by_trying_every_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    rnd = random.Random(20)
    files = [
        *(damaged(rnd) for _ in range(40)),
        *(batch_headers(150, magic) for magic in range(4)),
        bytes([0, 2]) * 5000,
    ]

    def verdicts() -> list[str]:
        return [str([*pieces(Scan("file", data))]) for data in files]

    fast = verdicts()
    monkeypatch.setattr(Scan, "search", None)
    assert verdicts() == fast
    monkeypatch.setattr(Scan, "expect_damage", lambda self: None)
    assert verdicts() == fast
    assert sum(each.count("Damage") for each in fast) > 30


def test_index_full_of_errors_gives_few_problems(tmp_path: Path) -> None:
    write_segment(tmp_path, build([Record(0, 5, b"k", b"v")], "v2"))
    for kind, width in (("index", 8), ("timeindex", 12)):
        (tmp_path / f"{0:020}.{kind}").write_bytes(b"\xff" * width * 100_000)
    reports = {each.file.suffix: each.problems for each in verify_partition(log.Partition(tmp_path))}
    for kind, rules in ((".index", ("TWL202", "TWL203")), (".timeindex", ("TWL202", "TWL212"))):
        for rule in rules:
            assert len([problem for problem in reports[kind] if problem.rule == rule]) <= 1001
    more = [problem.message for problem in reports[".index"] if "more problems of this rule" in problem.message]
    assert more[0] == "98999 more problems of this rule from here on"


def bomb(folder: Path, count: int, offset_delta: int = 0) -> Path:
    """Write a compressed batch of `count` records of seven bytes, all with the same offset delta."""
    header = bytearray(build([Record(0, 5, b"", None)], "v2", compression="gzip").encode()[:61])
    struct.pack_into(">i", header, 23, count - 1)
    struct.pack_into(">i", header, 57, count)
    return write_segment(folder, sealed(header + gzip.compress(bytes([12, 0, 0, offset_delta, 0, 1, 0]) * count, 9)))


def test_batch_full_of_errors_gives_few_problems(tmp_path: Path) -> None:
    (report,) = verify_segment(bomb(tmp_path, 20_000))
    assert report.records == 20_000
    assert [problem.rule for problem in report.problems] == ["TWL107"] * 1001
    assert report.problems[-1].message == "18999 more problems of this rule from here on"


_RUN = f"""{PEAK_KIB}
import sys
from click.testing import CliRunner
from tagwire_cli.app import app
small, large, words = sys.argv[1], sys.argv[2], sys.argv[3:]
def run(path):
    place = ["--output", path + ".out"] if words[1] in ("salvage", "convert", "compact") else []
    result = CliRunner().invoke(app, [*words, *place, path])
    assert result.exit_code in (0, 1), result.exception
run(small)
before = peak_kib()
run(large)
print(peak_kib() - before)
"""
_COMMANDS = {
    "verify": ("log", "verify"),
    "stat": ("log", "stat"),
    "salvage": ("log", "salvage"),
    "convert": ("log", "convert", "--to", "v3"),
    "convert to messages": ("log", "convert", "--to", "v1"),
    "convert, other batches": ("log", "convert", "--to", "v1", "--batch-records", "1000"),
    "compact": ("log", "compact", "--include-active"),
    "whatif": ("whatif", "--to", "v3"),
}


@native
@pytest.mark.skipif(sys.platform != "linux" or SANITIZED, reason="the peak of a process is read from /proc")
@pytest.mark.parametrize("command", _COMMANDS)
def test_memory_of_many_small_records(command: str, tmp_path: Path) -> None:
    """Limit the memory for 200,000 records of seven bytes (1.4 MB). Python objects for them take at least 22 MB."""
    small = bomb(tmp_path / "small-0", 1000).parent
    large = bomb(tmp_path / "large-0", 200_000).parent
    words = [sys.executable, "-c", _RUN, str(small), str(large), *_COMMANDS[command]]
    run = subprocess.run(words, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    most = 40_000 if command == "convert to messages" else 16_000
    assert int(run.stdout.split()[-1]) < most
