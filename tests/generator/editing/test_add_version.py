"""A new version for a whole folder: pairs in step, all or nothing, and the committed specs of Kafka 2.4.1's RPCs."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tagwire.errors import SpecError, TagwireError
from tagwire_generator.editing.add_version import plan_versions
from tagwire_generator.model.spec_set_rules import check_set
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import find_specs
from tagwire_generator.reading.spec import load
from tagwire_generator.syntax.canonical import canonical_text

Spec = dict[str, Any]

TESTS = Path(__file__).parents[2]
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


def write(folder: Path, *specs: Spec, component: str = "") -> Path:
    (folder / component).mkdir(parents=True, exist_ok=True)
    for each in specs:
        (folder / component / f"{each['name']}.json").write_text("// by hand\n" + json.dumps(each))
    return folder


def read(folder: Path) -> dict[str, Spec]:
    return {file.path.stem: json.loads(file.path.read_text()) for file in find_specs(folder)}


def state(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_in_place(tmp_path: Path) -> None:
    folder = write(tmp_path, REQUEST, RESPONSE, HEADER)
    plan = plan_versions(folder)
    before = state(folder)
    assert set(plan.changed) == {folder / f"{name}.json" for name in ("FooHeader", "FooRequest", "FooResponse")}
    assert state(folder) == before, "a plan writes nothing"
    plan.apply()
    after = read(folder)
    assert [(each["validVersions"], each.get("versionsWithOptional")) for each in after.values()] == [
        ("0-1", None),
        ("0-2", "2+"),
        ("0-2", "2+"),
    ]
    assert state(folder) == {path.name: canonical_text(read(folder)[path.stem]).encode() for path in plan.changed}
    assert str(plan).splitlines() == [
        "FooHeader: 0-3 -> 0-1; 2-3 cut",
        "FooRequest: 0-3 -> 0-2; new 2; 2-3 cut",
        "FooResponse: 0-3 -> 0-2; new 2; 2-3 cut",
    ]


def test_once_more_adds_one_version_more(tmp_path: Path) -> None:
    folder = write(tmp_path, REQUEST, RESPONSE)
    for versions in ("0-2", "0-3", "0-4"):
        plan_versions(folder).apply()
        found = {(each["validVersions"], each["versionsWithOptional"]) for each in read(folder).values()}
        assert found == {(versions, "2+")}


def test_the_earlier_cut_of_a_pair_is_that_of_both(tmp_path: Path) -> None:
    leaf = {**FIELD, "name": "Leaf", "versions": "1+"}
    late = {"name": "Late", "type": "[]Late", "versions": "1+", "fields": [leaf]}
    folder = write(tmp_path, REQUEST | {"flexibleVersions": "none", "fields": [FIELD, late]})
    write(folder, RESPONSE | {"flexibleVersions": "1+"})
    plan = plan_versions(folder)
    plan.apply()
    assert {each["validVersions"] for each in read(folder).values()} == {"0-1"}
    assert read(folder)["FooRequest"]["fields"] == [FIELD]
    assert [addition.gone for addition in plan.additions] == [("Late",), ()]
    assert "FooRequest: 0-3 -> 0-1; new 1; 1-3 cut; without Late" in str(plan)


def test_a_pair_that_is_flexible_from_the_start(tmp_path: Path) -> None:
    folder = write(tmp_path, REQUEST | {"flexibleVersions": "0+"}, RESPONSE | {"validVersions": "0-3"})
    plan = plan_versions(folder)
    plan.apply()
    assert {(each["validVersions"], each["versionsWithOptional"]) for each in read(folder).values()} == {("0", "0+")}
    assert "FooResponse: 0-3 -> 0; new 0; flexible from the start" in str(plan)


OTHERS = (
    spec("FooData", "data", "0-1", "1+"),
    spec("FooRecord", "metadata", "0-1", "0+", apiKey=3),
    spec("PlainHeader", "header", "0", "none"),
    spec("NewHeader", "header", "0", "0+"),
    {"type": "request", "name": "OldRequest", "apiKey": 8, "validVersions": "none"},
    {"type": "response", "name": "OldResponse", "apiKey": 8, "validVersions": "none"},
)


def test_what_is_no_rpc_is_left_alone(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", REQUEST, RESPONSE, *OTHERS)
    names = {f"{each['name']}.json" for each in OTHERS}
    before = {name: data for name, data in state(folder).items() if name in names}
    plan = plan_versions(folder)
    plan.apply()
    assert {name: data for name, data in state(folder).items() if name in names} == before
    assert "FooData: 0-1; of type data, left as it is" in str(plan)
    assert "OldRequest: none; its API is gone, left as it is" in str(plan)
    assert plan.stale == ()


def test_another_folder_gets_a_whole_set(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", REQUEST, RESPONSE, *OTHERS)
    write(folder, spec("InnerRequest", "request"), spec("InnerResponse", "response"), component="inner")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/Stranger.json").write_text(json.dumps(spec("Stranger", "data")))
    before = state(folder)
    plan = plan_versions(folder, tmp_path / "out")
    plan.apply()
    assert state(folder) == before
    found = read(tmp_path / "out")
    assert found.keys() - {"Stranger"} == {file.path.stem for file in find_specs(folder)}
    assert (tmp_path / "out/inner/InnerRequest.json").is_file()
    assert found["FooData"] == OTHERS[0]
    assert plan.stale == (tmp_path / "out/Stranger.json",)
    assert "Stranger.json: not one of these specs, left as it is" in str(plan)
    assert plan_versions(folder, tmp_path / "out").changed == {}


def test_the_new_versions_alone(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", REQUEST, RESPONSE, HEADER, *OTHERS)
    plan_versions(folder, tmp_path / "out", only_new=True).apply()
    found = read(tmp_path / "out")
    assert {name: each["validVersions"] for name, each in found.items()} == {
        "FooHeader": "0-1",
        "FooRequest": "2",
        "FooResponse": "2",
        "NewHeader": "0",
        "PlainHeader": "0",
    }
    with pytest.raises(SpecError, match="name another folder"):
        plan_versions(folder, folder / "." / "", only_new=True)


def test_the_unstable_version_is_named(tmp_path: Path) -> None:
    plain = {"flexibleVersions": "none"}
    folder = write(tmp_path, REQUEST | plain | {"latestVersionUnstable": True}, RESPONSE | plain)
    assert "FooRequest: 0-3 -> 0-4; new 4; the new version is the unstable one now" in str(plan_versions(folder))


@pytest.mark.parametrize(
    ("specs", "text"),
    [
        ([REQUEST, RESPONSE | {"validVersions": "0-2"}], "have versions 0-3 and 0-2; give them the same ones"),
        ([REQUEST, RESPONSE | {"validVersions": "none"}], "have versions 0-3 and none"),
        ([draft("FooRequest", "request", "0-3", "3+"), RESPONSE], "in two dialects, and one is flexible"),
        ([REQUEST], "FooRequest has no response"),
        ([REQUEST | {"validVersions": "often"}, RESPONSE], "TW201"),
        ([], "no spec"),
        # Valid as it is: nothing uses the struct in version 4 yet.
        (
            [
                REQUEST
                | {
                    "flexibleVersions": "none",
                    "fields": [{"name": "Pair", "type": "Pair", "versions": "0+"}],
                    "commonStructs": [{"name": "Pair", "versions": "0-3", "fields": [FIELD]}],
                },
                RESPONSE | {"flexibleVersions": "none"},
            ],
            "Pair",
        ),
    ],
)
def test_refused_and_nothing_is_written(tmp_path: Path, specs: list[Spec], text: str) -> None:
    folder = write(tmp_path, *specs)
    before = state(folder)
    with pytest.raises(SpecError, match=text):
        plan_versions(folder)
    assert state(folder) == before


def test_a_plain_pair_may_be_in_two_dialects(tmp_path: Path) -> None:
    folder = write(tmp_path, draft("FooRequest", "request", "0-3", "3+"), RESPONSE | {"flexibleVersions": "none"})
    plan_versions(folder).apply()
    found = read(folder)
    assert found["FooRequest"]["versionsWithOptional"] == "3+"
    assert found["FooResponse"]["versionsWithOptional"] == "4+"
    assert {each["validVersions"] for each in found.values()} == {"0-4"}


def test_the_options_of_the_set_hold(tmp_path: Path) -> None:
    gap = {**FIELD, "taggedVersions": "2+", "versions": "2+", "tag": 7}
    folder = write(tmp_path, REQUEST | {"fields": [gap]}, RESPONSE)
    with pytest.raises(SpecError, match="TW609"):
        plan_versions(folder)
    assert plan_versions(folder, options=SpecOptions(tag_gaps=True)).changed


def test_a_failure_while_writing_leaves_all_as_it_was(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", REQUEST, RESPONSE)
    write(tmp_path / "in", spec("InnerRequest", "request"), spec("InnerResponse", "response"), component="inner")
    out = tmp_path / "out"
    out.mkdir()
    (out / "inner").write_text("in the way")  # where the last ones' folder must be
    plan = plan_versions(folder, out)
    with pytest.raises(TagwireError, match="inner: can't be written"):
        plan.apply()
    assert set(state(out)) == {"inner"}


# ---------------------------------------------------------------- the specs of message_specs/drafts/kip482_rpcs


def test_the_committed_specs_are_what_the_command_makes_of_kafka_2_4_1(tmp_path: Path) -> None:
    with gzip.open(TESTS / "data" / "kip482_rpcs" / "kafka_clients_2_4_1.jsonl.gz", "rt") as lines:
        write(tmp_path / "in", *map(json.loads, lines), component="clients")
    plan = plan_versions(tmp_path / "in", tmp_path / "out", only_new=True)
    plan.apply()
    assert sum(addition.new is not None for addition in plan.additions) == 96
    assert state(tmp_path / "out") == state(RPC_DRAFTS)


def test_the_committed_specs_keep_every_rule() -> None:
    messages = [load(file.path, component=file.component) for file in find_specs(RPC_DRAFTS)]
    assert [message.warnings for message in messages if message.warnings] == []
    assert check_set([message.summary() for message in messages]) == ()
