"""Read a command's input from a file or standard input: raw bytes or hex."""

import contextlib
import os
import re
import stat
import sys
from collections.abc import Generator, Sequence
from typing import IO, Final, NoReturn

import click

from tagwire.errors import TagwireError
from tagwire_cli.output.echo import say
from tagwire_cli.paths import UnreadableFileError, exists, note_terminal

HEX_HINT: Final = "the input looks like hex; add --hex"
HEX_ARGUMENT: Final = (
    "`tagwire explain` takes hex as an argument, other commands read files or, with --hex, hex from standard input"
)
_HEX_TEXT: Final = re.compile(rb"\s*(?:0x)?(?:[0-9a-fA-F]{2}(?:\s*|[:,-])){4,}")
_HEX_WORD: Final = re.compile(r"(?:0x)?(?:[0-9a-fA-F]{2}:?)+")
_BETWEEN: Final = b" \t\n\r\v\f:,-"
"""The characters that may separate bytes in hex."""
_DIGITS: Final = b"0123456789abcdefABCDEF"


class InputError(TagwireError):
    """Raised for input that a command can't use, such as invalid hex or invalid JSON."""


def read_bytes(file: str, *, is_hex: bool) -> bytes:
    """Read all bytes of `file`, or of standard input for `-`. With `is_hex`, the input is decoded from hex.

    Raises InputError if the file can't be read, or contains invalid hex.
    """
    with open_input(file) as stream:
        data = stream.read()
    return from_hex(data) if is_hex else data


def read_pasted(args: Sequence[str], encoding: str) -> tuple[bytes, str]:
    """Return the bytes to decode, and their encoding. The arguments are a FILE, or the bytes themselves in hex.

    Raises InputError if the file can't be read, and click.UsageError for more than one file.
    """
    if args and not exists(args[0]) and are_hex(args):
        return "".join(args).encode(), "hex"
    return read_bytes(one_file(args), is_hex=False), encoding


def one_file(args: Sequence[str]) -> str:
    """Return the FILE argument, or "-" (standard input) if it is missing. Raises click.UsageError for a second file."""
    if len(args) > 1:
        raise click.UsageError(f"give at most one FILE; unexpected argument {args[1]!r}")
    return args[0] if args else "-"


def note_empty(file: str) -> None:
    """Print on standard error that the input is empty, for commands that accept empty input."""
    say(f"tagwire: {'standard input' if file == '-' else file} is empty", err=True)


@contextlib.contextmanager
def open_input(file: str) -> Generator[IO[bytes]]:
    """Open `file` to read bytes, or standard input for `-`.

    Raises InputError if opening or reading fails, or if standard output is the same file.
    """
    if file == "-":
        note_terminal()
    try:
        opened = click.open_file(file, "rb")
    except RuntimeError:  # click raises this if standard input is closed
        raise InputError("standard input is closed; give a file") from None
    except OSError as error:
        unread = UnreadableFileError.of(file, error)
        if looks_like_hex(os.fsencode(file)):
            unread = UnreadableFileError(f"{unread}; {HEX_ARGUMENT}")
        raise unread from None
    with opened as stream:
        if _is_output(stream):
            name = "standard input" if file == "-" else file
            raise InputError(f"{name} is also the output of this command; write the output to another file")
        try:
            yield stream
        except OSError as error:
            raise InputError(f"{file} can't be read: {error.strerror}") from None


def _is_output(stream: IO[bytes]) -> bool:
    """Return whether a stream reads from the regular file to which standard output is redirected."""
    try:
        read, written = (os.fstat(each.fileno()) for each in (stream, sys.stdout))
    except (AttributeError, OSError, ValueError):  # standard output is closed, or one of the streams is not a file
        return False
    return stat.S_ISREG(read.st_mode) and os.path.samestat(read, written)


def are_hex(args: Sequence[str]) -> bool:
    """Return whether all arguments are whole bytes in hex, such as `0012` or `00:12`."""
    return all(map(_HEX_WORD.fullmatch, args))


def looks_like_hex(data: bytes) -> bool:
    """Return whether bytes are only hex and separators, with at least four pairs of digits."""
    return _HEX_TEXT.fullmatch(data) is not None


def from_hex(text: bytes) -> bytes:
    """Decode hex, ignoring white space, `:`, `,` and `-`. Raises InputError with the line and column."""
    # Replace "0x" with blanks instead of removing it, so that errors name the right column.
    digits = b"  " + text[2:] if text.startswith(b"0x") else text
    try:
        return bytes.fromhex(digits.translate(None, _BETWEEN).decode("ascii"))
    except ValueError:
        _reject_hex(digits)


def _reject_hex(text: bytes) -> NoReturn:
    """Raise InputError for the first character that isn't a hex digit, or for an odd number of digits."""
    wrong = text.translate(None, _BETWEEN + _DIGITS)
    at = text.index(wrong[:1]) if wrong else len(text.rstrip(_BETWEEN)) - 1
    line = text.count(b"\n", 0, at) + 1
    column = at - text.rfind(b"\n", 0, at)
    if wrong:
        found = repr(chr(wrong[0])) if wrong[0] < 0x80 else f"byte 0x{wrong[0]:02x}"
        raise InputError(f"hex input: line {line}, column {column}: {found} is not a hex digit")
    count = len(text.translate(None, _BETWEEN))
    raise InputError(f"hex input: line {line}, column {column}: odd number of hex digits ({count}); a byte has two")
