"""Compute the current state of Kafka's internal topics from their records.

    groups           __consumer_offsets    groups, their members and their offsets
    transactions     __transaction_state   transactional IDs
    sharePartitions  __share_group_state   delivery state of share groups
    cluster          __cluster_metadata    topics, brokers, configurations and more

The states of all partitions are merged into one. The state of a cluster is read from its newest snapshot and the log
after it.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.log.cluster_state import ClusterState
from tagwire.log.coordinator_state import KeyedState, groups, share_partitions, transactions
from tagwire.log.errors import LogError, LogPathError
from tagwire.log.partition import Partition
from tagwire.log.scan import Progress, Skip, ignore
from tagwire.log.segment import Segment
from tagwire.log.topics import INTERNAL_TOPICS, Entry, entry_at, state_text, state_values
from tagwire.records.format_set import AUTO, Formats, FormatSet, format_set

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry

__all__ = ["STATES", "entries", "state", "state_json_text"]

STATES: Final = {"group": "groups", "transaction": "transactions", "share": "sharePartitions", "cluster": "cluster"}
"""Maps each kind of log (see `INTERNAL_TOPICS`) to the JSON key of its state."""


def state(
    partitions: Iterable[Partition],
    registry: "Registry",
    *,
    format: Formats = AUTO,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = ignore,
    skip: Skip | None = None,
    unknown: Skip | None = None,
) -> dict[str, Any]:
    """Return the state of internal topics as JSON values. Partitions of other topics are ignored.

    The keys are `groups`, `transactions`, `sharePartitions` and `cluster`. A key is left out if there is no partition
    of its topic. Sensitive values are hidden (`tagwire.sensitive`). `format` works as in
    `tagwire.records.read_batches`, and `skip` as in `Segment.batches`. If `unknown` is given, it is called with an
    error for each record that can't be decoded, and the record is left out. Raises LogError, FormatError, and
    LogPathError if there are two replicas of a partition.
    """
    reading = _Reading(registry, format_set(format), limits, progress, skip, unknown)
    values: dict[str, Any] = state_values(_states(partitions, reading))
    return values


def state_json_text(
    partitions: Iterable[Partition],
    registry: "Registry",
    *,
    format: Formats = AUTO,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress = ignore,
    skip: Skip | None = None,
    unknown: Skip | None = None,
) -> str:
    """Return `json.dumps(state(...), indent=2, ensure_ascii=False)`, but faster. Raises the same errors as `state`."""
    return state_text(_states(partitions, _Reading(registry, format_set(format), limits, progress, skip, unknown)))


class _Reading(NamedTuple):
    registry: "Registry"
    formats: FormatSet
    limits: Limits
    progress: Progress = ignore
    skip: Skip | None = None
    unknown: Skip | None = None

    def entries(self, found: Partition | Segment, log: str, begin: int = 0) -> Iterator[tuple[int, Entry, int | None]]:
        """Yield (offset, entry, producer id) from the offset `begin` on.

        The producer id is None if the entry isn't part of a transaction.
        """
        for batch in found.batches(begin or None, self.formats, self.limits, skip=self.skip):
            producer = batch.producer_id if batch.is_transactional else None
            for record in batch:
                if record.offset < begin:
                    continue
                try:
                    entry = entry_at(record, log, self.registry, batch, self.limits)
                except LogError as error:
                    if self.unknown is None:
                        raise
                    self.unknown(error)
                else:
                    yield record.offset, entry, producer
            self.progress(batch.size)


def _states(partitions: Iterable[Partition], reading: _Reading) -> dict[str, Any]:
    by_log: dict[str, list[Partition]] = {}
    seen: dict[tuple[str, int | None], Partition] = {}
    for partition in partitions:
        if partition.topic in INTERNAL_TOPICS and not partition.state:
            other = seen.setdefault((partition.topic, partition.partition), partition)
            if other is not partition:
                raise LogPathError(
                    f"{other.path} and {partition.path} are replicas of {partition.topic}-{partition.partition};"
                    " combining them would produce a state that no broker ever had; pass only one of them"
                )
            by_log.setdefault(INTERNAL_TOPICS[partition.topic], []).append(partition)
    return {name: _state(log, by_log[log], reading) for log, name in STATES.items() if log in by_log}


def _state(log: str, partitions: list[Partition], reading: _Reading) -> Any:
    for partition in partitions:
        _check_begin(log, partition, reading)
    if log == "cluster":
        cluster = ClusterState()
        for partition in partitions:
            begin = 0
            for snapshot in partition.metadata_snapshots[-1:]:
                begin = snapshot.base_offset or 0  # the snapshot contains the effect of all records below this offset
                for _, entry, _ in reading.entries(snapshot, log):
                    cluster.add(entry)
            for _, entry, _ in reading.entries(partition, log, begin):
                cluster.add(entry)
        return cluster.tree()
    if log == "share":
        return share_partitions(entry for each in partitions for _, entry, _ in reading.entries(each, log))
    states = []
    for partition in partitions:
        states.append(KeyedState())
        for offset, entry, producer in reading.entries(partition, log):
            states[-1].add(offset, entry, producer)
    kept = [entry for each in states for entry in each.entries()]
    pending = [entry for each in states for entry in each.pending()]
    return groups(kept, pending, reading.registry) if log == "group" else transactions(kept)


def _check_begin(log: str, partition: Partition, reading: _Reading) -> None:
    """Report an error if the partition's first records are missing, because its state would be incomplete.

    Records below the log's start offset, and metadata records before a snapshot, don't count as missing.
    """
    begin = 0 if log == "cluster" else partition.log_start_offset or 0
    for snapshot in partition.metadata_snapshots if log == "cluster" else ():
        begin = max(begin, snapshot.base_offset or 0)
    first = partition.segments[0].base_offset or 0 if partition.segments else begin
    if first > begin:
        what = f"the log begins at offset {first} instead of {begin}"
        error = LogPathError(f"{partition.path}: {what}; files are missing, so the state would be incomplete")
        if reading.unknown is None:
            raise error
        reading.unknown(error)


def entries(
    partition: Partition, registry: "Registry", *, format: Formats = AUTO, limits: Limits = DEFAULT_LIMITS
) -> Iterator[Entry]:
    """Yield an internal topic's records as messages. Raises LogError for damage, and LogPathError for other topics."""
    if partition.topic not in INTERNAL_TOPICS:
        known = ", ".join(INTERNAL_TOPICS)
        raise LogPathError(
            f"{partition.path}: the records of this topic can't be decoded; expected a partition of one of the "
            f"topics {known}"
        )
    reading = _Reading(registry, format_set(format), limits)
    for _, entry, _ in reading.entries(partition, INTERNAL_TOPICS[partition.topic]):
        yield entry
