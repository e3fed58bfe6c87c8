import random
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from growth import peak_bytes
from peak_memory import PEAK_KIB, SANITIZED
from small_logs import message, sealed, sealed_message

from tagwire.errors import DecodeError, LimitError, TagwireError
from tagwire.limits import Limits
from tagwire.records import Record, build, format_names, format_of, read_batches
from tagwire.records.opening import trace_batches
from tagwire.wire.compression import CODECS, compress

RECORDS = [Record(index, 1700000000000 + index, b"k%d" % index, b"value %d" % index) for index in range(5)]
V2_CRC_AT, V2_COUNT_AT, V2_RECORDS_AT = 17, 57, 61
NUMBERS = ("none", "gzip", "snappy", "lz4", "zstd")
"""The codecs, indexed by their numbers in a batch's attributes."""
each_codec = pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "none"])


def batch(format: str = "v2", **settings: Any) -> bytearray:
    return bytearray(build(RECORDS, format, **settings).encode())


def read_all(data: bytes | bytearray, format: str = "auto", **limits: Any) -> list[Any]:
    return [list(found) for found in read_batches(bytes(data), format, Limits(**limits))]


def compressed(codec: str, data: bytes | bytearray) -> bytes:
    """Return a v2 batch that contains `data`, and whose attributes name this codec."""
    header = batch()[:V2_RECORDS_AT]
    struct.pack_into(">h", header, 21, NUMBERS.index(codec))
    return sealed(header + data)


def error_of(data: bytes | bytearray, format: str = "auto", **limits: Any) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        read_all(data, format, **limits)
    return caught.value


def test_a_wrong_checksum() -> None:
    data = batch()
    data[-1] ^= 1
    error = error_of(data)
    assert (error.path, error.offset) == ("crc", V2_CRC_AT) and "the crc32c of the" in error.expected


def test_a_count_of_one_record_more_than_there_are() -> None:
    data = batch()
    struct.pack_into(">i", data, V2_COUNT_AT, len(RECORDS) + 1)
    assert error_of(sealed(data)).path.startswith("records")


SMALLEST = bytes.fromhex("0c 00 00 00 01 01 00")
"""The smallest record of magic 2, without key, value and headers: 7 bytes."""


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize(
    ("count", "size", "found"),
    [
        (2, 14, None),  # the highest count that fits in the remaining bytes
        (0, 0, None),
        (1, 14, "68: found 7 bytes after the last field, expected the end of the batch"),
        (3, 14, "61: found a count of 3, expected 0 to 2, because the batch has only 14 bytes left"),
        (1, 6, "61: found a count of 1, expected 0 to 0, because the batch has only 6 bytes left"),
        (-1, 14, "61: found a count of -1, expected 0 to 2, because the batch has only 14 bytes left"),
        (-1, 0, "61: found a count of -1, expected 0 to 0, because the batch has only 0 bytes left"),
    ],
)
def test_a_count_fits_into_the_bytes(count: int, size: int, found: str | None) -> None:
    data = batch()[:V2_RECORDS_AT] + (2 * SMALLEST)[:size]
    struct.pack_into(">i", data, V2_COUNT_AT, count)
    if found is None:
        assert [len(each) for each in read_all(sealed(data))] == [count]
    else:
        assert str(error_of(sealed(data))).endswith(f"records at byte {found}")


def test_wrapper_with_an_offset_below_the_smallest_int64() -> None:
    """If a wrapper has the offset -2^63, its first message has an offset below the range of int64."""
    data = build(RECORDS, "v1", compression="gzip").replace(base_offset=-(2**63)).encode()
    with pytest.raises(DecodeError, match="found wrapper offset -9223372036854775808"):
        read_all(data, "v1")


