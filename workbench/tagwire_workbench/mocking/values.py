"""Script values that JSON does not have: objects with a special key, such as `$hex`, and paths to values of a request.

Such an object can be written instead of a JSON value in a message. All objects are checked when the script is read. A
`Later` represents a value that depends on a request.

    {$peer: host}, {$peer: port}      the address that the client connected to
    {$request: topics[0].name}        a value of the request, null if it has none
    {$kept: batch}                    a value kept from an earlier request, null if there was none
    {$records: [{key: k, value: v}]}  a batch of records; other keys are arguments of `tagwire.records.build`
    {$text: ...}, {$hex: ...}         bytes

Paths consist of attribute names: `topics[0].name`, `topics[].name` for every element, `header.client_id`. A request may
have no value at a path, for example because an array has a single element.
"""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tagwire.errors import EncodeError, TagwireError
from tagwire.message import Message
from tagwire.message.field_table import FieldRow
from tagwire.message.json import UNKNOWN_TAGS, field_from_json, field_to_json, no_field
from tagwire.testing.peer import Received
from tagwire.text_format import near, shown, suggestion
from tagwire_workbench.mocking.yaml_tree import Steps, Tree, found

_ABSENT: Final = object()
"""The value at a path to which the request has no value. (None would mean null.)"""
_STEP: Final = re.compile(r"([^\W\d]\w*)((?:\[[0-9]{0,9}\])*)")
_INDEX: Final = re.compile(r"\[(\d*)\]")
_HEADER: Final = "header."
_RECORD_KEYS: Final = ("key", "value", "headers", "timestamp", "offset")
_QUOTE_HINT: Final = "; if the value is a string, put it in quotes"


class ScriptValueError(TagwireError):
    """Raised for an invalid special object, and for a path that leads to no field in any version of a request."""


class RequestPath:
    """A path, checked against the classes of a request and its header."""

    def __init__(self, text: str, message: type[Message], header: type[Message]) -> None:
        self.text = text
        self.json_path = _INDEX.sub("[]", text)
        """The path with [] for every index, as `field_from_json` expects it."""
        self.message = header if text.startswith(_HEADER) else message
        self.is_header = text.startswith(_HEADER)
        self.steps: list[str | int | None] = []
        """The steps of the path: field names, indexes, and None for every element of an array."""
        self.rows: list[FieldRow] = []
        """The fields that the path names."""
        cls: Any = header if self.is_header else message
        for part in text.removeprefix(_HEADER).split("."):
            cls = self._add(part, cls)

    def _add(self, part: str, cls: Any) -> Any:
        """Check one part of a path, such as `topics[0]`, and append its steps.

        Return the class of the struct at this part of the path, or None if there is no struct.
        """
        step = _STEP.fullmatch(part)
        if step is None:
            raise ScriptValueError(f"expected a path such as topics[0].name, got {self.text!r}")
        if cls is None:
            raise ScriptValueError(f"{self.text}: {self.steps[-1]} has no fields")
        rows = {row.name: row for row in cls.FIELDS}
        name, indexes = step[1], _INDEX.findall(step[2])
        if name not in rows:
            raise ScriptValueError(f"{self.text}: {cls.__name__} has no field {name!r}{near(name, rows)}")
        row = rows[name]
        depth = row.type.count("[]")
        if len(indexes) > depth:
            raise ScriptValueError(f"{self.text}: {name} is not an array")
        self.rows.append(row)
        self.steps += [name, *(int(index) if index else None for index in indexes)]
        return row.struct if len(indexes) == depth else None

    def json(self, request: Received, absent: Any = None) -> Any:
        """Return the JSON value at this path in a request, or `absent` if there is no such value."""
        value = _value(request.header if self.is_header else request.message, self.steps)
        if value is _ABSENT:
            return absent
        version: int | None = request.version
        for row in self.rows[:-1]:
            version = row.struct_version(version)
        return field_to_json(self.rows[-1], value, version)

    def read(self, value: Any) -> None:
        """Raise EncodeError if no request can have this JSON value at the path."""
        values = [value]
        for _ in range(self.steps.count(None)):
            if not all(isinstance(each, list) for each in values):
                reason = f"expected a list of the values at {self.text}, got {shown(value)}"
                raise EncodeError(reason, message_name="", version=None, path="")
            values = [element for each in values for element in each]
        for each in values:
            field_from_json(self.message, self.json_path, self.rows[-1], each, None, holder=None)


