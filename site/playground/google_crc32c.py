"""CRC-32C for the playground: google-crc32c has no build for browsers, and pasted input is short."""

_POLYNOMIAL = 0x82F63B78
_TABLE = []
for _value in range(256):
    for _ in range(8):
        _value = _value >> 1 ^ (_POLYNOMIAL if _value & 1 else 0)
    _TABLE.append(_value)


def extend(value: int, data: bytes) -> int:
    """Return the checksum of these bytes appended to data with the checksum `value`."""
    value ^= 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF


def value(data: bytes) -> int:
    """Return the checksum of some bytes."""
    return extend(0, data)
