import math

import pytest

from tagwire_generator.views.data_view import literal


@pytest.mark.parametrize(("value", "text"), [
    (None, "None"), ("a'b", '"a\'b"'), (True, "True"), (1.5, "1.5"), (math.inf, 'float("inf")'),
    (-math.inf, 'float("-inf")'), (b"", "b''"), (bytes(4), r"b'\x00\x00\x00\x00'"), (bytes(5), "bytes(5)"),
    (bytes(4000), "bytes(4000)"), (b"\0\0\0\0\1", r"b'\x00\x00\x00\x00\x01'"),
])  # fmt: skip
def test_a_default_is_a_short_expression(value: object, text: str) -> None:
    assert literal(value) == text
    assert eval(text) == value
