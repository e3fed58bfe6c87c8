"""Whether a change that tagwire itself makes to specs keeps everything that was released.

This is checked before the change is written. Differences that exist without the change are not reported,
because an exception may cover them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tagwire.versions import Versions
from tagwire_generator.evolution.check import Baseline, Check
from tagwire_generator.evolution.findings import Finding
from tagwire_generator.evolution.texts import SpecTexts

_DROPPED = ("TW960", "TW961")
"""Dropping is for people to decide, not for a command that adds."""


def lost(released: Iterable[Baseline], before: SpecTexts, after: SpecTexts) -> Iterator[Finding]:
    """What a change from `before` to `after` breaks or drops of what was released, once each.

    The specs of `before` are released as well. Of the others only the messages count that the change has.
    """
    names = {*before.specs, *after.specs, *(alias for spec in after.specs.values() for alias in spec.aliases)}
    told: list[Finding] = []
    for baseline in (Baseline.of(before), *(each.only(names) for each in released)):
        known = Check(baseline, before).findings()
        for finding in Check(baseline, after).findings():
            is_grave = finding.severity in ("error", "wire", "semantic") or finding.rule in _DROPPED
            if is_grave and not any(_covers(other, finding) for other in (*known, *told)):
                told.append(finding)
                yield replace(finding, proof=None)


def _covers(known: Finding, finding: Finding) -> bool:
    """Whether a finding is a known one, in no more versions."""
    if (known.rule, known.message_name, known.path) != (finding.rule, finding.message_name, finding.path):
        return False
    return Versions.parse(finding.versions or "none") <= Versions.parse(known.versions or "none")
