"""Numbers in what a person types."""

from typing import Any, Final

import click

__all__ = ["Seconds", "whole_number"]

_LONGEST: Final = 1_000_000
"""Seconds, eleven days: polling takes no more than twice of it."""


def whole_number(text: str) -> int | None:
    """The number that a text is: ASCII digits, fewer than 20 of them. None for any other text.

    `int` takes digits of other scripts, signs, blanks and underscores as well, and raises for thousands of digits.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


class Seconds(click.ParamType):  # type: ignore[type-arg]
    """A number of seconds. `nan` and `inf`, which `click.FloatRange` takes, are none."""

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
