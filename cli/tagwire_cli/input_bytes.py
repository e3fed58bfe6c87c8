"""Bytes as commands get them: from standard input or a file, raw or as hex text, within limits."""

import contextlib
import string
from collections.abc import Callable, Generator, Sequence
from typing import IO, TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import click

from tagwire.errors import TagwireError
from tagwire_cli import completion

if TYPE_CHECKING:
    from tagwire.limits import Limits

__all__ = ["InputError", "from_hex", "limit_option", "limits_of", "open_input", "read_bytes"]

F = TypeVar("F", bound=Callable[..., Any])

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
        shell_complete=completion.limits,
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
    with open_input(file) as stream:
        data = stream.read()
    return from_hex(data) if is_hex else data


@contextlib.contextmanager
def open_input(file: str) -> Generator[IO[bytes]]:
    """`file` to read bytes from (`-` is standard input). Raises InputError, for what fails while it is read too."""
    try:
        opened = click.open_file(file, "rb")
    except RuntimeError:  # how click says that a program was started without it
        raise InputError("standard input is closed") from None
    except OSError as error:
        raise InputError(f"{file}: can't be read: {error.strerror}") from None
    with opened as stream:
        try:
            yield stream
        except OSError as error:
            raise InputError(f"{file}: can't be read: {error.strerror}") from None


def from_hex(text: bytes) -> bytes:
    """The bytes that hex text says; white space in it does not count. Raises InputError with line and column."""
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
