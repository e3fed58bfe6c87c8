"""Decode pasted input: raw bytes, or bytes that a tool printed as text.

The encoding is detected. Input that is entirely text in one of these forms is decoded, and anything else is raw bytes.
Real messages contain zero bytes, so they are not mistaken for text.

    hex       digits with any white space, or with : - , between bytes (tshark, Wireshark's "hex stream")
    dump      lines of offset, bytes and text (xxd, hexdump -C, od -t x1, Wireshark's "hex dump")
    escaped   \\x00\\x0c or 0x00, 0x0c (C and Wireshark), or a Python bytes literal
    list      signed or unsigned numbers in brackets (Arrays.toString in Java, list(data) in Python)
    base64    both alphabets, with padding
"""

import ast
import base64
import json
import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from tagwire.captures import capture_kind
from tagwire.errors import MissingExtraError
from tagwire.log.names import log_file
from tagwire.wire.checksums import checksum
from tagwire_cli.input.files import HEX_HINT, InputError, from_hex, looks_like_hex, open_input
from tagwire_cli.paths import is_file

_HINT_BYTES: Final = 1 << 20
_SMALLEST_BATCH: Final = 26
_LATEST_MAGIC: Final = 2
LOG_FILES: Final = {
    "log": "a log segment",
    "index": "an offset index",
    "timeindex": "a time index",
    "txnindex": "a transaction index",
    "snapshot": "a producer snapshot",
    "checkpoint": "a metadata snapshot",
}
_LOG_TEXT_FILE: Final = re.compile(r".+-checkpoint|meta\.properties|partition\.metadata|quorum-state")
_DUMP_LINE: Final = re.compile(r"\s*(?P<offset>[0-9a-fA-F]{3,16})(?P<colon>:?)(?P<rest>(?:\s.*)?)")
_DUMP_BYTES: Final = re.compile(r"(?P<gap>\s+)(?P<bytes>(?:[0-9a-fA-F]{2}){1,8})(?=\s|$)")
_DUMP_WIDTH: Final = 16
_OD: Final = re.compile(r"0000000 .*\n(?:(?:[0-9a-f]{7}(?: .*)?|\*)\n?)+")
"""Matches the output that od and hexdump print if they are called without options. It can't be parsed."""
_WORDS: Final = re.compile(r"[0-9a-f]{7}\s+[0-9a-f]{4}\b")
_SINGLE_BYTES_HINT: Final = "print single bytes in hex, with `xxd`, `hexdump -C` or `od -Ax -tx1`"
_ESCAPED: Final = re.compile(r"(?:\\x|0x)([0-9a-fA-F]{2})")
_ESCAPED_REST: Final = re.compile(r"[\s,;\"'{}()\[\]\\]*")
_C_ARRAY: Final = re.compile(r"[^{}=]*=\s*\{([^{}]*)\}.*", re.DOTALL)
_C_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_LIST: Final = re.compile(r"\s*[\[{(]\s*-?\d{1,3}(?:\s*,\s*-?\d{1,3})*\s*,?\s*[\]})]\s*")
_LITERAL: Final = re.compile(r"\s*[bB]([\"']).*\1\s*", re.DOTALL)


def encoding_of(data: bytes) -> str:
    """Return the encoding of the input, one of `ENCODINGS`. Input that isn't text in a known form is `binary`."""
    text = _printable_text(data)
    if text is None or not text.strip():
        return "binary"
    if _OD.fullmatch(text):
        return "dump"
    for name in ("escaped", "list", "dump", "hex", "base64"):
        is_cut = name == "base64" and len("".join(text.split())) % 4
        try:
            if not is_cut and _PARSERS[name](text):
                return name
        except InputError:
            continue
    return "binary"


