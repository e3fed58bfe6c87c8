"""Sort releases by number."""

import re


def release_order(name: str) -> tuple[object, ...]:
    """Return the sort key of a release name: `3.10.0` comes after `3.9.2`, and `4.0.0-rc1` before `4.0.0`."""
    numbers, dash, rest = name.partition("-")
    return _words(numbers), not dash, _words(rest), name


def _words(text: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key: numbers by value, words before numbers. The pairs make both comparable."""
    words: list[tuple[int, str]] = []
    for word in re.findall(r"[0-9]+|[^0-9.]+", text):
        words.append((int(word), "") if word.isdecimal() else (-1, word))
    return tuple(words)
