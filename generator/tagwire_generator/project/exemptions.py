"""Apply the entries of [[tool.tagwire.exceptions]], which excuse findings until they expire.

Findings are about changes (`tagwire breaking`) or designs (`tagwire lint`). Each command only uses the entries for its
own rules. Entries that have expired, or that match no finding, are reported.
"""

import datetime
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tagwire.versions import Versions
from tagwire_generator.project.settings import Exemption


class _Found(Protocol):
    """The properties of a finding that are compared with the entries of [[tool.tagwire.exceptions]]."""

    @property
    def rule(self) -> str: ...
    @property
    def message_name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def versions(self) -> str: ...


F = TypeVar("F", bound=_Found)


@dataclass(frozen=True, slots=True)
class Excused(Generic[F]):
    """A finding, and the entry that excuses the finding."""

    finding: F
    exemption: Exemption


@dataclass(frozen=True, slots=True)
class Judgement(Generic[F]):
    """The result of `judge`: findings that no entry excuses, excused findings, and warnings about entries."""

    findings: tuple[F, ...]
    excused: tuple[Excused[F], ...]
    warnings: tuple[str, ...]
    """Sentences about entries that have expired or match no finding."""


def judge(
    findings: Iterable[F],
    exemptions: Sequence[Exemption],
    today: datetime.date,
    names: Collection[str] | None = None,
) -> Judgement[F]:
    """Split findings into those that an exception entry excuses, and the others.

    `names` lists the messages that were checked; None means all. Entries for other messages are not reported as unused.
    """
    left: list[F] = []
    excused: list[Excused[F]] = []
    expired: dict[int, int] = {}
    used: set[int] = set()
    for finding in findings:
        fitting = [number for number, exemption in enumerate(exemptions) if _fits(exemption, finding)]
        used |= {*fitting}
        valid = next((number for number in fitting if _counts(exemptions[number], today)), None)
        if valid is not None:
            excused.append(Excused(finding, exemptions[valid]))
            continue
        left.append(finding)
        for number in fitting:
            expired[number] = expired.get(number, 0) + 1
    warnings = [f"{_named(exemptions[number])} expired on {exemptions[number].until}" for number in sorted(expired)]
    idle = (
        each
        for number, each in enumerate(exemptions)
        if number not in used and (names is None or each.message in names)
    )
    warnings += [f"{_named(each)} excuses nothing; remove it" for each in idle]
    return Judgement(tuple(left), tuple(excused), tuple(warnings))


def _fits(exemption: Exemption, finding: _Found) -> bool:
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
