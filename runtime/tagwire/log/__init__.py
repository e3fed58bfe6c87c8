"""Read and rewrite logs without a broker: segments, partitions and folders of them, from Kafka 0.8 to 4.4.

    read                            batches of a segment file or a partition's folder
    columns                         the same as Arrow columns
    Segment, Partition, LogDirectory
    OffsetIndex, TimeIndex, ...     the files beside a segment
    LogError, LogPathError          a fault and its place

docs/logs.md explains them. Packed batches and CRC-32C need the extra `records`.
"""

from tagwire.log.checkpoints import EpochStart, TopicPartition
from tagwire.log.column_stream import LogColumns, columns
from tagwire.log.directory import LogDirectory, find_partitions
from tagwire.log.errors import LogError, LogLimitError, LogPathError
from tagwire.log.indexes import AbortedTransaction, OffsetEntry, OffsetIndex, TimeEntry, TimeIndex
from tagwire.log.partition import Partition
from tagwire.log.reading import read
from tagwire.log.rules import RULES, Problem
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
    "OffsetEntry",
    "OffsetIndex",
    "Partition",
    "Problem",
    "Segment",
    "TimeEntry",
    "TimeIndex",
    "TopicPartition",
    "columns",
    "find_partitions",
    "read",
]
