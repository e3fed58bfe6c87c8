import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from spec_projects import read_tree

from tagwire.errors import SpecError, TagwireError
from tagwire_generator.evolution.check import Baseline
from tagwire_generator.evolution.spec_sources import SpecData, SpecReader
from tagwire_generator.model.spec_set_rules import check_set
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import find_specs
from tagwire_generator.reading.spec import load
from tagwire_generator.syntax.canonical import canonical_text
from tagwire_workbench.archive.importer import documented
from tagwire_workbench.draft_version import DraftPlan, plan_drafts

Spec = dict[str, Any]

TESTS = Path(__file__).parents[1]
RPC_DRAFTS = TESTS.parent / "message_specs" / "drafts" / "kip482_rpcs"
FIELD: Spec = {"name": "Bar", "type": "int32", "versions": "0+"}


def spec(name: str, kind: str, versions: str = "0-3", flexible: str = "2+", **keys: Any) -> Spec:
    head: Spec = {"type": kind, "name": name, "validVersions": versions, "flexibleVersions": flexible}
    return head | ({"apiKey": 9} if kind in ("request", "response") else {}) | {"fields": [FIELD]} | keys


def draft(name: str, kind: str, versions: str, optional: str) -> Spec:
    released = spec(name, kind, versions)
    del released["flexibleVersions"]
    return released | {"versionsWithOptional": optional}


REQUEST, RESPONSE = spec("FooRequest", "request"), spec("FooResponse", "response")
HEADER = spec("FooHeader", "header")
COMMENT = "// by hand\n"
PLAIN = {"flexibleVersions": "none"}
PAIR = {
    "fields": [{"name": "Pair", "type": "Pair", "versions": "0+"}],
    "commonStructs": [{"name": "Pair", "versions": "0-3", "fields": [FIELD]}],
}


def write(folder: Path, *specs: Spec, component: str = "") -> Path:
    (folder / component).mkdir(parents=True, exist_ok=True)
    for each in specs:
        (folder / component / f"{each['name']}.json").write_text(COMMENT + json.dumps(each))
    return folder


def read(folder: Path) -> dict[str, Spec]:
    return {file.path.stem: json.loads(file.path.read_text().removeprefix(COMMENT)) for file in find_specs(folder)}


def drafted(folder: Path, target: Path, *, only_new: bool = False) -> DraftPlan:
    plan = plan_drafts(folder, target, only_new=only_new)
    plan.apply()
    return plan


def test_a_folder(tmp_path: Path) -> None:
    source, folder = write(tmp_path / "in", REQUEST, RESPONSE, HEADER), tmp_path / "out"
    before = read_tree(source)
    plan = plan_drafts(source, folder)
    assert set(plan.changed) == {folder / f"{name}.json" for name in ("FooHeader", "FooRequest", "FooResponse")}
    assert not folder.exists(), "a plan writes nothing"
    plan.apply()
    assert read_tree(source) == before
    after = read(folder)
    expected = [("0-1", None), ("0-2", "2+"), ("0-2", "2+")]
    assert [(each["validVersions"], each.get("versionsWithOptional")) for each in after.values()] == expected
    assert read_tree(folder) == {path.name: canonical_text(read(folder)[path.stem]).encode() for path in plan.changed}
    assert str(plan).splitlines() == [
        "FooHeader: 0-3 -> 0-1; old 2-3 removed",
        "FooRequest: 0-3 -> 0-2; new 2; old 2-3 removed",
        "FooResponse: 0-3 -> 0-2; new 2; old 2-3 removed",
    ]


def test_pair_is_cut_at_the_lower_version(tmp_path: Path) -> None:
    late = {"name": "Late", "type": "[]Late", "versions": "1+", "fields": [{**FIELD, "name": "Leaf", "versions": "1+"}]}
    source, folder = tmp_path / "in", tmp_path / "out"
    write(source, REQUEST | PLAIN | {"fields": [FIELD, late]}, RESPONSE | {"flexibleVersions": "1+"})
    plan = drafted(source, folder)
    assert {each["validVersions"] for each in read(folder).values()} == {"0-1"}
    assert read(folder)["FooRequest"]["fields"] == [FIELD]
    assert [draft.removed for draft in plan.drafts] == [("Late",), ()]
    assert "FooRequest: 0-3 -> 0-1; new 1; old 1-3 removed; without Late" in str(plan)


def test_a_pair_that_is_flexible_from_the_start(tmp_path: Path) -> None:
    source, folder = tmp_path / "in", tmp_path / "out"
    plan = drafted(write(source, REQUEST | {"flexibleVersions": "0+"}, RESPONSE | {"validVersions": "0-3"}), folder)
    assert {(each["validVersions"], each["versionsWithOptional"]) for each in read(folder).values()} == {("0", "0+")}
    assert "FooResponse: 0-3 -> 0; new 0; flexible from the start" in str(plan)


