"""Where two messages differ: one line for each field, with its path and both values."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tagwire.message.base import Struct, same
from tagwire.message.declarations import attributes_of
from tagwire.sensitive import HIDDEN, hides
from tagwire.text_format import shown

__all__ = ["Difference", "difference_lines", "differences"]

_MOST: Final = 12
_MISSING: Final = object()


class Difference(NamedTuple):
    """A field that differs. A side that has no such element says so."""

    path: str
    expected: str
    received: str


def differences(expected: Any, received: Any, path: str = "") -> Iterator[Difference]:
    """Each field in which two messages or values of fields differ, the innermost ones, in order; secrets are hidden."""
    if isinstance(expected, Struct) and type(expected) is type(received):
        secrets = {row.name for row in expected.FIELDS if row.sensitive} if hides() else ()
        for name in attributes_of(type(expected)):
            inner = f"{path}.{name}" if path else name
            one, other = getattr(expected, name), getattr(received, name)
            if name not in secrets:
                yield from differences(one, other, inner)
            elif not same(one, other):
                yield Difference(inner, HIDDEN, HIDDEN)
    elif isinstance(expected, (tuple, list)) and isinstance(received, (tuple, list)):
        for at in range(max(len(expected), len(received))):
            yield from differences(_element(expected, at), _element(received, at), f"{path}[{at}]")
    elif expected is _MISSING or received is _MISSING or not same(expected, received):
        yield Difference(path, _text(expected), _text(received))


def _element(values: Any, at: int) -> Any:
    return values[at] if at < len(values) else _MISSING


def _text(value: object) -> str:
    if value is _MISSING:
        return "nothing"
    return repr(value) if isinstance(value, (Struct, dict)) else shown(value)


def difference_lines(found: list[Difference]) -> list[str]:
    """The differences as aligned lines, a dozen at most."""
    width = max((len(each.path) for each in found[:_MOST]), default=0)
    lines = [f"{each.path:<{width}}  expected {each.expected}, received {each.received}" for each in found[:_MOST]]
    if len(found) > _MOST:
        lines.append(f"and {len(found) - _MOST} more fields")
    return lines
