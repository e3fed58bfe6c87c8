import json
from pathlib import Path
from typing import Any

import pytest

from tagwire_generator.model import MessageSpec
from tagwire_generator.problems import DESIGN_RULES, Finding
from tagwire_generator.reading.spec import load, read_spec
from tagwire_workbench.designs.collide import Design, conflicts

SPECS = Path(__file__).parents[3] / "message_specs"


def spec(path: str) -> MessageSpec:
    return load(SPECS / path)


def facts(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.rule, finding.path) for finding in findings]


def design(name: str, *paths: str) -> Design:
    return Design(name, tuple(spec(path) for path in paths))


PRODUCE = "clients/ProduceRequest.json"
KIP82 = design("kip82", "drafts/kip82_int/records/MessageKip82Int.json", f"drafts/kip82_int/{PRODUCE}")
KIP87 = design("kip87", "drafts/kip87/records/MessageKip87.json", f"drafts/kip87/{PRODUCE}")
V1 = design("v1", "records/MessageV1.json")
V2 = design("v2", "records/RecordBatchV2.json")


def tagged(name: str, component: str = "", **more: Any) -> Design:
    field = {"name": name, "type": "int32", "taggedVersions": "1+", "tag": 0}
    head = {"name": "FooRequest", "type": "request", "apiKey": 7, "validVersions": "0-3", "flexibleVersions": "1+"}
    message = read_spec(json.dumps(head | {"fields": [field]} | more), component=component).message
    assert message is not None
    return Design(name, (message,))


COLLISIONS: list[tuple[list[Design], list[tuple[str, str]]]] = [
    ([KIP82, KIP87], [("TL21", "magic"), ("TL23", "")]),
    ([KIP82, V2], [("TL21", "magic"), ("TL22", "attributes")]),
    ([KIP87, V2], [("TL21", "magic"), ("TL22", "attributes")]),
    ([KIP82, V1], []),
    ([V1, V2], []),
    ([KIP82, KIP82], [("TL23", "")]),
    ([tagged("Bar"), tagged("Baz", validVersions="0-4")], [("TL24", "baz")]),
    ([tagged("Bar"), tagged("Bar", validVersions="0-4")], []),
    ([tagged("Bar"), tagged("Baz", apiKey=8)], []),
    ([tagged("Bar"), tagged("Bar", component="clients")], [("TL23", "")]),
]


@pytest.mark.parametrize(("designs", "expected"), COLLISIONS)
def test_collide(designs: list[Design], expected: list[tuple[str, str]]) -> None:
    assert facts(conflicts(designs)) == expected


@pytest.mark.parametrize("rule", [rule for rule in DESIGN_RULES if rule.startswith("TL2")])
def test_each_collision_has_designs_with_and_without_it(rule: str) -> None:
    assert {any(rule == each for each, _ in expected) for _, expected in COLLISIONS} == {True, False}


def test_finding_names_designs_and_bits() -> None:
    texts = [finding.message for finding in conflicts([KIP87, V2])]
    assert "bit 5 of attributes is is_tombstone in kip87 and is_control in v2" in texts
    assert {finding.as_dict()["severity"] for finding in conflicts([KIP87, V2])} == {"error"}
