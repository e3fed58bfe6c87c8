"""Find where two messages differ: one line for each field, with its path and both values."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from tagwire.message.base import Struct, same
from tagwire.message.declarations import attributes_of
from tagwire.sensitive import HIDDEN, hides
from tagwire.text_format import shown

_MOST: Final = 12
MISSING: Final = object()
"""Marks an element that only the other side has."""


class Difference(NamedTuple):
    """A field that differs. A missing element is shown as "nothing"."""

    path: str
    expected: str
    received: str


Pairs = Callable[[Sequence[Any], Sequence[Any], Sequence[str]], Iterable[tuple[Any, Any]]]
"""Pairs the elements of two arrays; the third argument names the fields that the spec marks as their keys."""


def by_position(
    expected: Sequence[Any], received: Sequence[Any], keys: Sequence[str] = ()
) -> Iterable[tuple[Any, Any]]:
    """Pair elements that have the same index."""
    return zip_longest(expected, received, fillvalue=MISSING)


def differences(
    expected: Any, received: Any, path: str = "", pairs: Pairs = by_position, keys: Sequence[str] = ()
) -> Iterator[Difference]:
    """Yield the innermost fields in which two messages or values differ, in order; secrets are hidden."""
    if isinstance(expected, Struct) and type(expected) is type(received):
        secrets = {row.name for row in expected.FIELDS if row.sensitive} if hides() else ()
        key_names = {row.name: row.unique for row in expected.FIELDS}
        for name in attributes_of(type(expected)):
            inner = f"{path}.{name}" if path else name
            one, other = getattr(expected, name), getattr(received, name)
            if name not in secrets:
                yield from differences(one, other, inner, pairs, key_names.get(name, ()))
            elif not same(one, other):
                yield Difference(inner, HIDDEN, HIDDEN)
    elif isinstance(expected, (tuple, list)) and isinstance(received, (tuple, list)):
        for at, (one, other) in enumerate(pairs(expected, received, keys)):
            yield from differences(one, other, f"{path}[{at}]", pairs)
    elif expected is MISSING or received is MISSING or not same(expected, received):
        yield Difference(path, _text(expected), _text(received))


def _text(value: object) -> str:
    if value is MISSING:
        return "nothing"
    return repr(value) if isinstance(value, (Struct, dict)) else shown(value)


def difference_lines(found: list[Difference]) -> list[str]:
    """Return the differences as aligned lines, a dozen at most."""
    width = max((len(each.path) for each in found[:_MOST]), default=0)
    lines = [f"{each.path:<{width}}  expected {each.expected}, received {each.received}" for each in found[:_MOST]]
    if len(found) > _MOST:
        lines.append(f"and {len(found) - _MOST} more fields")
    return lines
