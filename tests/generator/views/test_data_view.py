import math
from pathlib import Path
from typing import Any

import pytest
from build_package import build_package

from tagwire_generator.project.options import SpecOptions
from tagwire_generator.views.data_view import literal


@pytest.mark.parametrize(("value", "text"), [
    (None, "None"), ("a'b", '"a\'b"'), (True, "True"), (1.5, "1.5"), (math.inf, 'float("inf")'),
    (-math.inf, 'float("-inf")'), (b"", "b''"), (bytes(4), r"b'\x00\x00\x00\x00'"), (bytes(5), "bytes(5)"),
    (bytes(4000), "bytes(4000)"), (b"\0\0\0\0\1", r"b'\x00\x00\x00\x00\x01'"),
])  # fmt: skip
def test_a_default_is_a_short_expression(value: object, text: str) -> None:
    assert literal(value) == text
    assert eval(text) == value


OPTIONAL = {"nullableVersions": "0+"}
DECLARED: list[tuple[str, dict[str, Any], str, str]] = [
    ("string", OPTIONAL, "f0: str | None = ", "f0: str | None = ..."),
    ("string", OPTIONAL | {"default": None}, "f1: str | None = ", "f1: str | None = ..."),
    ("[]int8", {}, "f2: Array[int] = ", "f2: Iterable[int] = ..."),
    ("[]int8", OPTIONAL, "f3: ArrayOrNone[int] = ", "f3: Iterable[int] | None = ..."),
    ("[][]int8", {}, "f4: Array[tuple[int, ...]] = ", "f4: Iterable[tuple[int, ...]] = ..."),
    ("[]int8", {"deprecated": "x"}, "def f5(self) -> tuple[int, ...]:", "f5: Iterable[int] = ..."),
]
"""Each case: the field's type and keys, and its declarations as an attribute and as a parameter."""


def test_declarations_of_attributes_and_parameters(tmp_path: Path) -> None:
    fields = [{"name": f"F{n}", "type": kind, "versions": "0+"} | keys for n, (kind, keys, *_) in enumerate(DECLARED)]
    spec = {"type": "data", "name": "Typed", "validVersions": "0", "flexibleVersions": "0+", "fields": fields}
    build_package(tmp_path, "typed_messages", [spec], SpecOptions(dialect="tagwire"))
    text = (tmp_path / "typed_messages" / "typed.py").read_text()
    assert [line for *_, attribute, parameter in DECLARED for line in (attribute, parameter) if line not in text] == []
