"""Check that a stream still reads the same logs: compare topic IDs and leader epochs with those in its last offset."""

from collections.abc import Iterator, Mapping
from typing import Any

from tagwire.log import LogError, Partition
from tagwire_spark.errors import loss
from tagwire_spark.log_read.trigger_limits import EPOCHS, TOPIC_IDS, Ends, Log, offset_ends


def identity(partition: Partition) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return a partition's topic ID and (leader epoch, start offset) pairs. Both are empty if a file is unreadable."""
    try:
        epochs = tuple((each.epoch, each.start_offset) for each in partition.leader_epochs)
        return str(partition.topic_id or ""), epochs
    except LogError:
        return "", ()


def new_topics(start: Mapping[str, Any], end: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Return the partitions of topics that were recreated between two stream offsets."""
    before, after = start.get(TOPIC_IDS, {}), end.get(TOPIC_IDS, {})
    topics = {topic for topic in before.keys() & after.keys() if before[topic] != after[topic]}
    return (key for key in offset_ends(start) if key[0] in topics)


def check_same(logs: Mapping[tuple[str, int], Log], offset: Mapping[str, Any], starts: Ends, *, fails: bool) -> bool:
    """Raise PipelineError if a topic was recreated, or if a log was truncated and then continued with other records.

    If `fails` is false, no error is raised, and a recreated topic is read from its beginning. Returns True if
    any such topic was found.
    """
    ids, epochs, is_new = offset.get(TOPIC_IDS, {}), offset.get(EPOCHS, {}), False
    for key in starts.keys() & logs.keys():
        log, was = logs[key], ids.get(key[0], "")
        epoch, now = epochs.get(key[0], {}).get(str(key[1])), log.epoch_before(starts[key])
        if was and log.topic_id and log.topic_id != was:
            if fails:
                raise loss(f"{log.name} belongs to a new topic: its ID is {log.topic_id}, but was {was}")
            starts[key], is_new = log.first, True
        elif fails and None not in (epoch, now) and epoch != now:
            why = f"{log.name} was truncated and rewritten: the record before offset {starts[key]}"
            raise loss(f"{why} has leader epoch {now}, but the record that was read had {epoch}")
    return is_new
