import cramjam
import pytest

from tagwire.limits import DEFAULT_LIMITS
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
