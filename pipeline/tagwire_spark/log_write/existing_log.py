"""The existing log that a write continues: its end, and its open transactions.

A log must have one meaning for each magic byte. If the existing batches use the byte for another
format, nothing is written after them, because the formats could no longer be told apart.
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
    """The end of the log in a partition's folder, after which batches of this format go; None if there is no log.

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
    """The formats allowed before batches of this one: all with another magic byte."""
    found = FormatSet(written)
    return found if any(each.magic == _V3.magic for each in found.formats) else FormatSet(written, _V3)
