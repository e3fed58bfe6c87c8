"""Check docs/howto-fuzzing.md's claims about a release of kafka-python, if this release is installed."""

import re
import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/howto-fuzzing.md").read_text(encoding="utf-8")
INPUTS = re.findall(r"^- `((?:[0-9a-f]{2} ?)+)`", PAGE, re.MULTILINE)
FINDINGS = [  # the result of each input in docs/howto-fuzzing.md, in the order of that page
    "rejects valid bytes: error",
    "valid bytes raise AssertionError",
    "writes other bytes than it read",
    "invalid bytes raise IndexError",
    "invalid bytes raise OverflowError",
    "accepts: byte left, expected byte",
    "accepts: tag of byte, expected at most byte (all that is left)",
    "accepts: null, expected a value",
]
RELEASE = "3.0.12"
pytestmark = pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning")


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> Any:
    try:
        found = metadata.version("kafka-python")
    except metadata.PackageNotFoundError:
        found = "not installed"
    if found != RELEASE:
        pytest.skip(f"kafka-python is {found}; the page is about {RELEASE}: pip install kafka-python=={RELEASE}")
    monkeypatch.setattr(sys, "path", [str(ROOT / "examples"), *sys.path])
    return import_module("fuzz_kafka_python")


@pytest.mark.parametrize(("data", "finding"), [*zip(INPUTS, FINDINGS, strict=True)])
def test_findings(harness: Any, data: str, finding: str) -> None:
    assert harness.finding(bytes.fromhex(data)) == finding
    with pytest.raises(AssertionError, match=re.escape(finding)):
        harness.target(bytes.fromhex(data))


def test_fuzzing_loop_finds_known_differences(harness: Any, capsys: pytest.CaptureFixture[str]) -> None:
    harness.loop(harness.Mutator(harness.registry, kind="response", prefix="key"), 150, 1)
    assert "writes other bytes than it read" in capsys.readouterr().out
    assert f"kafka-python {RELEASE}" in PAGE
