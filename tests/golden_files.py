"""The golden files: how they are laid out, read, and (where a version has none) made.

`python tests/golden_files.py` adds the versions that have no golden bytes yet,
and touches nothing else: golden bytes are never made to fit the code. Bytes
come from Kafka's own classes, or from the independent encoder where those have
none; our own code only annotates them.

A file holds a message, a section a version:

    === version 3: where the bytes come from
    json {"the": "value", "in": "the lossless JSON form"}
    # the annotated bytes, as `tagwire explain` prints them
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tagwire
from tagwire.annotations import annotate

__all__ = ["FOLDER", "Golden", "read_file"]

FOLDER = Path(__file__).parent / "golden_bytes"
_TITLE = "=== version "
_HEAD = "Golden bytes of {name}. If a test fails on them, the code is wrong."


@dataclass(frozen=True)
class Golden:
    """The golden bytes of one version."""

    version: int
    source: str
    value: dict[str, Any]
    annotation: str


def read_file(path: Path) -> Iterator[Golden]:
    """The sections of a golden file."""
    _, *sections = path.read_text(encoding="utf-8").split(_TITLE)
    for section in sections:
        head, value, annotation = section.split("\n", 2)
        version, _, source = head.partition(": ")
        yield Golden(int(version), source, json.loads(value.removeprefix("json ")), annotation.rstrip("\n") + "\n")


def section(cls: type[tagwire.Message], version: int, source: str, value: dict[str, Any], data: bytes) -> str:
    """The text of a section."""
    text = annotate(tagwire.trace(cls, data, version)).rstrip("\n")
    return f"{_TITLE}{version}: {source}\njson {json.dumps(value, ensure_ascii=True)}\n{text}\n"


def add_missing() -> None:
    """Add a section for each version of each message that has none."""
    import tagwire_messages as messages
    from tagwire_generator.naming import snake_case

    cases = best_cases()
    for name in messages.registry.names():
        cls = messages.registry[name]
        path = FOLDER / f"{snake_case(name)}.txt"
        old = path.read_text(encoding="utf-8").rstrip("\n") if path.exists() else _HEAD.format(name=name)
        known = {golden.version for golden in read_file(path)} if path.exists() else set()
        new = [section(cls, version, *cases(name, version)) for version in cls.VERSIONS if version not in known]
        if new:
            path.write_text("\n\n".join([old, *(text.rstrip("\n") for text in new)]) + "\n", encoding="utf-8")


def best_cases() -> Any:
    """The case to take for a message and version: every field set, and not too long to read."""
    from independent_encoder import encode, full_value
    from kafka_cases import present

    specs = {path.stem: path for path in (FOLDER.parents[1] / "message_specs" / "kafka").rglob("*.json")}
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for row in present("rand"):
        key = row["message"], row["version"]
        if key not in found or _rank(row) > _rank(found[key]):
            found[key] = row

    def case(name: str, version: int) -> tuple[str, dict[str, Any], bytes]:
        row = found.get((name, version))
        if row is not None:
            return f"Apache Kafka 4.4.0's own classes, {row['variant']}", row["json"], bytes.fromhex(row["hex"])
        spec = json.loads(specs[name].read_text(encoding="utf-8"))
        value = full_value(spec, version)
        return "the independent encoder, every field set", value, encode(spec, version, value)

    return case


def _rank(row: dict[str, Any]) -> tuple[bool, bool, int]:
    """Every field set beats all; then what is short enough; then the longest."""
    size = len(row["hex"]) // 2
    fits = size <= 1500
    return fits and row["variant"] == "full", fits, size if fits else -size


if __name__ == "__main__":
    add_missing()
