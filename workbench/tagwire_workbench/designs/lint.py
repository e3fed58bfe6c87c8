"""Find flaws of designs: of a record format, of a message, and of messages compared with each other.

The rules report what a design costs its readers and writers. All rules run; `chosen` then keeps the findings that the
settings enable.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tagwire_generator.diagnostics.problems import DESIGN_RULES
from tagwire_generator.model import MessageSpec
from tagwire_generator.project.lint_settings import LintSettings
from tagwire_workbench.designs.findings import Finding
from tagwire_workbench.designs.format_lint import lint_format
from tagwire_workbench.designs.message_lint import lint_message
from tagwire_workbench.designs.set_lint import lint_pairs


def lint(spec: MessageSpec) -> list[Finding]:
    """Return the findings on one record format or message; empty for a message without versions, which was removed."""
    if spec.format is not None:
        return list(lint_format(spec))
    return list(lint_message(spec)) if spec.valid_versions else []


def lint_set(specs: Sequence[MessageSpec]) -> list[Finding]:
    """Return the findings on these specs, individually and compared with each other, in the order of the specs."""
    found: defaultdict[str, list[Finding]] = defaultdict(list)
    for each in [*(finding for spec in specs for finding in lint(spec)), *lint_pairs(specs)]:
        found[each.file].append(each)
    return [finding for findings in found.values() for finding in findings]


def chosen(findings: Iterable[Finding], specs: Iterable[MessageSpec], settings: LintSettings) -> list[Finding]:
    """Return the findings of enabled rules, with the severity in the settings."""
    extended = {spec.file for spec in specs if spec.is_extended}
    kept = []
    for finding in findings:
        is_default = not DESIGN_RULES[finding.rule].dialect or finding.file in extended
        if settings.takes(finding.rule, is_default=is_default):
            kept.append(finding.graded(settings.severity_of(finding.rule, finding.severity)))
    return kept
