import gzip
import zlib
from random import Random
from typing import Any

import cramjam
import pytest

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.wire import compression
from tagwire.wire.compression import DecompressionError, compress, decompress

DATA = b"a" * 100
STORED_BLOCK = (len(DATA) | 1 << 31).to_bytes(4, "little") + DATA
LZ4_MAGIC = 0x184D2204.to_bytes(4, "little")


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "lz4-magic0", "zstd"])
@pytest.mark.parametrize("size", [0, 1, 100, 1 << 20, 100])  # `decompress` adapts its buffer to earlier sizes
def test_round_trip(codec: str, size: int) -> None:
    assert decompress(codec, compress(codec, bytes(size)), DEFAULT_LIMITS) == bytes(size)


LZ4_FRAMES = {
    "independent blocks": (LZ4_MAGIC + b"\x60\x40_" + STORED_BLOCK + bytes(4), 6),
    "content size": (LZ4_MAGIC + b"\x68\x40" + len(DATA).to_bytes(8, "little") + b"_" + STORED_BLOCK + bytes(4), 14),
    "content checksum": (bytes(cramjam.lz4.compress(DATA)), 6),
}


@pytest.mark.parametrize(("frame", "checksum_at"), LZ4_FRAMES.values(), ids=LZ4_FRAMES)
def test_old_lz4_frames_have_either_of_two_header_checksums(frame: bytes, checksum_at: int) -> None:
    """Header checksums may cover the magic bytes, as in Kafka's oldest clients, or leave them out."""

    def decompresses(checksum: int, codec: str) -> bool:
        changed = frame[:checksum_at] + bytes([checksum]) + frame[checksum_at + 1 :]
        try:
            return decompress(codec, changed, DEFAULT_LIMITS) == DATA
        except DecompressionError:
            return False

    assert sum(decompresses(checksum, "lz4") for checksum in range(256)) == 1
    assert sum(decompresses(checksum, "lz4-magic0") for checksum in range(256)) == 2


EMPTY = gzip.compress(b"", mtime=0)


class Counted:
    """A stand-in for `zlib` that counts unconsumed input bytes, because zlib copies them on every call."""

    error = zlib.error

    def __init__(self) -> None:
        self.copied = self.calls = 0

    def decompressobj(self, wbits: int) -> Any:
        counted, member = self, zlib.decompressobj(wbits)

        class Member:
            eof = property(lambda _: member.eof)
            unused_data = property(lambda _: member.unused_data)
            unconsumed_tail = property(lambda _: member.unconsumed_tail)

            def decompress(self, data: Any, max_length: int) -> bytes:
                part = member.decompress(data, max_length)
                counted.calls += 1
                counted.copied += len(member.unused_data) + len(member.unconsumed_tail)
                return part

        return Member()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counted = Counted()
    monkeypatch.setattr(compression, "zlib", counted)
    return counted


@pytest.mark.parametrize("members", [1, 10, 1000, 4000])
def test_empty_members(counted: Counted, members: int) -> None:
    assert decompress("gzip", EMPTY * members, Limits()) == b""
    assert counted.copied <= 256 * members and counted.calls <= 2 * members


@pytest.mark.parametrize("size", [1 << 16, 1 << 20, 1 << 22])
def test_bytes_that_do_not_pack(counted: Counted, size: int) -> None:
    data = Random(1).randbytes(size)
    packed = gzip.compress(data, 1)
    assert decompress("gzip", packed, Limits()) == data
    assert counted.copied <= len(packed) and counted.calls <= 20 + len(packed) / 50_000


def test_gzip_members_of_many_sizes() -> None:
    random = Random(2)
    parts = [random.randbytes(random.choice((0, 1, 200, 255, 256, 70_000))) * random.choice((1, 9)) for _ in range(60)]
    packed = b"".join(gzip.compress(part, random.choice((0, 6))) for part in parts)
    whole = b"".join(parts)
    assert decompress("gzip", packed, Limits()) == whole == decompress("gzip", memoryview(packed), Limits())
    assert decompress("gzip", packed, Limits(decompressed_bytes=len(whole))) == whole
    with pytest.raises(DecompressionError, match=f"more than {len(whole) - 1}"):
        decompress("gzip", packed, Limits(decompressed_bytes=len(whole) - 1))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "truncated gzip data"),
        (EMPTY[:-1], "truncated gzip data"),
        (EMPTY + EMPTY[:5], "truncated gzip data"),
        (EMPTY + b"\0", "truncated gzip data"),
        (EMPTY + bytes(20), "invalid gzip data"),
        (EMPTY[:-1] + b"\1", "invalid gzip data"),
        (gzip.compress(bytes(5000), mtime=0)[:-9], "truncated gzip data"),
    ],
)
def test_incomplete_gzip_files(data: bytes, message: str) -> None:
    with pytest.raises(DecompressionError, match=message):
        decompress("gzip", data, Limits())
