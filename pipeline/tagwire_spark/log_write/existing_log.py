"""The log that a write goes on behind: where it ends, and which transactions are open there.

Most logs say batch by batch which format they have. Those of proposals don't:
they are read in the format that is being written, if it is theirs.
"""

from pathlib import Path
from typing import Final

from tagwire.errors import TagwireError
from tagwire.log import LogError, Partition, Segment
from tagwire.log.batch_rules import BatchRules, Seen
from tagwire.log.scan import Scan, mapped
from tagwire.log.transactions import Transactions
from tagwire_spark.errors import refusal
from tagwire_spark.log_read.ends import LogEnd, end_of

__all__ = ["end_before", "transactions_before"]

_AUTO: Final = "auto"


def end_before(folder: Path, written: str) -> LogEnd | None:
    """Where the log in a partition's folder ends that batches of this format go behind; None for none.

    Raises PipelineError.
    """
    try:
        partition = Partition(folder) if folder.is_dir() else None
        if partition is None or not partition.segments:
            return None
        return end_of(partition, _format(partition.segments[-1], written))
    except TagwireError as error:
        raise refusal(error, "MALFORMED_KAFKA_LOG") from None


def transactions_before(folder: Path, written: str) -> Transactions:
    """The transactions of that log. Raises PipelineError."""
    known, rules = Transactions(), BatchRules([])
    try:
        for segment in Partition(folder).segments if folder.is_dir() else ():
            for batch in segment.batches(format=_format(segment, written)):
                if batch.is_control:
                    known.see(rules.check(0, batch, None))
                elif batch.is_transactional:
                    known.see(Seen(0, batch, len(batch), None))
    except TagwireError as error:
        raise refusal(error, "MALFORMED_KAFKA_LOG") from None
    return known


def _format(segment: Segment, written: str) -> str:
    """What a segment is read as: the format that its first batch is whole in."""
    with mapped(segment.path) as data:
        for format in (_AUTO, written):
            try:
                Scan(str(segment.path), data, format).batch(0)
            except LogError:
                continue
            return format
    return _AUTO
