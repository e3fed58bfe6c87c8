"""The language of filters: words with blanks between them, all of which an entry must match.

`api=Fetch` names a column, `is=fault` a property, and any other word is text to be found (`text=`
before it is for text with `=` in it). A comma separates alternatives (`api=Fetch,Produce`), and `-`
before a word excludes what it matches. Words with blanks are quoted.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tagwire.errors import TagwireError
from tagwire.text_format import near

__all__ = ["FilterError", "Term", "number_test", "parse_filter", "ranges_of"]


class FilterError(TagwireError, ValueError):
    """A filter that makes no sense."""


class Term(NamedTuple):
    """A word of a filter."""

    key: str
    """"" for text."""
    value: str
    is_excluded: bool = False

    @property
    def values(self) -> list[str]:
        """The alternatives."""
        return self.value.split(",")


def parse_filter(text: str, keys: Sequence[str]) -> list[Term]:
    """The terms of a filter. Raises FilterError for a key that there is none of."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise FilterError(f"the filter {text!r} can't be read: {str(error).lower()}") from None
    return [_term(word, keys) for word in words]


def _term(word: str, keys: Sequence[str]) -> Term:
    is_excluded = word.startswith("-") and len(word) > 1
    word = word[is_excluded:]
    match = re.fullmatch(r"([a-z]+)=(.*)", word, re.DOTALL)
    if match is None:
        return Term("", word, is_excluded)
    key, value = match.groups()
    if key == "text":
        return Term("", value, is_excluded)
    if key not in keys:
        raise FilterError(f"there is no filter {key}={near(key, list(keys))}; filters are {', '.join(keys)} and text")
    if not value:
        raise FilterError(f"{key}= needs a value")
    return Term(key, value, is_excluded)


def ranges_of(term: Term) -> list[tuple[int, int | None]]:
    """The numbers that a term names, `3`, `3-5` or `3-`: first and last, None for no last. Raises FilterError."""
    found: list[tuple[int, int | None]] = []
    for text in term.values:
        match = re.fullmatch(r"(-?\d{1,19})(-(\d{0,19}))?", text, re.ASCII)
        if match is None:
            raise FilterError(f"{term.key}={term.value}: {text!r} is not a number or a range such as 3-5")
        low = int(match[1])
        found.append((low, low if match[2] is None else int(match[3]) if match[3] else None))
    return found


def number_test(term: Term) -> Callable[[int], bool]:
    """Whether a number is one of those that a term names. Raises FilterError."""
    ranges = ranges_of(term)
    return lambda number: any(low <= number and (high is None or number <= high) for low, high in ranges)
