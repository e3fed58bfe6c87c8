"""The results of `tagwire whatif`, in the order in which JSON, tables and HTML show them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from tagwire.log.whatif import FILLS, Kind, Measure, WhatIf
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import TableColumn, print_table


class SummaryTable(NamedTuple):
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
            SummaryTable("format", self._sorted(lambda kind: kind.format)),
            SummaryTable("codec", self._sorted(lambda kind: kind.codec)),
            SummaryTable("records in a batch", [(name, fills[name]) for _, name in FILLS if name in fills]),
            SummaryTable("topic", topics[:top], max(0, len(topics) - top)),
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


def percent(part: int, total: int) -> float:
    """Return `part` as a percentage of `total`, or 0 if `total` is 0."""
    return 100 * part / total if total else 0.0


def print_summary(summary: Summary) -> None:
    """Print what was measured, a table for each property, and what the new format can't represent."""
    say(summary.question)
    say()
    for section in (*summary.sections, None):
        title = section.title if section else "all"
        rows = section.rows if section else [("", summary.total)]
        print_table(_columns(title), [(name, *row_of(measure)) for name, measure in rows])
        if section and section.more:
            say(f"and {section.more} more; use --top or --json to see them")
        say()
    for row in summary.found.losses.rows():
        say(f"lost: {row.path}, {'once' if row.times == 1 else f'{row.times} times'}: {row.reason}")
    seconds = f"{summary.total.seconds:.1f} s of processor time"
    say(f"{seconds} to read and convert {summary.total.bytes} bytes, {summary.speed / 1e6:.1f} MB/s")


def _columns(title: str) -> tuple[TableColumn, ...]:
    names = (
        "batches",
        "records",
        "uncompressed",
        "saved",
        "%",
        "compressed",
        "saved",
        "%",
        "a batch",
        "a record",
        "left out",
    )
    return (TableColumn(title, style="cyan"), *(TableColumn(name, is_number=True) for name in names))


def row_of(measure: Measure) -> tuple[str, ...]:
    """Return the cells of a table row, except for the first cell, which names the measured batches."""
    return (
        str(measure.batches),
        str(measure.records),
        str(measure.uncompressed_before),
        str(measure.saved_uncompressed),
        f"{percent(measure.saved_uncompressed, measure.uncompressed_before):.2f}",
        str(measure.compressed_before),
        str(measure.saved_compressed),
        f"{percent(measure.saved_compressed, measure.compressed_before):.2f}",
        f"{measure.saved_per_batch:.2f}",
        f"{measure.saved_per_record:.2f}",
        str(measure.left_out),
    )
