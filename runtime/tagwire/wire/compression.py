"""Compress and decompress record batches, with limits on the decompressed size.

Codecs are named as in specs: `gzip`, `snappy`, `lz4`, `zstd` and `lz4-magic0`. In `lz4-magic0`, the header checksum
also covers the frame's magic, as in old Java clients (KAFKA-3160). As in Java clients, snappy is written in Xerial
frames, and is read with and without these frames.

zlib implements gzip; cramjam implements the other codecs. All of them write into a buffer of limited size, so that no
input can produce more bytes than `Limits` allow.
"""

import zlib
from collections.abc import Callable
from typing import Any, Final

from tagwire.lazy import required
from tagwire.limits import Limits

_FREE: Final = 1 << 20
"""Up to this many decompressed bytes, any compression ratio is allowed, because results this small are harmless."""
_FIRST_CHUNK: Final = 1 << 8
_CHUNK: Final = 1 << 16
_XERIAL: Final = b"\x82SNAPPY\0"
_XERIAL_HEADER: Final = _XERIAL + b"\0\0\0\x01\0\0\0\x01"
_XERIAL_BLOCK: Final = 1 << 15
_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"


class DecompressionError(Exception):
    """Raised if bytes can't be decompressed, or exceed a limit. Callers add the position."""

    def __init__(self, found: str, expected: str, *, is_limit: bool = False) -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.found = found
        self.expected = expected
        self.is_limit = is_limit


def decompress(codec: str, data: Any, limits: Limits) -> bytes:
    """Decompress `data`. Raises DecompressionError for invalid data, or if the result exceeds a limit."""
    return bytes(decompress_in_place(codec, data, limits))


def decompress_in_place(codec: str, data: Any, limits: Limits) -> bytes | bytearray:
    """Like `decompress`, but without copying the result, which may be a bytearray that callers must not change."""
    by_ratio = max(_FREE, limits.decompression_ratio * len(data))
    most, limit = min((limits.decompressed_bytes, "decompressed_bytes"), (by_ratio, "decompression_ratio"))
    try:
        return _DECOMPRESSORS[codec](data, most)
    except _TooLongError:
        raise DecompressionError(
            found=f"{len(data)} {codec} bytes that decompress to more than {most} bytes",
            expected=f"at most {most} (Limits.{limit})",
            is_limit=True,
        ) from None


def compress(codec: str, data: bytes) -> bytes:
    """Compress `data`. The result depends only on the input and on the library's version."""
    return _COMPRESSORS[codec](data)


class _TooLongError(Exception):
    """Raised if the decompressed bytes exceed the limit."""


def _gunzip(data: Any, most: int) -> bytes:
    """Decompress gzip data, which may have several members.

    At the end of each member, zlib copies the rest of its input. With many short members, this could take quadratic
    time. So the input is passed in chunks. Each member begins with a small chunk, because it may be short.
    """
    compressed = memoryview(data)
    parts: list[bytes] = []
    at, room = 0, most + 1
    while at < len(compressed) or at == 0:
        member = zlib.decompressobj(31)
        size = _FIRST_CHUNK
        while not member.eof:
            chunk = compressed[at : at + size]
            if not chunk:
                raise DecompressionError("truncated gzip data", "a whole gzip file")
            try:
                parts.append(member.decompress(chunk, room))
            except zlib.error as error:
                raise DecompressionError(f"invalid gzip data ({error})", "a gzip file") from None
            room -= len(parts[-1])
            if room == 0:
                raise _TooLongError
            at += len(chunk) - len(member.unused_data)
            size = min(2 * size, _CHUNK)
    return b"".join(parts)


def _gzip(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=31)  # no name or time in the header, so the result is reproducible
    return compressor.compress(data) + compressor.flush()


def _by_cramjam(module: str) -> Callable[[Any, int], bytearray]:
    # Callers of cramjam allocate the output buffer. Guess its size from the last compression ratio. If the buffer is
    # too small, start again with a larger one.
    ratio = 4.0
    library: Any = None

    def decompress(data: Any, most: int) -> bytearray:
        nonlocal ratio, library
        if library is None:  # imported only once: an import in each call would be slow for small batches
            library = required("cramjam", "records")
        size = min(most, max(_CHUNK, int(ratio * len(data))))
        while True:
            out = bytearray(size)
            try:
                length = getattr(library, module).decompress_into(data, out)
            except library.DecompressionError as error:
                # An error text with these words means that the buffer was too small. Otherwise, the data is invalid.
                if "whole buffer" not in str(error):
                    raise DecompressionError(f"invalid {module} data ({error})", f"{module} frames") from None
                if size == most:
                    raise _TooLongError from None
                size = min(most, 8 * size)
            else:
                del out[length:]
                ratio = 1.25 * length / max(len(data), 1)
                return out

    return decompress


