"""Merge the specs of several releases into one set, and check that no version's bytes change.

Specs with the same component, kind and API key describe the same message. Specs without an API key are matched by name.
Two of them with different names are merged if one name begins with the other, and their common versions have the same
bytes. The merged spec has the newest name, and older names become aliases.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tagwire.errors import SpecError
from tagwire.versions import NONE, Versions
from tagwire_generator.project.history import History, MessageHistory, ReleaseSpan
from tagwire_generator.syntax.canonical import normal_form
from tagwire_workbench.archive.merge import merged
from tagwire_workbench.archive.release import ImportedSpec, Release
from tagwire_workbench.archive.wire_facts import digest_of, wire_forms

# Convert the specs of coordinator records to the form of Kafka 4.1. The bytes stay the same.
#
# Before its key, a coordinator record has two bytes with its type. Up to Kafka 4.0, specs described the type as the
# key's version (`GroupMetadataKey`, version 2). Since 4.1, the type is the key's `apiKey`, and the only version is 0.
# So a key with two versions becomes two messages, such as `LegacyOffsetCommitKey` (0) and `OffsetCommitKey` (1).

_COORDINATORS: Final = ("group", "transaction", "share")
_RANGES: Final = ("versions", "nullableVersions", "taggedVersions", "flexibleVersions")


def modern_records(specs: Iterable[ImportedSpec]) -> list[ImportedSpec]:
    """Return the specs of a release, with coordinator records converted to the form of Kafka 4.1.

    Raises SpecError for a key that can't be converted: a flexible key, or a key for three or more record types.
    """
    all_specs = list(specs)
    keys = {
        (spec.component, spec.name.removesuffix("Key")): Versions.parse(spec.spec["validVersions"])
        for spec in all_specs
        if spec.name.endswith("Key") and _is_old_record(spec)
    }
    found: list[ImportedSpec] = []
    for spec in all_specs:
        types = keys.get((spec.component, spec.name.removesuffix("Key").removesuffix("Value")))
        if not types or not _is_old_record(spec):
            found.append(spec)
        elif spec.name.endswith("Key"):
            found += _keys(spec, types)
        else:
            form = {**spec.spec, "apiKey": types.highest, "type": "coordinator-value"}
            found.append(replace(spec, spec=normal_form(form)))
    return found


def _is_old_record(spec: ImportedSpec) -> bool:
    return spec.spec["type"] == "data" and spec.component in _COORDINATORS


def _keys(spec: ImportedSpec, types: Versions) -> list[ImportedSpec]:
    if len(types) > 2:
        raise SpecError(
            f"{spec.origin}: {spec.name} has {len(types)} record types, one in each of the versions {types}; "
            "a spec with more than two record types can't be imported",
            file=spec.origin,
        )
    if spec.spec["flexibleVersions"] != "none":
        raise SpecError(
            f"{spec.origin}: the key {spec.name} has flexibleVersions {spec.spec['flexibleVersions']!r}; keys "
            "of coordinator records are never flexible, so write 'none'",
            file=spec.origin,
        )
    return [_key(spec, type, is_newest=type == types.highest) for type in types]


def _key(spec: ImportedSpec, type: int, *, is_newest: bool) -> ImportedSpec:
    """Create the key spec of one record type. In old specs, each record type is a version of one key spec, `spec`."""
    name = spec.name if is_newest else f"Legacy{spec.name}"
    form = {
        **_at_version(spec.spec, type),
        "apiKey": type,
        "type": "coordinator-key",
        "name": name,
        "validVersions": "0",
        "flexibleVersions": "none",
    }
    key = replace(spec, name=name, spec=normal_form(form))
    assert wire_forms(key.spec)[0] == wire_forms(spec.spec)[type], "the bytes of a key are not its version's to change"
    return key


def _at_version(node: Mapping[str, Any], version: int) -> dict[str, Any]:
    """Return a message or field with only the given version, renumbered as version 0."""
    found: dict[str, Any] = {}
    for key, value in node.items():
        if key in _RANGES:
            found[key] = str(Versions(0, 0) if version in Versions.parse(value) else NONE)
        elif key in ("fields", "commonStructs"):
            found[key] = [_at_version(each, version) for each in value if version in Versions.parse(each["versions"])]
        else:
            found[key] = value
    return found


_RPCS: Final = ("request", "response")
"""Kinds of messages whose API keys are unique in all of Kafka."""
_KEYED: Final = ("metadata", "coordinator-key", "coordinator-value")
"""Kinds of messages whose API keys are unique within a component."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The merged specs, sorted by component and name, and the releases that contain each version."""

    specs: tuple[ImportedSpec, ...]
    history: History


