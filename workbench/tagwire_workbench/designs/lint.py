"""Find design flaws in record formats and messages, and inconsistencies between the messages of a set.

All rules run on every spec. `chosen` drops the findings of disabled rules.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tagwire.versions import NONE, Versions
from tagwire_generator.model import MessageSpec
from tagwire_generator.problems import DESIGN_RULES
from tagwire_generator.project.lint_settings import LintSettings
from tagwire_workbench.designs.findings import DesignFinding
from tagwire_workbench.designs.format_lint import lint_format
from tagwire_workbench.designs.message_lint import lint_message


def lint_pairs(specs: Sequence[MessageSpec]) -> Iterator[DesignFinding]:
    """Yield the findings about requests and their responses, and about messages without flexible versions."""
    alive = [spec for spec in specs if spec.valid_versions]
    requests = {(spec.component, spec.api_key): spec for spec in alive if spec.kind == "request"}
    for spec in alive:
        if spec.kind == "response" and spec.api_key is not None:
            request = requests.get((spec.component, spec.api_key))
            if request is not None:
                yield from _pair(request, spec)
    yield from _stiff(alive)


def _pair(request: MessageSpec, response: MessageSpec) -> Iterator[DesignFinding]:
    for rule, key, one, other in (
        ("TL51", "validVersions", request.valid_versions, response.valid_versions),
        ("TL52", "flexibleVersions", *_in_common(request, response)),
        ("TL53", "deprecatedVersions", request.deprecated_versions, response.deprecated_versions),
    ):
        if one != other:
            text = f"{key} is {_version_text(other)}, but {_version_text(one)} in {request.name}"
            yield DesignFinding.of(rule, response, "", text, key)


def _in_common(request: MessageSpec, response: MessageSpec) -> tuple[Versions, Versions]:
    """Return the flexible versions of a request and of its response, but only those that both messages have."""
    both = request.valid_versions & response.valid_versions
    return request.flexible_versions & both, response.flexible_versions & both


def _version_text(versions: Versions) -> str:
    return str(versions) if versions else str(NONE)


def _stiff(specs: Sequence[MessageSpec]) -> Iterator[DesignFinding]:
    """Yield a finding for each message without flexible versions, if other messages of its kind have them."""
    flexible = {spec.kind for spec in specs if spec.flexible_versions & spec.valid_versions}
    for spec in specs:
        if spec.kind in flexible and spec.kind != "header" and spec.dialect != "draft" and not spec.flexible_versions:
            yield DesignFinding.of("TL55", spec, "", f"{spec.name} has no flexible version", "flexibleVersions")


def lint(spec: MessageSpec) -> list[DesignFinding]:
    """Return the findings about a record format or message. A removed message has no findings."""
    if spec.format is not None:
        return list(lint_format(spec))
    return list(lint_message(spec)) if spec.valid_versions else []


def lint_set(specs: Sequence[MessageSpec]) -> list[DesignFinding]:
    """Return the findings about each spec and about pairs of specs, in the order of the specs."""
    found: defaultdict[str, list[DesignFinding]] = defaultdict(list)
    for each in [*(finding for spec in specs for finding in lint(spec)), *lint_pairs(specs)]:
        found[each.file].append(each)
    return [finding for findings in found.values() for finding in findings]


def chosen(
    findings: Iterable[DesignFinding], specs: Iterable[MessageSpec], settings: LintSettings
) -> list[DesignFinding]:
    """Return the findings of enabled rules, with the severities from the settings."""
    extended = {spec.file for spec in specs if spec.is_extended}
    kept = []
    for finding in findings:
        is_default = not DESIGN_RULES[finding.rule].dialect or finding.file in extended
        if settings.takes(finding.rule, is_default=is_default):
            kept.append(finding.graded(settings.severity_of(finding.rule, finding.severity)))
    return kept
