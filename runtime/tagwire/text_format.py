"""Short forms of values, for error messages and annotated dumps, and numbers in untrusted text.

These functions never raise errors, so a report about a bad value never fails.
"""

from collections.abc import Iterable
from itertools import groupby
from uuid import UUID

_LONGEST = 48


def count(number: int, noun: str) -> str:
    """Format a number with a noun: `1 spec`, `2 specs`, `2 losses`, `2 batches`."""
    ending = "" if number == 1 else "es" if noun.endswith(("s", "ch")) else "s"
    return f"{number} {noun}{ending}"


def byte_count(number: int) -> str:
    """Format a number of bytes: `1 byte`, `2 bytes`."""
    return count(number, "byte")


def a_kind(kind: str) -> str:
    """Return a message kind with an article if it needs one: `a request`, `data`."""
    return kind if kind in ("data", "metadata") else f"a {kind}"


def shown(value: object) -> str:
    """Return a value as text of about 60 characters or less.

    Strings are quoted. Bytes are shown as a count followed by the first few bytes.
    """
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int):
        # Python refuses to convert an int of more than 4300 digits to a string.
        return int.__repr__(value) if value.bit_length() <= 128 else f"an int of {value.bit_length()} bits"
    if isinstance(value, str):
        return (
            str.__repr__(value)
            if len(value) <= _LONGEST
            else f"{str.__repr__(value[:_LONGEST])}... ({len(value)} characters)"
        )
    if isinstance(value, bytes | bytearray | memoryview):
        try:
            return _shown_bytes(memoryview(value))
        except ValueError:
            return "a released memoryview"
    if isinstance(value, tuple | list):
        empty = "[]" if isinstance(value, list) else "()"
        return f"a {type(value).__name__} of {len(value)}" if value else empty
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def got(value: object) -> str:
    """Describe a value and its type for an error such as `expected a string, got int 1`."""
    text = shown(value)
    has_type = isinstance(value, bool) or text.startswith("an ")
    return f"{type(value).__name__} {text}" if isinstance(value, int | float | str) and not has_type else text


def _shown_bytes(view: memoryview) -> str:
    size = count(view.nbytes, "byte")
    head = bytes(view[:12] if view.ndim == 1 and view.itemsize == 1 else b"").hex()
    more = "..." if head and view.nbytes > 12 else ""
    return f"{size} {head}{more}".rstrip()


def encodable(text: str) -> str:
    """Replace with `?` all characters that UTF-8 can't encode. File names and JSON may contain lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def printable(text: str, *, keep: str = "") -> str:
    """Return the string with Python escapes for unprintable characters, except the characters in `keep`.

    Unprintable characters are control characters, line breaks, marks that change the text direction, and surrogates
    that represent invalid UTF-8 in file names.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def printable_json(text: str) -> str:
    """Escape the unprintable characters in JSON text. The JSON value and the line breaks stay the same."""
    if text.isascii() and "\x7f" not in text:
        return text
    lines = text.split("\n")
    return "\n".join(line if line.isprintable() else "".join(map(_json_escaped, line)) for line in lines)


def _json_escaped(character: str) -> str:
    if character.isprintable() or character == "\t":
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def suggestion(name: object, names: Iterable[str], otherwise: str | None = None, *, most: int = 1) -> str:
    """Return `did you mean 'x'?` with at most `most` of the `names` that are similar to `name`, ignoring case.

    If none is similar, return `otherwise`, or by default a list of all names: `choose from x, y`.
    """
    from difflib import get_close_matches

    names = list(names)
    by_lower = {each.lower(): each for each in names}
    found = get_close_matches(name.lower(), by_lower, most) if isinstance(name, str) else []
    if found:
        *others, last = [repr(by_lower[each]) for each in found]
        return f"did you mean {', '.join(others)} or {last}?" if others else f"did you mean {last}?"
    return otherwise if otherwise is not None else f"choose from {', '.join(names)}" if names else "there are none"


def near(name: object, names: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` if one of `names` is similar to `name`, else ""."""
    text = suggestion(name, names, "")
    return f"; {text}" if text else ""


def whole_number(text: str) -> int | None:
    """Parse a string of 1 to 19 ASCII digits as a number; return None for any other string.

    `int` also accepts signs, blanks, underscores and digits of other scripts, and raises an error for thousands of
    digits.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


def ranges(numbers: list[int]) -> str:
    """Format ascending numbers, and join consecutive ones into ranges: `[0, 1, 2, 5]` becomes `0-2, 5`."""
    parts: list[str] = []
    # In a run of consecutive numbers, the difference from their index is the same.
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        first, *others = [number for _, number in run]
        parts.append(f"{first}-{others[-1]}" if others else str(first))
    return ", ".join(parts) or "none"
