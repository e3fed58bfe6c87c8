"""The offsets of a stream: where its next micro-batch ends, and whether its logs are still the same.

A limit of rows, bytes or segments determines the end of a micro-batch. A stream offset also contains topic IDs and
leader epochs, which reveal that a log was replaced.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, Final, NamedTuple

from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes, ReadMaxFiles, ReadMaxRows

from tagwire.errors import TagwireError
from tagwire.log import LogError, LogPathError, Partition
from tagwire.text_format import shown
from tagwire_spark.errors import loss, rejection
from tagwire_spark.log_read.log_offsets import batch_end, bytes_end, segment_ends
from tagwire_spark.log_read.query import LogQuery
from tagwire_spark.options import invalid

_Offsets = dict[str, dict[str, int]]
"""A stream offset as Spark stores it, such as {"orders": {"0": 23}}."""
Ends = dict[tuple[str, int], int]
_TOPIC_IDS: Final = ":topicIds"
_EPOCHS: Final = ":leaderEpochs"
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
        counts = {key: len(each) for key, each in ends_of_segments.items()}
        for key, count in _dealt(counts, limit.max_files, starts).items():
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
    found: _Offsets = {}
    for (topic, number), offset in sorted(ends.items()):
        found.setdefault(topic, {})[str(number)] = offset
    now = {topic: log.topic_id for (topic, _), log in sorted(logs.items()) if log.topic_id}
    ids = {topic: each for topic, each in sorted(((earlier or {}).get(_TOPIC_IDS, {}) | now).items()) if topic in found}
    epochs: _Offsets = {}
    for (topic, number), offset in sorted(ends.items()):
        log = logs.get((topic, number))
        if log is not None and (epoch := log.epoch_before(offset)) is not None:
            epochs.setdefault(topic, {})[str(number)] = epoch
    return found | ({_TOPIC_IDS: ids} if ids else {}) | ({_EPOCHS: epochs} if epochs else {})


def offset_ends(offset: Mapping[str, Any]) -> Ends:
    """Parse a stream offset as Spark stores it. Return the next offset of each partition.

    Raises PipelineError for the offset of another source.
    """
    try:
        topics = {topic: found for topic, found in offset.items() if topic not in (_TOPIC_IDS, _EPOCHS)}
        return {(topic, int(number)): int(each) for topic, found in topics.items() for number, each in found.items()}
    except (AttributeError, TypeError, ValueError):
        raise invalid(
            f"Option checkpointLocation: the checkpoint has the stream offset {shown(json.dumps(offset))}, expected an "
            'offset of kafka_log, such as {"topic": {"0": 23}}; choose another checkpointLocation.'
        ) from None


def identity(partition: Partition) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return a partition's topic ID and (leader epoch, start offset) pairs, or "" and () if a file is unreadable."""
    try:
        epochs = tuple((each.epoch, each.start_offset) for each in partition.leader_epochs)
        return str(partition.topic_id or ""), epochs
    except LogError:
        return "", ()


def new_topics(start: Mapping[str, Any], end: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Return the partitions of topics that were recreated between two stream offsets."""
    before, after = start.get(_TOPIC_IDS, {}), end.get(_TOPIC_IDS, {})
    topics = {topic for topic in before.keys() & after.keys() if before[topic] != after[topic]}
    return (key for key in offset_ends(start) if key[0] in topics)


def check_same(logs: Mapping[tuple[str, int], Log], offset: Mapping[str, Any], starts: Ends, *, fails: bool) -> bool:
    """Raise PipelineError if a topic was recreated, or if a log was truncated and continued with other records.

    If `fails` is false, no error is raised, and a recreated topic is read from its beginning. Returns True if any topic
    was recreated.
    """
    epochs, others, is_new = offset.get(_EPOCHS, {}), _other_ids(logs, offset), False
    for key in sorted(starts.keys() & logs.keys()):  # sorted, so that every run reports the same log
        log = logs[key]
        epoch, now = epochs.get(key[0], {}).get(str(key[1])), log.epoch_before(starts[key])
        if key in others:
            if fails:
                raise loss(
                    "{} belongs to a new topic: its ID is now {}; before, it was {}".format(log.name, *others[key])
                )
            starts[key], is_new = log.first, True
        elif fails and None not in (epoch, now) and epoch != now:
            why = f"{log.name} was truncated and rewritten: the record before offset {starts[key]}"
            raise loss(f"{why} has leader epoch {now}, but the stream read a record with leader epoch {epoch} there")
    return is_new


def same_ends(logs: Mapping[tuple[str, int], Log], end: Mapping[str, Any], ends: Ends, *, fails: bool) -> Ends:
    """Return `ends`, the end offsets of a micro-batch, without the partitions of recreated topics.

    A restarted stream plans its last micro-batch again. If a topic was recreated in the meantime, its old end offsets
    are meaningless. Raises PipelineError like `check_same`.
    """
    check_same(logs, end, dict(ends), fails=fails)
    others = _other_ids(logs, end)
    return {key: each for key, each in ends.items() if key not in others}


def _other_ids(
    logs: Mapping[tuple[str, int], Log], offset: Mapping[str, Any]
) -> dict[tuple[str, int], tuple[str, str]]:
    """Return the partitions whose topic ID has changed, each with its current ID and its ID in a stream offset.

    A partition without an ID gets the ID of the topic's other partitions, because a broker writes the ID after it has
    created the partition.
    """
    of_topics = {topic: log.topic_id for (topic, _), log in logs.items() if log.topic_id}
    pairs = {
        key: (log.topic_id or of_topics.get(key[0], ""), offset.get(_TOPIC_IDS, {}).get(key[0], ""))
        for key, log in logs.items()
    }
    return {key: (now, was) for key, (now, was) in pairs.items() if now and was and now != was}


def check_loss(logs: Mapping[tuple[str, int], Log], starts: Ends, ends: Ends | None = None, *, fails: bool) -> None:
    """Raise PipelineError if records from `starts` to `ends` are gone. If `fails` is false, no error is raised."""
    for key, start in starts.items() if fails else ():
        name = f"{key[0]}-{key[1]}"
        log = logs.get(key)
        if log is None:
            why = f"{name} no longer exists; the next offset to read was {start}"
        elif log.first > start:
            deleted = f"offsets {start} to {log.first - 1} were deleted before the stream read them"
            why = f"{name} now begins at offset {log.first}, so {deleted}"
        elif log.log_end < start:
            why = f"{name} ends at offset {log.log_end}, but the next offset to read is {start}"
        elif log.end < (end := (ends or {}).get(key, 0)):
            why = f"{name} ends at offset {log.end}, but the stream found records up to offset {end - 1} before"
        else:
            continue
        raise loss(why)
