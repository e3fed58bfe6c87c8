"""The examples of each rule: specs that violate the rule and specs that don't.

The examples in `rule_examples.toml` are as short as possible. `spec_texts` expands them to whole specs for the tests.
"""

import re
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

_MESSAGE: Final = {
    "name": '"Sample"',
    "type": '"data"',
    "validVersions": '"0-3"',
    "flexibleVersions": '"1+"',
    "fields": "[]",
}
_REGISTER: Final = {"name": '"Sample"', "type": '"register"', "keys": '"uint32"', "entries": "[]"}
_FORMAT: Final = {"name": '"Sample"', "type": '"format"', "format": '"sample"', "fields": "[]"}


@dataclass(frozen=True, slots=True)
class Example:
    """Specs that violate a rule (`bad`), and specs that don't (`good`)."""

    rule: str
    bad: str
    good: str
    old: str = ""
    """The released spec that `bad` and `good` change, or "" if the rule is not about changes to specs."""
    whole: bool = False
    """Whether the examples are whole specs instead of abbreviated ones."""
    file: bool = False
    """True if `bad` and `good` only describe a file in words, because its content is too long or not text."""


def _read() -> dict[str, Example]:
    text = resources.files("tagwire_generator").joinpath("rule_examples.toml").read_text("utf-8")
    rows = tomllib.loads(text)
    return {id: Example(id, **{key: _stripped(value) for key, value in row.items()}) for id, row in rows.items()}


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def example_lines(text: str) -> list[str]:
    """Split an example into lines, for printing. An example on one line is split at its outermost commas."""
    if "\n" in text:
        return text.splitlines()
    lines, depth, start = list[str](), 0, 0
    for found in re.finditer(r"[\[{]|[\]}]|, ", text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if found[0] == ", " and not depth:
            lines.append(text[start : found.end() - 1])
            start = found.end()
    return [*lines, text[start:]]


def spec_texts(example: Example, text: str) -> dict[str, str]:
    """Expand an abbreviated example to whole specs. Return their texts by file name."""
    if example.whole:
        return {"Sample.json": text}
    base = _base(example.rule)
    if not text.partition(":")[0].endswith(".json"):
        return {"Sample.json": _spec(base, text)}
    files: dict[str, str] = {}
    for line in text.splitlines():
        name, _, keys = line.partition(": ")
        stem = name.rpartition("/")[2].removesuffix(".json")
        own = _REGISTER if '"type": "register"' in keys else base
        files[name] = _spec(own | {"name": f'"{stem}"'}, keys.strip()[1:-1].strip())
    return files


def _base(rule: str) -> dict[str, str]:
    if rule in ("TW012", "TW013", "TW014", "TW015", "TW016"):
        return _REGISTER
    return _FORMAT if rule.startswith(("TW0", "TW914", "TL0", "TL21", "TL22")) else _MESSAGE


def _spec(base: dict[str, str], text: str) -> str:
    if not text.startswith('"'):
        return _spec(base, f'"fields": [ {text} ]')
    has_none = ('"versionsWithOptional"', '"type": "struct"')
    given = {"flexibleVersions"} if any(each in text for each in has_none) else set[str]()
    given |= _outer_keys(text)
    kept = ", ".join(f'"{key}": {value}' for key, value in base.items() if key not in given)
    return "{ " + ", ".join(filter(None, [kept, text])) + " }"


def _outer_keys(text: str) -> set[str]:
    depth, keys = 0, set[str]()
    for found in re.finditer(r'[\[{]|[\]}]|"(\w+)":', text):
        if found[1] and not depth:
            keys.add(found[1])
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
    return keys


EXAMPLES: Final[dict[str, Example]] = _read()
