"""Check the claims about kafka-python in docs/howto-fuzzing.md with the release named there, if installed."""

import re
import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs/howto-fuzzing.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `((?:[0-9a-f]{2} ?)+)` \| ([^|]+) \|", PAGE, re.MULTILINE)
RELEASE = "3.0.12"


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


@pytest.mark.parametrize(("data", "finding"), ROWS)
def test_findings(harness: Any, data: str, finding: str) -> None:
    assert harness.finding(bytes.fromhex(data)) == finding
    with pytest.raises(AssertionError, match=re.escape(finding)):
        harness.target(bytes.fromhex(data))


def test_the_loop_finds_some(harness: Any, capsys: pytest.CaptureFixture[str]) -> None:
    harness.loop(harness.Mutator(harness.registry, kind="response", prefix="key"), 150, 1)
    assert "writes other bytes than it read" in capsys.readouterr().out
    assert len(ROWS) == 8 and f"kafka-python {RELEASE}" in PAGE
