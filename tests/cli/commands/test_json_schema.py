import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
from command import rejected, tagwire_result
from command_paths import COMMAND_PATHS, command_of
from jsonschema.exceptions import best_match
from spec_projects import edit_spec, make_project, write_spec

import tagwire_cli
from tagwire_cli.commands.json_schema import schemas_by_command
from tagwire_generator.syntax.spec_schema import schema

SCHEMAS = schemas_by_command()
DATA = Path(__file__).parents[2] / "data"
FOLDER = Path(tagwire_cli.__file__).with_name("json_schemas")
LEAVE = "00016700016d"
FRAME = "00000012000d00000000000700026d65" + LEAVE
FIELDS = [{"name": "Text", "type": "string", "length": "int16"}, {"name": "Magic", "type": "int8", "equals": 9}]
FLAWED_FORMAT = {"type": "format", "name": "OddBatch", "format": "odd", "discriminator": "Magic", "fields": FIELDS}


def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((FOLDER / f"{SCHEMAS[name]}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def held(name: str, *values: Any) -> None:
    check = validator(name)
    assert values, "there is something to hold against it"
    for value in values:
        error = best_match(check.iter_errors(value))
        assert error is None, f"{error.json_path}: {error.message}"


def printed(*words: object, stdin: str = "", code: int | None = 0) -> Any:
    return json.loads(tagwire_result(*words, stdin=stdin, code=code).stdout)


def rows(*words: object, stdin: str = "", code: int | None = 0) -> list[Any]:
    return [json.loads(line) for line in tagwire_result(*words, stdin=stdin, code=code).stdout.splitlines()]


@pytest.mark.thorough
@pytest.mark.parametrize("package", ["tagwire_messages", "tagwire_records", "tagwire_drafts.kip482"])
def test_messages_show_and_diff(package: str) -> None:
    listed = printed("messages", "--json", "--package", package)
    held("messages", listed)
    shown = [each["name"] for each in listed][:: max(1, len(listed) // 12)]
    for name in shown:
        held("show", printed("show", name, "--json", "--package", package))
    for each in listed:
        if each["name"] in shown and each["kind"] != "format":
            version = str(each["latestStable"])
            held("show", printed("show", each["name"], "--version", version, "--json", "--package", package))
            held("diff", printed("diff", each["name"], "--json", "--package", package))


def test_diff_of_two_versions() -> None:
    held("diff", printed("diff", "FetchRequest", "0", "17", "--json"))


def test_decode() -> None:
    words = ("decode", "--frame", "request", "--hex", "--jsonl", "--keep-going")
    held("decode", *rows(*words, stdin=FRAME + "00000001" + "00", code=1))


def test_explain() -> None:
    held("explain", printed("explain", "LeaveGroupRequest", "0", "--hex", "--json", stdin=LEAVE))
    held("explain", printed("explain", "--request", "--hex", "--json", stdin=FRAME[8:]))
    held("explain", printed("explain", "LeaveGroupRequest", "0", "--hex", "--json", stdin="00", code=1))
    segment = str(DATA / "sample_log" / "orders-0" / "00000000000000000000.log")
    held("explain", printed("explain", "--format", "auto", "--json", segment))


def test_findings_about_specs(project: Path) -> None:
    (project / "OddBatch.json").write_text(json.dumps(FLAWED_FORMAT))
    held("validate", printed("validate", "--output-format", "json"))
    write_spec(project / "bad", "PingData", type="data", apiKey=4, flexibleVersions="0-1")
    held("validate", printed("validate", "bad/message_specs", "--output-format", "json", code=1))
    held("lint", printed("lint", "OddBatch.json", "--json", code=1))
    held("export", printed("export", "--kafka", "--json"))
    write_spec(project / "ours", "PingRequest", aliases=["OldRequest"])
    held("export", printed("export", "--kafka", "--json", "ours/message_specs", code=None))
    (project / "message_specs").rename(project / "old")
    make_project(project)
    edit_spec(project, "PingRequest", '"int64"', '"int32"')
    held("breaking", printed("breaking", "old", "message_specs", "--output-format", "json", code=1))
    write_spec(project / "bad", "PingRequest", flexibleVersions="0-1")
    held("breaking", printed("breaking", "old", "bad/message_specs", "--output-format", "json", code=1))
    (project / "third").mkdir()
    (project / "third" / "PingRequest.json").write_text((project / "old" / "PingRequest.json").read_text())
    held("collide", printed("collide", "message_specs", "third", "--json", code=1))


@pytest.mark.thorough
def test_logs(logs: Path, tmp_path: Path) -> None:
    for folder in map(str, sorted(logs.iterdir())):
        held("log dump", *rows("log", "dump", "--messages", "--json", folder, code=None)[::7])
        held("log stat", *rows("log", "stat", "--json", folder))
        held("log verify", *rows("log", "verify", "--json", folder, code=None))
    for topics in (logs / "kafka4", logs / "kafka4" / "__transaction_state-0"):
        held("log state", printed("log", "state", "--json", topics))
    others = [path for path in sorted(logs.rglob("*")) if path.is_file() and path.suffix != ".log"]
    held("log dump", *(row for path in others for row in rows("log", "dump", "--json", path, code=None)))


def test_logs_that_are_changed(logs: Path, tmp_path: Path) -> None:
    partition = tmp_path / "orders-0"
    partition.mkdir()
    data = bytearray((DATA / "sample_log" / "orders-0" / "00000000000000000000.log").read_bytes())
    data[100] ^= 1
    (partition / "00000000000000000000.log").write_bytes(data)
    held("log verify", *rows("log", "verify", "--json", partition, code=1))
    held("log salvage", *rows("log", "salvage", "--json", partition, "--output", tmp_path / "saved", code=1))
    whole = str(DATA / "sample_log" / "orders-0")
    held("log convert", *rows("log", "convert", "--json", "--to", "v1", whole, "--output", tmp_path / "made", code=1))
    compacted = ("log", "compact", "--json", "--explain", "--include-active", whole, "--output", tmp_path / "c")
    held("log compact", *rows(*compacted))
    held("whatif", printed("whatif", "--to", "v1", "--json", whole))
    held("whatif", printed("whatif", "--to", "v3", "--codec", "gzip", "--batch-records", "9", "--json", whole))


def test_every_command_with_json_has_a_schema() -> None:
    assert set(SCHEMAS) == {name for name in COMMAND_PATHS if prints_json(command_of(name))}


def prints_json(command: click.Command) -> bool:
    return any(
        "--json" in param.opts
        or (isinstance(param.type, click.Choice) and "json" in param.type.choices)
        or ("--jsonl" in param.opts and command.name != "encode")
        for param in command.params
    )


def test_every_schema_belongs_to_a_command_and_is_printed() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(SCHEMAS.values())
    assert tagwire_result("json-schema", code=0).stdout.splitlines() == list(SCHEMAS)
    for name in SCHEMAS:
        assert f"tagwire {SCHEMAS[name].replace('-', ' ')}" in printed("json-schema", *name.split())["title"]
        validator(name)


def test_the_schema_of_specs_is_for_editors() -> None:
    assert printed("json-schema", "spec") == schema()


def test_the_schema_of_scripts_is_for_editors() -> None:
    found = printed("json-schema", "mock-script")
    jsonschema.Draft202012Validator.check_schema(found)
    assert "rules" in found["properties"]


@pytest.mark.parametrize("words", [["decodes"], ["log"], ["generate"]])
def test_output_without_a_schema(words: list[str]) -> None:
    done = tagwire_result("json-schema", *words)
    rejected(done, "has no JSON Schema; commands with one: breaking", code=2)


def objects_of(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for value in schema.values():
            yield from objects_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects_of(value)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_list_every_printed_key(name: str) -> None:
    objects = list(objects_of(validator(name).schema))
    assert objects and all(each["additionalProperties"] is False for each in objects)


@pytest.mark.parametrize("change", [{"rule": 7}, {"line": -1}, {"severity": "fatal"}, {"more": 1}])
def test_schemas_reject_invalid_output(change: dict[str, Any]) -> None:
    row = {"rule": "TW1", "severity": "error", "file": "f", "line": 1, "column": 1, "message": "m"}
    check = validator("validate")
    assert check.is_valid([row]) and not check.is_valid([row | change]) and not check.is_valid([{"rule": "TW1"}])
