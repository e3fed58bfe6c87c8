"""Compare a response with the recorded one, field by field, except for fields that may differ."""

import re
from collections.abc import Collection, Iterable
from typing import Any, Final, NamedTuple

from tagwire.errors import TagwireError
from tagwire.frames.message_index import UnknownMessageError
from tagwire.frames.registry import Registry
from tagwire.message import Message
from tagwire.message.struct_class import same
from tagwire.records import read_batches
from tagwire.selection.paths import NoPathError, SelectionError
from tagwire.selection.selection import select
from tagwire.sensitive import hides
from tagwire.testing.peer.journal import FieldDifference, differences
from tagwire.text_format import a_kind, count, shown
from tagwire_workbench.proxy.advertised import address_structs
from tagwire_workbench.replaying.id_mapping import IdMapping, by_key

ALWAYS_IGNORED: Final = ("throttle_time_ms", "finalized_features_epoch")
"""Fields that are never compared, because they depend on a server's load or metadata log."""
_INDEX: Final = re.compile(r"\[\d+\]")
_HEADER: Final = "header."


class _Path(NamedTuple):
    message: str
    """Name of the response to which the path applies, or "" for all responses."""
    path: str


class Ignored:
    """The paths of fields that may differ from the recorded response, such as `MetadataResponse.cluster_id`."""

    def __init__(self, registry: Registry, paths: Iterable[str], responses: Collection[type[Message]]) -> None:
        """Parse `paths`, the paths of fields to ignore. Raises SelectionError for a path that no response has.

        Hosts and ports of brokers are always ignored.
        """
        self._paths = [_parsed(registry, text, responses) for text in paths]
        self._paths += [
            _Path(cls.NAME, f"{struct}{name}")
            for cls in responses
            for struct in address_structs(cls)
            for name in ("host", "port")
        ]

    def __contains__(self, found: tuple[str, str]) -> bool:
        """Return whether a field may differ. `found` is (message name, field path)."""
        name, path_found = found
        path = _INDEX.sub("[]", path_found)
        return path.rpartition(".")[2] in ALWAYS_IGNORED or any(
            each.message in ("", name) and (path == each.path or path.startswith((f"{each.path}.", f"{each.path}[")))
            for each in self._paths
        )


def _parsed(registry: Registry, text: str, responses: Collection[type[Message]]) -> _Path:
    name, dot, rest = text.partition(".")
    if dot and name in registry:
        cls = registry[name]
        if cls.KIND != "response":
            raise SelectionError(
                f"{text}: {cls.NAME} is {a_kind(cls.KIND)}, but only fields of responses can be compared"
            )
        _check(registry, cls, rest)
        return _Path(cls.NAME, rest)
    errors = []
    for cls in responses:
        try:
            _check(registry, cls, text)
        except NoPathError:
            raise
        except SelectionError as error:
            errors.append(error)
    if errors and len(errors) == len(responses):
        raise SelectionError(f"no response of the capture has the field {text}: {errors[0]}")
    return _Path("", text)


def _check(registry: Registry, cls: type[Message], path: str) -> None:
    if path.startswith(_HEADER):
        cls, path = registry.response_header, path.removeprefix(_HEADER)
    holder, _, last = path.rpartition(".")
    if last != "unknown_tags":
        select(cls, path)
    elif holder:
        select(cls, holder)


def response_name(registry: Registry, api_key: int) -> str:
    """Return the name of the response to an API, or "API" and the key if the package doesn't have the API."""
    try:
        return registry.response(api_key).NAME
    except UnknownMessageError:
        return f"API {api_key}"


def answer_differences(
    registry: Registry,
    api_key: int,
    version: int,
    recorded: bytes,
    received: bytes,
    ignored: Ignored,
    id_mapping: IdMapping,
) -> list[FieldDifference]:
    """Return the fields in which a response differs from the recorded response, apart from those in `ignored`.

    If the recorded response can't be read, only the bytes are compared. The IDs in the two responses, such as topic
    IDs, are added to `id_mapping`.
    """
    try:
        one = registry.decode_response(recorded, api_key, version)
    except TagwireError:
        if recorded == received:
            return []
        if hides():  # any of the bytes may be secret
            return [FieldDifference("", count(len(recorded), "byte"), count(len(received), "other byte"))]
        return [FieldDifference("", shown(recorded), shown(received))]
    try:
        other = registry.decode_response(received, api_key, version)
    except TagwireError as error:
        return [FieldDifference("", f"a {type(one.message).NAME}", f"an unreadable response: {error}")]
    id_mapping.learn(one.message, other.message)
    name = type(one.message).NAME
    found = [] if one.version == other.version else [FieldDifference("version", str(one.version), str(other.version))]
    found += differences(one.header, other.header, "header")
    expected = id_mapping.message(one.message)
    found += differences(expected, other.message, pairs=by_key, are_equal=_are_equal)
    return [each for each in found if (name, each.path) not in ignored]


def _are_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal. Times in control batches may differ, because the server sets them."""
    if same(one, other) or not (isinstance(one, bytes) and isinstance(other, bytes)):
        return same(one, other)
    try:
        return _without_time(one) == _without_time(other)
    except TagwireError:  # these bytes aren't record batches
        return False


def _without_time(data: bytes) -> list[bytes]:
    return [
        (batch.replace(base_timestamp=0, max_timestamp=0) if batch.is_control else batch).encode()
        for batch in read_batches(data)
    ]


def is_worth_a_retry(registry: Registry, api_key: int, version: int, recorded: bytes, received: bytes) -> bool:
    """Return whether all errors in the received response are retriable.

    Returns False if it has no errors, or if the recorded response also has only retriable errors.
    """
    try:
        before, now = (
            registry.errors(registry.decode_response(each, api_key, version).message) for each in (recorded, received)
        )
    except TagwireError:
        return False
    return bool(now) and all(each.is_retriable for each in now) and not (before and all(e.is_retriable for e in before))
