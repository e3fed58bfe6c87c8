"""Compare tagwire's verdicts on small spec changes with Kafka's own checker (see tests/data/README.md)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tagwire_generator.evolution.check import Baseline, Check
from tagwire_generator.evolution.spec_sources import SpecData, SpecReader
from tagwire_generator.project.options import SpecOptions

CASES = Path(__file__).parents[2] / "data" / "evolution_cases.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
BREAKS = ("error", "wire", "semantic")


def breaks(row: dict[str, Any]) -> bool:
    reader = SpecReader()
    old, new = (
        reader.read([SpecData(f"{side}/{row[side]['name']}.json", "", json.dumps(row[side]).encode())], SpecOptions())
        for side in ("old", "new")
    )
    found = Check(Baseline.of(old), new, is_one_message=True).findings()
    assert all(finding.proof is not None for finding in found if finding.severity == "wire")
    return any(finding.severity in BREAKS for finding in found)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_verdict_agrees_with_the_bytes(row: dict[str, Any]) -> None:
    judgement = row["judgement"]
    assert breaks(row) is (judgement.startswith(("bad", "lint")) or "bad here" in judgement)


def test_counts_of_errors_of_kafkas_checker() -> None:
    """Check that docs/evolution.md states correctly in how many cases Kafka's checker is wrong."""
    accepted = {row["name"] for row in ROWS if row["kafka_checker_patched"] == "accept"}
    broken = {row["name"] for row in ROWS if breaks(row)}
    assert (len(ROWS), len(accepted & broken), len({row["name"] for row in ROWS} - accepted - broken)) == (41, 6, 6)
