"""The filter language: a frame or batch must match all words of a filter.

`api=Fetch` tests a column, and `is=error` tests a property. Any other word is a string to search for. To search for a
string that contains `=`, write `text=` before it. Commas separate alternatives (`api=Fetch,Produce`). A word with `-`
before it must not match. Words that contain spaces must be quoted.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from tagwire.errors import TagwireError
from tagwire.frames.error_codes import error_register
from tagwire.text_format import near, suggestion, whole_number

if TYPE_CHECKING:
    from tagwire.captures import CapturedFrame
    from tagwire.frames.registry import Registry


_SUFFIXES: Final = ("Request", "Response")
_FRAME_KEYS: Final = ("api", "version", "dir", "conn", "error")


class FilterError(TagwireError, ValueError):
    """Raised for an invalid filter."""


class Term(NamedTuple):
    """A word of a filter, such as `api=Fetch`, split at `=`."""

    key: str
    """The name before `=`, or empty for a text search."""
    value: str
    is_excluded: bool = False

    @property
    def values(self) -> list[str]:
        return self.value.split(",")


def parse_filter(text: str, keys: Sequence[str]) -> list[Term]:
    """Split a filter into terms. Raises FilterError for an unknown key."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise FilterError(f"invalid filter {text!r}: {str(error).lower()}") from None
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
        known = f"filters are {', '.join(keys)} and text"
        raise FilterError(f"unknown filter {key!r}; {suggestion(key, keys, known)}")
    if not value:
        raise FilterError(f"the filter {key!r} has no value; write one after {key}=")
    return Term(key, value, is_excluded)


def ranges_of(term: Term) -> list[tuple[int, int | None]]:
    """Parse ranges such as `3`, `3-5` or `3-` to tuples (first, last). `last` is None if the range has no end.

    Raises FilterError for an invalid range.
    """
    found: list[tuple[int, int | None]] = []
    for text in term.values:
        match = re.fullmatch(r"(-?\d{1,19})(-(\d{0,19}))?", text, re.ASCII)
        if match is None or (match[3] and int(match[3]) < int(match[1])):
            raise FilterError(f"{term.key}={term.value}: expected a number or a range such as 3-5, got {text!r}")
        low = int(match[1])
        found.append((low, low if match[2] is None else int(match[3]) if match[3] else None))
    return found


def number_test(term: Term) -> Callable[[int], bool]:
    """Return a function that tests whether a number is in a term's ranges. Raises FilterError for an invalid range."""
    ranges = ranges_of(term)
    return lambda number: any(low <= number and (high is None or number <= high) for low, high in ranges)


def api_stem(name: str) -> str:
    """Return an API's name: the name of its request or response, without the suffix."""
    ending = next((each for each in _SUFFIXES if name.casefold().endswith(each.casefold())), "")
    return name[: len(name) - len(ending)]


def api_keys(registry: "Registry", term: Term) -> set[int]:
    """Return the API keys that an `api` filter lists by name or number. Raises FilterError for an unknown API."""
    names = {api_stem(name).casefold(): name for name in registry if name.endswith(_SUFFIXES)}
    found = set[int]()
    for value in term.values:
        name = names.get(api_stem(value).casefold())
        key = whole_number(value) if name is None else registry[name].API_KEY
        if key is None:
            raise FilterError(f"api={value}: unknown API{near(value, [*map(api_stem, names.values())])}")
        found.add(key)
    return found


def frame_test(registry: "Registry", text: str) -> "Callable[[CapturedFrame], bool]":
    """Return a function that tests a captured frame against a filter. Raises BadParameter for an invalid filter."""
    try:
        tests = [(_test_of(registry, term), term.is_excluded) for term in parse_filter(text, _FRAME_KEYS)]
    except FilterError as error:
        raise click.BadParameter(str(error), param_hint="--where") from None
    return lambda frame: all(test(frame) != is_excluded for test, is_excluded in tests)


def _test_of(registry: "Registry", term: Term) -> "Callable[[CapturedFrame], bool]":
    # Compare with the whole value and with its comma-separated parts, because a name may contain a comma.
    values = [value.casefold() for value in (term.value, *term.values)]
    if term.key == "api":
        keys = api_keys(registry, term)
        return lambda frame: frame.api is not None and frame.api[0] in keys
    if term.key == "version":
        fits = number_test(term)
        return lambda frame: frame.api is not None and fits(frame.api[1])
    if term.key == "dir":
        if set(values) - {"request", "response"}:
            raise FilterError(f"dir={term.value}: expected 'request' or 'response'")
        return lambda frame: frame.direction in values
    if term.key == "conn":
        return lambda frame: frame.connection.casefold() in values
    if term.key == "error":
        _check_errors(registry, term)
        return lambda frame: not {*values}.isdisjoint(_errors_of(registry, frame))
    raise FilterError(
        f"expected a filter such as dir=request, got {term.value!r}; the filters are {', '.join(_FRAME_KEYS)} (only "
        "`tagwire browse` can search for text)"
    )


def _check_errors(registry: "Registry", term: Term) -> None:
    """Raise FilterError for an unknown error name. Any number is accepted, because newer brokers have more errors."""
    register = error_register(registry)
    if register is None:
        raise FilterError("the filter 'error=' needs a package with error codes, but this package defines none")
    names = {str(each).casefold(): str(each) for each in register}
    for value in term.values:
        if value.casefold() not in ("any", *names) and whole_number(value) is None:
            hint = near(value.upper(), [*names.values()])
            raise FilterError(f"error={value}: expected 'any', a number or the name of an error code{hint}")


def _errors_of(registry: "Registry", frame: "CapturedFrame") -> list[str]:
    """Return the values for which the filter `error=` matches a response.

    For each error in the response, there are three values: `any`, the error's code, and its name.
    """
    try:
        errors = [] if frame.is_request else registry.errors(frame.message)
    except TagwireError:  # the frame is invalid
        return []
    return [text for each in errors for text in ("any", str(int(each.code)), str(each.code).casefold())]
