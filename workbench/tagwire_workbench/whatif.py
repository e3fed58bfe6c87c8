"""Show the results of `tagwire whatif` as JSON, as tables, or as a self-contained HTML page.

All strings and numbers of the page are computed in this module. The template only inserts them.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tagwire.log.whatif import FILLS, Kind, Measure, WhatIf
from tagwire.text_format import count
from tagwire_cli.output.echo import say, shown_value
from tagwire_cli.output.tables import print_table, table_columns

_MOST_TICKS: Final = 5
_NUMBERS: Final = (
    *("batches", "records", "uncompressed", "saved", "%", "compressed", "saved", "%"),
    *("a batch", "a record", "left out"),
)
"""The titles of the columns of numbers."""


class Section(NamedTuple):
    """A table of the report. Each row summarizes a group of batches, such as those with the same codec."""

    title: str
    rows: list[tuple[str, Measure]]
    more: int = 0
    """Number of rows that were left out because `Summary` lists at most `top` topics."""


class Summary:
    """All results of a measurement. `top` limits how many topics are listed."""

    def __init__(self, found: WhatIf, top: int) -> None:
        self.found = found
        self.total = found.total()
        conversion = found.conversion
        assert conversion.to is not None
        self.to = conversion.to.name
        self.against = found.against.name if found.against else None
        self.codec = conversion.codec
        self.size = conversion.size
        topics = self._sorted(lambda kind: kind.topic)
        fills = found.by(lambda kind: kind.fill)
        self.sections = [
            Section("format", self._sorted(lambda kind: kind.format)),
            Section("codec", self._sorted(lambda kind: kind.codec)),
            Section("records in a batch", [(name, fills[name]) for _, name in FILLS if name in fills]),
            Section("topic", topics[:top], max(0, len(topics) - top)),
        ]

    def _sorted(self, name: Callable[[Kind], str]) -> list[tuple[str, Measure]]:
        """Group the batches by `name(kind)`. Returns (group, measure) pairs, beginning with the largest saving."""
        return sorted(self.found.by(name).items(), key=lambda row: (-row[1].saved_compressed, row[0]))

    @property
    def question(self) -> str:
        """A description of the measured conversion, such as "v3 compared with each batch's own format"."""
        compared = f"compared with {self.against}" if self.against else "compared with each batch's own format"
        changes = [f"compressed with {self.codec}" if self.codec else ""]
        if self.size:
            changes.append(f"at most {self.size.bytes} bytes per batch" if self.size.bytes else "")
            changes.append(f"at most {self.size.records} records per batch" if self.size.records else "")
        return ", ".join([f"{self.to} {compared}", *(change for change in changes if change)])

    @property
    def header_saved(self) -> list[tuple[int, int]]:
        """How many batches save how many bytes in their header, as sorted pairs (bytes saved, number of batches)."""
        return sorted(self.total.header_saved.items())

    @property
    def speed(self) -> float:
        """Bytes read and converted per second of processor time."""
        return self.total.bytes / self.total.seconds if self.total.seconds else 0.0

    def to_json(self) -> dict[str, Any]:
        kinds = [kind._asdict() | measure.to_json() for kind, measure in sorted(self.found.measures.items())]
        return {
            "to": self.to,
            "against": self.against,
            "recompressed_with": self.codec,
            "batch_bytes": self.size.bytes if self.size else None,
            "batch_records": self.size.records if self.size else None,
            "total": self.total.to_json(),
            "kinds": kinds,
            "losses": self.found.losses.to_json(),
        }


def _percent(part: int, total: int) -> float:
    """Return `part` as a percentage of `total`, or 0 if `total` is 0."""
    return 100 * part / total if total else 0.0


def _shares(measure: Measure) -> tuple[float, float]:
    return (
        _percent(measure.saved_compressed, measure.compressed_before),
        _percent(measure.saved_uncompressed, measure.uncompressed_before),
    )


def print_summary(summary: Summary) -> None:
    """Print what was measured, a table for each property, and what the new format can't represent."""
    say(summary.question)
    say()
    for section in (*summary.sections, None):
        title = section.title if section else "all"
        rows = section.rows if section else [("", summary.total)]
        print_table(
            table_columns(title, *_NUMBERS, numbers=_NUMBERS), [(name, *_row(measure)) for name, measure in rows]
        )
        if section and section.more:
            say(f"and {section.more} more; use --top or --json to see them")
        say()
    for row in summary.found.losses.rows():
        say(f"lost: {row.path}, {'once' if row.times == 1 else f'{row.times} times'}: {row.reason}")
    seconds = f"{summary.total.seconds:.1f} s of processor time"
    say(f"{seconds} to read and convert {summary.total.bytes} bytes, {summary.speed / 1e6:.1f} MB/s")


def _row(measure: Measure, grouping: str = "") -> tuple[str, ...]:
    """Return the cells of a table row, except for the first cell, which names the measured batches.

    `grouping` separates groups of three digits in whole numbers.
    """
    compressed, uncompressed = _shares(measure)
    cells: tuple[int | float, ...] = (
        *(measure.batches, measure.records),
        *(measure.uncompressed_before, measure.saved_uncompressed, uncompressed),
        *(measure.compressed_before, measure.saved_compressed, compressed),
        *(measure.saved_per_batch, measure.saved_per_record),
        measure.left_out,
    )
    return tuple(format(each, ".2f" if isinstance(each, float) else grouping) for each in cells)


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
    least = (high - low) / _MOST_TICKS
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * each for each in (1, 2, 5, 10) if power * each >= least)  # 1, 2, 5, 10, 20, ...
    first, last = math.floor(low / step), math.ceil(high / step)
    return Scale(first * step, last * step, [round(number * step, 10) for number in range(first, last + 1)], unit)


def render_page(summary: Summary) -> str:
    """Return the results of `tagwire whatif` as an HTML page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("whatif.html.jinja").render(
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
    for how, before, after in _sizes(summary.total):
        share = _percent(abs(before - after), before)
        change = "no change" if before == after else f"{share:.2f} % {'less' if after < before else 'more'}"
        yield f"{how.capitalize()}, {after:,} bytes instead of {before:,}: {change}."
    savings = summary.header_saved
    if len(savings) == 1:
        saved, _ = savings[0]
        change = f"{count(abs(saved), 'byte')} {'shorter' if saved > 0 else 'longer'}" if saved else "as long as before"
        yield f"The header of every batch is {change}."


def _sizes(total: Measure) -> tuple[tuple[str, int, int], ...]:
    """Return how the size was measured, the size before, and the size after."""
    return (
        ("with compression", total.compressed_before, total.compressed_after),
        ("without compression", total.uncompressed_before, total.uncompressed_after),
    )


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
    sizes = _sizes(total)
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
        scale = scale_of((_percent(number, total.batches) for _, number in savings), "% of batches")
        rows = [(count(saved, "byte"), _percent(number, total.batches), number) for saved, number in savings]
        bars = [
            BarRow(name, [scale.bar("compressed", share, f"{share:.1f} %, {count(number, 'batch')}")])
            for name, share, number in rows
        ]
        yield Plot("How many batches save how many bytes in their headers", scale, bars)


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
    """Return the cells of a row of the page, which shows compressed sizes before uncompressed ones."""
    cells = _row(measure, ",")
    return (*cells[:2], *cells[5:8], *cells[2:5], *cells[8:])
