"""Decode pasted input: raw bytes, or text in which a tool printed bytes.

The encoding is detected. Input that is entirely text in one of these forms is decoded, and anything else is raw bytes.
Real messages contain zero bytes, so they are not mistaken for text.

    hex       digits with any white space, or with : - , between bytes (tshark, Wireshark's "hex stream")
    dump      lines of offset, bytes and text (xxd, hexdump -C, od -t x1, Wireshark's "hex dump")
    escaped   \\x00\\x0c or 0x00, 0x0c (C and Wireshark), or a bytes literal of Python
    list      signed or unsigned numbers in brackets (Arrays.toString in Java, list(data) in Python)
    base64    both alphabets, with padding
"""

import ast
import base64
import re
from collections.abc import Callable
from typing import Final

from tagwire.captures import capture_kind
from tagwire_cli.input.bytes import HEX_HINT, InputError, looks_like_hex

_DUMP_LINE: Final = re.compile(r"\s*(?P<offset>[0-9a-fA-F]{3,16})(?P<colon>:?)(?P<rest>(?:\s.*)?)")
_DUMP_BYTES: Final = re.compile(r"(?P<gap>\s+)(?P<bytes>(?:[0-9a-fA-F]{2}){1,8})(?=\s|$)")
_DUMP_WIDTH: Final = 16
_OD: Final = re.compile(r"0000000 .*\n(?:(?:[0-9a-f]{7}(?: .*)?|\*)\n?)+")
"""What od and hexdump print without options. Parsing it as a dump gives an error that names the right options."""
_WORDS: Final = re.compile(r"[0-9a-f]{7}\s+[0-9a-f]{4}\b")
_SINGLE_BYTES: Final = "print single bytes in hex, with `xxd`, `hexdump -C` or `od -Ax -tx1`"
_HEX_BREAKS: Final = re.compile(r"[\s:,-]+")
_ESCAPED: Final = re.compile(r"(?:\\x|0x)([0-9a-fA-F]{2})")
_ESCAPED_REST: Final = re.compile(r"[\s,;\"'{}()\[\]\\]*")
_C_ARRAY: Final = re.compile(r"[^{}=]*=\s*\{([^{}]*)\}.*", re.DOTALL)
_C_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_LIST: Final = re.compile(r"\s*[\[{(]\s*-?\d{1,3}(?:\s*,\s*-?\d{1,3})*\s*,?\s*[\]})]\s*")
_LITERAL: Final = re.compile(r"\s*[bB]([\"']).*\1\s*", re.DOTALL)


def encoding_of(data: bytes) -> str:
    """Return the encoding of the input, one of `ENCODINGS`. Input that isn't text in a known form is `binary`."""
    text = _text(data)
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


def text_hint(data: bytes) -> str:
    """If bytes look like text that a tool printed, return a hint with the option to read it; otherwise ""."""
    if looks_like_hex(data):
        return HEX_HINT
    if kind := capture_kind(data):
        return f"the input looks like a {kind}; `tagwire explain` and `tagwire decode --capture` read it"
    name = {"dump": "a hex dump", "escaped": "escaped bytes", "list": "a list of numbers"}.get(encoding_of(data))
    return (
        f"the input looks like {name}; `tagwire explain --input auto` reads it, other commands need bytes"
        if name
        else ""
    )


def bytes_of(data: bytes, encoding: str) -> bytes:
    """Decode input in this encoding. With `auto`, detect it. Raises InputError with the line and column."""
    name = encoding_of(data) if encoding == "auto" else encoding
    if name == "binary":
        return data
    text = _text(data)
    if text is None:
        raise InputError(f"{name} input: not text; for bytes, leave out --hex and --input")
    return _PARSERS[name](text)