def input_hint(data: bytes, file: str = "-") -> str:
    """Return a hint that says what the input is and which command or option reads it, or "" if it may be a message."""
    if not data:
        return "the input is empty"
    if looks_like_hex(data):
        return HEX_HINT
    name = "" if file == "-" else f" {shlex.quote(file)}"
    if kind := capture_kind(data):
        get = click.get_current_context().info_name == "get"
        article = "" if kind.endswith("s") else "a "
        how = f"get --capture{name and f' --file{name}'} MESSAGE PATH..." if get else f"decode --capture{name}"
        return f"the input looks like {article}{kind}; `tagwire explain{name}` and `tagwire {how}` read it"
    if kind := log_file_kind(file, data):
        return f"the input looks like {kind}; `tagwire log dump{name or ' -'}` prints it"
    if is_json(data):
        return f"the input looks like JSON; `tagwire encode MESSAGE VERSION{name}` encodes it"
    what = {"dump": "a hex dump", "escaped": "escaped bytes", "list": "a list of numbers"}.get(encoding_of(data))
    return (
        f"the input looks like {what}; `tagwire explain --input auto` reads it, other commands need bytes"
        if what
        else ""
    )


def is_json(data: bytes) -> bool:
    """Return whether the input is a JSON object."""
    with suppress(ValueError, RecursionError):
        return data.lstrip().startswith(b"{") and isinstance(json.loads(data), dict)
    return False


def file_hint(args: Sequence[str]) -> str:
    """Return the `input_hint` for the first argument that is an existing file, or "" if no argument is."""
    file = next(filter(is_file, args), None)
    if file is None:
        return ""
    with open_input(file) as stream:
        data = stream.read(_HINT_BYTES)
    return input_hint(data, file) if data else ""


def batches_hint(data: bytes, file: str) -> str:
    """Return a hint if the input does not begin with a record batch, or "" if it does."""
    if log_file_kind("", data):
        return ""
    explain = f"`tagwire explain {shlex.quote(file)}` detects what it is"
    return input_hint(data, file) or f"if the input is not record batches, {explain}"


def log_file_kind(file: str, data: bytes) -> str:
    """Return the kind of a file in a log folder, or "" for other files.

    Segments are recognized by their name or their first batch, other files by their name only.
    """
    if _LOG_TEXT_FILE.fullmatch(Path(file).name):
        return f"{Path(file).name}, a file of a log"
    name = log_file(Path(file))
    if name is not None and name.kind in LOG_FILES:
        return LOG_FILES[name.kind]
    size = 12 + int.from_bytes(data[8:12], "big")
    if not _SMALLEST_BATCH <= size <= len(data):
        return ""
    algorithm, at = ("crc32c", 17) if data[16] == _LATEST_MAGIC else ("crc32", 12)
    with suppress(MissingExtraError):
        is_batch = checksum(algorithm, data[at + 4 : size]) == int.from_bytes(data[at : at + 4], "big")
        return LOG_FILES["log"] if is_batch else ""
    return ""


def bytes_of(data: bytes, encoding: str) -> bytes:
    """Decode input in this encoding. With `auto`, detect the encoding. Raises InputError with the line and column."""
    name = encoding_of(data) if encoding == "auto" else encoding
    if name == "binary":
        if encoding == "auto" and (_printable_text(data) or "").strip():
            if is_json(data):
                raise InputError("the input looks like JSON; `tagwire encode MESSAGE VERSION` encodes it")
            raise InputError(
                "the input is text, but not hex, a hex dump, escaped bytes, a list of numbers or base64; to read the "
                "characters of the text as bytes, add --input binary"
            )
        return data
    text = _printable_text(data)
    if text is None:
        raise InputError(
            f"{name} input: expected text, got binary data; to read binary data, leave out --hex and --input"
        )
    return _PARSERS[name](text)


