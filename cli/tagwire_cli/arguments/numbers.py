"""Parse numbers on the command line."""

from typing import Any, Final

import click

from tagwire.text_format import whole_number

_LONGEST: Final = 1_000_000
"""The longest timeout in seconds (about eleven days).

Operating systems support timeouts of up to about 24 days.
"""


class VersionNumber(click.ParamType):  # type: ignore[type-arg]
    """A click parameter type for a message version, such as `13` or `v13`. A number with leading zeros is rejected."""

    name = "version"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        digits = str(value).removeprefix("v")
        number = whole_number(digits)
        if number is None or digits != str(number):
            self.fail(f"expected a version number, got {value!r}", param, ctx)
        return number


class Seconds(click.ParamType):  # type: ignore[type-arg]
    """A click parameter type for a number of seconds. Unlike `click.FloatRange`, it rejects `nan` and `inf`."""

    name = "seconds"

    def __init__(self, lowest: float = 0) -> None:
        self._lowest = lowest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not self._lowest <= number <= _LONGEST:
            self.fail(f"expected a number of seconds from {self._lowest:g} to {_LONGEST}, got {value}", param, ctx)
        return number
