"""Bytes and JSON as commands get them: from standard input or a file, raw or as hex text, within limits."""

import json
import string
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import click

from tagwire.errors import TagwireError
from tagwire.shown import shown

if TYPE_CHECKING:
    from tagwire.limits import Limits

__all__ = ["InputError", "limit_option", "limits_of", "read_bytes", "read_json"]

F = TypeVar("F", bound=Callable[..., Any])

STDIN: Final = "-"
_BLANKS: Final = string.whitespace.encode()
_DIGITS: Final = string.hexdigits.encode()


class InputError(TagwireError):
    """Input that is not what the command reads: no hex, no JSON, or not readable at all."""


def limit_option(function: F) -> F:
    """The option `--limit`, whose values `limits_of` takes."""
    return click.option(
        "--limit",
        "limits",
        multiple=True,
        metavar="NAME=N",
        help="Refuse input beyond a limit (bytes, depth, elements, records, decompressed_bytes ...); may be repeated.",
    )(function)


def limits_of(texts: Sequence[str]) -> "Limits":
    """The limits of `NAME=N` texts. Raises click.BadParameter."""
    from tagwire.limits import Limits

    values: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if name not in Limits.__slots__ or not (number.isascii() and number.isdigit() and len(number) < 20):
            known = ", ".join(Limits.__slots__)
            raise click.BadParameter(f"{text!r} is no NAME=N with a name of {known}", param_hint="--limit")
        values[name] = int(number)
    return Limits(**values)


def read_bytes(file: str, *, is_hex: bool) -> bytes:
    """All of `file` (`-` is standard input); as hex text, white space in it does not count. Raises InputError."""
    data = _read(file)
    return _from_hex(data) if is_hex else data


def read_json() -> Any:
    """The JSON value on standard input. Raises InputError with line and column; a key twice in an object is refused."""
    data = _read(STDIN)
    try:
        return json.loads(data.decode(), object_pairs_hook=_once_each, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise InputError(f"JSON input: byte 0x{data[error.start]:02x} at byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(f"JSON input: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise InputError("JSON input: nested more deeply than any message") from None
    except ValueError:  # Python's bound for the digits of one number
        raise InputError("JSON input: a number of more digits than any field has") from None


def _read(file: str) -> bytes:
    try:
        with click.open_file(file, "rb") as stream:
            return bytes(stream.read())
    except OSError as error:
        raise InputError(f"{file}: can't be read: {error.strerror}") from None
    except RuntimeError:  # how click says that a program was started without it
        raise InputError("standard input is closed") from None


def _from_hex(text: bytes) -> bytes:
    digits = text.translate(None, _BLANKS)
    try:
        return bytes.fromhex(digits.decode("ascii"))
    except ValueError:
        _refuse_hex(text)


def _refuse_hex(text: bytes) -> NoReturn:
    """Say which character is at fault: one that is no digit, else the last digit, which has no partner."""
    wrong = text.translate(None, _BLANKS + _DIGITS)
    at = text.index(wrong[:1]) if wrong else len(text.rstrip(_BLANKS)) - 1
    line = text.count(b"\n", 0, at) + 1
    column = at - text.rfind(b"\n", 0, at)
    if wrong:
        shown = repr(chr(wrong[0])) if wrong[0] < 0x80 else f"byte 0x{wrong[0]:02x}"
        raise InputError(f"hex input: line {line}, column {column}: {shown} is no hex digit")
    count = len(text.translate(None, _BLANKS))
    raise InputError(
        f"hex input: line {line}, column {column}: the last of {count} digits has no partner; a byte has two digits"
    )


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise InputError(f"JSON input: the key {shown(key)} stands twice in one object")
        made[key] = value
    return made


def _refuse_constant(name: str) -> NoReturn:
    raise InputError(f"JSON input: {name} is no JSON value; write it as the text {json.dumps(name)}")
