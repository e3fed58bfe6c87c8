"""Write `docs/kafka-history.md`, which lists how each Kafka release changed the bytes of messages.

`python tools/kafka_history.py JAR...` reads the jars that `make archive` fetches. The lists show the findings
of `tagwire breaking` between the specs of consecutive releases.
"""

import re
import sys
import textwrap
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
from tagwire_workbench.archive.release import read_releases
from tagwire_workbench.archive.wire_facts import message_of

PAGE: Final = Path(__file__).parents[1] / "docs" / "kafka-history.md"

Specs = Mapping[str, Sequence[MessageSpec]]
"""The messages of each release, oldest first."""


class Alarm(NamedTuple):
    """A change between two releases that Kafka's own compatibility checker rejects."""

    release: str
    messages: tuple[str, ...]
    what: str


# Changes that Kafka's checker rejects. Consecutive releases were compared, from 3.0 to the trunk of October 2024. The
# checker is from commit 1eb7644 (with a crash fixed). RequestHeader is omitted, because the checker always rejects it.
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
    """Return the messages of each release. Of each minor version, only the last patch release is kept."""
    found: dict[str, list[MessageSpec]] = {}
    for name, specs in modern_releases(read_releases(jars)):
        found[name] = [replace(message_of(spec.spec), component=spec.component) for spec in specs]
    return dict(reversed(found.items()))


def page(specs: Specs) -> str:
    """Return the page in Markdown."""
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
        _RELEASES,
        *(_release(old, new, found) for (old, new), found in findings.items()),
    ]
    return "\n".join(blocks)


def _head(specs: Specs) -> str:
    first, *_, last = specs
    return f"""# How Kafka changed released versions

A message version should never change once it is released. This page lists the versions that Apache Kafka changed
anyway, from release {first} to {last}. We used [`tagwire breaking`](evolution.md) to compare each of {len(specs)}
releases with the next, taking the last patch release of each minor version. `tools/kafka_history.py` writes this page
from the specs in [the archive](../message_specs/README.md).

A *wire* finding means that the bytes of a version changed: an old reader rejects the new bytes, or reads another value.
We verified each wire finding with an example. Most of these changes affected nobody, because the versions were
previews, or belonged to KRaft before it was declared ready for production.
"""


_IN_PLACE: Final = """\
This list shows, for each release, in which existing message versions the bytes changed. For example, `v0` means version
0. We left out versions that the earlier release marked as unstable. [Release by release](#release-by-release) lists the
changes in detail.
"""

_DEFAULTS: Final = """\
If the bytes do not contain a field, a reader uses the default of the field. If a release changes the default, the bytes
stay the same, but they mean something else. Kafka's own rules do not allow such changes, but these happened:
"""

_ALARMS: Final = """\
Kafka has its own checker, which compares two specs field by field
([differences from tagwire](evolution.md#compared-with-kafkas-checker)). If Kafka had used it for all these releases,
the checker would have rejected the following changes, although some of them are compatible:
"""


_UNSTABLE: Final = re.compile(r"version \d+, not stable yet, changed: (.*)")

_RELEASES: Final = """\
For each release, the changes are listed by their [severity](evolution.md#the-rules). The brackets show the rule that
`tagwire breaking` reports. If a field became ignorable, encoding in a version without the field now drops its value
instead of raising an error.
"""

_SEVERITIES: Final = {
    "wire": "the bytes of these versions changed",
    "semantic": "the bytes stayed the same, but their meaning changed",
    "source": "the bytes stayed the same, but code or JSON that uses these messages must change",
    "policy": "messages or versions were removed, or versions that were not yet stable changed",
}

_REWORDED: Final = (
    (r"the field was added to this version", "{fields} added"),
    (r"the field was removed from this version", "{fields} removed"),
    (r"the field was renamed from (\S+) to (\S+)", "{fields} renamed from {0} to {1}"),
    (r"the struct was (\S+) and is now (\S+)", "the struct of {paths} was renamed from {0} to {1}"),
    (r"the message was (\S+) and is now (\S+); add \S+ to aliases", "the message was renamed from {0} to {1}"),
    (r"the (default|type) was (\S+) and is now (\S+)", "the {0} of {paths} changed from {1} to {2}"),
    (r"the version was not flexible and is now flexible", "the version became flexible"),
    (r"null was rejected and is now allowed", "{paths} became nullable"),
    (r"null was allowed and is now rejected", "{paths} stopped being nullable"),
    (r"a value here was rejected and is now dropped", "{paths} became ignorable"),
    (r"a value here was dropped and is now rejected", "{paths} stopped being ignorable"),
    (r"\S+ no longer has a spec", "the message was removed"),
    (r"the versions were (\S+) and are now (\S+)", "the versions changed from {0} to {1}"),
    (
        r"versions (\S+) were removed; the apiKey stays reserved",
        "all versions were removed; the API key stays reserved",
    ),
    (r"tag (\d+) was .*", "the field with tag {0}, {paths}, was renamed or replaced"),
)
"""Each pair has a pattern for messages of `tagwire breaking`, and the text for them in docs/kafka-history.md."""