@pytest.mark.parametrize(
    ("record", "path"),
    [
        ("02 00", "records"),
        ("7e 00 00 00 01 01 00", "records[0].length"),
        ("01 00 00 00 01 01 00", "records[0].length"),
        ("ffffffffffffffffff01 00", "records[0].length"),
        ("0c 00 00 00 fe ff ff ff 0f", "records[0].key"),
        ("0c 00 00 00 03 01 00", "records[0].key"),
        ("0e 00 00 00 01 01 fe ff", "records[0]"),
        ("12 00 00 00 01 01 feffffff0f", "records[0].headers"),
        ("10 00 00 00 01 01 02 01 00", "records[0].headers[0].key"),
        ("12 00 00 00 01 01 02 02 ff 01", "records[0].headers[0].key"),
        ("0e 00 00 00 01 01 00 00", "records[0]"),
        ("0e 00 80 00 00 01 01 00", "records[0].timestamp_delta"),
        ("1a 00 00 00 ffffffffffffffff7f 01 00", "records[0].key"),
        ("0c 00 00 00 01 fe ff ff ff 0f", "records[0].value"),
        ("1e 00 00 00 01 01 ffffffffffffffffff01", "records[0].headers"),
    ],
)
def test_record_with_false_lengths(record: str, path: str) -> None:
    header = batch()[:V2_RECORDS_AT]
    struct.pack_into(">i", header, V2_COUNT_AT, 1)
    error = error_of(sealed(header + bytes.fromhex(record)))
    assert error.path.startswith(path), error
    assert error.offset >= V2_RECORDS_AT


@pytest.mark.parametrize("at", ["length", "key", "headers"])
def test_endless_varint(at: str) -> None:
    """A varint of a million FF bytes must be rejected at once. Computing its value would take minutes."""
    header = batch()[:V2_RECORDS_AT]
    struct.pack_into(">i", header, V2_COUNT_AT, 1)
    before = {"length": "", "key": "80897a 00 00 00", "headers": "80897a 00 00 00 01 01"}[at]
    error = error_of(sealed(header + bytes.fromhex(before) + b"\xff" * 1_000_000))
    assert error.path == f"records[0].{at}"


@pytest.mark.parametrize("attributes", [1, 2, 3, 4, 5, 7])
def test_a_codec_bit_on_plain_records(attributes: int) -> None:
    data = batch()
    struct.pack_into(">h", data, 21, attributes)
    assert error_of(sealed(data)).path in ("records", "attributes")


@pytest.mark.parametrize("magic", [4, 9, 127, 255])
def test_an_unknown_magic(magic: int) -> None:
    data = batch()
    data[16] = magic
    error = error_of(data)
    assert error.offset == 16 and error.found == f"magic {magic}"


READ_A_BOMB = f"""{PEAK_KIB}
import sys
from tagwire.errors import LimitError
from tagwire.limits import Limits
from tagwire.records import build, Record, read_batches
format, path = sys.argv[1:]
for codec in ("gzip", "snappy", "lz4"):
    [list(each) for each in read_batches(build([Record(0, -1, b"k", b"v")], "v0", compression=codec).encode())]
data = open(path, "rb").read()
before = peak_kib()
try:
    limits = Limits(decompressed_bytes=10_000_000, decompression_ratio=1 << 30)
    [list(batch) for batch in read_batches(data, format, limits)]
except LimitError:
    print(peak_kib() - before)
"""


def bomb(codec: str, size: int) -> tuple[str, bytes]:
    """Return a format, and a batch of that format with a lot of compressed zeros."""
    zeros = compress(codec, bytes(size))
    return ("v0", message(8, 0, zeros, 3)) if codec == "lz4-magic0" else ("v2", compressed(codec, zeros))


