"""Check and convert the options of functions and sources, which Spark passes as strings.

As in Spark's own sources, option names are not case-sensitive. Unknown names are rejected.
"""

import json
import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from tagwire.text_format import near, shown
from tagwire_spark.errors import PipelineError

MODES: Final = ("FAILFAST", "PERMISSIVE")
"""Values of the option `mode`. On invalid bytes, FAILFAST fails the query; PERMISSIVE reports the error in `_error`."""
NO_TABLES: Final = (
    "Spark does not pass a table's options to this source, so saveAsTable, insertInto and CREATE TABLE can't be used: "
    "save to a path with save(), and read it with load(), or in SQL with "
    "CREATE TEMPORARY VIEW ... USING ... OPTIONS (path '...')."
)
_OF_TABLES: Final = {"owner", "provider"}
"""Options that Spark adds by itself for CREATE TABLE."""
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_DURATION: Final = re.compile(rf"(\d{{1,18}}) ?({'|'.join(_SECONDS)})")
_SIZE: Final = re.compile(r"(-?\d{1,18}) ?([kmgtp]?)(?:i?b)?")


def invalid(text: str) -> PipelineError:
    """Return the error to raise for an invalid option."""
    return PipelineError("INVALID_TAGWIRE_OPTION", text)


class Ignored(NamedTuple):
    """Options that have no effect here. They cause a warning with the text `why` and their names."""

    names: re.Pattern[str]
    why: str


class Options:
    """Options whose names are not case-sensitive. The constructor raises PipelineError if a name isn't in `known`."""

    def __init__(self, given: Mapping[str, Any] | None, known: Iterable[str], *ignored: Ignored) -> None:
        self._names = {name.lower(): name for name in known}
        self._values: dict[str, str] = {}
        if not isinstance(given, Mapping | None):
            raise invalid(
                f"options: expected names with their values, such as {{'mode': 'PERMISSIVE'}}, got {given!r}."
            )
        rest = dict(given or {})
        for each in ignored:
            if names := sorted(name for name in rest if isinstance(name, str) and each.names.fullmatch(name)):
                warnings.warn(f"{each.why}: {', '.join(names)}", stacklevel=3)
                rest = {name: value for name, value in rest.items() if name not in names}
        if rest.keys() - self._names.keys() >= _OF_TABLES:
            raise invalid(f"This source does not support tables. {NO_TABLES}")
        for name, value in rest.items():
            if not isinstance(name, str) or name.lower() not in self._names:
                names = sorted(self._names.values())
                raise invalid(f"Unknown option {name!r}; options are {', '.join(names)}{near(name, names) or '.'}")
            if value is not None:
                self._values[name.lower()] = str(value)

    def text(self, name: str, default: str = "") -> str:
        return self._values.get(name.lower(), default)

    def has(self, name: str) -> bool:
        return name.lower() in self._values

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """Return the choice that equals the option's value, ignoring case; by default, the first choice."""
        value = self.text(name, choices[0])
        found = next((each for each in choices if each.lower() == value.lower()), None)
        if found is None:
            raise invalid(f"Option {name}: expected {' or '.join(choices)}, got {shown(value)}.")
        return found

    def flag(self, name: str, default: bool = False) -> bool:
        return self.choice(name, ("true", "false") if default else ("false", "true")) == "true"

    def number(self, name: str, least: int | None = None, most: int | None = None) -> int | None:
        """Return an integer from `least` to `most`, or None if the option is not given."""
        if not self.has(name):
            return None
        try:
            number = int(self.text(name))
        except ValueError:
            raise invalid(f"Option {name}: expected an integer, got {shown(self.text(name))}.") from None
        return _in_range(name, number, least, most)

    def size(self, name: str, least: int | None = None, most: int | None = None) -> int | None:
        """Return a number of bytes, given as 65536, 64k, 64m, 64MB or 1g, or None if the option is not given."""
        if not self.has(name):
            return None
        found = _SIZE.fullmatch(self.text(name).strip().lower())
        if found is None:
            raise invalid(f"Option {name}: expected a number such as 1048576 or 64m, got {shown(self.text(name))}.")
        return _in_range(name, int(found[1]) << 10 * "bkmgtp".index(found[2] or "b"), least, most)

    def seconds(self, name: str, default: str) -> float:
        """Return a duration in seconds, given in Spark's form: 500ms, 10s, 15m, 2h or 1d."""
        found = _DURATION.fullmatch(self.text(name, default).strip().lower())
        if found is None:
            raise invalid(f"Option {name}: expected a duration, such as 30s or 15m, got {shown(self.text(name))}.")
        return int(found[1]) * _SECONDS[found[2]]

    def names(self, name: str) -> tuple[str, ...] | None:
        if not self.has(name):
            return None
        return tuple(part.strip() for part in self.text(name).split(",") if part.strip())

    def json(self, name: str) -> Any:
        try:
            return json.loads(self.text(name))
        except (ValueError, RecursionError) as error:
            raise invalid(f"Option {name} is not valid JSON: {error}.") from None


def _in_range(name: str, number: int, least: int | None, most: int | None) -> int:
    if (least is not None and number < least) or (most is not None and number > most):
        expected = f"{least} or more" if most is None else f"{least} to {most}"
        raise invalid(f"Option {name}: expected {expected}, got {shown(number)}.")
    return number
