"""What was found, as one page that needs nothing else: plots are inline SVG, colours follow the reader's settings.

The numbers of the plots are worked out here; the template only prints them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tagwire.log.whatif import Measure
from tagwire_cli.output.echo import shown_value
from tagwire_cli.whatif.summary import Summary, percent
from tagwire_cli.whatif.tables import row_of

__all__ = ["render_page"]

_WIDTH = 460.0
"""Of the longest bar, in pixels."""


class Bar(NamedTuple):
    """A bar of a plot: where it begins, how long it is, and what it says."""

    name: str
    x: float
    width: float
    text: str
    is_loss: bool


class Plot(NamedTuple):
    """Bars with a title; `zero` is where 0 is."""

    title: str
    zero: float
    bars: list[Bar]


def render_page(summary: Summary) -> str:
    """The page as HTML."""
    folder = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    total = summary.total
    return environment.get_template("page.html.jinja").render(
        question=summary.question,
        to=summary.to,
        facts=_facts(summary),
        plots=list(_plots(summary)),
        tables=[
            (section.title, section.more, [(name, *row_of(measure)) for name, measure in section.rows])
            for section in summary.sections
        ],
        total=row_of(total),
        losses=summary.found.losses.rows(),
    )


def _facts(summary: Summary) -> list[tuple[str, str]]:
    total = summary.total
    return [
        (_share(total.saved_packed, total.packed_before), "saved, packed as it is"),
        (_share(total.saved_unpacked, total.unpacked_before), "saved, not packed"),
        (f"{total.saved_per_batch:.2f} bytes", "saved per batch, in its head"),
        (f"{total.saved_per_record:.2f} bytes", "saved per record, not packed"),
        (f"{total.batches} batches", f"with {total.records} records compared; {total.left_out} batches left out"),
        (f"{summary.speed / 1e6:.1f} MB/s", f"to read and convert, {total.seconds:.1f} s of processor time"),
    ]


def _share(part: int, whole: int) -> str:
    return f"{percent(part, whole):.2f} %"


def _plots(summary: Summary) -> "Sequence[Plot]":
    plots = []
    for section in summary.sections:
        packed = [(name, _packed(measure), _says(measure)) for name, measure in section.rows]
        plots.append(_plot(f"Saved, packed as it is, by {section.title}, in percent", packed))
    total = summary.total.batches
    heads = [
        (f"{saved} bytes", percent(count, total), f"{percent(count, total):.1f} %, {_batches(count)}")
        for saved, count in summary.head_saved
    ]
    return [*plots, _plot("Batches by bytes saved in their heads", heads)]


def _batches(count: int) -> str:
    return "1 batch" if count == 1 else f"{count} batches"


def _packed(measure: Measure) -> float:
    return percent(measure.saved_packed, measure.packed_before)


def _says(measure: Measure) -> str:
    return f"{_packed(measure):.2f} %, {measure.saved_packed} bytes"


def _plot(title: str, rows: list[tuple[str, float, str]]) -> Plot:
    least = min([0.0, *(value for _, value, _ in rows)])
    most = max([0.0, *(value for _, value, _ in rows)])
    scale = _WIDTH / (most - least) if most > least else 0.0
    zero = -least * scale
    bars = [
        Bar(name, round(zero + min(0.0, value) * scale, 1), round(abs(value) * scale, 1), text, value < 0)
        for name, value, text in rows
    ]
    return Plot(title, round(zero, 1), bars)
