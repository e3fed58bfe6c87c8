from typing import Any

import pytest

from tagwire_generator.problems import CheckedText, Problem, named, quoted, render, without_repeats


def test_rendered_problem_shows_position_rule_and_source_line() -> None:
    source = CheckedText("specs/Foo.json", '{\n\t"tag": 3\n}')
    problem = source.problem("TW602", 2, 9, "field Foo has tag 3")
    assert render(problem) == ('specs/Foo.json:2:9: error TW602: field Foo has tag 3\n    \t"tag": 3\n    \t       ^')
    position = {"file": "specs/Foo.json", "line": 2, "column": 9}
    assert problem.as_dict() == {"rule": "TW602", "severity": "error", **position, "message": "field Foo has tag 3"}


@pytest.mark.parametrize(
    ("line", "column", "shown", "caret"),
    [
        ('"Ünit": "日本" x', 15, '"Ünit": "日本" x', 16),
        ("\x1b[31m{", 6, "\N{REPLACEMENT CHARACTER}[31m{", 5),
        ("x" * 300, 200, "x" * 160, 80),
        ("x" * 300, 300, "x" * 81, 80),
        ("ab", 3, "ab", 2),
    ],
)
def test_caret_is_under_its_character(line: str, column: int, shown: str, caret: int) -> None:
    _, source_line, carets = render(CheckedText("f", line).problem("TW103", 1, column, "m")).split("\n")
    assert source_line == "    " + shown
    assert carets == "    " + " " * caret + "^"


def test_without_a_source_line_there_is_no_caret() -> None:
    problem = Problem(rule="TW804", severity="error", file="f", line=1, column=2, message="m")
    assert render(problem) == "f:1:2: error TW804: m"


@pytest.mark.parametrize(("severity", "count"), [("error", 1), ("warning", 2)])
def test_consequences_of_a_reported_error_are_dropped(severity: Any, count: int) -> None:
    cause = Problem(rule="TW602", severity=severity, file="a", line=1, column=1, message="m")
    consequence = Problem(rule="TW804", severity="error", file="b", line=1, column=1, message="m", because="a")
    assert len(without_repeats([cause, consequence])) == count


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Foo", "'Foo'"),
        ("a\nb\x1b\u202e", r"'a\nb\x1b\u202e'"),
        ('it\'s "it"', "'it\\'s \"it\"'"),
        ("Ünit", "'Ünit'"),
        ("x" * 58, "'" + "x" * 58 + "'"),
        ("x" * 100, "'" + "x" * 55 + "...'"),
        (7, "7"),
    ],
)
def test_values_are_quoted_on_one_short_line(value: object, text: str) -> None:
    assert quoted(value) == text
    assert quoted(value).isprintable()


@pytest.mark.parametrize(("name", "text"), [("Foo1", "Foo1"), ("a b", "'a b'"), ("Ü", "'Ü'"), ("", "''")])
def test_names_are_quoted_where_they_are_hostile(name: str, text: str) -> None:
    assert named(name) == text
