"""Read the existing log that a write continues or replaces: its end, its open transactions, and its files.

A write is rejected if the log contains batches of a different format with the same magic byte, because readers could
not tell them apart.
"""

from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tagwire.log import Partition
from tagwire.log.batch_rules import OpenTransactions
from tagwire.log.directory import is_partition
from tagwire.log.errors import is_file, is_folder
from tagwire.log.writing import transaction_index
from tagwire.records import FormatSet, format_of
from tagwire_spark.errors import rejections
from tagwire_spark.files.storage import folder_location
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions
from tagwire_spark.log_read.log_offsets import LogEnd, end_of

_V3: Final = format_of("v3")
_KEPT: Final = ("partition.metadata",)
"""Files that stay when a partition is overwritten."""


class ExistingLog(NamedTuple):
    """A partition's log in the log folder at `root`, a path or URL. The log need not exist."""

    root: str
    name: str
    storage: StorageOptions = NO_OPTIONS

    def __str__(self) -> str:
        return f"{self.root}/{self.name}"

    @contextmanager
    def partition(self) -> Generator[Partition | None]:
        """Yield the partition, or None if it doesn't exist. In the `with` block, a LogError becomes a PipelineError."""
        with rejections("MALFORMED_KAFKA_LOG"), ExitStack() as stack:
            location = folder_location(str(self), stack, self.storage)
            yield None if location is None else location.partition(location.local)


def end_before(log: ExistingLog, written: str) -> LogEnd | None:
    """Return a log's end, or None if the log is empty.

    Raises PipelineError if the log is damaged, or if its format differs from `written` but has the same magic byte.
    """
    with log.partition() as partition:
        if partition is None or not partition.segments:
            return None
        return end_of(partition.segments, _formats(written))


def transactions_before(log: ExistingLog, written: str) -> OpenTransactions:
    """Return the open transactions in a log. Raises PipelineError for the same reasons as `end_before`."""
    known = OpenTransactions()
    with log.partition() as partition:
        for segment in () if partition is None else partition.segments:
            transaction_index(segment, known, _formats(written))
    return known


def old_files(root: str, storage: StorageOptions, written: Iterable[str], *, others: bool) -> list[str]:
    """Return the files to remove when the partitions in `written` are overwritten.

    If `others` is true, also return the files of all other partitions. Raises PipelineError for an unusable URL, or if
    a folder can't be listed.
    """
    with rejections("MALFORMED_KAFKA_LOG"), ExitStack() as stack:
        location = folder_location(root, stack, storage)
        return [] if location is None else [*_old_files(location.local, written, others=others)]


def _old_files(root: Path, written: Iterable[str], *, others: bool) -> Iterator[str]:
    partitions = set(written)
    for path in sorted(root.iterdir()):
        if is_folder(path) and not path.name.startswith(".") and is_partition(path):
            if path.name in partitions or others:
                kept = _KEPT if path.name in partitions else ()
                files = sorted(each for each in path.iterdir() if is_file(each) and each.name not in kept)
                yield from (f"{path.name}/{each.name}" for each in files)
        elif others and path.name.endswith("-checkpoint"):
            yield path.name


def _formats(written: str) -> FormatSet:
    """Return the formats allowed in a log to which batches of format `written` are appended."""
    found = FormatSet(written)
    return found if any(each.magic == _V3.magic for each in found.formats) else FormatSet(written, _V3)