def _printable_text(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return text if all(each.isprintable() or each in "\r\n\t" for each in text) else None


def _base64(text: str) -> bytes:
    packed = "".join(text.strip().splitlines()).replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except ValueError as error:  # binascii.Error is a ValueError
        raise InputError(f"base64 input: {error}") from None


def _escaped(text: str) -> bytes:
    if _LITERAL.fullmatch(text):
        try:
            value = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError):
            value = None
        if isinstance(value, bytes):
            return value
    bare = _C_COMMENT.sub("", text)
    if array := _C_ARRAY.fullmatch(bare):
        bare = array[1]
    rest = _ESCAPED.sub("", bare)
    if not _ESCAPED_REST.fullmatch(rest) or not _ESCAPED.search(bare):
        raise InputError(r"escaped input: expected bytes such as '\x00\x0c' or '0x00, 0x0c', or a Python bytes literal")
    return bytes.fromhex("".join(_ESCAPED.findall(bare)))


def _list(text: str) -> bytes:
    numbers = list(map(int, re.findall(r"-?\d+", text))) if _LIST.fullmatch(text) else []
    if not numbers or not all(-128 <= each < 256 for each in numbers):
        raise InputError("list input: expected numbers from -128 to 255 in brackets, such as [0, 18, -1]")
    return bytes(each & 0xFF for each in numbers)


def _dump(text: str) -> bytes:
    """Parse a hex dump. The offset of the next line tells how many bytes a line has."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if len(lines) == 1 and not re.match(r"\s*[0-9a-fA-F]+(:|\s\s)", lines[0][1]):
        raise InputError("dump input: the line does not start with an offset; for hex without offsets, use --input hex")
    if _WORDS.match(text):
        raise InputError(f"dump input: expected bytes, got 16-bit words of unknown byte order; {_SINGLE_BYTES_HINT}")
    data = bytearray()
    previous = b""
    for index, (number, line) in enumerate(lines):
        if line.strip() == "*":  # xxd and hexdump print `*` for repetitions of the previous line
            previous = bytes(data[-_DUMP_WIDTH:])
            continue
        match = _DUMP_LINE.fullmatch(line)
        if match is None:
            raise InputError(f"dump input: line {number}: expected an offset in hex, got {line.strip()[:40]!r}")
        offset = int(match["offset"], 16)
        while previous and len(data) < offset:
            data += previous
        previous = b""
        if offset != len(data):
            expected = f"{len(data)}, the number of bytes above this line"
            raise InputError(
                f"dump input: line {number}: expected offset {expected}, got {offset:#x}; {_SINGLE_BYTES_HINT}"
            )
        next_line = _DUMP_LINE.fullmatch(lines[index + 1][1]) if index + 1 < len(lines) else None
        # Limit the bytes of the last line. xxd's need no limit, because they end at two blanks. Other tools can print
        # two blanks between bytes, so their limit is the usual maximum of 16 bytes.
        widest = len(line) if match["colon"] else _DUMP_WIDTH
        most = int(next_line["offset"], 16) - offset if next_line else widest
        data += _bytes_of_line(match["rest"].partition("|")[0], most, gap=1 if match["colon"] else 2)
    if len(data) == 0:
        raise InputError("dump input: there are no bytes after the offsets")
    return bytes(data)


def _bytes_of_line(rest: str, most: int, *, gap: int) -> bytes:
    """Return the bytes of a dump line. They end before a gap of more than `gap` blanks, or after `most` bytes."""
    found = bytearray()
    position = 0
    while len(found) < most and (match := _DUMP_BYTES.match(rest, position)):
        if found and len(match["gap"].expandtabs()) > gap:
            break
        found += bytes.fromhex(match["bytes"])
        position = match.end()
    return bytes(found[:most])


_PARSERS: Final[dict[str, Callable[[str], bytes]]] = {
    "hex": lambda text: from_hex(text.encode()),
    "dump": _dump,
    "escaped": _escaped,
    "list": _list,
    "base64": _base64,
}
ENCODINGS: Final = ("binary", *_PARSERS)
"""The encodings that `bytes_of` accepts in addition to `auto`."""
