"""Every rule with its id, its severity and its reason. The texts are in `rules.toml`.

The ids are stable, because people put them into settings and search for them. The first digit is the
group: 0 record formats and registers, 1 text and keys, 2 message and versions, 3 structs, 4 fields, 5
defaults, 6 tags, 7 dialects, 8 a directory of specs. In each group, warnings begin at 20.

Group 9 is about changes of released versions. There, each block of twenty has its own severity, the
gravest first.

The rules from TL01 on are about the design of valid specs. Each has a severity, which settings may
change.
"""

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Final, Generic, Literal, TypeVar, cast, get_args

Severity = Literal["error", "warning"]

DesignSeverity = Literal["error", "warning", "note"]
"""error: what readers or writers can't live with; warning: what costs them; note: what is so and is known."""

Impact = Literal["wire", "semantic", "source", "policy"]
"""What a change breaks, the gravest first.

wire: the bytes of a released version; semantic: what they mean; source: the
code that uses the classes, or the JSON; policy: nothing, but somebody may
have counted on it.
"""

S = TypeVar("S", bound=str)


@dataclass(frozen=True, slots=True)
class Rule(Generic[S]):
    """A rule: `title` says what is found, in one line; `explanation` why it matters and what to do."""

    id: str
    severity: S
    title: str
    explanation: str
    dialect: str = ""
    """Where a rule about designs is on unless settings say otherwise; "" for everywhere."""


def _severity(number: int) -> Severity:
    return "warning" if number >= 20 else "error"


def _impact(number: int) -> Impact:
    impacts: tuple[Impact, ...] = get_args(Impact)
    return impacts[number // 20]


def _rows() -> dict[str, dict[str, str]]:
    return tomllib.loads(resources.files("tagwire_generator.diagnostics").joinpath("rules.toml").read_text("utf-8"))


_ROWS: Final = _rows()

RULES: Final[dict[str, Rule[Severity]]] = {
    id: Rule(id, cast(Severity, row.get("severity") or _severity(int(id[3:]))), row["title"], row["explanation"])
    for id, row in _ROWS.items()
    if id.startswith("TW") and not id.startswith("TW9")
}
"""The rules about a spec, and about a directory of them."""

CHANGE_RULES: Final[dict[str, Rule[Impact]]] = {
    id: Rule(id, _impact(int(id[3:])), row["title"], row["explanation"])
    for id, row in _ROWS.items()
    if id.startswith("TW9")
}
"""The rules about what a new spec does to the versions that an old one released."""

DESIGN_RULES: Final[dict[str, Rule[DesignSeverity]]] = {
    id: Rule(id, cast(DesignSeverity, row["severity"]), row["title"], row["explanation"], row.get("dialect", ""))
    for id, row in _ROWS.items()
    if id.startswith("TL")
}
"""The rules about designs: record formats, messages, and several designs that claim the same thing."""
