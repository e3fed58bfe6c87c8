"""CRC-32C in pure Python, for the playground, because google-crc32c has no build for browsers.

It is slow, but input pasted into the playground is short.
"""

_POLYNOMIAL = 0x82F63B78
_TABLE = []
for _value in range(256):
    for _ in range(8):
        _value = _value >> 1 ^ (_POLYNOMIAL if _value & 1 else 0)
    _TABLE.append(_value)


def extend(value: int, data: bytes) -> int:
    """Return the checksum of earlier data, whose checksum is `value`, followed by `data`."""
    value ^= 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF


def value(data: bytes) -> int:
    """Return the checksum of some bytes."""
    return extend(0, data)