@dataclass
class _Message:
    """One message and its merged spec so far. Releases are added from newest to oldest."""

    component: str
    spec: dict[str, Any]
    origin: str
    releases: dict[str, ImportedSpec]

    @property
    def names(self) -> list[str]:
        """All names that the message has had, newest first."""
        names = (name for each in self.releases.values() for name in (each.name, *each.spec.get("aliases", ())))
        return list(dict.fromkeys(names))


def collected(releases: Sequence[Release]) -> Archive:
    """Return one spec for each message, with the versions of all releases. `releases` is ordered newest first.

    Raises SpecError if two releases can't be merged, or if a merge would change the bytes of a version.
    """
    messages: list[_Message] = []
    for release, specs in modern_releases(releases):
        _take(messages, specs, release)
    _name(messages)
    ordered = sorted(messages, key=lambda message: (message.component, message.spec["name"]))
    covered: dict[str, set[str]] = {}  # some releases don't have all components
    for message in messages:
        covered.setdefault(message.component, set()).update(message.releases)
    oldest_first = [release.name for release in reversed(releases)]
    coverage = {component: [n for n in oldest_first if n in names] for component, names in covered.items()}
    history = History({(m.component, m.spec["name"]): _history(m, coverage[m.component]) for m in ordered})
    merged = tuple(ImportedSpec(m.spec["name"], m.component, m.spec, m.origin) for m in ordered)
    return Archive(merged, history)


def modern_releases(releases: Sequence[Release]) -> Iterator[tuple[str, list[ImportedSpec]]]:
    """Yield each release's name and its specs, with coordinator records described as in Kafka 4.1.

    `releases` is ordered newest first. If a spec is in the component `core`, it is yielded with the component to which
    a newer release moved it. Raises SpecError for a spec in `core` that no newer release has.
    """
    homes: dict[str, str] = {}
    for release in releases:
        specs = list(_at_home(release.specs, homes))
        homes = {**homes, **{spec.name: spec.component for spec in specs if spec.name not in homes}}
        yield release.name, modern_records(specs)


def _at_home(specs: Sequence[ImportedSpec], homes: Mapping[str, str]) -> Iterator[ImportedSpec]:
    for spec in specs:
        if spec.component == "core":
            if spec.name not in homes:
                raise SpecError(
                    f"{spec.origin}: the component of {spec.name} is unknown; "
                    "also import a newer release that contains this message",
                    file=spec.origin,
                )
            spec = replace(spec, component=homes[spec.name])
        yield spec


def _take(messages: list[_Message], specs: Iterable[ImportedSpec], release: str) -> None:
    """Merge the specs of a release into `messages`. A spec that matches no message becomes a new message."""
    unknown: list[ImportedSpec] = []
    for spec in specs:
        message = next((message for message in messages if _is_same(message, spec)), None)
        if message is None:
            unknown.append(spec)
        else:
            _merge(message, spec, release)
    # A spec that matches no message may belong to a message that has been renamed since.
    candidates = [message for message in messages if release not in message.releases]
    for spec in unknown:
        message = next((message for message in candidates if _is_renamed(message, spec)), None)
        if message is None:
            _begin(messages, spec, release)
        else:
            _merge(message, spec, release)


