import re
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from release_jars import Spec, data, field, keyed, release

from tagwire.errors import SpecError
from tagwire.versions import Versions
from tagwire_generator.project.history import ReleaseSpan
from tagwire_generator.syntax.canonical import normal_form
from tagwire_workbench.archive.collect import Archive, collected, modern_records
from tagwire_workbench.archive.release import Release
from tagwire_workbench.archive.wire_facts import digest_of, wire_forms

GONE = {"apiKey": 1, "type": "request", "name": "FooRequest", "validVersions": "none"}


def api(key: int, name: str, versions: str = "0") -> Spec:
    return keyed("request", key, name, versions)


def archive(*oldest_first: Release) -> Archive:
    return collected(oldest_first[::-1])


def named(found: Archive) -> dict[str, tuple[str, list[str]]]:
    return {spec.name: (spec.spec["validVersions"], spec.spec.get("aliases", [])) for spec in found.specs}


def spans(found: Archive, name: str, component: str = "clients") -> dict[int, list[str]]:
    versions = found.history.messages[component, name].versions
    return {version: [f"{span.first} {span.last}" for span in spans] for version, spans in versions.items()}


@pytest.mark.parametrize(
    ("older", "newer", "expected"),
    [
        # Messages with the same API key count as one message, even if their names differ.
        ([api(1, "OldRequest", "0-1")], [api(1, "NewRequest", "1-2")], {"NewRequest": ("0-2", ["OldRequest"])}),
        ([api(1, "ARequest")], [api(2, "BRequest")], {"ARequest": ("0", []), "BRequest": ("0", [])}),
        ([api(1, "ARequest")], [keyed("response", 1, "AResponse", "0")],
         {"ARequest": ("0", []), "AResponse": ("0", [])}),
        ([keyed("metadata", 1, "QuotaRecord", "0")], [keyed("metadata", 1, "ClientQuotaRecord", "0-1")],
         {"ClientQuotaRecord": ("0-1", ["QuotaRecord"])}),
        # Messages without an API key match by name. Messages that are equal on the wire also match if one name is a
        # prefix of the other.
        ([data("0", name="Info")], [data("0-1", name="Info")], {"Info": ("0-1", [])}),
        ([data("0-1", field("A"), name="Info")], [data("1", field("B"), name="InfoData")],
         {"InfoData": ("0-1", ["Info"])}),
        ([data("0-1", name="InfoData")], [data("1-2", name="Info")], {"Info": ("0-2", ["InfoData"])}),
        ([data("0", field("A"), name="Info")], [data("0", name="InfoData")],
         {"Info": ("0", []), "InfoData": ("0", [])}),
        ([data("0", name="Info")], [data("1", name="InfoData")], {"Info": ("0", []), "InfoData": ("1", [])}),
        ([data("0", name="Info")], [data("0", name="Other")], {"Info": ("0", []), "Other": ("0", [])}),
        # `Info` and `InfoData` occur in the same release, so they are two messages, not one with a new name.
        ([data("0", name="Info"), data("0-3", name="InfoData")], [data("0", name="Info")],
         {"Info": ("0", []), "InfoData": ("0-3", [])}),
        ([data("0-3", name="InfoData"), data("0", name="Info")], [data("0", name="Info")],
         {"Info": ("0", []), "InfoData": ("0-3", [])}),
        # An API that was removed keeps its history.
        ([api(1, "OldRequest", "0-1")], [GONE], {"FooRequest": ("0-1", ["OldRequest"])}),
        ([GONE], [GONE], {"FooRequest": ("none", [])}),
        ([GONE], [api(1, "NewRequest", "2")], {"NewRequest": ("2", ["FooRequest"])}),
    ],
)  # fmt: skip
def test_a_message_is_found_again(
    older: list[Spec], newer: list[Spec], expected: dict[str, tuple[str, list[str]]]
) -> None:
    assert named(archive(release("2.0", *older), release("3.0", *newer))) == expected


def test_record_keys_are_distinguished_by_component() -> None:
    def one(name: str, component: str, versions: str) -> Release:
        return release(name, keyed("metadata", 1, f"{component.title()}Record", versions), component=component)

    releases = (("1.0", "0"), ("2.0", "1"))
    both = [Release(name, one(name, "raft", v).sources + one(name, "cluster", v).sources) for name, v in releases]
    found = [(spec.component, spec.name, spec.spec["validVersions"]) for spec in archive(*both).specs]
    assert found == [("cluster", "ClusterRecord", "0-1"), ("raft", "RaftRecord", "0-1")]


