from pathlib import Path
from typing import Any

import pytest
from build_package import build_package

from tagwire.message.engines import python_serializer
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.views.imports import ModuleImports


def generated(folder: Path, *fields: dict[str, Any]) -> tuple[Any, Any]:
    """Generate a message with fields A, B, .... Return its class and its generated serializer."""
    named = [{"name": chr(ord("A") + n), "versions": "0+"} | field for n, field in enumerate(fields)]
    spec = {"type": "data", "name": "Written", "validVersions": "0", "flexibleVersions": "0+", "fields": named}
    cls = build_package(folder, "written_messages", [spec], SpecOptions(dialect="tagwire")).Written
    return cls, python_serializer(cls, 0)


def test_imports_that_differ_only_in_case_have_one_order() -> None:
    imports, names = ModuleImports(), [f"{letter}{number}" for number in range(1, 9) for letter in "Xx"]
    assert {imports.use("m", name) for name in names} == set(names)
    assert imports.groups == [[f"from m import {', '.join(names)}"]]


def test_each_default_has_its_own_constant_but_equal_ones_share_it(tmp_path: Path, own_modules: None) -> None:
    defaults = ("AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg", "AAAAAAAAAAAAAAAAAAAAAQ")
    fields = [{"type": "uuid", "default": each, "tag": n, "taggedVersions": "0+"} for n, each in enumerate(defaults)]
    cls, serializer = generated(tmp_path, *fields)
    assert serializer.encode(cls()) == b"\0" and serializer.decode(b"\0") == cls()
    text = (tmp_path / "written_messages" / "serializers" / "written.py").read_text("utf-8")
    assert [text.count(f"UUID(int={n})") for n in (1, 2)] == [1, 1]


def test_only_bytes_are_views_of_the_input(tmp_path: Path, own_modules: None) -> None:
    cls, serializer = generated(tmp_path, {"type": "bytes"}, {"type": "string"})
    data = cls(a=b"ab", b="cd").encode(0)
    for views, kind in ((False, bytes), (True, memoryview)):
        found = serializer.decode(data, views=views)
        assert (type(found.a), found.a, found.b) == (kind, b"ab", "cd")


@pytest.mark.parametrize("value", [(), []])
def test_empty_arrays_are_equal_to_the_default(tmp_path: Path, own_modules: None, value: Any) -> None:
    cls, serializer = generated(tmp_path, {"type": "[]int8", "tag": 0, "taggedVersions": "0+"})
    message = cls()
    message.a = value
    assert serializer.encode(message) == b"\0"
