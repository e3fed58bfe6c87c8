"""Reject options that name a missing topic or partition.

As in Spark's Kafka source, unknown names are rejected, but a `subscribePattern` without a match is accepted. A stream
accepts an unknown topic, because it can be created later.
"""

from collections.abc import Callable, Collection, Set
from typing import Final

from tagwire.text_format import near, shown
from tagwire_spark.errors import PipelineError
from tagwire_spark.log_read.query import ALL, LogQuery

_NAMED: Final = 5
"""Maximum number of names listed in an error."""

_Keys = Set[tuple[str, int]]


def check_partitions_exist(query: LogQuery, seen: _Keys, there: Callable[[], _Keys | None]) -> None:
    """Raise PipelineError if the options name a topic or partition that doesn't exist.

    `seen` contains the partitions found so far. `there` is called to list all partitions if an option names a partition
    that is not in `seen`. If `there` returns None, no error is raised.
    """
    topics, partitions = {*(query.topics or ())}, query.partitions or frozenset()
    of_options = {
        option: {*given} if isinstance(given, dict) else set()
        for option, given in {
            "startingOffsets": query.starts,
            "startingOffsetsByTimestamp": query.start_times,
            "endingOffsets": query.ends,
            "endingOffsetsByTimestamp": query.end_times,
        }.items()
    }
    seen_topics = {topic for topic, _ in seen}
    named = partitions.union(*of_options.values())
    if not query.fails_on_loss or (topics <= seen_topics and named <= seen | {(topic, ALL) for topic in seen_topics}):
        return
    found = there()
    if found is None:
        return
    _check("subscribe", topics, {topic for topic, _ in found}, query)
    for option, keys in of_options.items():
        known = {key[0] if key[1] == ALL else _name(key) for key in keys}
        there_too = {topic for topic, partition in keys if partition == ALL} & {topic for topic, _ in found}
        _check(option, known, {_name(key) for key in found} | there_too, query)
    _check("assign", {_name(key) for key in partitions}, {_name(key) for key in found}, query)


def _check(option: str, requested: Collection[str], found: Collection[str], query: LogQuery) -> None:
    missing = sorted({*requested} - {*found})
    if not missing:
        return
    paths = query.storage.hidden(" and ".join(query.paths))
    suggestion = near(missing[0], found) or "."
    raise PipelineError(
        "KAFKA_LOG_NOT_FOUND",
        f"Option {option} names {shown(missing[0])}, which is not in {paths}; found {_listed(found)}; "
        f"to read only the partitions that exist, set option failOnDataLoss=false{suggestion}",
    )


def _listed(found: Collection[str]) -> str:
    names = sorted(found)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED]) or 'nothing'}{more}"


def _name(key: tuple[str, int]) -> str:
    return f"{key[0]}-{key[1]}" if key[1] >= 0 else key[0]
