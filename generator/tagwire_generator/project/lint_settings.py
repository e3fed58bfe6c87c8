"""The settings in `[tool.tagwire.lint]`, which enable design rules and set their severities.

    [tool.tagwire.lint]
    select = ["TL"]                       # optional: only these; default: all but the tagwire dialect's rules
    ignore = ["TL43", "TL8"]              # optional: none of these
    severity = { TL51 = "error", TL7 = "note" }

Each entry is a rule ID, or a prefix of rule IDs. If several entries match a rule, the longest entry applies, as in
ruff.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from tagwire.errors import SpecError
from tagwire.text_format import suggestion

if TYPE_CHECKING:
    from tagwire_generator.problems import DesignSeverity

_KEYS = ("select", "ignore", "severity")


@dataclass(frozen=True, slots=True, kw_only=True)
class LintSettings:
    """The lint settings. Raises SpecError for a prefix that matches no rule, or an unknown severity."""

    select: tuple[str, ...] = ()
    """The rules to enable, as rule IDs or prefixes of IDs. If empty, the rules that are on by default are enabled."""
    ignore: tuple[str, ...] = ()
    severity: "Mapping[str, DesignSeverity]" = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (self.select or self.ignore or self.severity):
            return  # loading the rules would slow down every command
        from tagwire_generator.problems import DESIGN_RULES, DesignSeverity

        for prefix in (*self.select, *self.ignore, *self.severity):
            if not prefix or not any(rule.startswith(prefix) for rule in DESIGN_RULES):
                hint = suggestion(prefix, list(DESIGN_RULES), "its rules begin with TL, and `tagwire rule` lists them")
                raise SpecError(f"no rule of `tagwire lint` begins with {prefix!r}; {hint}")
        for prefix, severity in self.severity.items():
            if severity not in get_args(DesignSeverity):
                known = ", ".join(get_args(DesignSeverity))
                raise SpecError(f"the severity of {prefix} is {severity!r}; it must be one of {known}")

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> "LintSettings":
        """Parse the settings from a table. Raises SpecError for an unknown key or an invalid value."""
        for key in table:
            if key not in _KEYS:
                raise SpecError(f"the lint settings have no key {key!r}; {suggestion(key, _KEYS)}")
        for key in ("select", "ignore"):
            value = table.get(key, [])
            if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
                raise SpecError(f'`{key}` is {value!r}; it must be a list such as ["TL5", "TL43"]')
        severity = table.get("severity", {})
        if not isinstance(severity, dict):
            raise SpecError(f'`severity` is {severity!r}; it must be a table such as {{ TL51 = "error" }}')
        return cls(select=tuple(table.get("select", ())), ignore=tuple(table.get("ignore", ())), severity=severity)

    def with_options(self, select: Iterable[str], ignore: Iterable[str]) -> "LintSettings":
        """Apply command-line options. `select` replaces both lists of rules, and `ignore` adds rules to ignore."""
        chosen = tuple(select)
        return LintSettings(
            select=chosen or self.select,
            ignore=(*(() if chosen else self.ignore), *ignore),
            severity=self.severity,
        )

    def takes(self, rule: str, *, is_default: bool) -> bool:
        """Return whether a rule is enabled. If the settings select no rules, `is_default` decides."""
        chosen = _longest(self.select, rule)
        if (self.select and not chosen) or (not self.select and not is_default):
            return False
        rejected = _longest(self.ignore, rule)
        return not rejected or len(rejected) < len(chosen)

    def severity_of(self, rule: str, own: "DesignSeverity") -> "DesignSeverity":
        """Return the severity of a rule in these settings. `own` is the rule's default severity."""
        return self.severity.get(_longest(self.severity, rule), own)


def _longest(prefixes: Iterable[str], rule: str) -> str:
    return max((prefix for prefix in prefixes if rule.startswith(prefix)), key=len, default="")
