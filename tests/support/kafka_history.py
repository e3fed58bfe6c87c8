"""The page `docs/kafka-history.md`: how each release of Kafka changed the bytes of the release before it.

`python tests/support/kafka_history.py JAR...` writes it, from the jars of the archive
(`make archive` gets them). The tables hold what `tagwire breaking` finds between
the specs of each release and those of the release before. Only the sentences
around them are written here.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from tagwire.versions import Versions
from tagwire_generator.evolution import Finding, compare_specs
from tagwire_generator.model import MessageSpec
from tagwire_workbench.archive.collect import modern_releases
from tagwire_workbench.archive.release import message_of, read_releases

__all__ = ["PAGE", "page"]

PAGE: Final = Path(__file__).parents[2] / "docs" / "kafka-history.md"

Specs = Mapping[str, Sequence[MessageSpec]]
"""The messages of each release, oldest first."""


class Alarm(NamedTuple):
    """What Kafka's own checker refuses between two releases."""

    release: str
    messages: tuple[str, ...]
    what: str


# From a run of the checker of the trunk of October 2024 (1eb7644), with its one-word crash fixed, over all pairs of
# releases from 3.0 to that commit; RequestHeader, which it always rejects, is left out.
ALARMS: Final = (
    Alarm("3.1.2", ("MetadataResponse",), "a field became nullable in a new version"),
    Alarm("3.2.3", ("PartitionRecord", "PartitionChangeRecord"), "a tagged field was added"),
    Alarm("3.3.2", ("FeatureLevelRecord",), "a field was removed from version 0"),
    Alarm("3.4.1", ("ApiVersionsResponse",), "a tagged field was added"),
    Alarm("3.5.2", ("UserScramCredentialRecord",), "the fields of version 0 were replaced"),
    Alarm("3.6.2", ("DelegationTokenRecord",), "a field was added to version 0"),
    Alarm(
        "3.6.2",
        (
            "RemoteLogSegmentMetadataRecord",
            "RemoteLogSegmentMetadataSnapshotRecord",
            "RemoteLogSegmentMetadataUpdateRecord",
        ),
        "a field was added to version 0 without a tag",
    ),
    Alarm("3.6.2", ("UpdateMetadataRequest",), "a tagged field was added"),
    Alarm("3.6.2", ("GroupMetadataValue",), "a default changed"),
    Alarm("3.9.2", ("CreateTopicsRequest",), "the name of a struct was corrected"),
    Alarm("4.0.2", ("TransactionLogValue",), "tagged fields were added"),
    Alarm("4.0.2", ("ShareGroupPartitionMetadataValue",), "the fields of version 0 were replaced"),
)


def read(jars: Sequence[Path]) -> Specs:
    """The messages of each release, in the form of today."""
    found: dict[str, list[MessageSpec]] = {}
    for name, specs in modern_releases(read_releases(jars)):
        found[name] = [replace(message_of(spec.spec), component=spec.component) for spec in specs]
    return dict(reversed(found.items()))


def page(specs: Specs) -> str:
    """The text of the page."""
    findings = {(old, new): compare_specs(specs[old], specs[new]) for old, new in pairwise(specs)}
    by_release = {new: found for (_, new), found in findings.items()}
    blocks = [
        _head(specs),
        "## What changed in place\n",
        _IN_PLACE,
        "\n".join(_in_place_rows(by_release)) + "\n",
        "## Defaults that changed\n",
        _DEFAULTS,
        "\n".join(_default_rows(by_release)) + "\n",
        "## What Kafka's own checker rejects\n",
        _ALARMS,
        "\n".join(_alarm_rows(by_release)) + "\n",
        "## Release by release\n",
        *(_release(old, new, found) for (old, new), found in findings.items()),
    ]
    return "\n".join(blocks)


