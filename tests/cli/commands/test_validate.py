import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command import tagwire_result
from spec_projects import edit_spec, spec, write_spec

from tagwire.log.errors import RULES as LOG_RULES
from tagwire_generator.problems import CHANGE_RULES, DESIGN_RULES, RULES, Rule
from tagwire_generator.project.spec_files import SpecFile
from tagwire_generator.reading import imports

REGISTER = '{"name": "Keys", "type": "register", "keys": "int16", "entries": []}'
validate = partial(tagwire_result, "validate")


def findings(*arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(validate(*arguments, "--json").stdout)
    return found


@pytest.mark.parametrize("arguments", [[], ["message_specs"], ["."], ["message_specs/PingRequest.json"]])
def test_good_specs(project: Path, arguments: list[str]) -> None:
    done = validate(*arguments)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("no problems in ")


def test_an_error_as_text(project: Path) -> None:
    edit_spec(project, "PingRequest", "int64", "int65")
    done = validate("message_specs", code=1)
    first_line, line, caret = done.stdout.splitlines()
    assert first_line.startswith("message_specs/PingRequest.json:10:")
    assert "error TW402: " in first_line
    assert line.strip() == '"type": "int65",'
    assert caret.index("^") == line.index('"int65"')
    assert "\x1b" not in done.stdout
    assert done.stderr == "1 error in 2 specs\n"


def test_an_error_as_json(project: Path) -> None:
    edit_spec(project, "PingRequest", "int64", "int65")
    (found,) = findings("message_specs")
    assert list(found) == ["rule", "severity", "file", "line", "column", "message"]
    assert (found["rule"], found["severity"], found["line"]) == ("TW402", "error", 10)
    assert found["file"] == "message_specs/PingRequest.json"
    assert validate("message_specs", "--output-format", "json").exit_code == 1


def test_warnings_never_fail(project: Path) -> None:
    write_spec(project, "PingRequest", deprecatedVersions="7-8")
    done = validate(code=0)
    assert "warning TW221" in done.stdout
    assert done.stderr == "1 warning in 2 specs\n"


def test_the_rules_of_a_folder_apply_to_folders_only(project: Path) -> None:
    (project / "message_specs" / "PingResponse.json").unlink()
    assert [found["rule"] for found in findings("message_specs")] == ["TW804"]
    assert findings("message_specs/PingRequest.json") == []


def test_several_paths_and_none_twice(project: Path) -> None:
    edit_spec(project, "PingRequest", "int64", "int65")
    edit_spec(project, "PingResponse", "int64", "int66")
    files = ["message_specs/PingRequest.json", "message_specs/PingResponse.json"]
    assert [found["file"] for found in findings(*files, *files)] == files


def test_standard_input(project: Path) -> None:
    text = json.dumps(spec("PingRequest"))
    assert validate("-", stdin=text).exit_code == 0
    done = validate("-", "--output-format", "json", stdin=text.replace("int64", "int65"), code=1)
    assert [found["file"] for found in json.loads(done.stdout)] == ["standard input"]


def test_standard_input_that_is_not_text(project: Path) -> None:
    done = validate("-", "--output-format", "json", stdin=b"\n\xff", code=1)
    (found,) = json.loads(done.stdout)
    assert (found["rule"], found["file"], found["line"]) == ("TW102", "standard input", 2)


GAP = [{"name": "Nonce", "type": "int64", "versions": "1+", "tag": 5, "taggedVersions": "1+"}]


def test_tag_gaps_are_allowed_by_option_or_by_the_set(project: Path) -> None:
    path = str(write_spec(project, "PingRequest", fields=GAP))
    assert [found["rule"] for found in findings(path)] == ["TW609"]
    assert findings(path, "--allow-tag-gaps") == []
    with (project / "pyproject.toml").open("a") as settings:
        settings.write("options = { tag_gaps = true }\n")
    assert findings(path) == []
    assert findings("message_specs") == []


def test_struct_arrays_of_the_draft_are_allowed_by_option(project: Path) -> None:
    member = {"name": "N", "type": "int8", "versions": "0+"}
    array = {"name": "Items", "type": "[]Item", "tag": "0x0001", "fields": [member]}
    draft = spec("PingRequest", versionsWithOptional="1+", optionalFields=[array])
    del draft["flexibleVersions"]
    path = project / "draft.json"
    path.write_text(json.dumps(draft))
    assert "TW705" in [found["rule"] for found in findings(str(path))]
    assert "TW705" not in [found["rule"] for found in findings(str(path), "--allow-struct-arrays")]


def test_a_folder_without_specs(project: Path) -> None:
    (project / "empty").mkdir()
    assert "no specs" in validate("empty", code=1).stderr


def test_sets_below_a_folder_are_read_as_sets(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        '[[tool.tagwire.sets]]\nspecs = "specs/one"\npackage = "one"\n'
        '[[tool.tagwire.sets]]\nspecs = "specs/two"\npackage = "two"\noptions = { tag_gaps = true }\n'
    )
    (project / "specs").mkdir()
    write_spec(project, "PingRequest", fields=GAP)
    for name in ("one", "two"):
        folder = project / "specs" / name
        folder.mkdir()
        for path in (project / "message_specs").iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
    assert [(found["rule"], found["file"]) for found in findings("specs")] == [("TW609", "specs/one/PingRequest.json")]


def test_a_folder_of_specs_without_a_project_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_spec(tmp_path, "PingRequest").parent
    monkeypatch.chdir(folder)
    for words in ([".", ""], [str(folder), f"{folder}/"]):
        path, prefix = words
        (found,) = findings(path)
        assert (found["rule"], found["file"]) == ("TW804", f"{prefix}PingRequest.json")


@pytest.mark.parametrize(
    "words", ["validate", "fmt", "generate", "generate --check", "breaking", "breaking --against HEAD", "lock"]
)
@pytest.mark.parametrize("settings", ["", "[tool.black]\n", "[tool.tagwire]\n"])
def test_project_commands_outside_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, settings: str
) -> None:
    if settings:
        (tmp_path / "pyproject.toml").write_text(settings)
    monkeypatch.chdir(tmp_path)
    why = "no [[tool.tagwire.sets]] in pyproject.toml, and no folder message_specs"
    done = tagwire_result(*words.split(), code=2)
    expected = f"tagwire: {tmp_path}: no project found: {why}; `tagwire init` creates one\n"
    assert (done.stdout, done.stderr) == ("", expected)