def _begin(messages: list[_Message], spec: ImportedSpec, release: str) -> None:
    """Add a message that no newer release has. Raises SpecError if another message already has its key or name."""
    for message in messages:
        if _is_same(message, spec):
            raise _twice(message, spec, release)
        if message.spec["name"] == spec.name:
            raise SpecError(
                f"{spec.origin}: {spec.name} is a different message in newer releases: the message in {message.origin} "
                "has another component, type or apiKey",
                file=spec.origin,
            )
    messages.append(_Message(spec.component, spec.spec, spec.origin, {release: spec}))


def _merge(message: _Message, spec: ImportedSpec, release: str) -> None:
    if release in message.releases:
        raise _twice(message, spec, release)
    try:
        message.spec = merged(message.spec, spec.spec)
    except SpecError as error:
        raise SpecError(f"{spec.origin} can't be merged into newer releases: {error}", file=spec.origin) from error
    message.releases[release] = spec


def _twice(message: _Message, spec: ImportedSpec, release: str) -> SpecError:
    other = message.releases[release]
    return SpecError(
        f"{spec.origin}: release {release} has two messages with the same API key or name: {spec.name} and "
        f"{other.name} ({other.origin}); remove one",
        file=spec.origin,
    )


def _is_same(message: _Message, spec: ImportedSpec) -> bool:
    """Return whether a spec has this message's API key or, if the message has no key, its name."""
    kind = spec.spec["type"]
    if message.spec["type"] != kind:
        return False
    if kind in _RPCS:
        return message.spec.get("apiKey") == spec.spec.get("apiKey")
    if message.component != spec.component:
        return False
    if kind in _KEYED:
        return message.spec.get("apiKey") == spec.spec.get("apiKey")
    return spec.name in message.names


def _is_renamed(message: _Message, spec: ImportedSpec) -> bool:
    """Return whether a spec without an API key describes this message under another name.

    One of the two names must begin with the other. There must be common versions, all with the same wire format.
    """
    if message.spec["type"] != spec.spec["type"] or spec.spec["type"] in (*_RPCS, *_KEYED):
        return False
    older, newer = sorted((spec.name, message.names[-1]), key=len)
    if message.component != spec.component or not newer.startswith(older):
        return False
    ours, theirs = wire_forms(message.spec), wire_forms(spec.spec)
    shared = ours.keys() & theirs.keys()
    return bool(shared) and all(ours[version] == theirs[version] for version in shared)


def _name(messages: list[_Message]) -> None:
    """Add each message's older names to its spec as aliases, except for names that another message uses."""
    taken = {message.names[0] for message in messages}
    for message in messages:
        aliases = [name for name in message.names[1:] if name not in taken]
        taken.update(aliases)
        message.spec = normal_form({**message.spec, "aliases": aliases})


def _history(message: _Message, covered: Sequence[str]) -> MessageHistory:
    """Return a message's history: for each version, the ranges of releases in which its wire format is the same.

    `covered` lists the releases that have specs of the message's component, oldest first. Raises SpecError if a
    version's wire format in the merged spec differs from the format in the last release that has this version.
    """
    forms = {release: wire_forms(each.spec) for release, each in message.releases.items()}
    named = {release: wire_forms(each.spec, names=True) for release, each in message.releases.items()}
    versions: dict[int, tuple[ReleaseSpan, ...]] = {}
    for version in sorted({version for found in forms.values() for version in found}):
        spans: list[ReleaseSpan] = []
        before = None
        for release in covered:
            found = forms.get(release, {}).get(version)
            if found is not None:
                first = spans.pop().first if found == before else release
                spans.append(ReleaseSpan(first, release, digest_of(found), named[release][version]))
            before = found
        release = spans[-1].last
        text, merged_text = forms[release][version], wire_forms(message.spec).get(version)
        if text != merged_text:
            raise SpecError(
                f"{message.origin}: {message.spec['name']} version {version} has the fields [{text}] in release "
                f"{release}, but [{merged_text}] after merging; one spec can't describe both this release and the "
                "others",
                file=message.origin,
            )
        versions[version] = tuple(spans)
    return MessageHistory(versions)
