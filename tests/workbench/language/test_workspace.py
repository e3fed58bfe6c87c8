from pathlib import Path

import pytest
from spec_projects import edit_spec, make_project, write_spec

from tagwire.errors import SpecError
from tagwire_generator.project.settings import SettingsError
from tagwire_workbench.language.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_project(tmp_path.resolve())


@pytest.fixture
def specs() -> Workspace:
    return Workspace()


@pytest.fixture
def path(root: Path) -> Path:
    return root / "message_specs" / "PingRequest.json"


def all_rules(specs: Workspace, path: Path) -> dict[str, list[str]]:
    of_files, of_set = specs.set_problems(path)
    both = {path: [*of_files.get(path, ()), *of_set.get(path, ())] for path in {**of_files, **of_set}}
    return {path.name: [each.rule for each in problems] for path, problems in both.items()}


def test_rules_about_the_set_see_unsaved_texts(specs: Workspace, path: Path) -> None:
    saved = specs.text(path)
    specs.write(path, saved.replace('"apiKey": 7', '"apiKey": 8'))
    assert all_rules(specs, path) == {"PingRequest.json": ["TW804"], "PingResponse.json": ["TW805"]}
    specs.write(path, saved.replace("0-1", "0-2"))
    assert all_rules(specs, path) == {"PingResponse.json": ["TW808", "TL51"]}
    specs.forget(path)
    assert all_rules(specs, path) == {}


def test_a_new_file_that_is_not_saved_is_in_the_set(specs: Workspace, path: Path) -> None:
    new, text = path.with_name("OtherRequest.json"), specs.text(path).replace("PingRequest", "OtherRequest")
    specs.write(new, text)
    assert all_rules(specs, new) == {"PingRequest.json": ["TW803"], "PingResponse.json": ["TW822"]}
    inside = path.parent / "part" / "OtherRequest.json"
    specs.forget(new)
    specs.write(inside, text)
    assert all_rules(specs, inside) == {"OtherRequest.json": ["TW804"]}, "API keys are unique in a component"


def test_no_rules_about_the_set_while_a_file_can_not_be_read(specs: Workspace, path: Path) -> None:
    specs.write(path, "{")
    assert all_rules(specs, path) == {"PingRequest.json": ["TW103"]}


def test_changed_files_are_read_again(specs: Workspace, path: Path, root: Path) -> None:
    assert all_rules(specs, path) == {}
    edit_spec(root, "PingResponse", '"apiKey": 7', '"apiKey": 70')
    assert all_rules(specs, path) == {"PingRequest.json": ["TW804"], "PingResponse.json": ["TW805"]}
    settings = (root / "pyproject.toml").read_text()
    edit_spec(root, "PingResponse", '"apiKey": 70', '"apiKey": 7')
    edit_spec(root, "PingResponse", '"0-1"', '"1"')
    assert all_rules(specs, path) == {"PingResponse.json": ["TW808", "TL51"]}
    (root / "pyproject.toml").write_text(settings + "options = { unanswered_versions = true }\n")
    assert all_rules(specs, path) == {"PingResponse.json": ["TW820", "TL51"]}


def test_unchanged_files_are_not_read_again(specs: Workspace, path: Path) -> None:
    first = specs.read(path)
    assert specs.read(path) is first
    specs.write(path, specs.text(path))
    again = specs.read(path)
    assert again is not first and specs.read(path) is again


@pytest.mark.parametrize(
    ("text", "is_spec"),
    [
        ("{}", False),
        ('{ "name": "x", "version": "1.0", "type": "module" }', False),
        ("[1]", False),
        ('{ "type": "request" }', True),
        ('{ "name": "Foo", "validVersions": "0" }', True),
        ('{ "type": "register", ', True),
    ],
)
def test_outside_of_all_sets_only_specs_are_judged(specs: Workspace, tmp_path: Path, text: str, is_spec: bool) -> None:
    path = tmp_path.resolve() / "any.json"
    specs.write(path, text)
    assert specs.is_spec(path) is is_spec
    assert bool(specs.problems(path)) is is_spec
    assert bool(all_rules(specs, path)) is is_spec


def test_every_file_of_a_set_is_a_spec(specs: Workspace, path: Path) -> None:
    specs.write(path, "")
    assert [problem.rule for problem in specs.problems(path)] == ["TW103"]


