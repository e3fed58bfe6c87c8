"""`tagwire whatif`: measure how large logs would be in another record format."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tagwire_cli.arguments.logs import byte_progress, partitions_of, paths_argument, segments_of, whatif_options
from tagwire_cli.arguments.options import limit_option, limits_of
from tagwire_cli.output.tables import camel_keys, write_json

if TYPE_CHECKING:
    from tagwire.log import Partition, Segment
    from tagwire.log.whatif import WhatIf
    from tagwire.records import FormatSet


@click.command("whatif")
@paths_argument
@whatif_options
@limit_option
def command(
    paths: Sequence[Path],
    to: str,
    against: str | None,
    codec: str | None,
    batch_bytes: int | None,
    batch_records: int | None,
    html: Path | None,
    top: int,
    as_json: bool,
    format: "FormatSet",
    limits: Sequence[str],
) -> None:
    """Measure how large logs would be in another format.

    Nothing is written except the page of --html. Every batch is encoded and
    compressed again in the old and in the new format with the same library, so
    that only the format differs. The report shows how many bytes are saved with
    and without compression, and how many are saved on average in a batch header and
    in a record. There are four tables, which group the batches by format, codec,
    number of records, and topic. The report also shows what the new format can't
    represent, and the processor time. With --codec, --batch-bytes or
    --batch-records, both sides are measured as if producers had used these settings.

    \b
    Examples:
      tagwire whatif --to v3 /var/lib/kafka/data
      tagwire whatif --to v3 --codec zstd --batch-bytes 65536 alpha-0
      tagwire whatif --to kip82-int --against v1 --html report.html logs
    """
    from tagwire.log import Segment
    from tagwire.log.convert import Conversion
    from tagwire.log.partition import read_steadily
    from tagwire.log.rebatching import BatchSize
    from tagwire.log.whatif import WhatIf

    reject_page(html, paths)
    conversion = Conversion(to, codec, BatchSize(batch_bytes, batch_records), format, limits_of(limits))
    found, partitions = WhatIf(conversion, against), list(partitions_of(paths))
    with byte_progress("whatif", partitions) as progress:

        def measured(part: "Partition | Segment") -> WhatIf:
            result = WhatIf(conversion, against)
            for segment in segments_of(part):
                result.add(segment, _topic(part), progress)
            return result

        for each in partitions:
            found.merge(measured(each) if isinstance(each, Segment) else read_steadily(each, measured))
    print_whatif(found, html, top, as_json=as_json)


def _topic(found: "Partition | Segment") -> str:
    """Return the topic of a partition or segment, or the folder's name if it is not a partition folder."""
    from tagwire.log.names import partition_name

    folder = found.path.absolute()
    folder = folder if folder.is_dir() else folder.parent
    name = partition_name(folder)
    return name.topic if name else folder.name


def reject_page(html: Path | None, paths: Sequence[Path | str]) -> None:
    """Raise TagwireError if the HTML page can't be written, or is inside a path to read. A URL can't contain it."""
    from tagwire.log.whole_folder import reject_inside
    from tagwire_generator.project.output import reject_unwritable

    if html is not None:
        reject_inside([html], [path for path in paths if isinstance(path, Path)])
        reject_unwritable(html)


def print_whatif(found: "WhatIf", html: Path | None, top: int, *, as_json: bool) -> None:
    """Print the results, and write the HTML page if a path is given."""
    from tagwire_generator.project.output import write_all
    from tagwire_workbench.whatif import Summary, print_summary, render_page

    summary = Summary(found, top)
    if html is not None:
        write_all({html: render_page(summary)})
    if as_json:
        write_json(camel_keys(summary.to_json()))
    else:
        print_summary(summary)
