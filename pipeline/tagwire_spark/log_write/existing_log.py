"""The log that a write goes on behind: where it ends, and which transactions are open there.

What is written says what its magic byte means in the whole log. A log whose
batches have that byte for another format can't be told apart from it any more,
so nothing is written behind it: it reads as damage.
"""

from pathlib import Path
from typing import Final

from tagwire.errors import TagwireError
from tagwire.log import Partition
from tagwire.log.batch_rules import BatchRules, Seen
from tagwire.log.transactions import Transactions
from tagwire.records import FormatSet, format_of
from tagwire_spark.errors import refusal
from tagwire_spark.log_read.ends import LogEnd, end_of

__all__ = ["end_before", "transactions_before"]

_V3: Final = format_of("v3")


def end_before(folder: Path, written: str) -> LogEnd | None:
    """Where the log in a partition's folder ends that batches of this format go behind; None for none.

    Raises PipelineError.
    """
    try:
        partition = Partition(folder) if folder.is_dir() else None
        if partition is None or not partition.segments:
            return None
        return end_of(partition, _formats(written))
    except TagwireError as error:
        raise refusal(error, "MALFORMED_KAFKA_LOG") from None


def transactions_before(folder: Path, written: str) -> Transactions:
    """The transactions of that log. Raises PipelineError."""
    known, rules = Transactions(), BatchRules([])
    try:
        for segment in Partition(folder).segments if folder.is_dir() else ():
            for batch in segment.batches(format=_formats(written)):
                if batch.is_control:
                    known.see(rules.check(0, batch, None))
                elif batch.is_transactional:
                    known.see(Seen(0, batch, len(batch), None))
    except TagwireError as error:
        raise refusal(error, "MALFORMED_KAFKA_LOG") from None
    return known


def _formats(written: str) -> FormatSet:
    """The formats that may stand before batches of this one: all whose magic byte is another."""
    found = FormatSet(written)
    return found if any(each.magic == _V3.magic for each in found.formats) else FormatSet(written, _V3)
