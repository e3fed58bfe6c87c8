"""Render the results as a self-contained HTML page.

All strings and numbers are computed in this module; the template only inserts them.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tagwire.log.whatif import Measure
from tagwire.text_format import count
from tagwire_cli.output.echo import shown_value
from tagwire_workbench.whatif.summary import Summary, percent

_MOST_TICKS = 5


class Bar(NamedTuple):
    """A bar of a plot. Its start and width are percentages of the plot's width."""

    kind: str
    """The CSS class of the bar."""
    left: float
    width: float
    is_loss: bool
    text: str


class BarRow(NamedTuple):
    """A labeled row of a bar plot. It may have several bars, one below the other."""

    name: str
    bars: list[Bar]


class Scale(NamedTuple):
    """The range of a plot's axis, which always contains 0."""

    low: float
    high: float
    ticks: list[float]
    unit: str

    def percent_of(self, value: float) -> float:
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    def bar(self, kind: str, value: float, text: str) -> Bar:
        begin, end = self.percent_of(min(0.0, value)), self.percent_of(max(0.0, value))
        return Bar(kind, begin, round(end - begin, 2), value < 0, text)

    def labels(self) -> list[tuple[float, str]]:
        return [(self.percent_of(tick), f"{tick:,.10g}") for tick in self.ticks]


class Plot(NamedTuple):
    """Bars with a title and an axis."""

    title: str
    scale: Scale
    rows: list[BarRow]


def scale_of(values: Iterable[float], unit: str) -> Scale:
    """Return an axis that contains 0 and all values, with ticks at round numbers."""
    found: Sequence[float] = (0.0, *values)
    low, high = min(found), max(found)
    if low == high:
        high = 1.0
    step = _step((high - low) / _MOST_TICKS)
    first, last = math.floor(low / step), math.ceil(high / step)
    return Scale(first * step, last * step, [round(number * step, 10) for number in range(first, last + 1)], unit)


def _step(least: float) -> float:
    """Return the lowest number in 1, 2, 5, 10, 20, ... that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * each for each in (1, 2, 5, 10) if power * each >= least)


def render_page(summary: Summary) -> str:
    """Return the results of `tagwire whatif` as an HTML page."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.jinja").render(
        question=summary.question,
        to=summary.to,
        answers=list(_answers(summary)),
        facts=_facts(summary),
        plots=list(_plots(summary)),
        tables=[
            (section.title, section.more, [(name, *_cells(measure)) for name, measure in section.rows])
            for section in summary.sections
        ],
        total=_cells(summary.total),
        losses=summary.found.losses.rows(),
    )


def _answers(summary: Summary) -> Iterator[str]:
    total = summary.total
    for how, before, after in (
        ("With compression", total.compressed_before, total.compressed_after),
        ("Without compression", total.uncompressed_before, total.uncompressed_after),
    ):
        share = percent(abs(before - after), before)
        change = "no change" if before == after else f"{share:.2f} % {'less' if after < before else 'more'}"
        yield f"{how}, {after:,} bytes instead of {before:,}: {change}."
    savings = summary.header_saved
    if len(savings) == 1:
        saved, _ = savings[0]
        change = f"{count(abs(saved), 'byte')} {'shorter' if saved > 0 else 'longer'}" if saved else "as long as before"
        yield f"The header of every batch is {change}."


def _facts(summary: Summary) -> list[tuple[str, str]]:
    total = summary.total
    return [
        (f"{total.batches:,}", f"batches compared, with {count(total.records, 'record')}"),
        (f"{total.saved_per_batch:.2f} bytes", "saved in a batch header, on average"),
        (f"{total.saved_per_record:.2f} bytes", "saved in a record before compression, on average"),
        (f"{total.left_out:,}", "batches left out: the new format can't hold them"),
        (f"{total.seconds:.1f} s", f"of processor time to read and convert, {summary.speed / 1e6:.1f} MB/s"),
    ]


def _plots(summary: Summary) -> Iterator[Plot]:
    total = summary.total
    sizes = (
        ("with compression", total.compressed_before, total.compressed_after),
        ("without compression", total.uncompressed_before, total.uncompressed_after),
    )
    scale = scale_of((size for _, *both in sizes for size in both), "bytes")
    yield Plot(
        f"Size of all batches, before and after the change to {summary.to}",
        scale,
        [
            BarRow(
                f"{name}, {when}",
                [scale.bar("before" if when == "before" else "compressed", size, f"{size:,} bytes")],
            )
            for name, before, after in sizes
            for when, size in (("before", before), ("after", after))
        ],
    )
    compared = [section for section in summary.sections if len(section.rows) > 1]
    scale = scale_of((value for each in compared for _, measure in each.rows for value in _shares(measure)), "% saved")
    for section in compared:
        yield Plot(f"Saved, by {section.title}", scale, [_saved_row(scale, *row) for row in section.rows])
    savings = summary.header_saved
    if len(savings) > 1:
        scale = scale_of((percent(number, total.batches) for _, number in savings), "% of batches")
        rows = [(count(saved, "byte"), percent(number, total.batches), number) for saved, number in savings]
        bars = [
            BarRow(name, [scale.bar("compressed", share, f"{share:.1f} %, {count(number, 'batch')}")])
            for name, share, number in rows
        ]
        yield Plot("How many batches save how many bytes in their headers", scale, bars)


def _shares(measure: Measure) -> tuple[float, float]:
    return (
        percent(measure.saved_compressed, measure.compressed_before),
        percent(measure.saved_uncompressed, measure.uncompressed_before),
    )


def _saved_row(scale: Scale, name: str, measure: Measure) -> BarRow:
    compressed, uncompressed = _shares(measure)
    return BarRow(
        name,
        [
            scale.bar("compressed", compressed, f"{compressed:.2f} %, {measure.saved_compressed:,} bytes"),
            scale.bar("uncompressed", uncompressed, f"{uncompressed:.2f} %, {measure.saved_uncompressed:,} bytes"),
        ],
    )


def _cells(measure: Measure) -> tuple[str, ...]:
    compressed, uncompressed = _shares(measure)
    return (
        f"{measure.batches:,}",
        f"{measure.records:,}",
        f"{measure.compressed_before:,}",
        f"{measure.saved_compressed:,}",
        f"{compressed:.2f}",
        f"{measure.uncompressed_before:,}",
        f"{measure.saved_uncompressed:,}",
        f"{uncompressed:.2f}",
        f"{measure.saved_per_batch:.2f}",
        f"{measure.saved_per_record:.2f}",
        f"{measure.left_out:,}",
    )