def _in_place_rows(by_release: Mapping[str, Sequence[Finding]]) -> Iterator[str]:
    for release, findings in by_release.items():
        if changed := _by_message(findings, "wire"):
            yield from _wrapped("- ", f"{release}: " + ", ".join(_named(*each) for each in changed.items()))


def _default_rows(by_release: Mapping[str, Sequence[Finding]]) -> Iterator[str]:
    yield from ("| since | message | versions | field | change |", "|---|---|---|---|---|")
    for release, findings in by_release.items():
        for finding in findings:
            if finding.rule == "TW921":
                where = f"{finding.message_name} | {finding.versions} | `{finding.path}`"
                yield f"| {release} | {where} | {finding.message} |"


def _alarm_rows(by_release: Mapping[str, Sequence[Finding]]) -> Iterator[str]:
    yield from ("| since | message | change | verdict |", "|---|---|---|---|")
    for alarm in ALARMS:
        for name in alarm.messages:
            found = [finding for finding in by_release[alarm.release] if finding.message_name == name]
            grave = sorted({finding.severity for finding in found} & {"wire", "semantic"}, reverse=True)
            verdict = f"correct: {' and '.join(grave)} change" if grave else "incorrect: compatible"
            yield f"| {alarm.release} | {name} | {alarm.what} | {verdict} |"


def _release(old: str, new: str, findings: Sequence[Finding]) -> str:
    lines = [f"### {new}, after {old}\n"]
    counts = [(severity, _by_message(findings, severity)) for severity in ("wire", "semantic", "source", "policy")]
    if not any(found for _, found in counts):
        return "\n".join([*lines, "No released version changed.\n"])
    for severity, messages in counts:
        if messages:
            lines += [f"**{severity}**: {_SEVERITIES[severity]}", ""]
            for name, found in messages.items():
                lines += _bullets(_named(name, found), _summaries(found))
            lines.append("")
    return "\n".join(lines)


def _bullets(name: str, summaries: Sequence[str]) -> Iterator[str]:
    if len(summaries) == 1:
        yield from _wrapped("- ", f"{name}: {summaries[0]}")
    else:
        yield f"- {name}:"
        for summary in summaries:
            yield from _wrapped("  - ", summary)


def _wrapped(bullet: str, text: str) -> list[str]:
    indent = " " * len(bullet)
    return textwrap.wrap(
        text, 120, initial_indent=bullet, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _named(name: str, findings: Sequence[Finding]) -> str:
    versions = _versions(findings)
    return f"{name} v{versions}" if versions else name


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


def _summaries(findings: Sequence[Finding]) -> list[str]:
    """Describe findings in sentences. Findings that differ only in the field share a sentence."""
    by_text: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for finding in findings:
        by_text[finding.message, finding.rule].append(f"`{finding.path}`" if finding.path else "")
    summaries = []
    for (text, rule), paths in by_text.items():
        if unstable := _UNSTABLE.fullmatch(text):
            summaries.append(f"the version was not stable yet when it changed ({rule})")
            summaries += [re.sub(r"(\S+) \((.*)\)", r"`\1` changed (\2)", each) for each in unstable[1].split("; ")]
        else:
            summaries.append(f"{_sentence(text, paths)} ({rule})")
    return summaries


def _sentence(text: str, paths: Sequence[str]) -> str:
    joined = " and ".join(filter(None, (", ".join(paths[:-1]), paths[-1])))
    fields = f"the field {joined} was" if len(paths) == 1 else f"the fields {joined} were"
    for pattern, sentence in _REWORDED:
        if found := re.fullmatch(pattern, text):
            return sentence.format(*found.groups(), fields=fields, paths=joined)
    return f"{joined}: {text}" if joined else text


if __name__ == "__main__":
    PAGE.write_text(page(read([Path(name) for name in sys.argv[1:]])), encoding="utf-8")
