"""Read JSON from a file or standard input.

The parser is stricter than Python's `json`: it rejects duplicate keys, NaN and infinities, to avoid losing data.
"""

import contextlib
import json
from collections.abc import Generator, Iterator
from typing import Any, Final, NoReturn

from tagwire.text_format import shown
from tagwire_cli.input.files import InputError, note_empty, open_input, read_bytes

_BLANKS: Final = " \t\r\n"
"""The characters that may separate JSON values."""


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
        problem = "expected the end of the input after a JSON value" if error.msg == "Extra data" else error.msg
        raise InputError(f"JSON input: {position}: {problem}") from None
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
