from pathlib import Path

import pytest

from tagwire_generator.model import MessageSpec
from tagwire_generator.problems import DESIGN_RULES, Finding
from tagwire_generator.reading.spec import load
from tagwire_workbench.designs.lint import lint

SPECS = Path(__file__).parents[3] / "message_specs"


def spec(path: str) -> MessageSpec:
    return load(SPECS / path)


def facts(findings: list[Finding]) -> list[str]:
    return [f"{finding.rule} {finding.path}" for finding in findings]


LINTED = {
    "records/MessageV0.json": [],
    "records/MessageV1.json": [],
    "records/RecordBatchV2.json": ["TL03 max_timestamp"],
    "drafts/kip82_int/records/MessageKip82Int.json": ["TL05 headers", "TL07 headers"],
    "drafts/kip82_int_kip87/MessageKip82IntKip87.json": ["TL05 headers", "TL07 headers"],
    "drafts/kip87/records/MessageKip87.json": [],
    "drafts/kip82_str/RecordBatchKip82Str.json": ["TL03 max_timestamp", "TL04 messages[].key", "TL04 messages[].value"],
    "drafts/smaller_batches/RecordBatchV3.json": [
        "TL01 magic",
        "TL02 max_timestamp_delta",
        "TL08 base_timestamp",
        "TL08 max_timestamp_delta",
    ],
    "drafts/smaller_batches/RecordBatchV3Zigzag.json": [
        "TL01 magic",
        "TL02 max_timestamp_delta",
        "TL06 batch_length",
        "TL06 batch_length",
        "TL06 last_offset_delta",
    ],
}


@pytest.mark.parametrize("path", LINTED)
def test_lint(path: str) -> None:
    assert facts(lint(spec(path))) == LINTED[path]


def test_v2_has_only_a_note() -> None:
    assert {finding.severity for finding in lint(spec("records/RecordBatchV2.json"))} == {"note"}


@pytest.mark.parametrize("rule", [rule for rule in DESIGN_RULES if rule < "TL2"])
def test_each_rule_has_one_that_passes_and_one_that_does_not(rule: str) -> None:
    found = {any(each.startswith(rule) for each in findings) for findings in LINTED.values()}
    assert found == {True, False}


def test_every_rule_has_a_description_and_a_reason() -> None:
    for rule in DESIGN_RULES.values():
        assert rule.title and not rule.title.endswith(".") and rule.explanation.endswith(".")
        assert rule.severity in ("error", "warning", "note")
