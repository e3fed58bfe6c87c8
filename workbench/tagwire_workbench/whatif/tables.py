"""The results as tables for a terminal."""

from tagwire.log.whatif import Measure
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import Column, print_table
from tagwire_workbench.whatif.summary import Summary, percent


def print_summary(summary: Summary) -> None:
    """Print the question, a table for each property, and the losses in the new format."""
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


def _columns(title: str) -> tuple[Column, ...]:
    names = ("batches", "records", "unpacked", "saved", "%", "packed", "saved", "%", "a batch", "a record", "left out")
    return (Column(title, style="cyan"), *(Column(name, is_number=True) for name in names))


def row_of(measure: Measure) -> tuple[str, ...]:
    """Return the cells of a measure."""
    return (
        str(measure.batches),
        str(measure.records),
        str(measure.unpacked_before),
        str(measure.saved_unpacked),
        f"{percent(measure.saved_unpacked, measure.unpacked_before):.2f}",
        str(measure.packed_before),
        str(measure.saved_packed),
        f"{percent(measure.saved_packed, measure.packed_before):.2f}",
        f"{measure.saved_per_batch:.2f}",
        f"{measure.saved_per_record:.2f}",
        str(measure.left_out),
    )
