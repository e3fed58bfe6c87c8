"""Values of a script that are made when a request comes: objects with one of the keys of `FORMS`.

They stand where the JSON of a message has a value, and give JSON too: bytes are base64.

    {$peer: host}, {$peer: port}      where the client connected to
    {$request: topics[0].name}        a value of the request, null if it has none
    {$kept: batch}                    what a rule has kept of an earlier request, null if there was none
    {$records: [{key: k, value: v}]}  a batch of records; beside it, the arguments of `tagwire.records.build`
    {$text: ...}, {$hex: ...}         bytes
"""

import base64
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from tagwire.errors import TagwireError
from tagwire.frames.registry import Registry
from tagwire.message import Message
from tagwire.message.json import field_to_json
from tagwire.testing.peer import Received
from tagwire.text_format import shown, suggestion
from tagwire_cli.mocking.request_path import ABSENT, RequestPath
from tagwire_cli.mocking.yaml_tree import Steps, found

__all__ = ["FORMS", "Scene", "ValueFault", "as_bytes", "check_values", "evaluated", "form_of"]

_RECORD_KEYS: Final = ("key", "value", "headers", "timestamp", "offset")
_BATCH_KEYS: Final = ("format", "compression", "base_offset")


_QUOTE: Final = "; quote what YAML reads as something else"


class ValueFault(TagwireError):
    """A value that its form can't make."""


class Scene(NamedTuple):
    """What values are made from."""

    request: Received
    kept: dict[str, Any]
    registry: Registry


def form_of(value: Any) -> str | None:
    """The key that says how an object becomes a value; None for what is a value itself."""
    if not isinstance(value, dict):
        return None
    return next((key for key in value if key.startswith("$")), None)


def evaluated(value: Any, scene: Scene) -> Any:
    """The value with all objects of forms made. Raises ValueFault and other errors of TagwireError."""
    form = form_of(value)
    if form is not None:
        return FORMS[form](value, scene)
    if isinstance(value, dict):
        return {key: evaluated(each, scene) for key, each in value.items()}
    if isinstance(value, list):
        return [evaluated(each, scene) for each in value]
    return value


def as_bytes(value: Any) -> bytes:
    """The bytes that JSON has as base64. Raises ValueFault."""
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError):
        raise ValueFault(f"{shown(value)} is no base64; write {{$text: ...}} or {{$hex: ...}} for bytes") from None


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


# ---------------------------------------------------------------- the forms


def _peer(value: dict[str, Any], scene: Scene) -> Any:
    address = scene.request.address
    return address.host if value["$peer"] == "host" else address.port


def _request(value: dict[str, Any], scene: Scene) -> Any:
    request = scene.request
    path = RequestPath(value["$request"], scene.registry[request.name], scene.registry.request_header)
    found = path.value(request)
    return None if found is ABSENT else field_to_json(found, request.version)


def _kept(value: dict[str, Any], scene: Scene) -> Any:
    return scene.kept.get(value["$kept"])


def _text(value: dict[str, Any], scene: Scene | None) -> str:
    return _base64(value["$text"].encode())


def _hex(value: dict[str, Any], scene: Scene | None) -> str:
    try:
        return _base64(bytes.fromhex(value["$hex"]))
    except ValueError:
        raise ValueFault(f"{shown(value['$hex'])} is no hex") from None


def _records(value: dict[str, Any], scene: Scene | None) -> str:
    from tagwire.records import Record, build

    records = []
    for offset, each in enumerate(value["$records"], value.get("base_offset", 0)):
        headers = each.get("headers") or {}
        records.append(
            Record(
                each.get("offset", offset),
                each.get("timestamp", 0),
                _plain(each.get("key")),
                _plain(each.get("value")),
                tuple((name, _plain(text)) for name, text in headers.items()),
            )
        )
    settings = {key: value[key] for key in ("format", "compression") if key in value}
    return _base64(build(records, **settings).encode())


def _plain(value: Any) -> bytes | None:
    """Key or value of a record: a text as UTF-8, or an object of $hex or $text."""
    if value is None:
        return None
    form = form_of(value)
    return as_bytes(_BYTES[form](value, None)) if form else value.encode()