def _value(value: Any, steps: list[str | int | None]) -> Any:
    for at, step in enumerate(steps):
        if value is None:
            return _ABSENT
        if step is None:
            values = [_value(element, steps[at + 1 :]) for element in value]
            return [each for each in values if each is not _ABSENT]
        if isinstance(step, int):
            if step >= len(value):
                return _ABSENT
            value = value[step]
        else:
            value = getattr(value, step)
    return value


class Setting(NamedTuple):
    """What values in a script may refer to: the fields of the request and of its header, and the kept values."""

    request: type[Message]
    header: type[Message]
    kept: set[str]


class Scene(NamedTuple):
    """The context for a reply: the request, and the values kept from earlier requests."""

    request: Received
    kept: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Later:
    """A value that can only be created when a request arrives."""

    make: Callable[[Scene], Any]


_FAULTY: Final = Later(lambda _: None)
"""Replaces an invalid value in a script. A script with errors is never served."""


class ValueReader:
    """Reads the values in one rule of a script. Errors are added to `tree`, the parsed script."""

    def __init__(self, tree: Tree, setting: Setting) -> None:
        self.tree = tree
        self.setting = setting
        self.indexes: dict[Steps, list[int]] = {}
        """Maps a list's path to the original indexes of its checked elements: those that don't depend on a request."""

    def read(self, value: Any, steps: Steps) -> Any:
        """Replace all special objects, such as `{$hex: ...}`. Returns a `Later` if a value depends on the request."""
        form = _form_of(value)
        if form is not None:
            with self.tree.errors_of(steps):
                return _read_form(form, value, self.setting)
            return _FAULTY
        if isinstance(value, dict):
            return {key: self.read(each, (*steps, key)) for key, each in value.items()}
        if isinstance(value, list):
            return [self.read(each, (*steps, index)) for index, each in enumerate(value)]
        return value

    def check(self, value: Any, cls: Any, steps: Steps, read: Callable[[Any], object], path: str = "") -> None:
        """Check a scripted value with `read`. Parts that depend on a request can't be checked yet, and are left out."""
        known = self._known(value, cls, steps)
        if isinstance(known, Later):
            return
        try:
            read(known)
        except EncodeError as error:
            reached = steps
            for step in _json_steps(cls, error.path.removeprefix(path)):
                indexes = self.indexes.get(reached)
                reached = (*reached, indexes[step] if indexes is not None and isinstance(step, int) else step)
            self.tree.add_error(reached, error.reason)

    def _known(self, value: Any, cls: Any, steps: Steps) -> Any:
        """Return the parts of a scripted value that don't depend on a request. Report unknown field names."""
        if isinstance(value, list):
            elements = [self._known(each, cls, (*steps, index)) for index, each in enumerate(value)]
            self.indexes[steps] = [index for index, each in enumerate(elements) if not isinstance(each, Later)]
            return [elements[index] for index in self.indexes[steps]]
        if not isinstance(value, dict):
            return value
        rows = {row.json_name: row for row in cls.FIELDS} if cls is not None else {}
        result = {}
        for key, each in value.items():
            inner = self._known(each, rows[key].struct if key in rows else None, (*steps, key))
            if cls is not None and key not in (*rows, UNKNOWN_TAGS):
                self.tree.add_error((*steps, key), no_field(cls, key, shown(key)), of_key=True)
            elif not isinstance(inner, Later):
                result[key] = inner
        return result


def evaluated(value: Any, scene: Scene) -> Any:
    """Return a value in which each `Later` is replaced by the value for this request."""
    if isinstance(value, Later):
        return value.make(scene)
    if isinstance(value, dict):
        return {key: evaluated(each, scene) for key, each in value.items()}
    if isinstance(value, list):
        return [evaluated(each, scene) for each in value]
    return value


def as_bytes(value: Any) -> bytes:
    """Decode a base64 string in JSON. Raises ScriptValueError if it is not base64."""
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError):
        raise ScriptValueError(
            f"expected bytes in base64, got {shown(value)}; to give them as text or hex, use {{$text: ...}} or "
            f"{{$hex: ...}}"
        ) from None


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _peer(value: dict[str, Any], setting: Setting) -> Later:
    part = value["$peer"]
    if part not in ("host", "port"):
        raise ScriptValueError(f"$peer: expected 'host' or 'port', got {shown(part)}")
    return Later(lambda scene: getattr(scene.request.address, part))


def _request(value: dict[str, Any], setting: Setting) -> Later:
    path = RequestPath(value["$request"], setting.request, setting.header)
    return Later(lambda scene: path.json(scene.request))


def _kept(value: dict[str, Any], setting: Setting) -> Later:
    name = value["$kept"]
    if name not in setting.kept:
        raise ScriptValueError(f"no rule keeps a value named {shown(name)}; {suggestion(name, sorted(setting.kept))}")
    return Later(lambda scene: scene.kept.get(name))