@each_codec
def test_bomb_is_rejected_by_its_ratio(codec: str) -> None:
    format, data = bomb(codec, 20_000_000)
    error = error_of(data, format, decompression_ratio=5)
    assert isinstance(error, LimitError) and "Limits.decompression_ratio" in error.expected


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
@pytest.mark.skipif(SANITIZED, reason="AddressSanitizer holds back what is freed")
@each_codec
def test_decompression_bomb_stays_within_the_memory_limit(codec: str, tmp_path: Path) -> None:
    """Decompress 300 MB with a limit of 10 MB. Measure the process, because the codecs are C code."""
    format, data = bomb(codec, 300_000_000)
    path = tmp_path / "bomb"
    path.write_bytes(data)
    words = [sys.executable, "-c", READ_A_BOMB, format, str(path)]
    grown = int(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    assert grown * 1024 < 5 * 10_000_000 + 4 * len(data)


@each_codec
def test_damaged_compressed_bytes(codec: str) -> None:
    packed = compress(codec, b"some words " * 50)
    random.seed(codec)
    for _ in range(100):
        broken = bytearray(packed)
        broken[random.randrange(len(broken))] ^= 1 << random.randrange(8)
        with pytest.raises(TagwireError):  # invalid compressed data or records
            read_all(compressed(codec.partition("-")[0], broken[: random.randrange(1, len(broken) + 1)]))


INNER = bytes(build([Record(0, 300, b"k", b"v")], "v1").encode())


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, "null in a wrapper"),
        (compress("gzip", b""), "an empty message set in a wrapper"),
        (compress("gzip", INNER[:-1]), "length 24"),
        (compress("gzip", message(8, 1, compress("gzip", INNER), 1)), "a wrapper inside a wrapper"),
        (compress("gzip", bytes(build([Record(0, -1, b"k", b"v")], "v0").encode())), "magic 0"),
        (b"", "truncated gzip data"),
    ],
)
def test_wrapper_without_a_message_set(value: bytes | None, found: str) -> None:
    assert found in error_of(message(8, 1, value, 1)).found


@pytest.mark.parametrize("magic", [0, 1])
def test_zstd_is_rejected_before_magic_2(magic: int) -> None:
    error = error_of(message(8, magic, compress("zstd", INNER), 4))
    assert error.path == "attributes" and error.found.startswith("compression 4")


@pytest.mark.parametrize("bit", [0x10, 0x20])
def test_a_wrapper_has_no_bits_of_messages(bit: int) -> None:
    inner = build([Record(0, 300, b"k", b"v")], "kip82-int+kip87").encode()
    assert len(read_all(message(8, 2, compress("gzip", inner), 1), "kip82-int+kip87")[0]) == 1
    with pytest.raises(DecodeError):
        read_all(message(8, 2, compress("gzip", inner), 1 | bit), "kip82-int+kip87")


def with_int_headers(size: int, headers: bytes) -> bytes:
    """Return a message of KIP-82's first draft without key and value. Its field for the headers' size is `size`."""
    body = struct.pack(">bbqii", 2, 0x10, 300, -1, size) + headers + struct.pack(">i", -1)
    return sealed_message(8, body)


@pytest.mark.parametrize(
    ("keys", "format", "is_right"),
    [
        ((1, 2), "kip82-int", True),
        ((2, 1), "kip82-int", False),
        ((1, 1), "kip82-int", False),
        ((1, -1), "kip82-int", True),
        ((-1, 1), "kip82-int", False),
        ((-1, 1), "kip82-int-signed", True),
        ((1, -1), "kip82-int-signed", False),
        ((), "kip82-int", False),
    ],
)
def test_int_headers_ascend_and_are_there(keys: tuple[int, ...], format: str, is_right: bool) -> None:
    headers = b"".join(struct.pack(">ii", key, 0) for key in keys)
    data = with_int_headers(len(headers), headers)
    if is_right:
        assert [key for key, _ in read_all(data, format)[0][0].headers] == list(keys)
    else:
        assert error_of(data, format).path == "headers"


@pytest.mark.parametrize(
    ("stated", "headers"),
    [
        (7, "00000001 00000000"),  # a header of 8 bytes, with four wrong lengths
        (9, "00000001 00000000"),
        (2**31 - 1, "00000001 00000000"),
        (-1, "00000001 00000000"),
        (8, "00000001 ffffffff"),  # a null value
        (8, "00000001 fffffffe"),
        (8, "00000001 7fffffff"),
        (4, "00000001"),  # no value
    ],
)
@pytest.mark.parametrize("format", ["kip82-int", "kip82-int+kip87"])
def test_int_headers_that_lie(format: str, stated: int, headers: str) -> None:
    assert error_of(with_int_headers(stated, bytes.fromhex(headers)), format).offset >= 28


