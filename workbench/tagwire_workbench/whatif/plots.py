"""Bar plots for the page of `tagwire whatif`: positions and widths in percent, computed here and printed by the
template.

Plots that are compared with each other share one scale.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_MOST_TICKS = 5


class Bar(NamedTuple):
    """A bar: its start and width, in percent of the plot."""

    kind: str
    """What the bar shows: a class of the style sheet."""
    left: float
    width: float
    is_loss: bool
    text: str


class BarRow(NamedTuple):
    """A labelled group of bars, one below the other."""

    name: str
    bars: list[Bar]


class Scale(NamedTuple):
    """An axis that always contains 0."""

    low: float
    high: float
    ticks: list[float]
    unit: str

    def place(self, value: float) -> float:
        """Return the position of a value, in percent of the axis."""
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    def bar(self, kind: str, value: float, text: str) -> Bar:
        """Return the bar from 0 to a value."""
        begin, end = self.place(min(0.0, value)), self.place(max(0.0, value))
        return Bar(kind, begin, round(end - begin, 2), value < 0, text)

    def labels(self) -> list[tuple[float, str]]:
        """Return the positions and labels of the ticks."""
        return [(self.place(tick), f"{tick:,.10g}") for tick in self.ticks]


class Plot(NamedTuple):
    """Bars with a title and an axis."""

    title: str
    scale: Scale
    rows: list[BarRow]


def scale_of(values: Iterable[float], unit: str) -> Scale:
    """Return an axis with round ticks that contains 0 and all values."""
    found: Sequence[float] = (0.0, *values)
    low, high = min(found), max(found)
    if low == high:
        high = 1.0
    step = _step((high - low) / _MOST_TICKS)
    first, last = math.floor(low / step), math.ceil(high / step)
    return Scale(first * step, last * step, [round(number * step, 10) for number in range(first, last + 1)], unit)


def _step(least: float) -> float:
    """Return the lowest of 1, 2, 5, 10, 20, ... that is at least this value."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * each for each in (1, 2, 5, 10) if power * each >= least)
