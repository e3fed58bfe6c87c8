import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwire.wire.varint import from_zigzag, put_uvarint, read_uvarint, to_zigzag, uvarint_bytes


@pytest.mark.parametrize(("value", "hex_text"), [
    (0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (16383, "ff7f"), (16384, "808001"),
    (2**31 - 1, "ffffffff07"), (2**32 - 1, "ffffffff0f"), (2**64 - 1, "ffffffffffffffffff01"),
])  # fmt: skip
def test_known_forms(value: int, hex_text: str) -> None:
    data = bytes.fromhex(hex_text)
    out = bytearray(b"-")
    put_uvarint(out, value)
    assert uvarint_bytes(value) == data == out[1:]
    assert read_uvarint(b"-" + data + b"-", 1, 10) == (value, 1 + len(data))


@given(st.integers(0, 2**64 - 1))
def test_round_trip(value: int) -> None:
    assert read_uvarint(uvarint_bytes(value), 0, 10) == (value, len(uvarint_bytes(value)))


@pytest.mark.parametrize(
    ("value", "coded"), [(0, 0), (-1, 1), (1, 2), (-2, 3), (2**31 - 1, 2**32 - 2), (-(2**31), 2**32 - 1)]
)
def test_zigzag(value: int, coded: int) -> None:
    assert to_zigzag(value) == coded
    assert from_zigzag(coded) == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_zigzag_round_trip(value: int) -> None:
    assert 0 <= to_zigzag(value) < 2**64
    assert from_zigzag(to_zigzag(value)) == value


def test_a_varint_may_not_end_or_go_on_too_long() -> None:
    with pytest.raises(IndexError):
        read_uvarint(b"\x80\x80", 0)
    with pytest.raises(ValueError, match="more than 5 bytes"):
        read_uvarint(b"\x80" * 5 + b"\x01", 0)