def test_response_without_a_request(tmp_path: Path) -> None:
    plan = drafted(write(tmp_path / "in", RESPONSE), tmp_path / "out")
    assert str(plan) == "FooResponse: 0-3 -> 0-2; new 2; old 2-3 removed"


OTHERS = (
    spec("FooData", "data", "0-1", "1+"),
    spec("FooRecord", "metadata", "0-1", "0+", apiKey=3),
    spec("PlainHeader", "header", "0", "none"),
    spec("NewHeader", "header", "0", "0+"),
    {"type": "request", "name": "OldRequest", "apiKey": 8, "validVersions": "none"},
    {"type": "response", "name": "OldResponse", "apiKey": 8, "validVersions": "none"},
)


def test_specs_that_are_not_rpcs_do_not_change(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", REQUEST | PLAIN, RESPONSE | PLAIN, *OTHERS)
    names = {f"{each['name']}.json" for each in OTHERS}
    before = {name: data for name, data in read_tree(folder).items() if name in names}
    plan = drafted(folder, folder)
    assert {name: data for name, data in read_tree(folder).items() if name in names} == before
    assert "FooData: 0-1; of type data; unchanged" in str(plan)
    assert "OldRequest: none; its API was removed; unchanged" in str(plan)
    assert plan.stale == ()


def test_another_folder_gets_a_whole_set(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", REQUEST, RESPONSE, *OTHERS)
    write(folder, spec("InnerRequest", "request"), spec("InnerResponse", "response"), component="inner")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/Stranger.json").write_text(json.dumps(spec("Stranger", "data")))
    before = read_tree(folder)
    plan = drafted(folder, tmp_path / "out")
    assert read_tree(folder) == before
    found = read(tmp_path / "out")
    assert found.keys() - {"Stranger"} == {file.path.stem for file in find_specs(folder)}
    assert (tmp_path / "out/inner/InnerRequest.json").is_file()
    assert found["FooData"] == OTHERS[0]
    assert plan.stale == (tmp_path / "out/Stranger.json",)
    assert "Stranger.json: not one of these specs; unchanged" in str(plan)
    assert plan_drafts(folder, tmp_path / "out").changed == {}


def test_the_new_versions_alone(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", REQUEST, RESPONSE, HEADER, *OTHERS)
    drafted(folder, tmp_path / "out", only_new=True)
    found = read(tmp_path / "out")
    expected = {"FooHeader": "0-1", "FooRequest": "2", "FooResponse": "2", "NewHeader": "0", "PlainHeader": "0"}
    assert {name: each["validVersions"] for name, each in found.items()} == expected
    with pytest.raises(SpecError, match="choose another output folder"):
        plan_drafts(folder, folder / "." / "", only_new=True)


def test_the_unstable_version_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path, REQUEST | PLAIN | {"latestVersionUnstable": True}, RESPONSE | PLAIN)
    assert "FooRequest: 0-3 -> 0-4; new 4; the new version is now the unstable one" in str(plan_drafts(folder, folder))


@pytest.mark.parametrize(
    ("specs", "text"),
    [
        ([REQUEST, RESPONSE | {"validVersions": "0-2"}], "TW808"),
        ([REQUEST, RESPONSE | {"validVersions": "0-4"}], "have versions 0-3 and 0-4; give both the same versions"),
        ([REQUEST | {"validVersions": "none"}, RESPONSE], "have versions none and 0-3"),
        ([draft("FooRequest", "request", "0-3", "3+"), RESPONSE], "in different dialects, and one has flexible"),
        ([REQUEST], "FooRequest has no response"),
        ([REQUEST | {"validVersions": "often"}, RESPONSE], "TW201"),
        ([], "no spec"),
        # In version 4, the draft would use `Pair`, which exists only in versions 0-3.
        ([REQUEST | PLAIN | PAIR, RESPONSE | PLAIN], "draft of .*FooRequest.json:.*Pair"),
    ],
)
def test_nothing_is_written_if_a_spec_is_rejected(tmp_path: Path, specs: list[Spec], text: str) -> None:
    folder = write(tmp_path, *specs)
    before = read_tree(folder)
    for output in (folder, tmp_path.parent / f"{tmp_path.name}.out"):
        with pytest.raises(SpecError, match=text):
            plan_drafts(folder, output)
    assert read_tree(folder) == before


def test_in_place_a_spec_gains_a_version_and_keeps_its_comments(tmp_path: Path) -> None:
    request = draft("FooRequest", "request", "0-3", "2+")
    folder = write(tmp_path, request, RESPONSE | PLAIN, HEADER | PLAIN)
    drafted(folder, folder)
    assert (folder / "FooHeader.json").read_text() == COMMENT + json.dumps(HEADER | PLAIN)
    for name, optional in (("FooRequest", "2+"), ("FooResponse", "4+")):
        assert (folder / f"{name}.json").read_text().startswith(f"{COMMENT}{{\n")
        found = read(folder)[name]
        assert (found["validVersions"], found["versionsWithOptional"]) == ("0-4", optional)


LATE = {"name": "Late", "type": "int32", "versions": "5+", "tag": 0, "taggedVersions": "5+"}


@pytest.mark.parametrize(
    ("specs", "messages"),
    [
        ([REQUEST, RESPONSE], ["FooRequest 3: version 3 was released, but the versions are now 0-2 (TW924)", "2: the"]),
        ([REQUEST | {"flexibleVersions": "0+"}, RESPONSE], ["TW924", "optional fields (lengths are varint) (TW901)"]),
        ([REQUEST | PLAIN, RESPONSE | PLAIN, HEADER], ["FooHeader 2-3"]),
        ([REQUEST | {"flexibleVersions": "5+", "fields": [FIELD, LATE]}, RESPONSE | PLAIN], ["would remove Late"]),
    ],
)
def test_in_place_nothing_is_lost(tmp_path: Path, specs: list[Spec], messages: list[str]) -> None:
    folder = write(tmp_path, *specs)
    before = read_tree(folder)
    with pytest.raises(SpecError) as caught:
        plan_drafts(folder, folder)
    assert all(each in str(caught.value) for each in messages), caught.value
    assert "--output" in str(caught.value)
    assert read_tree(folder) == before


def test_versions_and_tags_in_a_lock_are_kept(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", REQUEST | PLAIN, RESPONSE | PLAIN)
    text = json.dumps(REQUEST | PLAIN | {"validVersions": "0-5"})
    known = SpecReader().read([SpecData("FooRequest.json", "", text.encode())], SpecOptions())
    plan_drafts(folder, folder).apply()  # version 4 has not been released, so the draft may use it
    for output in (folder, tmp_path / "out"):
        with pytest.raises(SpecError, match="TW901"):
            plan_drafts(folder, output, released=[Baseline.of(known)])


def test_another_file_is_never_replaced(tmp_path: Path) -> None:
    folder, out = write(tmp_path / "in", REQUEST, RESPONSE), tmp_path / "out"
    drafted(folder, out)
    assert plan_drafts(folder, out).changed == {}
    write(out, REQUEST)
    with pytest.raises(SpecError, match=r"FooRequest\.json already exists with other content"):
        plan_drafts(folder, out)


@pytest.mark.parametrize("output", ["in/clients", "."])
def test_folders_in_each_other_are_rejected(tmp_path: Path, output: str) -> None:
    folder = write(tmp_path / "in", REQUEST, RESPONSE)
    with pytest.raises(SpecError, match="choose a folder that is neither inside nor above"):
        plan_drafts(folder, tmp_path / output)


def test_failed_write_changes_no_files(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", REQUEST, RESPONSE)
    write(tmp_path / "in", spec("InnerRequest", "request"), spec("InnerResponse", "response"), component="inner")
    out = tmp_path / "out"
    out.mkdir()
    (out / "inner").write_text("in the way")  # this file prevents creation of the folder `inner`
    plan = plan_drafts(folder, out)
    with pytest.raises(TagwireError, match=r"inner.* can't be written"):
        plan.apply()
    assert set(read_tree(out)) == {"inner"}


def test_the_committed_specs_are_what_the_command_makes_of_kafka_2_4_1(tmp_path: Path) -> None:
    with gzip.open(TESTS / "data" / "kip482_rpcs" / "kafka_clients_2_4_1.jsonl.gz", "rt") as lines:
        write(tmp_path / "in", *map(json.loads, lines), component="clients")
    plan = drafted(tmp_path / "in", tmp_path / "out", only_new=True)
    assert sum(draft.new is not None for draft in plan.drafts) == 96
    specs = {path.name: path.read_text() for path in (tmp_path / "out" / "clients").iterdir()}
    committed = {path.name: path.read_text() for path in (RPC_DRAFTS / "clients").iterdir()}
    folder = RPC_DRAFTS / "clients"
    assert {name: canonical_text(documented(json.loads(text), folder)) for name, text in specs.items()} == committed


def test_the_committed_specs_keep_every_rule() -> None:
    messages = [load(file.path, component=file.component) for file in find_specs(RPC_DRAFTS)]
    assert [message.warnings for message in messages if message.warnings] == []
    assert check_set([message.summary() for message in messages]) == ()
