"""Compare the attributes of whole messages, and the headers of requests and responses."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from tagwire.layout import DEFAULT_STRUCT, INT16, Fixed, Item, Layout, Nested, Sized, StructLayout, TaggedSection
from tagwire.message.field_table import layout_of
from tagwire.versions import NONE, Versions
from tagwire.wire.types import WIRE_TYPES
from tagwire_generator.evolution.findings import change, runs
from tagwire_generator.evolution.matching import Released
from tagwire_generator.evolution.proofs import prove
from tagwire_generator.message_classes import message_class
from tagwire_generator.model import MessageSpec
from tagwire_generator.problems import Finding, Spot
from tagwire_generator.project.spec_files import HEADER_NAMES

_INT16_ITEM: Final = Fixed(WIRE_TYPES["int16"])
_CLIENT_ID: Final = Sized(WIRE_TYPES["string"], INT16, nullable=True)


HeaderSpecs = dict[str, MessageSpec]
"""The request and response headers that a spec set defines, by name."""


def header_specs(specs: Iterable[MessageSpec]) -> HeaderSpecs:
    """Return the headers among these specs."""
    return {spec.name: spec for spec in specs if spec.kind == "header" and spec.name in HEADER_NAMES.values()}


def _framed(headers: HeaderSpecs, spec: MessageSpec, version: int, header_version: int) -> Layout | None:
    """Return the layout of a request or response version, starting with its header.

    If the set has no header, Kafka's is used. Returns None if the set's header lacks this header version.
    """
    body = layout_of(message_class(spec), version)
    own = headers.get(HEADER_NAMES[spec.kind])
    if own is None:
        header = _kafka_header(spec.kind, header_version)
    elif header_version in own.valid_versions:
        header = layout_of(message_class(own), header_version).root
    else:
        return None
    header = _filled(header, {"request_api_key": spec.api_key or 0, "request_api_version": version})
    members = (
        Item("header", Nested(header), default=DEFAULT_STRUCT),
        Item("body", Nested(body.root), default=DEFAULT_STRUCT),
    )
    return Layout(body.name, version, StructLayout(body.name, members))


def _filled(header: StructLayout, values: dict[str, Any]) -> StructLayout:
    """Return the header layout with realistic defaults, such as client ID "a", for the example bytes of a finding."""
    values = values | {"correlation_id": 7, "client_id": "a"}

    def filled(item: Item) -> Item:
        value = values.get(item.name)
        fits = isinstance(item.type, Sized if isinstance(value, str) else Fixed)
        return item.replace(default=value) if value is not None and fits else item

    return StructLayout(header.name, tuple(map(filled, header.items)), section=header.section)


def _kafka_header(kind: str, header_version: int) -> StructLayout:
    correlation = Item("correlation_id", Fixed(WIRE_TYPES["int32"]), json_name="correlationId", default=0)
    version = Item("request_api_version", _INT16_ITEM, json_name="requestApiVersion", default=0)
    key = Item("request_api_key", _INT16_ITEM, json_name="requestApiKey", default=0)
    client_id = Item("client_id", _CLIENT_ID, json_name="clientId", default="")
    is_request = kind == "request"
    is_flexible = header_version == (2 if is_request else 1)
    items = (key, version, correlation, client_id) if is_request else (correlation,)
    return StructLayout(
        HEADER_NAMES[kind],
        items[:3] if header_version == 0 else items,
        section=TaggedSection() if is_flexible else None,
    )


def attribute_findings(
    old: MessageSpec, new: MessageSpec, unstable: Versions, headers: tuple[HeaderSpecs, HeaderSpecs]
) -> Iterator[Finding]:
    """Yield findings about a message's attributes and headers.

    `unstable` contains the version that the old spec marks with `latestVersionUnstable`, if any. `headers` are the
    header specs of the old set and of the new set.
    """
    if old.kind != new.kind:
        text = f"the type of the message was {old.kind} and is now {new.kind}"
        yield change("TW923", new, new.valid_versions, text, spot=Spot(key="type"))
    if old.api_key is not None and old.api_key != new.api_key:
        now = "none" if new.api_key is None else new.api_key
        text = f"the apiKey was {old.api_key} and is now {now}"
        yield change("TW922", new, new.valid_versions, text, spot=Spot(key="apiKey"))
    yield from _version_findings(old, new, unstable)
    yield from _header_findings(old, new, unstable, headers)


def lowered_findings(old: Released, new: MessageSpec) -> Iterator[Finding]:
    """Yield findings about added versions that are below the newest released version.

    A version that was released before, then dropped and now added again, causes no finding.
    """
    before = NONE if old.is_retired else old.spec.valid_versions
    known = [before, *(edition.versions for edition in old.archive)]
    newest = max(versions.highest for versions in known)
    if newest < 0:  # the spec of a removed API has no versions
        newest = new.valid_versions.highest
    unknown = [each for each in new.valid_versions if each <= newest and not any(each in v for v in known)]
    for run in runs(unknown):
        what = "the API was removed" if not before else f"the versions were {before}"
        text = f"{_version(run)} {_is(run, past=True)} added, but {what}; older peers may have encoded it differently"
        yield change("TW929", new, run, text, spot=Spot(key="validVersions"))


def _version_findings(old: MessageSpec, new: MessageSpec, unstable: Versions) -> Iterator[Finding]:
    before, now, spot = old.valid_versions, new.valid_versions, Spot(key="validVersions")
    if not before:
        return
    if not now:
        text = f"versions {before} were removed; the apiKey stays reserved"
        yield change("TW961", new, before, text, spot=spot)
        return
    stable = before - unstable
    if stable.highest > now.highest:
        lost = Versions(max(now.highest + 1, stable.lowest), stable.highest)
        text = f"version {stable.highest} was released, but the versions are now {now}"
        yield change("TW924", new, lost, text, spot=spot)
    if unstable.highest > now.highest:
        lost = Versions(max(now.highest + 1, unstable.lowest), unstable.highest)
        yield change("TW962", new, lost, f"{_version(lost)}, not stable yet, {_is(lost, past=True)} removed", spot=spot)
    if before.lowest < now.lowest:
        lost = Versions(before.lowest, min(now.lowest - 1, before.highest))
        yield change("TW960", new, lost, f"the versions were {before} and are now {now}", spot=spot)
    hidden = Versions(new.latest_stable + 1, now.highest) & stable
    if hidden:
        text = f"{_version(hidden)} {_is(hidden)} marked unstable, but {_is(hidden, past=True)} offered before"
        yield change("TW963", new, hidden, text, spot=Spot(key="latestVersionUnstable"))


def _version(versions: Versions) -> str:
    return f"version{'s' * (len(versions) > 1)} {versions}"


def _is(versions: Versions, *, past: bool = False) -> str:
    many, one = ("were", "was") if past else ("are", "is")
    return many if len(versions) > 1 else one


def _header_findings(
    old: MessageSpec, new: MessageSpec, unstable: Versions, headers: tuple[HeaderSpecs, HeaderSpecs]
) -> Iterator[Finding]:
    changed: dict[tuple[int, int], list[int]] = {}
    if old.kind != new.kind:
        return
    for version in (old.valid_versions & new.valid_versions) - unstable:
        before, now = old.header_version(version), new.header_version(version)
        if before is not None and now is not None and before != now:
            changed.setdefault((before, now), []).append(version)
    for (before, now), versions in changed.items():
        for run in runs(versions):
            one, other = _framed(headers[0], old, run.highest, before), _framed(headers[1], new, run.highest, now)
            proof = prove(one, other, ()) if one and other else None
            text = f"{old.kind}s of {_version(run)} had header {before} and now have header {now}"
            yield change("TW913", new, run, text, spot=Spot(key="headerVersions"), proof=proof)
