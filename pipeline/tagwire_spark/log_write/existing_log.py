"""The existing log that a write continues or replaces: its end, its open transactions, and its files.

A log must have one meaning for each magic byte. If the existing batches use the byte for another
format, nothing is written after them, because the formats could no longer be told apart.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tagwire.errors import TagwireError
from tagwire.log import Partition
from tagwire.log.batch_rules import BatchRules, Seen
from tagwire.log.directory import is_partition
from tagwire.log.transactions import Transactions
from tagwire.records import FormatSet, format_of
from tagwire_spark.errors import refusal
from tagwire_spark.log_read.ends import LogEnd, end_of

__all__ = ["end_before", "old_files", "transactions_before"]

_V3: Final = format_of("v3")
_KEPT: Final = ("partition.metadata",)
"""Stays when a partition is written anew: the topic is the same."""


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


def old_files(root: Path, written: Iterable[str], *, others: bool) -> Iterator[str]:
    """The files that go where the partitions `written` are written anew; with `others`, where all logs are."""
    partitions = set(written)
    for path in sorted(root.iterdir()):
        if path.is_dir() and not path.name.startswith(".") and is_partition(path):
            if path.name in partitions or others:
                kept = _KEPT if path.name in partitions else ()
                files = sorted(each for each in path.iterdir() if each.is_file() and each.name not in kept)
                yield from (f"{path.name}/{each.name}" for each in files)
        elif others and path.name.endswith("-checkpoint"):
            yield path.name


def _formats(written: str) -> FormatSet:
    """The formats allowed before batches of this one: all with another magic byte."""
    found = FormatSet(written)
    return found if any(each.magic == _V3.magic for each in found.formats) else FormatSet(written, _V3)