def _text(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return text if all(each.isprintable() or each in "\r\n\t" for each in text) else None


def _hex(text: str) -> bytes:
    digits = _HEX_BREAKS.sub("", text.removeprefix("0x"))
    wrong = re.search(r"[^0-9a-fA-F\s:,-]", text.removeprefix("0x"))
    if wrong:
        _refuse("hex", text, wrong.start(), f"{wrong[0]!r} is not a hex digit")
    if len(digits) % 2:
        _refuse("hex", text, len(text.rstrip()) - 1, f"odd number of hex digits ({len(digits)})")
    return bytes.fromhex(digits)


def _base64(text: str) -> bytes:
    packed = "".join(text.split()).replace("-", "+").replace("_", "/")
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
        raise InputError(r"escaped input: expected \x00\x0c, 0x00, 0x0c or a Python bytes literal")
    return bytes.fromhex("".join(_ESCAPED.findall(bare)))


def _list(text: str) -> bytes:
    numbers = list(map(int, re.findall(r"-?\d+", text))) if _LIST.fullmatch(text) else []
    if not numbers or not all(-128 <= each < 256 for each in numbers):
        raise InputError("list input: expected numbers from -128 to 255 in brackets, such as [0, 18, -1]")
    return bytes(each & 0xFF for each in numbers)


def _dump(text: str) -> bytes:
    """Parse a hex dump. Offsets are used to find out where the bytes of a line end and its text column begins."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if len(lines) == 1 and not re.match(r"\s*[0-9a-fA-F]+(:|\s\s)", lines[0][1]):
        raise InputError("dump input: the line has no offset; use --input hex for plain hex")
    if _WORDS.match(text):
        raise InputError(f"dump input: expected bytes, got 16-bit words of unknown byte order; {_SINGLE_BYTES}")
    data = bytearray()
    previous = b""
    for place, (number, line) in enumerate(lines):
        if line.strip() == "*":  # xxd and hexdump print `*` for repetitions of the previous line
            previous = bytes(data[-_DUMP_WIDTH:])
            continue
        match = _DUMP_LINE.fullmatch(line)
        if match is None:
            raise InputError(f"dump input: line {number}: {line.strip()[:40]!r} does not start with an offset in hex")
        offset = int(match["offset"], 16)
        while previous and len(data) < offset:
            data += previous
        previous = b""
        if offset != len(data):
            expected = f"{len(data)}, the number of bytes above it"
            raise InputError(f"dump input: line {number}: offset {offset:#x}, expected {expected}; {_SINGLE_BYTES}")
        behind = _DUMP_LINE.fullmatch(lines[place + 1][1]) if place + 1 < len(lines) else None
        # xxd ends the bytes with two blanks. Other tools also use two blanks between bytes, but print at most 16 bytes.
        widest = len(line) if match["colon"] else _DUMP_WIDTH
        most = int(behind["offset"], 16) - offset if behind else widest
        data += _bytes_of_line(match["rest"].partition("|")[0], most, gap=1 if match["colon"] else 2)
    if len(data) == 0:
        raise InputError("dump input: no bytes after the offsets")
    return bytes(data)


def _bytes_of_line(rest: str, most: int, *, gap: int) -> bytes:
    """Return the bytes of a dump line. Stop after `most` bytes, or at a gap of more than `gap` blanks."""
    found = bytearray()
    place = 0
    while len(found) < most and (match := _DUMP_BYTES.match(rest, place)):
        if found and len(match["gap"].expandtabs()) > gap:
            break
        found += bytes.fromhex(match["bytes"])
        place = match.end()
    return bytes(found[:most])


def _refuse(encoding: str, text: str, at: int, what: str) -> None:
    line = text.count("\n", 0, at) + 1
    raise InputError(f"{encoding} input: line {line}, column {at - text.rfind(chr(10), 0, at)}: {what}")


_PARSERS: Final[dict[str, Callable[[str], bytes]]] = {
    "hex": _hex,
    "dump": _dump,
    "escaped": _escaped,
    "list": _list,
    "base64": _base64,
}
ENCODINGS: Final = ("binary", *_PARSERS)
"""The encodings that `bytes_of` accepts in addition to `auto`."""
