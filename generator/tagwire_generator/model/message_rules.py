"""Rules for the attributes of a message: names, versions, headers and fallback."""

import keyword
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal, get_args

from tagwire.versions import HIGHEST, NONE, Versions
from tagwire_generator.model.spec_names import NAME_RULE, is_name, snake_case
from tagwire_generator.problems import Violation, quoted
from tagwire_generator.project.root import WINDOWS_DEVICES

if TYPE_CHECKING:
    from tagwire_generator.model.message_spec import MessageSpec

Kind = Literal[
    "request",
    "response",
    "header",
    "metadata",
    "data",
    "coordinator-key",
    "coordinator-value",
    "format",
    "struct",
]

KINDS: Final[tuple[str, ...]] = get_args(Kind)

MAX_VERSIONS: Final = 1_000
"""Maximum number of valid versions of a message. It limits the size of the code: each version has a serializer."""
RESERVED_NAMES: Final = frozenset({"registry", "releases", "serializers", "apikey"})
"""Names of attributes and modules in every generated package, in lower case. Messages can't have these names."""

_HIGHEST_HEADER: Final = {"request": 2, "response": 1}
_NEGOTIATING: Final = "ApiVersionsResponse"
"""The response that tells a client which versions a broker supports. Readers recognize it by this name (KIP-511)."""


def name_violation(name: str) -> Violation | None:
    """Return a violation if a message's name breaks a naming rule, or None if the name is valid."""
    if is_name(name) and name == snake_case(name):
        text = f"{name} is taken: its class and its module would have the same name; start it with a capital letter"
        return Violation("TW207", "name", text)
    return _plain_violation(name)


def _plain_violation(name: str) -> Violation | None:
    """Return a violation of the rules that apply to both names and aliases, or None if the name is valid."""
    if not is_name(name):
        return Violation("TW206", "name", f"{quoted(name)} can't be a message's name; {NAME_RULE}")
    if snake_case(name) in WINDOWS_DEVICES:
        reason = "Windows has a device of that name, and can't check out the module"
    elif name.lower() in RESERVED_NAMES:
        reason = "the generated package uses that name already"
    elif keyword.iskeyword(name) or keyword.iskeyword(snake_case(name)):
        reason = "the name of its class or module would be a Python keyword"
    else:
        return None
    return Violation("TW207", "name", f"{name} is taken: {reason}; rename the message")


def identity_violations(message: "MessageSpec") -> Iterator[Violation]:
    """Yield violations of the rules for all messages, including removed messages (without valid versions)."""
    if message.kind not in KINDS:
        yield Violation("TW112", "type", f"unknown message type {quoted(message.kind)}")
    key = message.api_key
    if key is not None and not -(2**15) <= key < 2**15:
        yield Violation("TW114", "apiKey", f"the API key is {key}, but must be an int16, -32768 to 32767")


def message_violations(message: "MessageSpec") -> Iterator[Violation]:
    """Yield violations of the rules for a message's attributes. Removed messages need not follow these rules."""
    yield from _version_violations(message)
    yield from _kind_violations(message)
    yield from _key_violations(message)
    yield from _header_violations(message)
    yield from _fallback_violations(message)
    yield from _alias_violations(message)


def _version_violations(message: "MessageSpec") -> Iterator[Violation]:
    valid, flexible, optional = message.valid_versions, message.flexible_versions, message.optional_versions
    if valid.highest == HIGHEST:
        text = f"validVersions {valid} has no upper bound; each version gets a serializer, so give the highest"
        yield Violation("TW202", "validVersions", text)
    elif valid.highest - valid.lowest >= MAX_VERSIONS:
        text = (
            f"validVersions {valid} are {valid.highest - valid.lowest + 1} versions; at most {MAX_VERSIONS} are allowed"
        )
        yield Violation("TW202", "validVersions", text)
    if flexible and flexible.highest != HIGHEST:
        text = f"flexibleVersions is {flexible}, but all later versions must also be flexible; write {flexible.lowest}+"
        yield Violation("TW205", "flexibleVersions", text)
    if optional and optional.highest != HIGHEST:
        text = f"versionsWithOptional is {optional}, but must include all later versions; write {optional.lowest}+"
        yield Violation("TW703", "versionsWithOptional", text)
    if flexible and message.dialect == "draft":
        text = f"flexibleVersions is {flexible}, but the spec is in the draft dialect; use one dialect"
        yield Violation("TW701", "flexibleVersions", text)
    if optional and message.dialect == "released":
        text = f"versionsWithOptional is {optional}, but the spec is in the released dialect; use one dialect"
        yield Violation("TW701", "versionsWithOptional", text)
    if not message.deprecated_versions <= valid:
        text = f"versions {message.deprecated_versions} are deprecated, but only {valid} are valid; narrow them"
        yield Violation("TW221", "deprecatedVersions", text, ("validVersions",))


def _kind_violations(message: "MessageSpec") -> Iterator[Violation]:
    if message.listeners and message.kind != "request":
        text = f"a {message.kind} has no listeners; put them into the request"
        yield Violation("TW208", "listeners", text, ("type",))
    if message.latest_version_unstable and message.kind != "request":
        text = f"a {message.kind} can't be unstable by itself; put latestVersionUnstable into the request"
        yield Violation("TW209", "latestVersionUnstable", text, ("type",))
    if message.kind != "coordinator-key":
        return
    if message.valid_versions != Versions(0, 0):
        text = f"a coordinator key has only version 0, not {message.valid_versions}; its type is the apiKey"
        yield Violation("TW211", "validVersions", text, ("type",))
    if message.flexible_versions:
        text = f"a coordinator key is never flexible, but flexibleVersions is {message.flexible_versions}; write 'none'"
        yield Violation("TW211", "flexibleVersions", text, ("type",))