_unlz4: Final = _by_cramjam("lz4")


def _lz4(data: bytes, *, content_checksum: bool = False) -> bytes:
    # Write independent blocks, because Kafka's own reader does not support linked blocks. Level 0 is the fast mode,
    # which is also Kafka's default. cramjam's default level takes five times as long, and the result is only 20 %
    # smaller.
    library = required("cramjam", "records")
    compressor = library.lz4.Compressor(level=0, content_checksum=content_checksum, block_linked=False)
    compressor.compress(data)
    return bytes(compressor.finish())


def _lz4_with_bad_checksum(data: bytes) -> bytes:
    compressed = bytearray(_lz4(data))
    at = _lz4_checksum_at(compressed)
    compressed[at] = _header_checksum(compressed[:at])
    return bytes(compressed)


def _lz4_mended(data: Any, most: int) -> bytearray:
    compressed = bytearray(data)
    at = _lz4_checksum_at(compressed)
    right = _header_checksum(compressed[4:at])
    if compressed[at] == _header_checksum(compressed[:at]):
        compressed[at] = right
    return _unlz4(compressed, most)


def _lz4_checksum_at(compressed: bytearray) -> int:
    if compressed[:4] != _LZ4_MAGIC or len(compressed) < 7:
        raise DecompressionError("bytes without an lz4 header", "an lz4 frame")
    at = 6 + (8 if compressed[4] & 0x08 else 0) + (4 if compressed[4] & 0x01 else 0)
    if at >= len(compressed):
        raise DecompressionError("a truncated lz4 frame header", "a whole header")
    return at


def _header_checksum(header: bytes | bytearray) -> int:
    """Return the checksum byte of an lz4 frame header: the second byte of its xxHash32."""
    # An lz4 frame ends with the xxHash32 of its content, in little-endian order.
    return _lz4(bytes(header), content_checksum=True)[-3]


def _unsnap(data: Any, most: int) -> bytes:
    compressed = bytes(data)
    if not compressed.startswith(_XERIAL):
        return _unsnap_block(compressed, most)
    out = bytearray()
    at = 0
    while at < len(compressed):
        if compressed.startswith(_XERIAL, at):  # the data may consist of several streams, each with a header
            if len(compressed) - at < len(_XERIAL_HEADER):
                raise DecompressionError("a truncated Xerial header", "16 bytes")
            at += len(_XERIAL_HEADER)
            continue
        size = int.from_bytes(compressed[at : at + 4], "big")
        at += 4
        if not 0 < size <= len(compressed) - at:
            raise DecompressionError(
                f"a Xerial block of {size} bytes", f"1 to {max(len(compressed) - at, 0)} bytes (all that is left)"
            )
        out += _unsnap_block(compressed[at : at + size], most - len(out))
        at += size
    return bytes(out)


def _unsnap_block(compressed: bytes, most: int) -> bytes:
    library = required("cramjam", "records")
    try:
        size = library.snappy.decompress_raw_len(compressed)
        if size > most:
            raise _TooLongError
        out = bytearray(size)
        if library.snappy.decompress_raw_into(compressed, out) == size:
            return bytes(out)
    except library.DecompressionError as error:
        raise DecompressionError(f"invalid snappy data ({error})", "a snappy block") from None
    raise DecompressionError("a truncated snappy block", f"{size} bytes")


def _snap(data: bytes) -> bytes:
    library = required("cramjam", "records")
    out = bytearray(_XERIAL_HEADER)
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(library.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        out += len(block).to_bytes(4, "big") + block
    return bytes(out)


_DECOMPRESSORS: Final[dict[str, Callable[[Any, int], bytes | bytearray]]] = {
    "gzip": _gunzip,
    "snappy": _unsnap,
    "lz4": _unlz4,
    "lz4-magic0": _lz4_mended,
    "zstd": _by_cramjam("zstd"),
}
_COMPRESSORS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gzip": _gzip,
    "snappy": _snap,
    "lz4": _lz4,
    "lz4-magic0": _lz4_with_bad_checksum,
    "zstd": lambda data: bytes(required("cramjam", "records").zstd.compress(data)),
}
CODECS: Final = ("none", *_COMPRESSORS)
"""The codec names that a spec may use; the first means uncompressed."""
CODEC_NAMES: Final = tuple(name for name in CODECS if "-" not in name)
"""The codec names that users can choose: all except variants, such as `lz4-magic0`."""
