"""Damage batches, but correct their lengths and checksums. Make records with invalid or unusual values.

The same seed always causes the same damage.
"""

import struct
import zlib
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from tagwire.errors import EncodeError
from tagwire.interpreter.reader import decode
from tagwire.layout import Array
from tagwire.limits import DEFAULT_LIMITS
from tagwire.records import Record, build, format_of
from tagwire.records.format import Format
from tagwire.wire.compression import compress

_NUMBERS: Final = tuple(
    bytes.fromhex(text)
    for text in (
        *("00", "01", "02", "03", "7f", "80", "ff", "8000", "8100", "ffffffff0f", "feffffff0f", "ffffffff7f"),
        *("ffff", "fffe", "7fffffff", "80000000", "ffffffff", "ffffffffffffffffff01", "feffffffffffffffff01", "808001"),
    )
)
_CODECS: Final = ("none", "gzip")


def records_for(format: str, random: Random, count: int) -> list[Record]:
    has = format_of(format).has
    records = []
    for index in range(count):
        headers: list[tuple[Any, bytes | None]] = []
        if "headers" in has and random.random() < 0.5:
            keys: list[Any] = [3, 70_000] if format.startswith("kip82-int") else ["h", "hé"]
            headers = [(key, random.randbytes(random.choice((0, 1, 70)))) for key in keys]
            if format in ("v2", "v3", "v3-zigzag"):
                headers.append(("n", None))
        record = Record(
            2**33 + index * random.choice((1, 3)),
            -1 if format == "v0" else 1_700_000_000_000 + random.randrange(-5, 10**6),
            random.choice((None, b"", b"key")),
            random.choice((None, b"", random.randbytes(random.choice((3, 62, 63, 64, 200))))),
            headers,
        )
        records.append(record)
    return sorted(records, key=lambda record: record.offset)


def damaged(format: str, random: Random, count: int) -> Iterator[bytes]:
    """Yield damaged batches or messages of a format. Most of them have a valid checksum."""
    known = format_of(format)
    for _ in range(count):
        codec = random.choice(_CODECS)
        batch = build(records_for(format, random, random.randrange(1, 5)), format, compression=codec).encode()
        if random.random() < 0.2:
            yield _scrambled(batch, random)
        elif known.records is not None:
            yield _with_bad_records(known, codec, batch, random)
        else:
            yield _with_bad_messages(known, codec, batch, random)


def damaged_after_headers(format: str, random: Random, count: int) -> Iterator[bytes]:
    """Yield records that have 300 headers and are damaged near the end. Their checksums are valid."""
    known = format_of(format)
    keys: list[Any] = list(range(300)) if format.startswith("kip82-int") else [f"h{index:03}" for index in range(300)]
    whole = build([Record(7, 1_700_000_000_000, b"key", b"value", [(key, b"xy") for key in keys])], format).encode()
    for _ in range(count):
        if known.records is None:
            yield _resealed(whole[:-30] + _scrambled(whole[-30:], random))
            continue
        header, _ = decode(known.header, whole, whole=False, strict=True, limits=DEFAULT_LIMITS)
        header.pop("crc")
        header["payload"] = header["payload"][:-30] + _scrambled(bytes(header["payload"][-30:]), random)
        yield known.encode_header(header)


def _scrambled(data: bytes, random: Random) -> bytes:
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(found) + 1)
        width = random.choice((0, 0, 1, 2, 4))
        found[at : at + width] = random.choice((random.choice(_NUMBERS), random.randbytes(width), b""))
    return bytes(found[: random.choice((len(found), len(found), random.randrange(len(found) + 1)))])


def _with_bad_records(format: Format, codec: str, data: bytes, random: Random) -> bytes:
    header, _ = decode(format.header, data, whole=False, strict=True, limits=DEFAULT_LIMITS)
    assert format.records is not None and isinstance(format.records.type, Array)
    header.pop("crc")
    if codec != "none":
        plain = zlib.decompress(header["payload"], 31)
        header["payload"] = compress(codec, _scrambled(plain, random))
    else:
        header["payload"] = _scrambled(bytes(header["payload"]), random)
    if random.random() < 0.3:
        name = random.choice([name for name in header if name not in ("payload", "magic")])
        number = random.choice((0, 1, 2, 0x80, -1, header[name] + 1, header[name] ^ 1 << random.randrange(8)))
        header[name] = number if format.fields.get("attributes") is not format.root.items[0] else header[name]
    try:
        return format.encode_header(header)
    except EncodeError:  # the random value is invalid
        return data


def _with_bad_messages(format: Format, codec: str, data: bytes, random: Random) -> bytes:
    """Damage messages. If they are compressed, damage the messages inside the wrapper."""
    if codec == "none":
        return b"".join(_resealed(_scrambled_body(each, random)) for each in _messages(data))
    header, _ = decode(format.header, data, whole=False, strict=True, limits=DEFAULT_LIMITS)
    header.pop("crc")
    inner = [_resealed(_scrambled_body(each, random)) for each in _messages(zlib.decompress(header["value"], 31))]
    header["value"] = compress(
        codec, b"".join(inner) + random.choice((b"", b"", b"", b"\0", random.choice(inner)[:-1]))
    )
    return format.encode_header(header)


def _messages(data: bytes) -> list[bytes]:
    found = []
    while data:
        end = 12 + struct.unpack_from(">i", data, 8)[0]
        found.append(data[:end])
        data = data[end:]
    return found


def _scrambled_body(message: bytes, random: Random) -> bytes:
    """With a probability of 60 %, damage a message after its offset, size and checksum, which always take 16 bytes."""
    return message[:16] + _scrambled(message[16:], random) if random.random() < 0.6 else message


def _resealed(message: bytes) -> bytes:
    body = message[16:]
    return message[:8] + struct.pack(">iI", len(body) + 4, zlib.crc32(body)) + body


class _Index:
    def __index__(self) -> int:
        return 5


class _Int(int):
    pass


_ODD: Final[dict[str, tuple[Any, ...]]] = {
    "offset": (0, -1, 2**31, 2**40, 2**63 - 1, -(2**63), 2**64, True, _Int(7), 1.0, None, "7"),
    "timestamp": (0, -1, 2**40, -(2**63), 2**63 - 1, 2**63 + 5, 2**80, _Int(9), 2.5, None),
    "key": (None, b"", bytearray(b"ba"), memoryview(b"mv"), memoryview(b"abcd")[::2], "text", 7, _Index()),
    "value": (None, b"", b"x" * 70, bytearray(b"ba"), memoryview(b"mv"), "text", 7),
    "headers": (
        *((), [], (("h", b""),), [["h", b"1"]], (("h", None),), ((1, b""),), (("h",),), (("h", b"", 3),), None),
        *(((1, b""), (2, b"")), ((2, b""), (1, b"")), ((-1, b""),), (("\ud800", b""),), ((_Index(), b""),), 7, "ab"),
    ),
    "attributes": (0, 1, 2, 3, 0x10, 0x20, 127, 128, -128, -129, True, _Int(1)),
    "tombstone": (None, True, False, 1, "yes"),
}


def odd_records(format: str, random: Random) -> list[Record]:
    """Return random records, in which one or two values are invalid or unusual."""
    records = records_for(format, random, random.randrange(1, 4))
    for _ in range(random.choice((1, 1, 2))):
        name = random.choice(list(_ODD))
        setattr(random.choice(records), name, random.choice(_ODD[name]))
    return records
