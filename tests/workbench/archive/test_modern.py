import re
from typing import Any

import pytest
from release_jars import Spec, data, field, release

from tagwire.errors import SpecError
from tagwire_workbench.archive.collect import modern_records
from tagwire_workbench.archive.release import wire_forms


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
    assert {name: found["FooKey"][name] for name in ("type", "apiKey", "validVersions", "flexibleVersions")} == expected
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
