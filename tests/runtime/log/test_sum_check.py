import pytest

from tagwire.log import LogError
from tagwire.log.damage import Found, SumCheck, pieces
from tagwire.log.scan import Scan
from tagwire.records import FormatSet, Record, build, format_names, format_of

_NAMES = format_names()


def batches(name: str, first: int) -> bytes:
    return build([Record(first + n, -1, b"k", b"v" * 40) for n in range(3)], name).encode()


@pytest.mark.parametrize("name", _NAMES)
def test_checksum_errors_equal_those_of_reading(name: str) -> None:
    formats, data = FormatSet(name), bytearray(batches(name, 0))
    SumCheck("f", bytes(data)).reject_wrong(0, [format_of(name)])
    data[Scan("f", bytes(data), formats).size(0) - 1] ^= 1
    with pytest.raises(LogError) as read:
        Scan("f", bytes(data), formats).batch(0)
    with pytest.raises(LogError) as caught:
        SumCheck("f", bytes(data)).reject_wrong(0, [format_of(name)])
    assert str(caught.value) == str(read.value)


@pytest.mark.parametrize("gap", [b"", bytes(200_000), b"junk" * 50_000, b"\0\x01" * 3_000])
@pytest.mark.parametrize("name", _NAMES)
def test_batches_after_damage_are_found_in_every_format(name: str, gap: bytes) -> None:
    begun, rest = batches(name, 0), batches(name, 10)
    data = bytes((begun[0] ^ 1, *begun[1:20], begun[20] ^ 1)) + begun[21:] + gap + rest
    found = [piece.position for piece in pieces(Scan("f", data, FormatSet(name))) if isinstance(piece, Found)]
    assert len(begun + gap) in found
