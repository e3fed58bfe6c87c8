"""The examples of each rule: specs that violate the rule and specs that don't.

The examples in `rule_examples.toml` are as short as possible. The tests expand them to whole specs.
"""

import re
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final


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


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


_ROWS: Final = tomllib.loads(resources.files("tagwire_generator").joinpath("rule_examples.toml").read_text("utf-8"))

EXAMPLES: Final[dict[str, Example]] = {
    id: Example(id, **{key: _stripped(value) for key, value in row.items()}) for id, row in _ROWS.items()
}