def test_an_older_name_that_another_message_has_now_is_no_alias() -> None:
    found = archive(
        release("1.0", api(1, "CommitRequest"), api(2, "OtherRequest")),
        release("2.0", api(1, "LegacyCommitRequest"), api(2, "CommitRequest")),
    )
    assert named(found) == {"LegacyCommitRequest": ("0", []), "CommitRequest": ("0", ["OtherRequest"])}


def test_aliases_are_the_older_names_newest_first() -> None:
    steps = [api(1, f"{name}Request") for name in ("A", "B", "A", "C")]
    found = archive(*(release(f"{number}.0", step) for number, step in enumerate(steps, 1)))
    assert named(found) == {"CRequest": ("0", ["ARequest", "BRequest"])}


def test_aliases_in_specs_are_kept() -> None:
    older, newer = data("0", name="Info", aliases=["Oldest"]), data("1", name="Info", aliases=["Middle"])
    assert named(archive(release("1.0", older), release("2.0", newer))) == {"Info": ("0-1", ["Middle", "Oldest"])}


def test_an_older_name_of_two_messages_is_an_alias_of_one() -> None:
    found = archive(
        release("1.0", api(2, "OldRequest")),
        release("2.0", api(1, "OldRequest"), api(2, "BRequest")),
        release("3.0", api(1, "ARequest"), api(2, "BRequest")),
    )
    assert named(found) == {"ARequest": ("0", ["OldRequest"]), "BRequest": ("0", [])}


def test_specs_of_core_follow_their_component() -> None:
    core = release("2.0", data("0-1", field("A"), name="Info"), component="core")
    found = archive(core, release("3.0", data("1", field("A"), name="Info"), component="raft"))
    assert [(spec.component, spec.spec["validVersions"]) for spec in found.specs] == [("raft", "0-1")]


def test_coordinator_records_are_one_before_and_after_4_1() -> None:
    old = [data("2", field("Group", "string"), name="GroupKey"), data("0-1", field("G"), name="GroupValue")]
    new = [
        keyed("coordinator-key", 2, "GroupKey", "0", field("Group", "string")),
        keyed("coordinator-value", 2, "GroupValue", "1", field("G")),
    ]
    found = archive(release("3.9", *old, component="group"), release("4.1", *new, component="group"))
    assert spans(found, "GroupKey", "group") == {0: ["3.9 4.1"]}
    assert spans(found, "GroupValue", "group") == {0: ["3.9 3.9"], 1: ["3.9 4.1"]}


def test_which_releases_have_which_versions() -> None:
    found = archive(
        release("1.0", data("0-1", field("A"))),
        release("1.1", data("0-2", field("A")), data("0", name="Other")),
        release("1.2", data("1-2", field("Renamed"))),
    )
    assert spans(found, "FooData") == {0: ["1.0 1.1"], 1: ["1.0 1.2"], 2: ["1.1 1.2"]}
    assert spans(found, "Other") == {0: ["1.1 1.1"]}
    assert [message.redefined for message in found.history.messages.values()] == [(), ()]


def test_a_version_that_was_away_for_a_release() -> None:
    has, without = data("0-1", field("A")), data("1", field("A"))
    found = archive(release("1.0", has), release("1.1", without), release("1.2", has))
    assert spans(found, "FooData") == {0: ["1.0 1.0", "1.2 1.2"], 1: ["1.0 1.2"]}
    assert found.history.messages["clients", "FooData"].redefined == ()


def test_artifact_missing_from_a_release_is_not_a_gap() -> None:
    def both(name: str) -> Release:
        streams = release(name, data("0", name="Info"), component="streams")
        return Release(name, streams.sources + release(name, data("0")).sources)

    found = archive(both("1.0"), release("1.1", data("0")), both("1.2"))
    assert spans(found, "Info", "streams") == {0: ["1.0 1.2"]}


def test_a_version_that_was_redefined_has_both_layouts_and_the_newest_decides() -> None:
    found = archive(
        release("1.0", data("0", field("OldName"))),
        release("1.1", data("0", field("A"))),
        release("1.2", data("0", field("A", "int64"), field("B"))),
    )
    message = found.history.messages["clients", "FooData"]
    assert message.redefined == (0,)
    assert message.versions[0] == (
        ReleaseSpan("1.0", "1.1", digest_of("int32"), "a int32"),
        ReleaseSpan("1.2", "1.2", digest_of("int64, int32"), "a int64, b int32"),
    )
    assert wire_forms(found.specs[0].spec) == {0: "int64, int32"}


