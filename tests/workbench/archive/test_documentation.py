"""The committed specs say what each message, field, bit and registered number means."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tagwire_generator.syntax.canonical import plain_tree
from tagwire_generator.syntax.parse import parse
from tagwire_workbench.archive.documentation import undocumented

SPECS = Path(__file__).parents[3] / "message_specs"


def texts(part: Any) -> Iterator[str]:
    """All documentation in a part of a spec."""
    for value in part.values() if isinstance(part, dict) else part:
        if isinstance(value, dict | list):
            yield from texts(value)
    if isinstance(part, dict):
        yield from (part[key] for key in ("about", "description") if key in part)


def test_everything_is_documented_in_whole_sentences() -> None:
    missing, fragments = [], []
    for path in sorted(SPECS.rglob("*.json")):
        root = parse(path.read_text(encoding="utf-8"), file=str(path)).root
        assert root is not None, path
        spec = plain_tree(root)
        bits = [bit for field in spec.get("fields", ()) for bit in field.get("bits", ()) if not bit.get("about")]
        entries = [entry["name"] for entry in spec.get("entries", ()) if not entry.get("description")]
        parts = [] if spec["type"] == "register" and spec.get("about") else undocumented(spec)
        missing += [(path.stem, part) for part in (*parts, *bits, *entries)]
        fragments += [(path.stem, text) for text in texts(spec) if not text.endswith((".", " ...")) or "\n" in text]
    assert (missing, fragments) == ([], [])
