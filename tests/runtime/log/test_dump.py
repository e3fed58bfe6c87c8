import json
from base64 import b64decode, b64encode
from random import Random

import pytest
from native_engine import in_use
from random_logs import RandomLog

from tagwire.errors import DecodeError
from tagwire.limits import Limits
from tagwire.log import dump
from tagwire.log.dump import batch_lines, native_lines
from tagwire.records import Record, RecordBatch, build, format_of, read_batches
from tagwire.records.walk import Walk

pytestmark = in_use

KEYS = ["", "h", 'quote " and \\', "\b\t\n\v\f\r\0\x1f\x7f", "é ű 森 \U0001f332", "x" * 300]


def by_python(batch: RecordBatch, header: str = "{") -> bytes:
    return b"".join(dump.in_parts(dump._line(record, header, None) for record in batch))


def natively(batch: RecordBatch) -> tuple[bytes, int | None]:
    lines = native_lines(batch, b"{")
    found = b""
    while True:
        try:
            found += next(lines)
        except StopIteration as end:
            return found, end.value


def records(seed: int) -> list[Record]:
    random = Random(seed)
    result = []
    for n in range(random.randrange(1, 20)):
        key, value = (random.choice((None, random.randbytes(random.randrange(12)))) for _ in range(2))
        headers = [(random.choice(KEYS), random.choice((None, b"", random.randbytes(5)))) for _ in range(n % 4)]
        result.append(Record(1000 + 3 * n, random.choice((-1, 0, 1 << 40)), key, value, headers))
    return result


@pytest.mark.parametrize("format", ["v2", "v3"])
@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
def test_native_lines_equal_python_lines(format: str, codec: str) -> None:
    for seed in range(40):
        batch = build(records(seed), format, compression=codec)
        assert natively(batch) == (by_python(batch), None)
        for line, record in zip(by_python(batch).splitlines(), batch, strict=True):
            fields = json.loads(line.replace(b"{, ", b"{", 1))
            assert [key for key, _ in fields["headers"]] == [key for key, _ in record.headers]


def test_logs_from_seeds() -> None:
    """Compare native and Python code on logs with append times, delete horizons, markers and null values.

    The native code must leave batches of magic 1 to Python.
    """
    for seed in range(10):
        for batch in RandomLog(seed, ("v1", "v2")).batches:
            again = next(read_batches(batch.encode()))
            expected = (by_python(again), None) if again.magic == 2 else (b"", 0)
            assert natively(again) == expected


def test_lines_as_they_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = build(records(3), "v2", producer_id=7)
    found = b"".join(batch_lines('a "file"', batch))
    monkeypatch.setattr(dump, "native_source", lambda batch: None)
    assert b"".join(batch_lines('a "file"', batch)) == found
    assert found.startswith(b'{"file": "a \\"file\\"", "baseOffset": 1000, ') and found.endswith(b"}\n")


def test_some_lines_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = build([Record(n, 0, b"k", b"v" * 50) for n in range(100)], "v2")
    monkeypatch.setattr("tagwire.log.dump._AT_ONCE", 1000)
    parts = list(native_lines(batch, b"{"))
    assert b"".join(parts) == by_python(batch)
    assert len(parts) > 5 and all(part.endswith(b"}\n") for part in parts)


def test_bytes_of_every_length() -> None:
    """Try each base64 digit at each position. Native code encodes six bytes at a time, and then the remaining bytes."""
    random = Random(64)
    values = [random.randbytes(size) for size in range(41) for _ in range(5)]
    values += [sum(digit << 6 * (7 - index) for index in range(8)).to_bytes(6) for digit in range(64)]
    values += [(digit << 6 * index).to_bytes(6) + bytes(n) for digit in range(64) for index in range(8) for n in (0, 2)]
    batch = build([Record(n, 0, value[::-1], value, (("h", value),)) for n, value in enumerate(values)], "v2")
    text, done = natively(batch)
    found = [json.loads(line.replace("{, ", "{", 1)) for line in text.decode().splitlines()]
    assert done is None and [b64decode(each["value"], validate=True) for each in found] == values
    assert [each["value"].encode() for each in found] == [b64encode(value) for value in values]
    assert [each["key"].encode() for each in found] == [b64encode(value[::-1]) for value in values]
    assert [each["headers"] for each in found] == [[["h", each["value"]]] for each in found]


@pytest.mark.parametrize("limits", [Limits(records=5), Limits(headers=2), Limits(elements=7), Limits(depth=1)])
def test_limits_are_for_python(limits: Limits) -> None:
    (batch,) = read_batches(build(records(1), "v2").encode(), "v2", limits)
    assert natively(batch) == (b"", 0)


def walk_over(batch: RecordBatch, data: bytes) -> Walk:
    whole = batch.walk()
    return Walk(format_of("v2"), whole.header, data, whole.pos, whole.end, compressed_at=None, limits=Limits())


class Changed:
    """A stand-in for a batch with changed record bytes. It has no checksum to detect the change."""

    _quick = None

    def __init__(self, batch: RecordBatch, data: bytes) -> None:
        self.limits, self.record_format = batch.limits, batch.record_format
        self.batch, self.data = batch, data

    def walk(self) -> Walk:
        return walk_over(self.batch, self.data)


@pytest.mark.parametrize("mask", [0x01, 0x02, 0x80, 0xFF])
def test_native_code_stops_no_later_than_python_on_changed_bytes(mask: int) -> None:
    some = [
        Record(1, 5, b"key", None, (("h", b"1"), ("é", None))),
        Record(2, 6, None, b"w" * 70),
        Record(3, 7, b"", b""),
    ]
    batch = build(some, "v2")
    data = batch.encode()
    rejected = 0
    for at in range(batch.walk().pos, len(data)):
        changed = bytearray(data)
        changed[at] ^= mask
        found, done = natively(Changed(batch, bytes(changed)))  # type: ignore[arg-type]
        expected, is_whole = [], True
        try:
            for record in walk_over(batch, bytes(changed)):
                expected.append(dump._line(record, "{", None))
        except DecodeError:
            is_whole = False
        lines = found.decode().splitlines(keepends=True)
        assert lines == expected[: len(lines)], at
        assert (done is None) <= is_whole, at
        rejected += done is not None
    assert rejected > 10
