import gzip
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command import tagwire_result
from spec_projects import edit_spec, make_project, write_spec

SCHEMA = json.loads(gzip.decompress((Path(__file__).parents[2] / "data/sarif/sarif-2.1.0.json.gz").read_bytes()))
PROPERTY = r"(?:file|line|col|title)=[^:,\n]*"
ANNOTATION = re.compile(rf"::(error|warning|notice) {PROPERTY}(?:,{PROPERTY})*::[^\n]+")
"""Matches a GitHub workflow command. In properties, `:`, `,` and line ends must be escaped."""
FIELDS = [{"name": "Text", "type": "string", "length": "int16"}, {"name": "Magic", "type": "int8", "equals": 9}]
FORMAT_SPEC = {"type": "format", "name": "OddBatch", "format": "odd", "discriminator": "Magic", "fields": FIELDS}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project with problems: an invalid spec, a breaking change, and a record format with design flaws."""
    monkeypatch.chdir(tmp_path)
    make_project(tmp_path)
    (tmp_path / "message_specs").rename(tmp_path / "old, one: 100%")
    make_project(tmp_path)
    edit_spec(tmp_path, "PingRequest", '"int64"', '"int32"')
    write_spec(tmp_path / "bad, one: 100%", "PingData", type="data", apiKey=4, flexibleVersions="0-1")
    (tmp_path / "OddBatch.json").write_text(json.dumps(FORMAT_SPEC))
    return tmp_path


COMMANDS = {
    "validate": (["validate", "bad, one: 100%/message_specs/PingData.json"], {"TW205"}),
    "breaking": (["breaking", "old, one: 100%", "message_specs"], {"TW903"}),
    "lint": (["lint", "OddBatch.json"], {"TL01"}),
}


def report(command: str, form: str) -> tuple[str, set[str]]:
    arguments, rules = COMMANDS[command]
    result = tagwire_result(*arguments, "--output-format", form, code=1)
    return result.stdout, rules


@pytest.mark.parametrize("command", COMMANDS)
def test_sarif(command: str) -> None:
    text, rules = report(command, "sarif")
    log: dict[str, Any] = json.loads(text)
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(log)
    [run] = log["runs"]
    known = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert {result["ruleId"] for result in run["results"]} == set(known) >= rules
    for result in run["results"]:
        assert known[result["ruleIndex"]] == result["ruleId"] and result["message"]["text"]
        [location] = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert uri.endswith(".json") and not set(uri) & set(" ,")


def test_schema_rejects_invalid_sarif() -> None:
    text, _ = report("validate", "sarif")
    log = json.loads(text)
    log["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(SCHEMA).validate(log)


@pytest.mark.parametrize("command", COMMANDS)
def test_github(command: str) -> None:
    text, rules = report(command, "github")
    found = [ANNOTATION.fullmatch(line) for line in text.splitlines()]
    assert found and all(found)
    titles = {str(each).split()[-1] for match in found if match for each in re.findall("title=([^:,]*)", match[0])}
    assert titles >= rules
    if command == "validate":
        assert "file=bad%2C one%3A 100%25/message_specs/PingData.json,line=" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_json(command: str) -> None:
    text, rules = report(command, "json")
    assert {row["rule"] for row in json.loads(text)} >= rules


def test_nothing_found() -> None:
    for form, expected in (("github", ""), ("json", "[]\n")):
        assert tagwire_result("validate", "message_specs", "--output-format", form, code=0).stdout == expected
    log = json.loads(tagwire_result("validate", "message_specs", "--output-format", "sarif").stdout)
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    assert log["runs"][0]["results"] == []


def test_problem_in_standard_input_has_no_file_location() -> None:
    result = tagwire_result("validate", "-", "--output-format", "sarif", stdin="{")
    [found] = json.loads(result.stdout)["runs"][0]["results"]
    assert found["ruleId"] == "TW103" and "locations" not in found