def test_specs_outside_message_specs_are_read_without_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specs = write_spec(tmp_path, "PingRequest").parent
    (tmp_path / "PongRequest.json").write_text("{")
    monkeypatch.chdir(tmp_path)
    assert {found["file"] for found in findings(".")} == {"PongRequest.json", "message_specs/PingRequest.json"}
    monkeypatch.chdir(specs)
    assert {found["file"] for found in findings(".")} == {"PingRequest.json"}


def test_specs_next_to_the_sets_of_a_folder_are_read(project: Path) -> None:
    sets = project / "all/sets"
    sets.mkdir(parents=True)
    (project / "message_specs").rename(sets / "message_specs")
    settings = project / "pyproject.toml"
    settings.write_text(settings.read_text().replace('"message_specs"', '"all/sets/message_specs"'))
    (sets / "Beside.json").write_text("{}")
    assert {found["file"] for found in findings("all/sets")} == {"all/sets/Beside.json"}
    assert findings("all") == findings(".") == []


def test_rules_of_a_folder_apply_next_to_a_register(project: Path) -> None:
    (project / "message_specs/Keys.json").write_text(REGISTER)
    assert findings() == []
    (project / "message_specs/PingResponse.json").unlink()
    assert [found["rule"] for found in findings()] == ["TW804"]


def test_the_registers_of_a_set_are_read(project: Path) -> None:
    (project / "registers").mkdir()
    (project / "registers/keys.json").write_text(REGISTER.replace("Keys", "keys"))
    with (project / "pyproject.toml").open("a") as settings:
        settings.write('registers = "registers"\n')
    assert [(found["rule"], found["file"]) for found in findings()] == [("TW206", "registers/keys.json")]


def test_no_folder_is_searched_twice_for_registers(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[Path] = []

    def find_specs(folder: Path) -> list[SpecFile]:
        searched.append(folder)
        return []

    monkeypatch.setattr(imports, "find_specs", find_specs)
    for path in ("message_specs", "message_specs/PingRequest.json"):
        searched.clear()
        validate(path)
        assert [folder.resolve() for folder in searched] == [project / "message_specs"]


def test_unanswered_versions_are_allowed_by_option_or_by_the_set(project: Path) -> None:
    edit_spec(project, "PingRequest", '"0-1"', '"0-2"')
    (found,) = findings("message_specs")
    assert (found["rule"], found["severity"]) == ("TW808", "error")
    assert (found["file"], found["line"], found["column"]) == ("message_specs/PingResponse.json", 4, 11)
    assert [found["rule"] for found in findings("message_specs", "--allow-unanswered-versions")] == ["TW820"]
    with (project / "pyproject.toml").open("a") as settings:
        settings.write("options = { unanswered_versions = true }\n")
    assert [found["rule"] for found in findings("message_specs")] == ["TW820"]


@pytest.mark.parametrize(
    "rule", [*RULES.values(), *CHANGE_RULES.values(), *DESIGN_RULES.values()], ids=lambda rule: rule.id
)
def test_every_rule_is_explained(rule: Rule) -> None:
    done = tagwire_result("rule", rule.id.lower(), code=0)
    assert done.stdout.startswith(f"{rule.id} ({rule.severity}): {rule.title}\n\n")
    explanation, _, example = done.stdout.partition("\n\nbad:\n")
    assert " ".join(rule.explanation.split()) in " ".join(explanation.split())
    assert "\n\ngood:\n    " in example and ("\n\nreleased:\n" in explanation) == (rule.id in CHANGE_RULES)


def test_the_list_of_rules() -> None:
    lines = tagwire_result("rule").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [*RULES, *CHANGE_RULES, *DESIGN_RULES, *LOG_RULES]


def test_a_rule_about_logs() -> None:
    assert tagwire_result("rule", "twl108").stdout == f"TWL108: {LOG_RULES['TWL108']}\n"
