from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tagwire_messages
from tagwire.explain.names import abouts
from tagwire_generator.syntax.canonical import plain_tree
from tagwire_generator.syntax.parse import parse
from tagwire_records import RecordBatchV2
from tagwire_workbench.archive.importer import undocumented

SPECS = Path(__file__).parents[3] / "message_specs"


def texts(part: Any) -> Iterator[str]:
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


@pytest.mark.parametrize(
    ("cls", "path", "text"),
    [
        (tagwire_messages.HeartbeatRequest, "", "A member of a classic group tells the coordinator that it is alive."),
        (tagwire_messages.FetchRequest, "topics.partitions.partition", "The partition's number in its topic, "),
        (RecordBatchV2, "producer_epoch", "The producer's epoch, or -1."),
        # `batch_length` is computed, so the class has no such attribute, but it must still be documented.
        (RecordBatchV2, "batch_length", "How many bytes of the batch follow."),
    ],
)
def test_programs_find_it_in_generated_classes(cls: type, path: str, text: str) -> None:
    assert abouts(cls)[path].startswith(text)