def _key_violations(message: "MessageSpec") -> Iterator[Violation]:
    key, kind = message.api_key, message.kind
    if key is None:
        if kind in ("coordinator-key", "coordinator-value"):
            text = f"a {kind} needs an apiKey, which is the record type"
            yield Violation("TW210", "apiKey", text, ("type",))
    elif kind == "metadata" and key < 0:
        text = f"the API key is {key}, but a metadata record's frame contains it as an unsigned number; use 0 or more"
        yield Violation("TW212", "apiKey", text, ("type",))
    elif kind in ("header", "data"):
        yield Violation(
            "TW223", "apiKey", f"the API key is {key}, but {kind} messages are not looked up by key", ("type",)
        )
    elif key < 0:
        yield Violation("TW222", "apiKey", f"the API key is {key}; keys start at 0", ("type",))


def _header_violations(message: "MessageSpec") -> Iterator[Violation]:
    headers = message.header_versions
    if not headers:
        return
    highest = _HIGHEST_HEADER.get(message.kind)
    if highest is None:
        text = f"a {message.kind} has no header; only requests and responses have headerVersions"
        yield Violation("TW213", "headerVersions", text, ("type",))
        return
    for versions, header in headers:
        if not 0 <= header <= highest:
            text = f"versions {versions} have header {header}, but {message.kind} headers are 0 to {highest}"
            yield Violation("TW213", "headerVersions", text, ("type",))
    yield from _header_range_violations(message)
    if _negotiates(message):
        for versions, header in headers:
            if header > 0:
                text = f"versions {versions} have header {header}, but readers don't know the version yet; use header 0"
                yield Violation("TW216", "headerVersions", text, ("name", "fallback"))
        return
    for versions, header in headers:
        flexible = versions & message.valid_versions & message.flexible_versions
        if flexible and header < highest:
            text = f"versions {flexible} are flexible, but have header {header}; use header {highest}"
            yield Violation("TW215", "headerVersions", text, ("type", "flexibleVersions", "validVersions"))


def implied_headers(message: "MessageSpec") -> tuple[tuple[Versions, int], ...]:
    """Return the (versions, header version) pairs that apply if a spec doesn't declare `headerVersions`."""
    newest = _HIGHEST_HEADER.get(message.kind)
    if newest is None:
        return ()
    if _negotiates(message):
        return ((Versions(0, HIGHEST), 0),)
    flexible = Versions(0, HIGHEST) & message.flexible_versions
    plain = Versions(0, HIGHEST) - flexible
    return tuple((versions, header) for versions, header in ((plain, newest - 1), (flexible, newest)) if versions)


def _header_range_violations(message: "MessageSpec") -> Iterator[Violation]:
    expected = 0
    for versions, _ in message.header_versions:
        if versions.lowest != expected or not versions:
            text = f"headerVersions has the range {versions}, but the next range must start at {expected}"
            yield Violation("TW214", "headerVersions", text)
            return
        if versions.lowest > message.valid_versions.highest:
            text = f"headerVersions has {versions}, but only {message.valid_versions} is valid; remove the range"
            yield Violation("TW214", "headerVersions", text, ("validVersions",))
        expected = versions.highest + 1
    if expected <= HIGHEST:
        last = message.header_versions[-1][0]
        text = f"headerVersions ends with {last}, but the last range must be open; write {last.lowest}+"
        yield Violation("TW214", "headerVersions", text)


def _alias_violations(message: "MessageSpec") -> Iterator[Violation]:
    seen = {message.name.lower()}
    for alias in message.aliases:
        bad_name = _plain_violation(alias)
        if bad_name is not None:
            yield Violation("TW219", "aliases", bad_name.message)
        elif alias.lower() in seen:
            text = f"{alias} is the message's name or one of its aliases already; remove it"
            yield Violation("TW219", "aliases", text, ("name",))
        seen.add(alias.lower())


def _negotiates(message: "MessageSpec") -> bool:
    return message.kind == "response" and (message.fallback is not None or message.name == _NEGOTIATING)


def _fallback_violations(message: "MessageSpec") -> Iterator[Violation]:
    fallback = message.fallback
    if fallback is None:
        return
    if message.kind != "response":
        yield Violation("TW217", "fallback", f"a {message.kind} can't have a fallback; only responses can", ("type",))
        return
    if fallback.version not in message.valid_versions:
        text = f"fallback is version {fallback.version}, but only versions {message.valid_versions} are valid"
        yield Violation("TW217", "fallback", text, ("validVersions",))
        return
    if not -(2**15) <= fallback.error_code < 2**15:
        text = f"fallback has error code {fallback.error_code}, but it must be an int16, -32768 to 32767"
        yield Violation("TW114", "fallback", text)
    version = fallback.version
    present = [spec for spec in message.fields if version in spec.versions and version not in spec.tagged_versions]
    first = f"{present[0].name} of type {present[0].type}" if present else "none"
    if first != "ErrorCode of type int16":
        text = f"fallback answers in version {version}, whose first field is {first}; it must be the int16 ErrorCode"
        yield Violation("TW218", "fallback", text, ("fields",))
    if message.flexible_versions & message.valid_versions != NONE and not message.header_versions:
        text = 'a response with fallback has the same header in all versions; add "headerVersions": {"0+": "0"}'
        yield Violation("TW216", "fallback", text, ("flexibleVersions", "headerVersions"))
