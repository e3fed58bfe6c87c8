"""Convert messages to and from JSON strings. The native engine converts without creating dicts and lists.

Reading is stricter than Python's `json` module: it rejects repeated keys, and NaN and infinity unless they are strings.
"""

from collections import Counter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from tagwire.errors import EncodeError, UnsupportedVersionError
from tagwire.message.engines import native_engine
from tagwire.message.field_table import layout_of
from tagwire.sensitive import without_frames
from tagwire.text_format import got, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagwire.layout import Layout
    from tagwire.message.base import Message

M = TypeVar("M", bound="Message")

_STYLES = ("lossless", "kafka")


def to_json_text(message: "Message", version: int, style: str = "lossless", indent: int | None = None) -> str:
    """Return `json.dumps(message.to_json(version, style=style), indent=indent, ensure_ascii=False)`.

    Raises EncodeError for a value that the version can't represent, and UnsupportedVersionError for an unknown version.
    """
    native = native_engine()
    if native is not None:
        is_lossless = is_lossless_style(style, layout_of(type(message), version))
        text: str | None = native.to_json_text(message, version, is_lossless, indent)
        if text is not None:
            return text
    from tagwire.message.json import to_json  # imported here and below, because the native engine rarely needs it

    return dumped(to_json(message, version, style), indent)


def is_lossless_style(style: str, layout: "Layout") -> bool:
    """Return whether the style is lossless. Raises EncodeError for an unknown style."""
    if style not in _STYLES:
        reason = f"style: expected {' or '.join(map(repr, _STYLES))}, got {shown(style)}"
        raise EncodeError(reason, message_name=layout.name, version=layout.version, path="")
    return style == "lossless"


def from_json_text(cls: type[M], text: str | bytes, version: int) -> M:
    """Parse a message from JSON in either style, given as a string or as UTF-8 bytes.

    Raises UnsupportedVersionError for an unknown version. Raises EncodeError for invalid JSON, with line and column,
    and for an invalid value, with the field's path.
    """
    if version not in cls.VERSIONS:
        raise UnsupportedVersionError(cls.NAME, version, cls.VERSIONS)
    if not isinstance(text, str | bytes | bytearray | memoryview):
        _reject(cls, version, f"expected JSON as str or bytes, got {got(text)}")
    native = native_engine()
    if native is not None:
        utf8 = text.encode(errors="surrogatepass") if isinstance(text, str) else bytes(text)
        found: M | None = native.from_json_text(cls, utf8, version)
        del utf8  # `utf8` may contain secrets, and debuggers show local variables in tracebacks
        if found is not None:
            return found
    from tagwire.message.json import from_json

    return from_json(cls, _value(cls, version, text), version)


def dumped(value: Any, indent: int | None = None) -> str:
    """Return a JSON value as a string. Non-ASCII characters are not escaped."""
    import json  # imported here and below, because the native engine doesn't need it

    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


def object_text(members: "Mapping[str, str]", indent: int | None = None) -> str:
    """Return a JSON object as a string. `members` maps each name to the JSON text of its value.

    Names are not escaped, so they must not contain quotes, backslashes or control characters. `indent` is the number of
    spaces per level, or None for a single line; the JSON text of the values must have the same indent.
    """
    shown = [f'"{name}": {text}' for name, text in members.items()]
    if indent is None:
        return f"{{{', '.join(shown)}}}"
    lines = ",\n".join(shown).replace("\n", "\n" + " " * indent)  # JSON strings contain no raw line breaks
    return "{\n" + " " * indent + lines + "\n}"


@without_frames
def _value(cls: "type[Message]", version: int, text: str | bytes) -> Any:
    import json

    def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
            _reject(cls, version, f"the key {shown(key)} is repeated in one object")
        return members

    def reject_constant(name: str) -> NoReturn:
        _reject(cls, version, f"JSON has no {name}; write it as the string {json.dumps(name)}")

    try:
        if not isinstance(text, str):
            text = bytes(text).decode()
        return json.loads(text, object_pairs_hook=once_each, parse_constant=reject_constant)
    except UnicodeDecodeError as cause:
        reason = f"byte {cause.start} of the text is 0x{cause.object[cause.start]:02x}, which is not UTF-8"
    except json.JSONDecodeError as cause:
        reason = f"not JSON: line {cause.lineno}, column {cause.colno}: {cause.msg}"
    except RecursionError:
        reason = "the JSON is nested more deeply than any message"
    except ValueError:  # Python rejects integers with too many digits
        reason = "the JSON has a number of more digits than any field"
    # Raise outside the `except` blocks, so that the error's context does not reveal the input.
    _reject(cls, version, reason)


def _reject(cls: "type[Message]", version: int, reason: str) -> NoReturn:
    raise EncodeError(reason, message_name=cls.NAME, version=version, path="")
