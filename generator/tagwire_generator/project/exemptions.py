"""Read and apply the entries of [[tool.tagwire.exceptions]], which excuse findings until they expire.

Findings are about changes (`tagwire breaking`) or designs (`tagwire lint`). Each command only uses the entries for its
own rules. Entries that have expired, or that match no finding, are reported.
"""

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tagwire.errors import SpecError, VersionsError
from tagwire.versions import Versions
from tagwire_generator.problems import CHANGE_RULES, DESIGN_RULES, Finding
from tagwire_generator.project.options import shown

EXCEPTION_KEYS: Final = ("rule", "message", "path", "versions", "reason", "until")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """An entry of [[tool.tagwire.exceptions]], which allows a change or design that a rule would report."""

    rule: str
    message: str
    reason: str
    until: datetime.date | None
    """The last day on which the entry applies, or None if it never expires."""
    path: str | None = None
    """The field to which the entry applies. None means all fields, and "" means the message itself."""
    versions: Versions | None = None
    """The versions to which the entry applies, or None if it applies to all versions."""

    @classmethod
    def from_mapping(cls, row: Mapping[str, Any]) -> "Exemption":
        """Parse an entry from a table. Raises SpecError for an invalid value. The caller rejects unknown keys."""
        for key in ("rule", "message", "reason"):
            if not isinstance(row.get(key), str) or not row[key].strip():
                raise SpecError(
                    f"`{key}` is {shown(row.get(key))}; this key is required, and its value must be a string"
                )
        if row["rule"] not in CHANGE_RULES and row["rule"] not in DESIGN_RULES:
            changes, designs = (f"{min(rules)} to {max(rules)}" for rules in (CHANGE_RULES, DESIGN_RULES))
            known = f"it must be a change rule ({changes}) or a design rule ({designs})"
            raise SpecError(f"`rule` is {row['rule']!r}; {known}")
        path = row.get("path")
        if path is not None and not isinstance(path, str):
            raise SpecError(f"`path` is {path!r}; it must be a string such as 'topics.name'")
        values = {key: row[key] for key in ("rule", "message", "reason")}
        return cls(**values, path=path, until=_until(row.get("until")), versions=_versions(row.get("versions")))


def _until(value: object) -> datetime.date | None:
    if value == "never":
        return None
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    raise SpecError(f"`until` is {shown(value)}; write the last day of the exception, such as 2027-01-31, or 'never'")


def _versions(value: object) -> Versions | None:
    if value is None:
        return None
    try:
        return Versions.parse(value if isinstance(value, str) else repr(value))
    except VersionsError as error:
        raise SpecError(f"`versions`: {error}") from error


@dataclass(frozen=True, slots=True)
class Excused:
    """A finding, and the entry that excuses the finding."""

    finding: Finding
    exemption: Exemption


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of `judge`: findings that no entry excuses, excused findings, and warnings about entries."""

    findings: tuple[Finding, ...]
    excused: tuple[Excused, ...]
    warnings: tuple[str, ...]
    """Sentences about entries that have expired or match no finding."""


def judge(
    findings: Iterable[Finding],
    exemptions: Sequence[Exemption],
    today: datetime.date,
    names: Collection[str] | None = None,
) -> Judgement:
    """Split findings into those that an exception entry excuses, and the others.

    `names` lists the messages that were checked; None means all. Entries for other messages are not reported as unused.
    """
    left: list[Finding] = []
    excused: list[Excused] = []
    expired: set[int] = set()
    used: set[int] = set()
    for finding in findings:
        fitting = [number for number, exemption in enumerate(exemptions) if _fits(exemption, finding)]
        used |= {*fitting}
        valid = next((number for number in fitting if _counts(exemptions[number], today)), None)
        if valid is not None:
            excused.append(Excused(finding, exemptions[valid]))
        else:
            left.append(finding)
            expired |= {*fitting}
    warnings = [f"{_named(exemptions[number])} expired on {exemptions[number].until}" for number in sorted(expired)]
    idle = (
        each
        for number, each in enumerate(exemptions)
        if number not in used and (names is None or each.message in names)
    )
    warnings += [f"{_named(each)} excuses nothing; remove it" for each in idle]
    return Judgement(tuple(left), tuple(excused), tuple(warnings))


def _fits(exemption: Exemption, finding: Finding) -> bool:
    if (exemption.rule, exemption.message) != (finding.rule, finding.message_name):
        return False
    if exemption.path is not None and exemption.path != finding.path.replace("[]", ""):
        return False
    if exemption.versions is None:
        return True
    return bool(finding.versions) and Versions.parse(finding.versions) <= exemption.versions


def _counts(exemption: Exemption, today: datetime.date) -> bool:
    return exemption.until is None or today <= exemption.until


def _named(exemption: Exemption) -> str:
    location = f" {exemption.path}" if exemption.path else ""
    return f"the exception for {exemption.rule} in {exemption.message}{location} ({exemption.reason})"
