"""Every rule about specs: its id, whether it stops generation, and why it is there.

The ids are stable: people put them into settings and search for them. The
first digit groups them: 1 text and keys, 2 message and versions, 3 structs,
4 fields, 5 defaults, 6 tags, 7 the draft dialect, 8 a directory of specs. From
20 on in a group stand the warnings. The words are in `rules.toml`.
"""

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Final, Literal

__all__ = ["RULES", "Rule", "Severity"]

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: `title` says what is found, in one line; `explanation` why it matters and what to do."""

    id: str
    severity: Severity
    title: str
    explanation: str


def _read() -> dict[str, Rule]:
    text = resources.files("tagwire_generator").joinpath("rules.toml").read_text("utf-8")
    return {
        id: Rule(id, "warning" if int(id[3:]) >= 20 else "error", row["title"], row["explanation"])
        for id, row in tomllib.loads(text).items()
    }


RULES: Final[dict[str, Rule]] = _read()
