"""Read the golden files, and add sections for versions that have none.

`python tests/support/golden_files.py` adds missing versions and never changes existing sections. The bytes come from
Kafka's own classes, or else from the independent encoder; tagwire only annotates them.

`golden_bytes/` contains Kafka's messages, and each subfolder contains the messages of a draft. There is a file for each
message, with a section for each version. In files of drafts, each version has a second section without any field set. A
section looks like this:

    === version 3: where the bytes come from
    json {"the": "value", "in": "the lossless JSON form"}
    # the annotated bytes, as `tagwire explain` prints them
"""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import tagwire
from tagwire.explain.text import annotate
from tagwire.sensitive import showing_sensitive

FOLDER = Path(__file__).parents[1] / "golden_bytes"
RPC_DRAFTS = FOLDER / "kip482_rpcs"

Case = tuple[str, dict[str, Any], bytes]
"""A case: where its bytes come from, the value in the lossless JSON form, and the bytes."""
Cases = Callable[[str, int], list[Case]]
"""A function that returns the cases for a message name and a version."""

_TITLE = "=== version "
_HEAD = "Golden bytes of {name}. If a test fails on them, the code is wrong."


@dataclass(frozen=True)
class Golden:
    """A section of a golden file: the golden bytes of one version."""

    version: int
    source: str
    value: dict[str, Any]
    annotation: str


def read_file(path: Path) -> Iterator[Golden]:
    _, *sections = path.read_text(encoding="utf-8").split(_TITLE)
    for section in sections:
        header, value, annotation = section.split("\n", 2)
        version, _, source = header.partition(": ")
        yield Golden(int(version), source, json.loads(value.removeprefix("json ")), annotation.rstrip("\n") + "\n")


def section(cls: type[tagwire.Message], version: int, source: str, value: dict[str, Any], data: bytes) -> str:
    """Return the text of a section, but leave out the "=== version " at the beginning of its title."""
    with showing_sensitive():
        text = annotate(tagwire.trace(cls, data, version)).rstrip("\n")
    return f"{version}: {source}\njson {json.dumps(value, ensure_ascii=True)}\n{text}"


def _version(section: str) -> int:
    return int(section.partition(":")[0])


def add_missing() -> None:
    import tagwire_messages as messages
    from tagwire_drafts import kip482_rpcs

    add_missing_of(messages.registry, FOLDER, best_cases())
    add_missing_of(kip482_rpcs.registry, RPC_DRAFTS, draft_cases("kip482_rpcs"))


def add_missing_of(registry: tagwire.Registry, folder: Path, cases: "Cases") -> None:
    from tagwire_generator.model.spec_names import snake_case

    for name in registry.names():
        cls = registry[name]
        path = folder / f"{snake_case(name)}.txt"
        old = path.read_text(encoding="utf-8") if path.exists() else _HEAD.format(name=name)
        header, *known = (text.rstrip("\n") for text in old.split(_TITLE))
        missing = [version for version in cls.VERSIONS if version not in map(_version, known)]
        new = [section(cls, version, *case) for version in missing for case in cases(name, version)]
        if new:
            folder.mkdir(exist_ok=True)
            sections = sorted([*known, *new], key=_version)
            path.write_text(f"\n\n{_TITLE}".join([header, *sections]) + "\n", encoding="utf-8")


def draft_cases(draft: str) -> "Cases":
    """Return a function that makes two cases per version: one with every field set, and one with none.

    In versions with optional fields, structs of the first case also have an unknown optional field.
    """
    from independent_encoder import bare_value, encode, full_value, within

    specs = {path.stem: path for path in (FOLDER.parents[1] / "message_specs" / "drafts" / draft).rglob("*.json")}

    def cases(name: str, version: int) -> "list[Case]":
        spec = json.loads(specs[name].read_text(encoding="utf-8"))
        full, what = full_value(spec, version), "every field set"
        if within(version, spec.get("versionsWithOptional", "none")):
            full, what = with_unknown_tags(full, count(1)), f"{what}, and an unknown optional one in each struct"
        bare = bare_value(spec, version)
        witness = "the independent encoder"
        return [
            (f"{witness}, {what}", full, encode(spec, version, full)),
            (f"{witness}, nothing set", bare, encode(spec, version, bare)),
        ]

    return cases


def with_unknown_tags(value: Any, numbers: Iterator[int]) -> Any:
    """Add an unknown tag to each struct of a JSON value. Each tag is 40000 plus the next of the `numbers`."""
    if isinstance(value, list):
        return [with_unknown_tags(element, numbers) for element in value]
    if not isinstance(value, dict):
        return value
    number = next(numbers)
    data = base64.b64encode(f"tag {number}".encode()).decode()
    members = {key: with_unknown_tags(member, numbers) for key, member in value.items()}
    return {**members, "_unknownTags": {str(40000 + number): data}}


def best_cases() -> "Cases":
    """Return a function that finds a short example of a message version, with every field set.

    The bytes come from Kafka 4.4.0, from a development version with messages that 4.0 removed, or from the independent
    encoder, in this order.
    """
    from independent_encoder import encode, full_value
    from kafka_cases import present

    import tagwire_messages as messages

    specs = {path.stem: path for path in (FOLDER.parents[1] / "message_specs" / "kafka").rglob("*.json")}
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for row in present("rand"):
        key = row["message"], row["version"]
        if key not in found or _rank(row) > _rank(found[key]):
            found[key] = row
    removed = {
        (messages.registry[row["message"]].NAME, row["version"]): bytes.fromhex(row["hex"])
        for row in present("golden_vectors")
        if row["variant"] == "full"
    }

    def cases(name: str, version: int) -> "list[Case]":
        row = found.get((name, version))
        if row is not None:
            return [(f"Apache Kafka 4.4.0's own classes, {row['variant']}", row["json"], bytes.fromhex(row["hex"]))]
        spec = json.loads(specs[name].read_text(encoding="utf-8"))
        data = removed.get((name, version))
        if data is not None:
            value = messages.registry[name].decode(data, version).to_json(version)
            # Kafka's JSON omits records, so use the value that tagwire decodes if the independent encoder confirms it.
            if encode(spec, version, value) == data:
                return [("Apache Kafka's own classes before 4.0 (trunk at 1eb7644), every field set", value, data)]
        value = full_value(spec, version)
        return [("the independent encoder, every field set", value, encode(spec, version, value))]

    return cases


def _rank(row: dict[str, Any]) -> tuple[bool, bool, int]:
    """Return a sort key for a case. The best case has the highest key.

    Cases of up to 1,500 bytes are better than longer cases. Among them, those with every field set are best.
    """
    size = len(row["hex"]) // 2
    fits = size <= 1500
    return fits and row["variant"] == "full", fits, size if fits else -size


if __name__ == "__main__":
    add_missing()