def test_core_without_a_home_is_rejected() -> None:
    core = release("2.0", data("0", name="Info"), component="core")
    for others in ([], [release("3.0", data("0", name="Other"), component="raft")]):
        with pytest.raises(SpecError, match=r"2\.0/Info\.json: the component of Info is unknown"):
            archive(core, *others)


@pytest.mark.parametrize(
    ("older", "newer", "message"),
    [
        ([api(1, "ARequest"), api(1, "BRequest")], [],
         "2.0/BRequest.json: release 2.0 has two messages with the same API key or name: BRequest and ARequest"),
        ([api(1, "ARequest"), api(1, "BRequest")], [api(1, "CRequest")],
         "same API key or name: BRequest and ARequest (2.0/ARequest.json); remove one"),
        ([api(1, "ARequest")], [api(2, "ARequest")],
         "2.0/ARequest.json: ARequest is a different message in newer releases: the message in 3.0/ARequest.json has"),
        ([data("0", name="Info")], [data("0", name="Info", type="header")],
         "2.0/Info.json: Info is a different message in newer releases: the message in 3.0/Info.json has"),
        ([data("0")], [data("2")], "2.0/FooData.json can't be merged into newer releases: FooData: validVersions"),
        # The two releases have the fields in different orders.
        ([data("0", field("A"), field("B", "int8"))], [data("1", field("B", "int8"), field("A"))],
         "FooData version 0 has the fields [int32, int8] in release 2.0, but [int8, int32] after merging"),
        # The newer release has a single field in place of the two older fields.
        ([data("0-2", field("A", versions="0-1"), field("B", versions="2+"))], [data("1-2", field("Both"))],
         "FooData version 0 has the fields [int32] in release 2.0, but [] after merging"),
    ],
)  # fmt: skip
def test_releases_that_are_no_archive_are_rejected(older: list[Spec], newer: list[Spec], message: str) -> None:
    releases = [release("2.0", *older), *([release("3.0", *newer)] if newer else [release("3.0", data("9"))])]
    with pytest.raises(SpecError, match=re.escape(message)):
        archive(*releases)


_TYPES = ("int32", "string", "bytes", "[]int8", "[]string", "Inner", "[]Part")
_STEPS = st.sampled_from(["add", "add", "tag", "end", "rename", "rename struct", "nullable", "drop", "nothing"])


@st.composite
def histories(draw: st.DrawFn) -> list[Spec]:
    """Draw three or four releases of a message, oldest first, with changes that the evolution rules allow."""
    spec: dict[str, Any] = {"type": "data", "name": "FooData", "validVersions": "0-1", "flexibleVersions": "1+"}
    names = map("F{}".format, count())
    spec["fields"] = [_field(draw, names, "0+") for _ in range(draw(st.integers(1, 3)))]
    low, high, found = 0, 1, list[Spec]()
    for number in range(draw(st.integers(3, 4))):
        before = high
        for step in draw(st.lists(_STEPS, max_size=4)) if number else []:
            if step == "drop":
                # Keep at least one version of the previous release, so that renamed fields can be recognized.
                low = min(low + 1, before)
                continue
            high += step != "nothing"
            _change(draw, names, spec["fields"], step, high)
        valid = Versions(low, high)
        spec["validVersions"] = str(valid)
        # Rule TW310 rejects fields that no valid version has.
        spec["fields"] = [each for each in spec["fields"] if Versions.parse(each["versions"]) & valid]
        used = any(each["type"] == "[]Part" for each in spec["fields"])
        spec["commonStructs"] = [{"name": "Part", "versions": "0+", "fields": [field("P")]}] if used else []
        found.append(normal_form(spec))
    return found


def _field(draw: st.DrawFn, names: Iterator[str], versions: str) -> Spec:
    kind, name = draw(st.sampled_from(_TYPES)), next(names)
    if kind == "Inner":
        return field(name, f"S{name}", versions, fields=[field("A", versions=versions), field("B", "string", versions)])
    return field(name, kind, versions)