def _head(specs: Specs) -> str:
    first, *_, last = specs
    return f"""# How Kafka changed released versions

This page lists how {len(specs)} releases of Apache Kafka, {first} to {last}, changed message versions that were
already released. It has what [`tagwire breaking`](evolution.md) finds between the specs of each release and those of
the one before it. The releases are the last patch release of each line. `tests/support/kafka_history.py` writes this
page from the specs from which [the archive](../message_specs/README.md) was merged.

A *wire* finding is proven: a value has different bytes, and an old reader rejects the new bytes or reads another
value. That does not mean that anybody was affected. Most versions that changed in place were previews, which no
production cluster used, or metadata records of KRaft before it was declared ready.
"""


_IN_PLACE: Final = """\
These versions existed in an earlier release and have had other bytes since. A version that the earlier release marked
unstable is no break and is not listed. `coordinator-value` and `metadata` are records on disk.
"""

_DEFAULTS: Final = """\
A changed default changes no bytes, but an absent field gets another value: a tagged field that was left out, or a
field that the version lacks. Kafka's own rules call this incompatible; Kafka changed these defaults.
"""

_ALARMS: Final = """\
Kafka has its own checker, which compares two specs field by field (`spec-language.md` and `evolution.md` describe
how it differs from ours). On this history it rejects the following changes, rightly or not.
"""


def _in_place_rows(by_release: Mapping[str, Sequence[Finding]]) -> Iterator[str]:
    yield from ("| since | message | versions | what changed |", "|---|---|---|---|")
    for release, findings in by_release.items():
        for name, found in _by_message(findings, "wire").items():
            yield f"| {release} | {name} | {_versions(found)} | {_summary(found)} |"


def _default_rows(by_release: Mapping[str, Sequence[Finding]]) -> Iterator[str]:
    yield from ("| since | message | versions | field | change |", "|---|---|---|---|---|")
    for release, findings in by_release.items():
        for finding in findings:
            if finding.rule == "TW921":
                where = f"{finding.message_name} | {finding.versions} | `{finding.path}`"
                yield f"| {release} | {where} | {finding.message} |"


def _alarm_rows(by_release: Mapping[str, Sequence[Finding]]) -> Iterator[str]:
    yield from ("| since | message | what it sees | verdict |", "|---|---|---|---|")
    for alarm in ALARMS:
        for name in alarm.messages:
            found = [finding for finding in by_release[alarm.release] if finding.message_name == name]
            grave = sorted({finding.severity for finding in found} & {"wire", "semantic"}, reverse=True)
            verdict = f"right: {' and '.join(grave)} change" if grave else "false: compatible"
            yield f"| {alarm.release} | {name} | {alarm.what} | {verdict} |"


def _release(old: str, new: str, findings: Sequence[Finding]) -> str:
    lines = [f"### {new}, after {old}\n"]
    counts = [(severity, _by_message(findings, severity)) for severity in ("wire", "semantic", "source", "policy")]
    if not any(found for _, found in counts):
        return "\n".join([*lines, "No released version changed.\n"])
    lines += ["| severity | message | versions | what |", "|---|---|---|---|"]
    for severity, messages in counts:
        for name, found in messages.items():
            lines.append(f"| {severity} | {name} | {_versions(found)} | {_summary(found)} |")
    return "\n".join(lines) + "\n"


def _by_message(findings: Iterable[Finding], severity: str) -> dict[str, list[Finding]]:
    found: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.severity == severity:
            found[finding.message_name].append(finding)
    return dict(sorted(found.items()))


def _versions(findings: Sequence[Finding]) -> str:
    ranges = [Versions.parse(finding.versions) for finding in findings if finding.versions]
    if not ranges:
        return ""
    return str(Versions(min(each.lowest for each in ranges), max(each.highest for each in ranges)))


def _summary(findings: Sequence[Finding]) -> str:
    """What the rules found, fields of one rule together."""
    by_text: defaultdict[str, list[str]] = defaultdict(list)
    for finding in findings:
        by_text[f"{finding.message} ({finding.rule})"].append(finding.path)
    parts: list[str] = []
    for text, paths in by_text.items():
        named = [f"`{path}`" for path in paths if path]
        parts.append(f"{', '.join(named)}: {text}" if named else text)
    return "; ".join(parts).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(read([Path(name) for name in sys.argv[1:]])), encoding="utf-8")
