import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwire_generator.syntax.parse import MAX_DEPTH, Items, JsonNode, Object, Scalar, parse, walk

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def plain(node: JsonNode) -> object:
    if isinstance(node, Object):
        return {key: plain(member.value) for key, member in node.members.items()}
    if isinstance(node, Items):
        return [plain(item) for item in node.items]
    assert isinstance(node, Scalar)
    return node.value


def tree(text: str) -> Object:
    document = parse(text, file="Foo.json")
    assert document.root is not None, document.problems
    return document.root


@given(st.dictionaries(st.text(), VALUES, max_size=5), st.sampled_from([None, 1, "\t"]), st.booleans())
def test_json_is_parsed_as_json(value: dict[str, object], indent: int | str | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert plain(tree(text)) == json.loads(text)


def test_every_key_and_value_has_its_place() -> None:
    text = '// first\n{ "a": [1,\n\t"b"], /* x\n y */ "c" :\n  null }'
    root = tree(text)
    a, c = root.members["a"], root.members["c"]
    places = [(node.line, node.column) for node in (root, a, a.value, c, c.value)]
    assert places == [(2, 1), (2, 3), (2, 8), (4, 7), (5, 3)]
    items = a.value
    assert isinstance(items, Items)
    assert [(item.line, item.column) for item in items.items] == [(2, 9), (3, 2)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1} // to the end', {"a": 1}),
        ('// c\r\n{"a": 1}\r\n', {"a": 1}),
        ('// c\r{"a": 1}', {"a": 1}),
        ('/**/{/***/"a"/* // */:/* * / */1}/* \n */', {"a": 1}),
        ('{"a": "// no /* comment */"}', {"a": "// no /* comment */"}),
        ('{"a": "\\u00fc\\ud83d\\ude00\\/\\"\\\\"}', {"a": 'ü😀/"\\'}),
        ('{"a": -0, "b": 1e3, "c": 1.50}', {"a": 0, "b": 1000.0, "c": 1.5}),
        ("{}", {}),
        ('{"a": [], "b": {}}', {"a": [], "b": {}}),
    ],
)
def test_comments_and_texts(text: str, value: object) -> None:
    assert plain(tree(text)) == value


def test_numbers_keep_their_text() -> None:
    raw = [item.raw for item in walk(tree('{"a": [1e3, 1.50, -0, 12345678901234567890]}')) if isinstance(item, Scalar)]
    assert raw == ["1e3", "1.50", "-0", "12345678901234567890"]


def test_first_value_of_a_repeated_key_counts() -> None:
    document = parse('{"a": 1, "b": 2, "a": 3}', file="Foo.json")
    assert document.root is not None
    assert plain(document.root) == {"a": 1, "b": 2}
    assert [(member.key, plain(member.value)) for member in document.root.all_members] == [("a", 1), ("b", 2), ("a", 3)]
    assert [problem.rule for problem in document.problems] == ["TW106"]


@pytest.mark.parametrize(
    ("text", "is_draft"),
    [
        ('{"flexibleVersions": "none"}', False),
        ('{"versionsWithOptional": "none"}', True),
        ('{"fields": [{"optionalFields": []}]}', True),
        ('{"name": "optionalFields"}', False),
    ],
)
def test_key_determines_the_dialect(text: str, is_draft: bool) -> None:
    assert parse(text, file="Foo.json").is_draft is is_draft


@pytest.mark.parametrize(
    "text", ['{"versionsWithOptional": "1+", "fields": [1,], }', '{"optionalFields": [{"a": 1,},],}']
)
def test_the_draft_dialect_may_end_with_commas(text: str) -> None:
    assert parse(text, file="Foo.json").problems == ()


@pytest.mark.parametrize("text", ["{,}", "[,]", '{"optionalFields": [,]}', '{"optionalFields": [],,}'])
def test_comma_without_a_value_before_it_is_rejected(text: str) -> None:
    assert [problem.rule for problem in parse(text, file="Foo.json").problems] == ["TW103"]


@pytest.mark.parametrize(("depth", "rules"), [(MAX_DEPTH, []), (MAX_DEPTH + 1, ["TW107"]), (20_000, ["TW107"])])
def test_nesting_is_bounded(depth: int, rules: list[str]) -> None:
    text = '{"a":' * (depth - 1) + "{}" + "}" * (depth - 1)
    assert [problem.rule for problem in parse(text, file="Foo.json").problems] == rules


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the file is empty; a spec is one JSON object, { ... }"),
        ("// only this\n", "the file ends here; expected '{', '[', a string, a number or true, false or null"),
        ('{"a": 1', "the file ends here; expected '}' or ','"),
        ('{"a" 1}', "unexpected '1'; expected ':'"),
        ("{a: 1}", "unexpected 'a'; keys and strings are written in double quotes"),
        ("{} # end", "unexpected '#'; a comment is // to the end of the line, or /* ... */"),
        ('{"a": 1}}', "unexpected '}' after the end of the spec; a file contains one JSON object"),
        ('{"a": 01}', "unexpected '1'; expected '}' or ','"),
        ('{"a": ...}', "unexpected '.'; a number is written as in JSON, and nothing can be abbreviated with dots"),
        ('{"a":\N{NO-BREAK SPACE}1}', "unexpected '\\xa0'; this is not JSON"),
    ],
)
def test_messages_of_syntax_errors(text: str, sentence: str) -> None:
    (problem,) = parse(text, file="Foo.json").problems
    assert problem.message == sentence


def test_problem_at_the_end_is_after_the_last_character() -> None:
    (problem,) = parse('{"a":\n  1\n\n', file="Foo.json").problems
    assert (problem.line, problem.column, problem.source_line) == (2, 4, "  1")
