"""Read the test cases that were generated with Kafka's own classes. tests/data/README.md describes their origin."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tagwire_messages as messages

DATA = Path(__file__).parents[1] / "data"
FOLDER = DATA / "kafka_cases"


def rows(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def present(name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows whose message version is in the generated package."""
    for row in rows(name):
        if row["message"] in messages.registry and row["version"] in messages.registry[row["message"]].VERSIONS:
            yield row


def label(row: dict[str, Any]) -> str:
    return f"{row['message']} v{row['version']} {row.get('variant') or row.get('kind') or row.get('field') or ''}"
