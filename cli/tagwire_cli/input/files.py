"""Read a command's input from a file or standard input: raw bytes, hex, or JSON.

The JSON parser is stricter than Python's `json`: it rejects duplicate keys, NaN and infinities, to avoid losing data.
"""

import contextlib
import json
import re
import string
from collections.abc import Generator, Iterator, Sequence
from typing import IO, Any, Final, NoReturn

import click

from tagwire.errors import TagwireError
from tagwire.text_format import shown
from tagwire_cli.output.echo import say
from tagwire_cli.paths import UnreadableFileError, exists, note_terminal

HEX_HINT: Final = "the input looks like hex; add --hex"
HEX_ARGUMENT: Final = (
    "`tagwire explain` takes hex as an argument, other commands read files or, with --hex, hex from standard input"
)
_HEX_TEXT: Final = re.compile(rb"\s*(?:0x)?(?:[0-9a-fA-F]{2}(?:\s*|[:,-])){4,}")
_HEX_WORD: Final = re.compile(r"(?:0x)?(?:[0-9a-fA-F]{2}:?)+")
_BETWEEN: Final = string.whitespace.encode() + b":,-"
"""The characters that may separate bytes in hex."""
_DIGITS: Final = string.hexdigits.encode()
_BLANKS: Final = " \t\r\n"
"""The characters that may separate JSON values."""


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
    """Open `file` to read bytes, or standard input for `-`. Raises InputError if opening or reading fails."""
    if file == "-":
        note_terminal()
    try:
        opened = click.open_file(file, "rb")
    except RuntimeError:  # click raises this if standard input is closed
        raise InputError("standard input is closed; give a file") from None
    except OSError as error:
        unread = UnreadableFileError.of(file, error)
        if looks_like_hex(file.encode()):
            unread = UnreadableFileError(f"{unread}; {HEX_ARGUMENT}")
        raise unread from None
    with opened as stream:
        try:
            yield stream
        except OSError as error:
            raise InputError(f"{file} can't be read: {error.strerror}") from None


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


def read_json(file: str) -> Any:
    """Read a file that contains one JSON value. Raises InputError with the line and column."""
    return json_of(_decoded(read_bytes(file, is_hex=False)))


def json_of(text: str, line: int = 1) -> Any:
    """Parse one JSON value. `line` is the line of the input where `text` begins. Raises InputError with a position."""
    with _json_errors(line):
        return json.loads(text, object_pairs_hook=_once_each, parse_constant=_reject_constant)


def json_values(file: str) -> Iterator[tuple[str, Any]]:
    """Yield the JSON values in a file, each with its position, such as `frame 3`. Blanks between values are ignored."""
    text = _decoded(read_bytes(file, is_hex=False))
    decoder = json.JSONDecoder(object_pairs_hook=_once_each, parse_constant=_reject_constant)
    end, number = _skip_blanks(text, 0), 0
    if end == len(text):
        note_empty(file)
    while end < len(text):
        with _json_errors():
            value, end = decoder.raw_decode(text, end)
        number += 1
        yield f"frame {number}", value
        end = _skip_blanks(text, end)


def json_lines(file: str) -> Iterator[tuple[str, Any]]:
    """Yield the JSON value on each non-blank line, with the line number, as soon as the line arrives."""
    is_empty = True
    with open_input(file) as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                is_empty = False
                # Remove the line break, so that an error at the end of the line isn't reported for the next line.
                text = _decoded(line, f"line {number}, ").rstrip()
                yield f"line {number}", json_of(text, number)
    if is_empty:
        note_empty(file)


def _decoded(data: bytes, where: str = "") -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        byte = data[error.start]
        raise InputError(f"JSON input: {where}byte 0x{byte:02x} at offset {error.start} is not valid UTF-8") from None


@contextlib.contextmanager
def _json_errors(line: int = 1) -> Generator[None]:
    """Convert errors of Python's JSON parser to InputError. `line` is the input line where the parsed text begins."""
    try:
        yield
    except json.JSONDecodeError as error:
        if not error.doc.strip():
            raise InputError("JSON input: the input is empty; give a JSON object in FILE or standard input") from None
        position = f"line {line + error.lineno - 1}, column {error.colno}"
        if not error.doc[: error.pos].strip():
            raise InputError(f"JSON input: {position}: expected JSON, got {shown(error.doc[error.pos :])}") from None
        raise InputError(f"JSON input: {position}: {error.msg}") from None
    except RecursionError:
        raise InputError("JSON input: a value is nested too deeply; no message has that many levels") from None
    except ValueError:  # raised for an integer with too many digits
        raise InputError("JSON input: a number has more digits than any field can hold") from None


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise InputError(f"JSON input: duplicate key {shown(key)} in an object")
        members[key] = value
    return members


def _reject_constant(name: str) -> NoReturn:
    raise InputError(f"JSON input: {name} is not valid JSON; write it as the string {json.dumps(name)}")
