import json
from functools import partial
from pathlib import Path

import pytest
from command import tagwire_result
from shapes import SPECS, make_shapes
from spec_projects import read_tree

from tagwire.message.field_table import layout_of
from tagwire_generator.message_classes import message_class
from tagwire_generator.project.spec_files import SpecData
from tagwire_generator.reading.imports import SharedStructs
from tagwire_generator.reading.spec import read_spec
from tagwire_generator.syntax.spec_schema import schema

KAFKA = {
    "message": "apiKey type name validVersions deprecatedVersions flexibleVersions latestVersionUnstable listeners "
    "fields commonStructs",
    "struct": "name versions deprecatedVersions fields",
    "field": "name type versions nullableVersions tag taggedVersions default ignorable entityType mapKey zeroCopy "
    "flexibleVersions about fields",
}
"""The keys that Kafka's own generator reads (MessageSpec, StructSpec and FieldSpec in Kafka 4.x)."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(make_shapes(tmp_path))
    return tmp_path


run = partial(tagwire_result, "export", "--kafka")


def write(name: str, **more: object) -> None:
    field = {"name": "A", "type": "int32", "versions": "0+"}
    spec = {"type": "data", "name": name, "validVersions": "0-1", "flexibleVersions": "1+", "fields": [field]} | more
    Path("specs", f"{name}.json").write_text(json.dumps(spec, indent=2) + "\n")


@pytest.mark.parametrize("definition", KAFKA)
def test_the_table_knows_every_key(definition: str) -> None:
    properties = schema()["$defs"][definition]["properties"]
    ours = {key for key, value in properties.items() if "kafka" in value or "dialect" in value}
    assert properties.keys() - ours == set(KAFKA[definition].split())


def test_the_bytes_are_the_same(project: Path) -> None:
    assert "specs/PlaceResponse.json:8:3: without the key imports" in run("--output", "plain", code=0).output
    shared = SharedStructs([SpecData(name, "", json.dumps(spec).encode()) for name, spec in SPECS.items()])
    for name in ("PlaceRequest.json", "PlaceResponse.json"):
        before = read_spec(json.dumps(SPECS[name]), shared=shared).message
        after = read_spec(Path("plain", name).read_text()).message
        assert before is not None and after is not None and not after.is_extended
        for version in before.valid_versions:
            old, new = (layout_of(message_class(each), version) for each in (before, after))
            assert wire(old.root) == wire(new.root)


def wire(struct: object) -> object:
    items = getattr(struct, "fields", ())
    inner = [getattr(item.type, "element", item.type) for item in items]
    return [(item.name, str(item.type), item.tag) for item in items], [
        wire(each.struct) for each in inner if hasattr(each, "struct")
    ]


def test_omitted_features_and_plain_replacements(project: Path) -> None:
    write("Plain")
    write("Ours", aliases=["Older"], dialect=None, about="for a test")
    found = {each["file"]: each for each in json.loads(run("--json").stdout)}
    assert found["specs/Plain.json"]["status"] == "plain"
    ours = found["specs/Ours.json"]
    assert (ours["status"], ours["stops"]) == ("writable", [])
    assert sorted(each["what"] for each in ours["lost"]) == ["the key about", "the key aliases", "the key dialect"]
    assert {found[name]["status"] for name in ("specs/Line.json", "specs/geometry/Point.json")} == {"inlined"}


def test_unsupported_specs(project: Path) -> None:
    typed = {"name": "A", "type": "uint64", "versions": "0+"}
    write("Typed", dialect="tagwire", fields=[typed])
    write("Drafted", versionsWithOptional="1+", flexibleVersions=None)
    kept = {"name": "A", "type": "int32", "taggedVersions": "1+", "tag": 1}
    write("Gap", reservedTags=[0], fields=[kept])
    write("HeadedRequest", type="request", apiKey=9)
    write("HeadedResponse", type="response", apiKey=9, dialect="tagwire", headerVersions={"0+": "1"})
    result = run("--json", "--output", "plain", code=1)
    stops = {each["file"]: each["stops"] for each in json.loads(result.stdout) if each["stops"]}
    [typed], [headed] = stops["specs/Typed.json"], stops["specs/HeadedResponse.json"]
    assert (typed["what"], typed["line"], typed["column"]) == ("the type uint64", 9, 15)
    assert (headed["what"], headed["line"]) == ("headers other than those that Kafka implies", 15)
    assert stops["specs/Drafted.json"][0]["what"] == "the key versionsWithOptional"
    assert "Gap has tag 1, but not 0" in stops["specs/Gap.json"][0]["what"]
    assert stops["specs/Gap.json"][0]["line"] == 14
    written = {path.name for path in Path("plain").rglob("*.json")}
    assert written == {"HeadedRequest.json", "PlaceRequest.json", "PlaceResponse.json"}


def test_a_set_with_errors_is_not_exported(project: Path) -> None:
    write("Wrong", fields=[{"name": "A", "type": "int46", "versions": "0+"}])
    assert "TW402" in run("--output", "plain", code=1).output and not Path("plain").exists()


@pytest.mark.parametrize("output", ["specs", "specs/plain", "link"])
@pytest.mark.parametrize("words", [("specs",), ()])
def test_output_inside_the_exported_folder(project: Path, words: tuple[str, ...], output: str) -> None:
    Path("link").symlink_to("specs")
    before = read_tree(project)
    assert f"{output} is inside " in run(*words, "--output", output, code=1).stderr
    assert read_tree(project) == before
