"""Check that tagwire and Kafka's message generator accept the same specs, except for documented differences."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tagwire_generator.reading.spec import read_spec

TESTS = Path(__file__).parents[1]
FILE = TESTS / "data" / "kafka_cases" / "validation_cases.jsonl.gz"
CASES: list[dict[str, Any]] = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]

DIFFERENCES = {
    "valid none": None,
    "valid none with field": None,
    "struct tagged-only versions with fields": None,
    "unknown struct key": None,
    "version +5": "TW201",
    "message name weird": "TW206",
    "nonASCII type": "TW301",
    "struct type w symbols": "TW301",
    "names differ by case": "TW303",
    "struct no fields": "TW306",
    "struct array no fields": "TW306",
    "array of struct with 0 fields": "TW311",
    "prim array with fields": "TW408",
    "tag float": "TW111",
    "int32 def 08": "TW502",
    "def int32 0x": "TW502",
    "def uuid dashed": "TW505",
}
"""The cases that either tagwire or Kafka rejects, but not both.

Each is mapped to the tagwire rule that rejects it, or to None if only Kafka rejects it.
"""


def test_cases_include_both_verdicts() -> None:
    verdicts = [case["reference"] for case in CASES]
    assert (verdicts.count("accept"), verdicts.count("reject")) == (63, 99)
    assert DIFFERENCES.keys() <= {case["name"] for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_verdict(case: dict[str, Any]) -> None:
    errors = [problem for problem in read_spec(case["spec_text"]).problems if problem.severity == "error"]
    assert all(problem.line and problem.column for problem in errors)
    if case["name"] in DIFFERENCES:
        rule = DIFFERENCES[case["name"]]
        assert bool(errors) == (case["reference"] == "accept"), "the difference is gone; take it out of both tables"
        assert [problem.rule for problem in errors] == ([rule] if rule else [])
    else:
        assert bool(errors) == (case["reference"] == "reject"), [problem.message for problem in errors]


def test_the_docs_list_the_same_differences_with_reasons() -> None:
    text = (TESTS.parent / "docs" / "spec-language.md").read_text("utf-8")
    section = text.partition("## Differences from the reference generator")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| (rejected|accepted) \| ([^|]*) \| ([^|]+) \|$", section, re.M)
    listed = {case: rule for cases, _, rule, _ in rows for case in re.findall("`([^`]+)`", cases)}
    assert listed == {case: rule or "" for case, rule in DIFFERENCES.items()}
    for _, verdict, rule, reason in rows:
        assert (verdict == "rejected") == bool(rule)
        assert len(reason.split()) > 5
