"""Read and rewrite logs without a broker: segments, partitions and log folders of Kafka 0.8 to 4.4.

    read                               iterate over the batches of a segment file or a partition folder
    columns                            read records or batches as Arrow columns
    Segment, Partition, LogDirectory   a file, a partition folder, or one of a broker's `log.dirs`
    OffsetIndex, TimeIndex, ...        the index files next to a segment
    LogError, LogPathError             invalid bytes with their position; a path that can't be read

See docs/logs.md. Compressed batches and CRC-32C need the extra `records`.
"""

from tagwire.lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tagwire.log.checkpoints import EpochStart, TopicPartition
    from tagwire.log.column_stream import LogColumns, columns
    from tagwire.log.directory import LogDirectory, find_partitions, read
    from tagwire.log.errors import RULES, LogError, LogLimitError, LogPathError, LogProblem
    from tagwire.log.indexes import AbortedTransaction, OffsetEntry, OffsetIndex, TimeEntry, TimeIndex
    from tagwire.log.partition import Partition
    from tagwire.log.segment import Segment

__all__ = [
    "RULES",
    "AbortedTransaction",
    "EpochStart",
    "LogColumns",
    "LogDirectory",
    "LogError",
    "LogLimitError",
    "LogPathError",
    "LogProblem",
    "OffsetEntry",
    "OffsetIndex",
    "Partition",
    "Segment",
    "TimeEntry",
    "TimeIndex",
    "TopicPartition",
    "columns",
    "find_partitions",
    "read",
]

_MODULES = {
    "tagwire.log.checkpoints": ("EpochStart", "TopicPartition"),
    "tagwire.log.column_stream": ("LogColumns", "columns"),
    "tagwire.log.directory": ("LogDirectory", "find_partitions", "read"),
    "tagwire.log.errors": ("RULES", "LogError", "LogLimitError", "LogPathError", "LogProblem"),
    "tagwire.log.indexes": ("AbortedTransaction", "OffsetEntry", "OffsetIndex", "TimeEntry", "TimeIndex"),
    "tagwire.log.partition": ("Partition",),
    "tagwire.log.segment": ("Segment",),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