def test_limits_on_records_and_headers() -> None:
    data = build([Record(index, 1, None, None, (("h", b""),)) for index in range(5)]).encode()
    assert len(read_all(data, elements=10)[0]) == 5
    assert isinstance(error_of(data, elements=9), LimitError)
    assert isinstance(error_of(data, bytes=len(data) - 1), LimitError)


def beyond(format: str, codec: str, **limits: int) -> LimitError:
    """Read five records with two headers each, and return the error that these limits cause."""
    has_headers = "headers" in format_of(format).has
    keys: tuple[Any, ...] = (1, 2) if format.startswith("kip82-int") else ("h", "h")
    headers = tuple((key, b"") for key in keys) if has_headers else ()
    records = [Record(index, -1 if format == "v0" else 1, b"k", b"v", headers) for index in range(5)]
    data = build(records, format, compression=codec).encode()
    exact = {"records": 5} | ({"headers": 2} if has_headers else {})
    assert sum(len(each) for each in read_all(data, format, **exact)) == 5
    with pytest.raises(LimitError) as caught:
        read_all(data, format, **limits)
    return caught.value


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("format", format_names())
def test_the_limit_on_records(format: str, codec: str) -> None:
    if codec == "none" and format_of(format).records is None:
        return  # each message is a batch
    error = beyond(format, codec, records=4)
    assert error.found == "5 records" and error.expected == "at most 4 (Limits.records)" and error.offset == 0


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("format", [name for name in format_names() if "headers" in format_of(name).has])
def test_the_limit_on_headers(format: str, codec: str) -> None:
    error = beyond(format, codec, headers=1)
    assert error.found == "2 headers" and error.path == "records[0].headers" and "Limits.headers" in error.expected


def test_a_huge_count_allocates_nothing() -> None:
    data = bytearray(batch())
    struct.pack_into(">i", data, V2_COUNT_AT, 2**31 - 1)
    assert peak_bytes(lambda: error_of(sealed(data))) < 1_000_000


def test_offsets_of_errors_in_compressed_bytes() -> None:
    """An error in compressed records must have the offset of the compressed data."""
    data = bytearray(compressed("gzip", compress("gzip", bytes.fromhex("0c 00 00 00 03 01 00"))))
    struct.pack_into(">i", data, V2_COUNT_AT, 1)
    error = error_of(sealed(data))
    assert error.offset == V2_RECORDS_AT and error.path == "records[0].key"
    assert "at byte 4 of the 7 decompressed" in error.found


@pytest.mark.parametrize("format", format_names())
def test_mutations_raise_nothing_else(format: str) -> None:
    random.seed(format)
    codecs = {codec.partition("-")[0] for codec in format_of(format).codecs}
    records = [record.replace(timestamp=-1) for record in RECORDS] if format == "v0" else RECORDS
    originals = [build(records, format, compression=codec).encode() for codec in sorted(codecs)]
    for original in originals:
        for _ in range(150):
            data = bytearray(original)
            for _ in range(random.choice((1, 1, 2, 8))):
                at = random.randrange(len(data))
                data[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF, data[at] ^ 1 << random.randrange(8)))
            cut = random.choice((len(data), len(data), random.randrange(len(data))))
            for name in (format, "auto"):
                with suppress(TagwireError):
                    read_all(data[:cut] or b"\0", name)


def test_resealed_mutations_raise_nothing_else() -> None:
    random.seed(4)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        original = batch(compression=codec)
        for _ in range(400):
            data = bytearray(original)
            for _ in range(random.choice((1, 2, 4))):
                data[random.randrange(21, len(data))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
            with suppress(TagwireError):
                read_all(sealed(data), "v2")


def test_a_wrapper_in_a_wrapper_is_traced_up_to_the_inner_one() -> None:
    inner = message(8, 1, compress("gzip", build(RECORDS, "v1").encode()), 1)
    [seen] = trace_batches(message(8, 1, compress("gzip", inner), 1))
    assert seen.error is not None and seen.error.found.startswith("gzip data inside compressed data at byte ")
    assert seen.error.expected == "data that is not compressed"