def test_the_other_half_of_an_api(specs: Workspace, path: Path, root: Path) -> None:
    other = specs.counterpart(path)
    assert other is not None and other.name == "PingResponse"
    back = specs.counterpart(Path(other.file))
    assert back is not None and back.file == str(path)
    write_spec(root, "Alone", type="data")
    assert specs.counterpart(root / "message_specs" / "Alone.json") is None


TAGGED_FIRST = """{ "name": "PingRequest", "type": "request", "apiKey": 7, "validVersions": "0-1",
  "flexibleVersions": "1+", "fields": [
  { "name": "Extra", "type": "int8", "taggedVersions": "1+", "tag": 0 },
  { "name": "Nonce", "type": "int64", "versions": "0+" } ] }"""
EXCEPTION = """
[[tool.tagwire.exceptions]]
rule = "TL72"
message = "PingRequest"
reason = "it was released like that"
until = "never"
"""


def test_lint_findings_depend_on_the_settings(specs: Workspace, path: Path, root: Path) -> None:
    settings = root / "pyproject.toml"
    specs.write(path, TAGGED_FIRST)
    [found] = specs.problems(path)
    assert (found.rule, found.severity, found.line) == ("TL72", "note", 3)
    before = settings.read_text()
    settings.write_text(before + '[tool.tagwire.lint]\nseverity = { TL72 = "error" }\n')
    assert [each.severity for each in specs.problems(path)] == ["error"]
    settings.write_text(before + '[tool.tagwire.lint]\nignore = ["TL72"]\n')
    assert specs.problems(path) == ()
    settings.write_text(before + EXCEPTION)
    assert specs.problems(path) == ()
    specs.write(path, TAGGED_FIRST.replace('"tag": 0', '"tag": -1'))
    assert {each.rule for each in specs.problems(path)} == {"TW601"}, "no advice about a spec with errors"


REGISTER = '{ "name": "Colour", "type": "register", "keys": "int8", "entries": [ { "key": 1, "name": "red" } ] }'
USES = """{ "dialect": "tagwire", "name": "PingRequest", "type": "request", "apiKey": 7, "validVersions": "0-1",
  "flexibleVersions": "1+", "about": "x", "fields": [
  { "name": "Paint", "type": "int8", "versions": "0+", "about": "x", "enum": "Colour" } ] }"""


def test_registers_of_the_set_are_known_unsaved_too(specs: Workspace, path: Path) -> None:
    register = path.with_name("Colour.json")
    specs.write(path, USES)
    before = [each.rule for each in specs.problems(path)]
    assert len(before) == 1 and specs.context(path).files == {}
    specs.write(register, REGISTER)
    assert specs.problems(path) == () and specs.context(path).files == {"Colour": register}
    assert specs.context(path) is specs.context(path)
    specs.write(register, REGISTER.replace("Colour", "Hue"))
    assert [each.severity for each in specs.problems(path)] == ["error"]
    register.write_text(REGISTER)
    specs.forget(register)
    assert specs.problems(path) == ()
    assert specs.read_as(path, USES.replace('"Colour"', '"Color"')).has_errors


def test_settings_and_folders_that_can_not_be_read(specs: Workspace, path: Path, root: Path) -> None:
    deep = root / "message_specs" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "Deep.json").write_text("{}")
    with pytest.raises(SpecError, match="nested too deeply"):
        specs.set_problems(path)
    (root / "pyproject.toml").write_text("[tool")
    with pytest.raises(SettingsError):
        specs.problems(path)


def test_formatting_equals_fmt(specs: Workspace, path: Path) -> None:
    keys = '"name": "PingRequest", "type": "request", "apiKey": "7", "validVersions": "0-1", "flexibleVersions": "1+"'
    text = f"// why\n{{ {keys} }}"
    specs.write(path, text)
    assert specs.formatted(path).startswith('// why\n{\n  "apiKey": 7,\n')
    specs.write(path, "{")
    with pytest.raises(SpecError):
        specs.formatted(path)


def test_a_text_too_long_to_analyse_has_one_warning(specs: Workspace, path: Path, root: Path) -> None:
    for file, expected in (path, ["TW101"]), (root / "data.json", []):
        specs.write(file, '{"type": "data", ' + 70_000 * "[]")
        assert [each.rule for each in specs.problems(file)] == expected
