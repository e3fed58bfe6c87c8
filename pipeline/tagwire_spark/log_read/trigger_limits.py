"""Find the end of the next micro-batch, given a limit of rows, bytes or segments."""

import json
from bisect import bisect_right
from collections.abc import Mapping
from random import Random
from typing import Any, Final, NamedTuple

from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes, ReadMaxFiles, ReadMaxRows

from tagwire.errors import TagwireError
from tagwire.log import LogPathError, Partition
from tagwire_spark.errors import rejection
from tagwire_spark.log_read.ends import batch_end, bytes_end, segment_ends
from tagwire_spark.log_read.query import LogQuery

Offsets = dict[str, dict[str, int]]
"""A stream offset as Spark stores it, such as {"orders": {"0": 23}}."""
Ends = dict[tuple[str, int], int]
TOPIC_IDS: Final = ":topicIds"
EPOCHS: Final = ":leaderEpochs"
"""Keys for topic IDs and leader epochs in a stream offset. No topic has such a name, because of the colon."""


class Log(NamedTuple):
    """An existing partition, with its current start and end offsets."""

    key: tuple[str, int]
    partition: Partition
    first: int
    end: int
    name: str
    """Path or URL of the folder."""
    topic_id: str = ""
    """The topic ID in `partition.metadata`; a recreated topic has a different ID."""
    epochs: tuple[tuple[int, int], ...] = ()
    """Leader epochs, each with its first offset."""
    log_end: int = 0
    """The log end offset. With read_committed, it can be higher than `end`, where the first open transaction begins."""

    def epoch_before(self, offset: int) -> int | None:
        """Return the leader epoch of the record before `offset`, or None if the record or its epoch is unknown."""
        found = bisect_right(self.epochs, offset - 1, key=lambda each: each[1])
        return self.epochs[found - 1][0] if found and offset > self.first else None


def limited(logs: Mapping[tuple[str, int], Log], starts: Ends, limit: ReadLimit, query: LogQuery) -> Ends:
    """Return the offset at which a micro-batch ends, for each partition.

    Without a limit, a micro-batch ends at the end of the log.
    """
    ends = {key: log.end for key, log in logs.items()}
    begins = {key: max(starts.get(key, 0), log.first) for key, log in logs.items()}
    waiting = {key: log for key, log in logs.items() if log.end > begins[key]}
    if isinstance(limit, ReadMaxFiles):
        ends_of_segments = {key: segment_ends(log.partition, begins[key], log.end) for key, log in waiting.items()}
        for key, count in _dealt(
            {key: len(each) for key, each in ends_of_segments.items()}, limit.max_files, starts
        ).items():
            ends[key] = ends_of_segments[key][count - 1] if count else begins[key]
    elif isinstance(limit, ReadMaxRows | ReadMaxBytes):
        of_rows = isinstance(limit, ReadMaxRows)
        sizes = {k: log.end - begins[k] if of_rows else _bytes_after(log, begins[k]) for k, log in waiting.items()}
        for key, share in _shares(sizes, limit.max_rows if isinstance(limit, ReadMaxRows) else limit.max_bytes).items():
            log, begin = waiting[key], begins[key]
            try:
                if of_rows:
                    end = batch_end(log.partition, begin + share - 1, query.formats)
                else:
                    end = bytes_end(log.partition, begin, log.end, share, query.formats)
            except TagwireError as error:
                if not query.permissive or isinstance(error, LogPathError):
                    raise rejection(error, "MALFORMED_KAFKA_LOG") from None
                continue  # read a damaged log to its end
            ends[key] = min(end, log.end)
    return ends


def _shares(sizes: Mapping[tuple[str, int], int], most: int) -> Ends:
    """Divide a limit among partitions in proportion to their unread sizes. Return each partition's share, at least 1.

    Returns {} if the unread sizes together don't exceed the limit.
    """
    total = sum(sizes.values())
    return {} if total <= most else {key: max(1, most * size // total) for key, size in sizes.items()}


def _dealt(sizes: Mapping[tuple[str, int], int], most: int, starts: Ends) -> Ends:
    """Divide a limit among the partitions, without exceeding it. Return each partition's share, which can be 0.

    Partitions get their shares in random order, seeded with the stream offset. In a fixed order, growing partitions
    could make others wait.
    """
    order = Random(json.dumps(spark_offset(starts, {}))).sample(list(sizes), len(sizes))
    counts = dict.fromkeys(sizes, 0)
    while most > 0 and (open_ones := [key for key in order if counts[key] < sizes[key]]):
        for key in open_ones[:most]:
            counts[key] += 1
        most -= len(open_ones)
    return counts


def _bytes_after(log: Log, offset: int) -> int:
    """Estimate the number of bytes from an offset to the log's end, assuming records of equal size."""
    segments = log.partition.segments
    bases = [each.base_offset or 0 for each in segments]
    first = max(bisect_right(bases, offset) - 1, 0)
    sizes = [each.size if each.end is None else each.end for each in segments[first:]]
    begin, end = bases[first], [*bases, log.end][first + 1]
    done = min(max(offset - begin, 0), end - begin)
    return sum(sizes) - (sizes[0] * done // (end - begin) if done else 0)


def spark_offset(
    ends: Mapping[tuple[str, int], int], logs: Mapping[tuple[str, int], Log], earlier: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the stream offset as Spark stores it. Its keys are sorted, because Spark compares offsets as strings.

    A topic without an ID keeps the ID in `earlier`, so that the stream notices when the topic is recreated.
    """
    found: Offsets = {}
    for (topic, number), offset in sorted(ends.items()):
        found.setdefault(topic, {})[str(number)] = offset
    now = {topic: log.topic_id for (topic, _), log in sorted(logs.items()) if log.topic_id}
    ids = {topic: each for topic, each in sorted(((earlier or {}).get(TOPIC_IDS, {}) | now).items()) if topic in found}
    epochs: Offsets = {}
    for (topic, number), offset in sorted(ends.items()):
        log = logs.get((topic, number))
        if log is not None and (epoch := log.epoch_before(offset)) is not None:
            epochs.setdefault(topic, {})[str(number)] = epoch
    return found | ({TOPIC_IDS: ids} if ids else {}) | ({EPOCHS: epochs} if epochs else {})


def offset_ends(offset: Mapping[str, Any]) -> Ends:
    """Parse a stream offset as Spark stores it. Return the next offset of each partition."""
    topics = {topic: found for topic, found in offset.items() if topic not in (TOPIC_IDS, EPOCHS)}
    return {(topic, int(number)): int(each) for topic, found in topics.items() for number, each in found.items()}
