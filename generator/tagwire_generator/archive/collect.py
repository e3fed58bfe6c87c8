"""Releases merged into one set of specs, with the proof that no version lost its bytes.

A message is told by its component, kind and API key, since names changed; what
has no key is told by its kind and name (and, in one case of Kafka's history, by
a longer name with the same bytes). The newest name is the message's, older
ones become its aliases.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tagwire.errors import SpecError
from tagwire_generator.archive.history import History, MessageHistory, Span
from tagwire_generator.archive.merge import merged
from tagwire_generator.archive.modern import modern_records
from tagwire_generator.archive.release import ImportedSpec, Release, wire_texts
from tagwire_generator.archive.wire_facts import digest_of
from tagwire_generator.canonical import normal_form

__all__ = ["Archive", "collected"]

_KEYED: Final = ("request", "response", "metadata", "coordinator-key", "coordinator-value")


@dataclass(frozen=True, slots=True)
class Archive:
    """The merged specs, sorted by component and name, and where their versions come from."""

    specs: tuple[ImportedSpec, ...]
    history: History


@dataclass
class _Message:
    """A message while it is being collected, newest release first."""

    component: str
    spec: dict[str, Any]
    origin: str
    names: list[str] = field(default_factory=list)
    releases: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Each release that has it, with its own spec."""


def collected(releases: Sequence[Release]) -> Archive:
    """One spec of each message that a release has, with the versions of all. Releases come newest first.

    Raises SpecError where two releases can't be merged, or where a merge would
    change the bytes of a version that is taken from an older one.
    """
    messages: list[_Message] = []
    for release in releases:
        homes = {message.names[-1]: message.component for message in messages}
        for spec in modern_records(_at_home(release.specs, homes)):
            _take(messages, spec, release.name)
    _name(messages)
    ordered = sorted(messages, key=lambda message: (message.component, message.spec["name"]))
    covered = {
        component: [r.name for r in reversed(releases) if r.name in names]
        for component, names in _coverage(messages).items()
    }
    history = History({(m.component, m.spec["name"]): _history(m, covered[m.component]) for m in ordered})
    specs = tuple(ImportedSpec(m.spec["name"], m.component, m.spec, m.origin) for m in ordered)
    return Archive(specs, history)


def _at_home(specs: Sequence[ImportedSpec], homes: dict[str, str]) -> Iterator[ImportedSpec]:
    """The specs, those of core in the component that they have moved to since."""
    for spec in specs:
        if spec.component == "core":
            if spec.name not in homes:
                raise SpecError(
                    f"{spec.origin}: no newer release says to which component {spec.name} belongs; import one as well",
                    file=spec.origin,
                )
            spec = ImportedSpec(spec.name, homes[spec.name], spec.spec, spec.origin, spec.notes)
        yield spec


def _take(messages: list[_Message], spec: ImportedSpec, release: str) -> None:
    """Merge a release's spec into its message, or begin a new one."""
    message = _found(messages, spec, release)
    if message is None:
        message = _Message(spec.component, spec.spec, spec.origin)
        messages.append(message)
    else:
        try:
            message.spec = merged(message.spec, spec.spec)
        except SpecError as error:
            raise SpecError(f"{spec.origin}: can't be merged into newer releases: {error}", file=spec.origin) from error
    if spec.name not in message.names:
        message.names.append(spec.name)
    message.releases.append((release, spec.spec))


def _found(messages: list[_Message], spec: ImportedSpec, release: str) -> _Message | None:
    kind, key = spec.spec["type"], spec.spec.get("apiKey")
    scope = "" if kind in ("request", "response") else spec.component
    for message in messages:
        if message.spec["type"] != kind:
            continue
        if kind in _KEYED:
            if message.spec.get("apiKey") == key and scope in ("", message.component):
                return message
        elif spec.name in message.names or _is_renamed(message, spec, release):
            return message
    return None


def _is_renamed(message: _Message, spec: ImportedSpec, release: str) -> bool:
    """Whether a message without key has a shorter or longer name here, and the same bytes."""
    older, newer = sorted((spec.name, message.names[-1]), key=len)
    if message.component != spec.component or not newer.startswith(older):
        return False
    ours, theirs = wire_texts(message.spec), wire_texts(spec.spec)
    shared = ours.keys() & theirs.keys()
    return bool(shared) and all(ours[version] == theirs[version] for version in shared)


def _name(messages: list[_Message]) -> None:
    """Give each message its older names, those that no other has now."""
    taken = {message.names[0] for message in messages}
    for message in messages:
        aliases = [name for name in message.names[1:] if name not in taken]
        if aliases:
            message.spec = normal_form({**message.spec, "aliases": aliases})


def _coverage(messages: list[_Message]) -> dict[str, set[str]]:
    """The releases that have specs of each component; not every artifact is there for every release."""
    found: dict[str, set[str]] = {}
    for message in messages:
        found.setdefault(message.component, set()).update(release for release, _ in message.releases)
    return found


def _history(message: _Message, covered: Sequence[str]) -> MessageHistory:
    """The versions of a message with what each release made of them, proven against the merged spec.

    `covered` are the releases that have specs of its component, oldest first.
    """
    texts = {release: wire_texts(spec) for release, spec in message.releases}
    named = {release: wire_texts(spec, names=True) for release, spec in message.releases}
    if lost := {version for found in texts.values() for version in found} - wire_texts(message.spec).keys():
        raise SpecError(f"{message.spec['name']}: versions {sorted(lost)} are lost in the merge; this is our fault")
    versions: dict[int, tuple[Span, ...]] = {}
    for version, text in wire_texts(message.spec).items():
        spans: list[Span] = []
        before = None
        for release in covered:
            found = texts.get(release, {}).get(version)
            if found is not None:
                digest = digest_of(found)
                is_same = before == found and spans[-1].digest == digest
                first = spans.pop().first if is_same else release
                spans.append(Span(first, release, digest, named[release][version]))
            before = found
        if not spans or spans[-1].digest != digest_of(text):
            raise SpecError(
                f"{message.spec['name']} version {version} is {text} when merged, but {spans[-1:]} in the release that "
                "it comes from; this is our fault"
            )
        versions[version] = tuple(spans)
    return MessageHistory(versions)