def _change(draw: st.DrawFn, names: Iterator[str], fields: list[Spec], step: str, version: int) -> None:
    plain = [each for each in fields if "tag" not in each and each["versions"].endswith("+")]
    index = draw(st.integers(0, len(fields)))
    if step == "add":
        fields.insert(index, _field(draw, names, f"{version}+"))
    elif step == "tag":
        tag = sum("tag" in each for each in fields)
        keys = {"tag": tag, "taggedVersions": f"{version}+"}
        fields.insert(index, field(next(names), "string", f"{version}+", **keys))
    elif plain:
        chosen = draw(st.sampled_from(plain))
        if step == "end" and len(plain) > 1:
            chosen["versions"] = chosen["versions"].replace("+", f"-{version - 1}")
        elif step == "rename":
            chosen["name"] = next(names)
        elif step == "rename struct" and "fields" in chosen:
            chosen["type"] = f"S{next(names)}"
        elif step == "nullable" and chosen["type"] != "int32" and "nullableVersions" not in chosen:
            chosen["nullableVersions"] = f"{version}+"


@settings(max_examples=150)
@given(histories())
def test_every_version_has_the_bytes_of_the_newest_release_that_has_it(oldest_first: list[Spec]) -> None:
    expected: dict[int, str] = {}
    for spec in oldest_first:
        expected |= wire_forms(spec)
    found = archive(*(release(f"{number}.0", spec) for number, spec in enumerate(oldest_first, 1)))
    [merged] = found.specs
    assert wire_forms(merged.spec) == expected
    [history] = found.history.messages.values()
    assert {version: spans[-1].digest for version, spans in history.versions.items()} == {
        version: digest_of(text) for version, text in expected.items()
    }
    assert history.redefined == ()


def modern(*specs: Spec, component: str = "group") -> dict[str, Spec]:
    found = modern_records(release("3.9.0", *specs, component=component).specs)
    assert all(spec.name == spec.spec["name"] for spec in found)
    return {spec.name: spec.spec for spec in found}


GROUP = field("Group", "string")


def test_a_key_is_its_version_of_the_old_spec() -> None:
    key = data("2", GROUP, field("Gone", versions="0-1"), field("New", versions="2+"), name="FooKey")
    value = data("0-3", field("Generation"), name="FooValue", flexible="3+")
    found = modern(key, value)
    assert list(found) == ["FooKey", "FooValue"]
    expected = {"type": "coordinator-key", "apiKey": 2, "validVersions": "0", "flexibleVersions": "none"}
    assert found["FooKey"].items() >= expected.items()
    assert [(each["name"], each["versions"]) for each in found["FooKey"]["fields"]] == [("Group", "0"), ("New", "0")]
    assert wire_forms(found["FooKey"]) == {0: wire_forms(key)[2]}
    assert (found["FooValue"]["type"], found["FooValue"]["apiKey"]) == ("coordinator-value", 2)
    assert wire_forms(found["FooValue"]) == wire_forms(value)


def test_key_with_two_types_becomes_two_keys() -> None:
    members = [field("Index"), field("Rack", "string", nullableVersions="1+")]
    parts = {"name": "Part", "versions": "1", "fields": members}
    old = data("0-1", GROUP, field("Parts", "[]Part", "1"), name="FooKey", commonStructs=[parts])
    found = modern(old, data("0-1", name="FooValue"))
    expected = [("LegacyFooKey", 0), ("FooKey", 1), ("FooValue", 1)]
    assert [(name, spec["apiKey"]) for name, spec in found.items()] == expected
    assert wire_forms(found["LegacyFooKey"])[0] == wire_forms(old)[0] == "string"
    assert wire_forms(found["FooKey"])[0] == wire_forms(old)[1] == "string, []{int32, string?}"


@pytest.mark.parametrize(
    ("specs", "component"),
    [
        # the component "clients" has no coordinator records
        ([data("3", GROUP, name="FooKey"), data("0", name="FooValue")], "clients"),
        ([data("3", GROUP, name="FooRecord"), data("0", name="FooValue")], "group"),  # a value without its key
        ([data("none", name="FooKey"), data("0", name="FooValue")], "group"),  # a removed key has no versions
        ([data("0", GROUP, name="FooKey", type="coordinator-key", apiKey=3)], "group"),  # already as in Kafka 4.1
    ],
)
def test_everything_else_is_left_alone(specs: list[Spec], component: str) -> None:
    assert list(modern(*specs, component=component).values()) == specs


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"versions": "0-2"}, "FooKey has 3 record types, one in each of the versions 0-2"),
        ({"versions": "0", "flexible": "0+"}, "the key FooKey has flexibleVersions '0+'; keys of coordinator records"),
    ],
)
def test_keys_unlike_kafkas_are_rejected(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)) as caught:
        modern(data(**keys, name="FooKey"))
    assert caught.value.file == "3.9.0/FooKey.json"