def _hex(value: dict[str, Any], setting: Setting) -> str:
    try:
        return _base64(bytes.fromhex(value["$hex"]))
    except ValueError:
        raise ScriptValueError(f"expected hex, got {shown(value['$hex'])}") from None


def _records(value: dict[str, Any], setting: Setting) -> str:
    from tagwire.records import build

    first = _integer(value, "base_offset", 0)
    records = [_record(each, offset, setting) for offset, each in enumerate(value["$records"], first)]
    settings = {key: value[key] for key in ("format", "compression") if key in value}
    for key, each in settings.items():
        if not isinstance(each, str):
            raise ScriptValueError(f"{key}: expected a string, got {found(each)}")
    return _base64(build(records, **settings).encode())


def _record(value: Any, offset: int, setting: Setting) -> Any:
    from tagwire.records import Record

    if not isinstance(value, dict):
        raise ScriptValueError(f"expected a record such as {{key: k, value: v}}, got {found(value)}")
    unknown = [key for key in value if key not in _RECORD_KEYS]
    if unknown:
        raise ScriptValueError(f"a record has no key {unknown[0]!r}; {suggestion(unknown[0], _RECORD_KEYS)}")
    headers = value.get("headers") or {}
    if not isinstance(headers, dict):
        raise ScriptValueError(f"expected headers such as {{name: value}}, got {found(headers)}")
    return Record(
        _integer(value, "offset", offset),
        _integer(value, "timestamp", 0),
        _plain(value.get("key"), setting),
        _plain(value.get("value"), setting),
        tuple((name, _plain(each, setting)) for name, each in headers.items()),
    )


def _integer(value: dict[str, Any], key: str, default: int) -> int:
    number = value.get(key, default)
    if not isinstance(number, int) or isinstance(number, bool):
        raise ScriptValueError(f"{key}: expected an integer, got {found(number)}")
    return number


def _plain(value: Any, setting: Setting) -> bytes | None:
    """Return the bytes of a record's key, value or header, given as a string or as an object with $hex or $text."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    form = _form_of(value)
    if form not in _BYTES:
        raise ScriptValueError(f"expected a string, $text or $hex, got {found(value)}{_QUOTE_HINT}")
    return as_bytes(_read_form(form, value, setting))


class Form(NamedTuple):
    """A kind of special object in scripts, such as `{$hex: ...}`. `read` checks the object and returns its value."""

    read: Callable[[dict[str, Any], Setting], Any]
    kind: type = str
    """Type that the value of the special key must have. For example, the value of `$hex` is a string."""
    expected: str = "a string"
    other_keys: tuple[str, ...] = ()
    """Other keys that the object may have."""


_BYTES: Final = {"$text": Form(lambda value, _: _base64(value["$text"].encode())), "$hex": Form(_hex)}
FORMS: Final = {
    "$peer": Form(_peer),
    "$request": Form(_request),
    "$kept": Form(_kept),
    "$records": Form(_records, list, "a list of records", ("format", "compression", "base_offset")),
    **_BYTES,
}


def _form_of(value: Any) -> str | None:
    """Return the `$` key of a special object, such as `$hex`, or None for any other value."""
    if not isinstance(value, dict):
        return None
    return next((key for key in value if key.startswith("$")), None)


def _read_form(form: str, value: dict[str, Any], setting: Setting) -> Any:
    """Return the value of an object such as `{$hex: ...}`. Raises a TagwireError if the object is invalid."""
    if form not in FORMS:
        raise ScriptValueError(f"unknown special key {form!r}; {suggestion(form, FORMS)}")
    row = FORMS[form]
    others = [key for key in value if key != form and key not in row.other_keys]
    if others:
        raise ScriptValueError(f"the key {others[0]!r} can't be combined with {form}")
    if not isinstance(value[form], row.kind):
        raise ScriptValueError(
            f"{form}: expected {row.expected}, got {found(value[form])}{_QUOTE_HINT if row.kind is str else ''}"
        )
    return row.read(value, setting)


def _json_steps(cls: Any, path: str) -> Steps:
    """Convert a path such as `topics[3].error_code` to the JSON keys and indexes that lead to the value."""
    steps: list[str | int] = []
    for part in path.split("."):
        name, *indexes = part.replace("]", "").split("[")
        if name:
            row = next((row for row in cls.FIELDS if row.name == name), None) if cls is not None else None
            steps.append(row.json_name if row is not None else UNKNOWN_TAGS if name == "unknown_tags" else name)
            cls = row.struct if row is not None else None
        steps += map(int, indexes)
    return tuple(steps)
