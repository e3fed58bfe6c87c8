"""`tagwire.log.read`: the batches of a segment file or a partition folder."""

from collections.abc import Iterator
from pathlib import Path

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.directory import is_partition
from tagwire.log.errors import LogPathError
from tagwire.log.partition import Partition
from tagwire.log.placed_batch import Skip
from tagwire.log.segment import Segment
from tagwire.records import RecordBatch
from tagwire.records.format_set import AUTO, Formats, format_set


def read(
    path: str | Path,
    start_offset: int | None = None,
    format: Formats = AUTO,
    *,
    only: bool = False,
    strict: bool = True,
    limits: Limits = DEFAULT_LIMITS,
    partial: bool = False,
    from_log_start: bool = False,
    skip: Skip | None = None,
) -> Iterator[RecordBatch]:
    """Iterate over the batches of a segment file or a partition folder, in offset order.

    Begins with the batch that holds `start_offset`, or with the next one if compaction removed it; the batch may begin
    at a lower offset. `format`, `only` and `strict` are as for `tagwire.records.read_batches`. With `from_log_start`,
    batches that the folder's log-start-offset-checkpoint marks as deleted are left out (folders only). With `partial`,
    a batch that is cut off at the end of the log is left out. Zeros up to the end of a file, as in an active segment,
    end its data. `skip` is as for `Segment.batches`: if it is given, reading continues after damage.

    Raises LogPathError at once if there is no log, FormatError for an unknown name, and while reading LogError at the
    first invalid batch.
    """
    formats = format_set(format, only=only, strict=strict)
    where = Path(path)
    if not where.is_dir():
        return Segment(where).batches(start_offset, formats, limits, partial=partial, skip=skip)
    if not is_partition(where.absolute()):
        raise LogPathError(f"{where}: found no segment; name a segment, or the folder of a partition")
    return Partition(where).batches(
        start_offset, formats, limits, partial=partial, from_log_start=from_log_start, skip=skip
    )