_BYTES: Final[dict[str, Callable[[dict[str, Any], Scene | None], str]]] = {"$text": _text, "$hex": _hex}
FORMS: Final[dict[str, Callable[[dict[str, Any], Scene], Any]]] = {
    "$peer": _peer,
    "$request": _request,
    "$kept": _kept,
    "$records": _records,
    **_BYTES,
}


# ---------------------------------------------------------------- checks, when a script is read


def check_values(
    value: Any, steps: Steps, request: type[Message], registry: Registry, kept: set[str]
) -> Iterator[tuple[Steps, str]]:
    """What is wrong with the objects of forms in a value: steps and text of each fault.

    `kept` are the names that rules keep.
    """
    form = form_of(value)
    if form is not None:
        yield from ((steps, text) for text in _faults(form, value, request, registry, kept))
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from check_values(each, (*steps, key), request, registry, kept)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from check_values(each, (*steps, index), request, registry, kept)


def _faults(
    form: str, value: dict[str, Any], request: type[Message], registry: Registry, kept: set[str]
) -> Iterator[str]:
    if form not in FORMS:
        yield f"there is no {form!r}; {suggestion(form, FORMS)}"
        return
    others = [key for key in value if key != form and not (form == "$records" and key in _BATCH_KEYS)]
    if others:
        yield f"{others[0]!r} can't stand beside {form}"
        return
    argument = value[form]
    if form != "$records" and not isinstance(argument, str):
        yield f"{found(argument)} was found, a text was expected{_QUOTE}"
        return
    match form:
        case "$peer" if argument not in ("host", "port"):
            yield f"{shown(argument)} was found, host or port was expected"
        case "$kept" if argument not in kept:
            yield f"no rule keeps {shown(argument)}; {suggestion(argument, sorted(kept))}"
        case "$request" | "$hex" | "$records":
            try:
                if form == "$request":
                    RequestPath(argument, request, registry.request_header)
                elif form == "$hex":
                    _hex(value, None)
                else:
                    _check_batch(value)
                    _check_records(argument)
                    _records(value, None)
            except TagwireError as error:
                yield str(error)
        case _:
            pass


def _check_batch(value: dict[str, Any]) -> None:
    for key, kind, name in (
        ("base_offset", int, "an integer"),
        ("format", str, "a text"),
        ("compression", str, "a text"),
    ):
        if not isinstance(value.get(key, kind()), kind):
            raise ValueFault(f"{key}: {found(value[key])} was found, {name} was expected")


def _check_bytes(value: dict[str, Any]) -> None:
    """Raise ValueFault for bytes of a record that their form can't make."""
    form, argument = next(iter(value.items()))
    if len(value) > 1 or not isinstance(argument, str):
        raise ValueFault(f"{form} stands alone, with a text{_QUOTE}")
    _BYTES[form](value, None)


def _check_records(argument: Any) -> None:
    if not isinstance(argument, list):
        raise ValueFault(f"{found(argument)} was found, a list of records was expected")
    for each in argument:
        if not isinstance(each, dict):
            raise ValueFault(f"{found(each)} was found, a record such as {{key: k, value: v}} was expected")
        unknown = [key for key in each if key not in _RECORD_KEYS]
        if unknown:
            raise ValueFault(f"a record has no {unknown[0]!r}; {suggestion(unknown[0], _RECORD_KEYS)}")
        headers = each.get("headers") or {}
        if not isinstance(headers, dict):
            raise ValueFault(f"{found(headers)} was found, headers such as {{name: value}} were expected")
        for key in ("offset", "timestamp"):
            if not isinstance(each.get(key, 0), int):
                raise ValueFault(f"{key}: {found(each[key])} was found, an integer was expected")
        for value in (each.get("key"), each.get("value"), *headers.values()):
            if isinstance(value, dict) and form_of(value) in _BYTES:
                _check_bytes(value)
            elif not isinstance(value, str | None):
                raise ValueFault(f"{found(value)} was found, a text, $text or $hex was expected{_QUOTE}")
