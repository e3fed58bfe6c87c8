from pathlib import Path

import pytest

from tagwire.text_format import count, near, shown, suggestion

NAMES = ["FetchRequest", "FetchResponse", "int32"]


@pytest.mark.parametrize(
    ("name", "otherwise", "most", "text"),
    [
        ("fetchrequest", None, 1, "did you mean 'FetchRequest'?"),
        ("int23", "else", 1, "did you mean 'int32'?"),
        ("FetchRequst", None, 2, "did you mean 'FetchRequest' or 'FetchResponse'?"),
        ("zzz", None, 1, "choose from FetchRequest, FetchResponse, int32"),
        ("zzz", "see the docs", 1, "see the docs"),
        (7, None, 1, "choose from FetchRequest, FetchResponse, int32"),
    ],
    ids=str,
)
def test_suggestions(name: object, otherwise: str | None, most: int, text: str) -> None:
    assert suggestion(name, NAMES, otherwise, most=most) == text
    assert suggestion(name, []) == "there are none"


@pytest.mark.parametrize(("name", "text"), [("Int32", "; did you mean 'int32'?"), ("zzz", ""), (None, "")])
def test_suggested_names(name: object, text: str) -> None:
    assert near(name, NAMES) == text


def test_only_one_module_searches_for_similar_names() -> None:
    roots = [Path(__file__).parents[2] / root for root in ("runtime", "generator", "cli", "workbench", "pipeline")]
    files = [path for root in roots for path in root.rglob("*.py")]
    assert [path.name for path in files if "get_close_matches" in path.read_text()] == ["text_format.py"]


def test_counts() -> None:
    found = [count(0, "byte"), count(1, "byte"), count(1, "loss"), count(2, "loss"), count(3, "batch")]
    assert found == ["0 bytes", "1 byte", "1 loss", "2 losses", "3 batches"]


def test_long_strings_are_shortened() -> None:
    assert shown("x" * 48) == repr("x" * 48)
    assert shown("x" * 49) == f"{'x' * 48!r}... (49 characters)"
