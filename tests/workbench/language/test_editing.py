import json
from pathlib import Path

import pytest
from editor_specs import FORMAT, SPEC, at, lines

from tagwire.errors import SpecError
from tagwire_generator.reading.spec import ReadResult, read_spec
from tagwire_workbench.language.editing import applied, changed, fixes, rename_edits, rename_in_set, set_name_at
from tagwire_workbench.language.spec_names import references
from tagwire_workbench.language.workspace import Workspace


def read(text: str) -> ReadResult:
    return read_spec(text, file="Foo.json")


@pytest.mark.parametrize(
    ("text", "needle", "name", "old"),
    [
        (SPEC, '"Picture"', "Cover", "Picture"),
        (SPEC, '"[]Inner"', "Outer", "Inner"),
        (FORMAT, '"Flags"', "Bits", "Flags"),
        (FORMAT, '"Items"', "Things", "Items"),
        (FORMAT, '"Key"', "Id", "Key"),
    ],
)
def test_a_renamed_text_is_as_valid_as_before(text: str, needle: str, name: str, old: str) -> None:
    before = read(text)
    assert before.message is not None, before.problems
    new = applied(text, rename_edits(text, at(text, needle), name, read, file="Foo.json"))
    after = read(new)
    assert after.message is not None, after.problems
    assert [each.rule for each in after.problems] == [each.rule for each in before.problems]
    assert f'"{old}' not in new and f"]{old}" not in new
    assert len(new) - len(text) == (len(name) - len(old)) * len(references(text, at(text, needle)))


BROKEN_BY_PICTURE = {"picture": "TW402", "Inner": "TW304", "Foo": "TW30", "int32": "TW"}
BROKEN_BY_A = {"Pic": "TW302", "1st": "TW401", 'A"': "TW401", "": "TW401"}


@pytest.mark.parametrize(("old", "rules"), [("Picture", BROKEN_BY_PICTURE), ("A", BROKEN_BY_A)])
def test_name_that_would_break_a_rule_is_rejected(old: str, rules: dict[str, str]) -> None:
    for name, rule in rules.items():
        with pytest.raises(SpecError, match=rf"can't be renamed to .*\({rule}"):
            rename_edits(SPEC, at(SPEC, f'"{old}"'), name, read, file="Foo.json")


def test_other_errors_do_not_stop_renaming() -> None:
    text = SPEC.replace('"int8"', '"int9"')
    new = applied(text, rename_edits(text, at(text, '"Picture"'), "Cover", read, file="Foo.json"))
    assert "Picture" not in new


def test_invalid_json_is_not_renamed() -> None:
    with pytest.raises(SpecError, match="not a JSON object"):
        rename_edits(SPEC[:-3], at(SPEC, '"Picture"'), "Cover", read, file="Foo.json")
    with pytest.raises(SpecError, match="only structs and fields"):
        rename_edits(SPEC, at(SPEC, '"Foo"'), "Bar", read, file="Foo.json")


def test_an_imported_struct_is_renamed_in_its_own_spec() -> None:
    fields = '"fields": [ { "name": "A", "type": "Point" } ]'
    text = f'{{ "dialect": "tagwire", "imports": [ {{ "name": "Point" }} ], {fields} }}'
    assert lines(text, [span.start for span in references(text, text.rindex("Point"))]) == [1, 1]
    with pytest.raises(SpecError, match="Point can't be renamed, because it is defined in a spec outside"):
        rename_edits(text, text.rindex("Point"), "Dot", read, file="Foo.json")


def test_a_register_is_renamed_in_all_sets_that_share_it(tmp_path: Path) -> None:
    sets = (f'[[tool.tagwire.sets]]\nspecs = "{each}"\npackage = "{each}"\nregisters = "registers"\n' for each in "ab")
    (tmp_path / "pyproject.toml").write_text("".join(sets))
    uses = {"name": "Kind", "type": "int8", "versions": "0+", "enum": "Kind"}
    spec = {"type": "data", "dialect": "tagwire", "name": "Foo", "validVersions": "0", "flexibleVersions": "none"}
    register = {"type": "register", "name": "Kind", "keys": "int8", "entries": [{"key": 1, "name": "ONE"}]}
    files = [tmp_path.resolve() / name for name in ("registers/Kind.json", "a/Foo.json", "real/Foo.json")]
    for path, content in zip(files, (register, spec | {"fields": [uses]}, spec | {"fields": [uses]}), strict=True):
        path.parent.mkdir()
        path.write_text(json.dumps(content))
    (tmp_path / "b").symlink_to("real")
    specs = Workspace()
    for path in files:
        found = set_name_at(specs, path, specs.text(path).rindex('"Kind"') + 1)
        assert found is not None and rename_in_set(specs, found, "Sort").keys() == set(files)


VERSION = ('"versions": "0+", "fields"', '"version": "0+", "fields"')


@pytest.mark.parametrize(
    ("wrong", "right"), [VERSION, ('"data"', '"dara"'), ('"int8"', '"int88"'), ('"int8"', '"[]itn8"')]
)
def test_misspelled_names_are_corrected(wrong: str, right: str) -> None:
    text = SPEC.replace(wrong, right, 1)
    assert text != SPEC
    mended = {applied(text, [fix.edit]) for problem in read(text).problems for fix in fixes(text, problem, read)}
    assert SPEC.replace('"int8"', '"[]int8"' if "[]" in right else '"int8"') in mended


def test_no_fix_without_a_similar_name() -> None:
    text = SPEC.replace('"0-1"', '"x"')
    assert [fix for problem in read(text).problems for fix in fixes(text, problem, read)] == []


def test_a_trailing_comma_can_go() -> None:
    text = SPEC.replace('"versions": "0+" } ],\n', '"versions": "0+" }, ],\n')
    [problem] = read(text).problems
    [fix] = fixes(text, problem, read)
    assert applied(text, [fix.edit]) == SPEC


@pytest.mark.parametrize(
    ("before", "after"), [("abc", "abc"), ("", "x"), ("aXc", "aYYc"), ("aa", "aaa"), ("a\r\nb", "a\nb")]
)
def test_a_change_is_one_small_edit(before: str, after: str) -> None:
    edits = changed(before, after)
    assert applied(before, edits) == after
    assert len(edits) == (before != after)
