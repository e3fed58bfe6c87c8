"""Check topic IDs and leader epochs, to detect that a stream's logs were replaced."""

from collections.abc import Iterator, Mapping
from typing import Any

from tagwire.log import LogError, Partition
from tagwire_spark.errors import loss
from tagwire_spark.log_read.trigger_limits import EPOCHS, TOPIC_IDS, Ends, Log, offset_ends


def identity(partition: Partition) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return a partition's topic ID and (leader epoch, start offset) pairs, or "" and () if a file is unreadable."""
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
    """Raise PipelineError if a topic was recreated, or if a log was truncated and continued with other records.

    If `fails` is false, no error is raised, and a recreated topic is read from its beginning. Returns True if any topic
    was recreated.
    """
    epochs, others, is_new = offset.get(EPOCHS, {}), _other_ids(logs, offset), False
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
        key: (log.topic_id or of_topics.get(key[0], ""), offset.get(TOPIC_IDS, {}).get(key[0], ""))
        for key, log in logs.items()
    }
    return {key: (now, was) for key, (now, was) in pairs.items() if now and was and now != was}
