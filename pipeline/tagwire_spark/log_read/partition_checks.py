"""Check that the partitions in a query's options exist, and that no partition is read twice.

As in Spark's Kafka source, unknown topics and partitions are rejected, but a `subscribePattern` without a match is
accepted. A stream accepts an unknown topic, because it can be created later. If several broker folders or paths contain
replicas of a partition, only one replica is read.
"""

import os
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from typing import TYPE_CHECKING

from tagwire.text_format import near, shown
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.storage import folder_of
from tagwire_spark.files.store import inner_path, is_remote
from tagwire_spark.log_read.listing import shown_names
from tagwire_spark.log_read.query import ALL, LogQuery, partition_key
from tagwire_spark.options import invalid

if TYPE_CHECKING:
    from tagwire.log import Partition, Segment
    from tagwire_spark.log_read.splits import Split


_Keys = Set[tuple[str, int]]


def replicas_error(first: str, second: str, key: tuple[str, int], *, has_option: bool = True) -> PipelineError:
    """Return the error to raise if several replicas of a partition would be read.

    `has_option` means that the caller supports the option replicas=longest.
    """
    name = f"{key[0]}-{key[1]}"
    what = f"two paths lead to {first}" if first == second else f"{first} and {second} are replicas of {name}"
    option = ", or set option replicas=longest to read the one that ends last" if has_option else ""
    return invalid(f"{what}; give only one of them{option}.")


def without_replicas(splits: Iterable["Split"], query: LogQuery) -> list["Split"]:
    """Return the splits to read: each partition is read from only one folder.

    Raises PipelineError if a partition is in several folders. With the option replicas=longest, the caller has already
    left out all but one of them, but several paths may lead to this folder.
    """
    by_key: dict[tuple[str, int], dict[str, list[Split]]] = {}
    for split in splits:
        folder = folder_of(split.file)
        # A folder whose name has no partition number can't be a replica.
        key = (split.topic if split.partition >= 0 else folder), split.partition
        by_key.setdefault(key, {}).setdefault(folder, []).append(split)
    chosen: list[Split] = []
    for key, folders in by_key.items():
        found: dict[str, dict[str, Split]] = {}
        for folder, in_folder in folders.items():
            known = found.setdefault(_real(folder) if len(folders) > 1 else folder, {})
            for split in in_folder:
                name = inner_path(split.file).name
                if name in known and not query.longest:
                    raise replicas_error(folder, folder_of(known[name].file), key)
                known.setdefault(name, split)
        if len(found) > 1:
            first, second = (folder_of(next(iter(each.values())).file) for each in [*found.values()][:2])
            raise replicas_error(first, second, key)
        chosen += (split for in_folder in found.values() for split in in_folder.values())
    return chosen


def shorter_replicas(partitions: Iterable[tuple[str, "Partition", Sequence["Segment"]]]) -> set[str]:
    """Return the folders to leave out of a batch query with the option replicas=longest.

    `partitions` contains (folder, partition, segments) for each copy of each partition. If a shorter copy were read,
    requested offsets that it lacks would be reported as lost.
    """
    by_key: dict[tuple[str, int], dict[str, tuple[tuple[str, int], str]]] = {}
    for folder, partition, segments in partitions:
        key, end = partition_key(partition.path), max(
            ((each.path.name, each.size) for each in segments), default=("", 0)
        )
        if key[1] >= 0:
            found = by_key.setdefault(key, {})
            found[folder] = max(end, found.get(folder, (end, ""))[0]), _real(folder)
    shorter: set[str] = set()
    for found in by_key.values():
        _, longest = max(found.values(), key=lambda each: each[0])
        shorter.update(folder for folder, (_, real) in found.items() if real != longest)
    return shorter


def _real(folder: str) -> str:
    return folder if is_remote(folder) else os.path.realpath(folder)


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
    names = shown_names(sorted(found)) or "nothing"
    raise PipelineError(
        "KAFKA_LOG_NOT_FOUND",
        f"Option {option} names {shown(missing[0])}, which is not in {paths}; found {names}; "
        f"to read only the partitions that exist, set option failOnDataLoss=false{suggestion}",
    )


def _name(key: tuple[str, int]) -> str:
    return f"{key[0]}-{key[1]}" if key[1] >= 0 else key[0]
