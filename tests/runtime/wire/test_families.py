"""Invalid UTF-8 is decoded as in Java: U+FFFD for each maximal invalid sequence, and for each 3-byte surrogate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwire.wire.families import decode_as_java

BAD = "\ufffd"


@pytest.mark.parametrize(("hex_text", "text"), [
    ("61", "a"), ("c3a9", "é"), ("f09f8e89", "🎉"), ("ff", BAD), ("61ff62", "a" + BAD + "b"), ("c0af", BAD * 2),
    ("c3", BAD), ("e282", BAD), ("f09f8e", BAD), ("eda080", BAD), ("eda08061", BAD + "a"), ("eda0", BAD),
    ("eda061", BAD + "a"), ("edbfbf", BAD), ("eda080edb080", BAD * 2), ("ed9fbf", "\ud7ff"), ("e282eda080", BAD * 2),
    ("ededa080", BAD * 2),
])  # fmt: skip
def test_each_malformed_sequence_is_one_replacement(hex_text: str, text: str) -> None:
    assert decode_as_java(bytes.fromhex(hex_text)) == text


@given(st.text())
def test_valid_text_is_decoded_unchanged(text: str) -> None:
    encodable = text.encode(errors="ignore")
    assert decode_as_java(encodable) == encodable.decode()


@given(st.binary())
def test_nothing_fails(data: bytes) -> None:
    assert isinstance(decode_as_java(data), str)
