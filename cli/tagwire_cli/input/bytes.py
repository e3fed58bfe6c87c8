"""Read the input of commands from standard input or a file, as raw bytes or hex."""

import contextlib
import re
import string
from collections.abc import Generator
from pathlib import Path
from typing import IO, Final, NoReturn

import click

from tagwire.errors import TagwireError
from tagwire_cli.paths import UnreadableFileError

HEX_HINT: Final = "the input looks like hex; add --hex"
_HEX_TEXT: Final = re.compile(rb"\s*(?:[0-9a-fA-F]{2}\s*){4,}")
_BLANKS: Final = string.whitespace.encode()
_DIGITS: Final = string.hexdigits.encode()


class InputError(TagwireError):
    """Raised for input that a command can't use, such as invalid hex or invalid JSON."""


def read_bytes(file: str, *, is_hex: bool) -> bytes:
    """Read all bytes of `file`, or of standard input for `-`. With `is_hex`, decode them as hex with white space.

    Raises InputError.
    """
    with open_input(file) as stream:
        data = stream.read()
    return from_hex(data) if is_hex else data


def read_pasted(word: str, encoding: str) -> tuple[bytes, str]:
    """Return the bytes of a file, and their encoding. The argument may also be hex itself. Raises InputError."""
    if word != "-" and not Path(word).exists() and looks_like_hex(word.encode()):
        return word.encode(), "hex"
    return read_bytes(word, is_hex=False), encoding


@contextlib.contextmanager
def open_input(file: str) -> Generator[IO[bytes]]:
    """Open `file` to read bytes, or standard input for `-`. An error while opening or reading becomes an InputError."""
    try:
        opened = click.open_file(file, "rb")
    except RuntimeError:  # click raises this if standard input is closed
        raise InputError("standard input is closed") from None
    except OSError as error:
        raise UnreadableFileError.of(file, error) from None
    with opened as stream:
        try:
            yield stream
        except OSError as error:
            raise InputError(f"{file}: can't be read: {error.strerror}") from None


def looks_like_hex(data: bytes) -> bool:
    """Return whether bytes are only hex and white space, with at least four pairs of digits."""
    return _HEX_TEXT.fullmatch(data) is not None


def from_hex(text: bytes) -> bytes:
    """Decode hex, ignoring white space. Raises InputError with the line and column."""
    digits = text.translate(None, _BLANKS)
    try:
        return bytes.fromhex(digits.decode("ascii"))
    except ValueError:
        _refuse_hex(text)


def _refuse_hex(text: bytes) -> NoReturn:
    """Raise InputError for the first character that isn't a hex digit, or for an odd number of digits."""
    wrong = text.translate(None, _BLANKS + _DIGITS)
    at = text.index(wrong[:1]) if wrong else len(text.rstrip(_BLANKS)) - 1
    line = text.count(b"\n", 0, at) + 1
    column = at - text.rfind(b"\n", 0, at)
    if wrong:
        shown = repr(chr(wrong[0])) if wrong[0] < 0x80 else f"byte 0x{wrong[0]:02x}"
        raise InputError(f"hex input: line {line}, column {column}: {shown} is not a hex digit")
    count = len(text.translate(None, _BLANKS))
    raise InputError(f"hex input: line {line}, column {column}: odd number of hex digits ({count}); a byte has two")
