"""`spark.readStream.format("kafka_log")`: read growing logs as a stream of micro-batches.

As in Spark's Kafka source, a stream offset is the next offset of each partition: {"orders": {"0": 23}}. A micro-batch
ends at the end of a record batch. Its start and end offset determine its rows, so a restart from a checkpoint reads the
same rows again.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from errno import ENOENT
from functools import partial, wraps
from math import inf
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, TypeVar

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from tagwire.errors import TagwireError
from tagwire.log import Partition
from tagwire.text_format import encodable, shown
from tagwire_spark.columns.schema_check import under_names
from tagwire_spark.errors import PipelineError, loss, rejection, rejections, repeated, unreadable
from tagwire_spark.files.file_state import FileState
from tagwire_spark.files.storage import Location, folder_location, folder_of
from tagwire_spark.files.store import at_once, is_remote
from tagwire_spark.log_read.listing import (
    LocalListing,
    log_locations,
    partitions_of,
    partitions_there,
    settled_location,
)
from tagwire_spark.log_read.log_offsets import LogEnd, end_of, with_offsets_of_times
from tagwire_spark.log_read.partition_checks import check_partitions_exist, replicas_error, without_replicas
from tagwire_spark.log_read.query import (
    ALL,
    LATEST,
    NO_OFFSET,
    LogQuery,
    parsed_query,
    partition_key,
    read_options,
    time_of,
)
from tagwire_spark.log_read.rows import check_number, rows_of_task
from tagwire_spark.log_read.splits import Split, cut, grouped, whole_splits
from tagwire_spark.log_read.stream_offsets import (
    Ends,
    Log,
    check_loss,
    check_same,
    identity,
    limited,
    new_topics,
    offset_ends,
    same_ends,
    spark_offset,
)
from tagwire_spark.log_read.uncommitted import transactions_of
from tagwire_spark.options import invalid

_LIMITS: Final = {
    "maxOffsetsPerTrigger": ReadMaxRows,
    "maxBytesPerTrigger": ReadMaxBytes,
    "maxFilesPerTrigger": ReadMaxFiles,
}

_TRIES: Final = 3
_MAY_PASS: Final = ("KAFKA_LOG_CHANGED", "KAFKA_LOG_NOT_FOUND", "KAFKA_LOG_UNREADABLE", "MALFORMED_KAFKA_LOG")
"""Error conditions that can disappear when the logs are listed again."""
_P = ParamSpec("_P")
_T = TypeVar("_T")


def _reads_logs(
    method: Callable[Concatenate["LogStreamReader", _P], _T],
) -> Callable[Concatenate["LogStreamReader", _P], _T]:
    """Decorate a method that lists and reads logs: repeat it after an error, and convert errors to PipelineError.

    This helps if retention deletes a segment after it was listed: the next call lists the logs again. Afterwards, the
    local mirrors of remote listings are deleted, because Spark can kill the process at any time after the call.
    """

    @repeated(_TRIES, *_MAY_PASS)
    @rejections()
    @wraps(method)
    def read_logs(reader: "LogStreamReader", /, *args: _P.args, **named: _P.kwargs) -> _T:
        with ExitStack() as reader.trees:
            return method(reader, *args, **named)

    return read_logs


class StreamQuery(NamedTuple):
    """The options of a stream."""

    query: LogQuery
    limit: ReadLimit
    starts_latest: bool
    min_offsets: int = 0
    """A micro-batch begins when there are this many new offsets, or `delay` seconds after the previous micro-batch."""
    delay: float = 0


def stream_query(options: Mapping[str, str]) -> StreamQuery:
    """Parse the query of a stream from options. Raises PipelineError for unknown, invalid or contradictory options."""
    every = read_options(options, of_stream=True)
    query = parsed_query(every, of_stream=True)
    given = [name for name in _LIMITS if every.has(name)]
    if len(given) > 1:
        raise invalid(f"Options {' and '.join(given)} set the same limit; give one of them.")
    parse = every.size if given == ["maxBytesPerTrigger"] else every.number
    most = parse(given[0], 1, NO_OFFSET - 1) if given else None
    starts_latest = every.text("startingOffsets").lower() == "latest"
    limit = ReadAllAvailable() if most is None else _LIMITS[given[0]](most)
    least = every.number("minOffsetsPerTrigger") or 0
    if not 0 <= least <= (most if given == ["maxOffsetsPerTrigger"] and most else NO_OFFSET):
        expected = "0 or more, and at most maxOffsetsPerTrigger"
        raise invalid(f"Option minOffsetsPerTrigger: expected {expected}, got {shown(least)}.")
    return StreamQuery(query, limit, starts_latest, least, every.seconds("maxTriggerDelay", "15m"))


class LogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The stream reader. Spark calls it on the driver to plan micro-batches, and on workers to read them."""

    def __init__(self, options: StreamQuery, schema: StructType, names: Sequence[str]) -> None:
        self.options = options
        self.query = options.query
        self.columns = schema
        self.names = [*names]
        self._target: Ends | None = None
        """Where an AvailableNow query stops: the ends of the logs when the query started. None for other queries."""
        self._latest: dict[str, Any] = {}
        self._triggered = -inf
        """When the last micro-batch was planned, in seconds of the monotonic clock."""
        self.trees = ExitStack()
        """Deletes the local mirrors of remote listings at the end of each call."""
        self._ends: dict[str, tuple[str, FileState | None, LogEnd | None]] = {}
        """Maps a partition folder to its last segment, that file's state (if remote), and the end of the log."""
        self._listing = LocalListing(self._local_log)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "trees": None, "_ends": {}, "_listing": None}

    @_reads_logs
    def initialOffset(self) -> dict[str, Any]:
        """Return the start offset of a query that has no checkpoint."""
        logs = self._logs()
        starts = {key: log.end if self.options.starts_latest else log.first for key, log in logs.items()}
        requested = self.query.starts or {}
        starts |= {key: log.end for key, log in logs.items() if requested.get((key[0], ALL)) == LATEST}
        for key, offset in requested.items():
            if key in logs or key[1] != ALL:
                starts[key] = logs[key].end if offset == LATEST and key in logs else max(offset, 0)
        for key, log in logs.items():
            if time_of(self.query.start_times, key) is not None:
                found = with_offsets_of_times(self.query, log.partition, log.name, key).starts or {}
                starts[key] = min(found[key], log.log_end)
        return spark_offset(starts, logs)

    def getDefaultReadLimit(self) -> ReadLimit:
        return self.options.limit

    @_reads_logs
    def prepareForTriggerAvailableNow(self) -> None:
        """Let the query end at the current ends of the logs. Raises PipelineError for a missing partition."""
        self._target = {key: log.end for key, log in self._logs().items()}
        check_partitions_exist(self.query, self._target.keys(), self._there)

    @_reads_logs
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the end offset of the next micro-batch. Raises PipelineError for lost records and read errors."""
        logs, starts = self._logs(), offset_ends(start)
        is_new = check_same(logs, start, starts, fails=self.query.fails_on_loss)
        check_loss(logs, starts, fails=self.query.fails_on_loss)
        if self._target is not None:
            logs = {key: log._replace(end=min(log.end, self._target[key])) for key, log in logs.items()
                    if key in self._target}  # fmt: skip
        # With read_committed, `log.end` can be the start of an open transaction, below the stream's start.
        logs = {key: log._replace(end=max(log.end, min(starts.get(key, 0), log.log_end))) for key, log in logs.items()}
        if self._target is None and self._waits(logs, starts):
            return start
        self._latest = spark_offset({key: log.end for key, log in logs.items()}, logs)
        ends = dict(starts)
        for key, end in limited(logs, starts, limit, self.query).items():
            if end != starts.get(key, 0):
                ends[key] = end
        return start if ends == starts and not is_new else spark_offset(ends, logs, start)

    def _waits(self, logs: Mapping[tuple[str, int], Log], starts: Ends) -> bool:
        if not self.options.min_offsets:
            return False
        fresh = sum(log.end - max(starts.get(key, 0), log.first) for key, log in logs.items())
        if fresh < self.options.min_offsets and time.monotonic() - self._triggered < self.options.delay:
            return True
        self._triggered = time.monotonic()
        return False

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Return where the logs ended when the last micro-batch was planned."""
        return self._latest or None

    @_reads_logs
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the tasks of a micro-batch. Raises PipelineError for lost records and read errors."""
        starts = offset_ends(start)
        starts |= dict.fromkeys(new_topics(start, end), 0)
        ends = {key: offset for key, offset in offset_ends(end).items() if offset > starts.get(key, 0)}
        if not ends:
            return []
        query = self.query._replace(partitions=frozenset(ends), starts=starts, ends=ends, start_times=None)
        logs, splits = self._listed(query, is_planned=True)
        # If no partition is left, raise an error even with failOnDataLoss=false: the folder is probably not mounted.
        if not logs and self._there() == set():
            paths = query.storage.hidden(" and ".join(query.paths))
            raise unreadable(f"{paths}: all partitions were deleted before their planned records were read")
        fails = self.query.fails_on_loss
        same = same_ends(logs, end, ends, fails=fails)
        check_loss(logs, {key: starts.get(key, 0) for key in ends if key in starts}, ends, fails=fails)
        splits = [each for each in splits if (each.topic, each.partition) in same]
        return [InputPartition(each) for each in grouped(cut(splits, query), query)]

    def _there(self) -> set[tuple[str, int]] | None:
        with ExitStack() as stack:
            return partitions_there(log_locations(self.query.paths, stack, self.query.storage))

    def _logs(self) -> dict[tuple[str, int], Log]:
        return self._listed(self.query, is_planned=False)[0]

    def _listed(self, query: LogQuery, *, is_planned: bool) -> tuple[dict[tuple[str, int], Log], list[Split]]:
        """Return the current partitions of a query and, with `is_planned`, a split for each requested segment.

        Both come from one listing, so that no deleted segment goes unnoticed. Raises PipelineError for an unreadable
        log.
        """
        found: dict[tuple[str, int], Log] = {}
        splits: list[Split] = []
        try:
            for location in log_locations(query.paths, self.trees, query.storage):
                if location.local.is_file():  # new records are written to other files
                    text = f"Option path names the file {location.origin}, but a stream reads folders"
                    raise invalid(f"{text}; give {location.name_of(location.local.parent)}.")
                logs = self._remote_logs if is_remote(location.origin) else self._local_logs
                for log in logs(location, query):
                    if log.key in found and not query.longest:
                        raise replicas_error(found[log.key].name, log.name, log.key)
                    if log.key not in found or found[log.key].end < log.end:
                        found[log.key] = log
                    if is_planned:
                        to_read = log.name, log.partition, log.partition.segments
                        splits += whole_splits(query._replace(fails_on_loss=False), [to_read], location)
        except (OSError, TagwireError) as error:
            self._listing.clear()
            raise rejection(error, "MALFORMED_KAFKA_LOG") from None
        chosen = [each for each in splits if found[each.topic, each.partition].name == folder_of(each.file)]
        return dict(sorted(found.items())), without_replicas(chosen, query)

    def _local_logs(self, location: Location, query: LogQuery) -> Iterator[Log]:
        """Yield the requested partitions of a local folder. Raises LogError for damage.

        Unchanged partitions come from a cache.
        """
        # The cache wouldn't notice a new log start offset, which is in a file outside the partition's folder.
        if query.from_log_start:
            self._listing.clear()
        with settled_location(location, lambda each: self._listing.folders(each.local)) as folders:
            for folder in folders:
                if query.selects(*partition_key(folder)) and (log := self._listing.value_of(folder)):
                    yield log

    def _remote_logs(self, location: Location, query: LogQuery) -> Iterator[Log]:
        """Yield the requested partitions at a URL. Raises LogError for damage.

        An unchanged last segment is not read again.
        """
        with settled_location(location) as folders:
            partitions = [*partitions_of(location, query, folders)]
            ends = at_once(partial(self._end_of, location), partitions, is_concurrent=location.is_concurrent)
            logs = (self._log(location, *each) for each in zip(partitions, ends, strict=True))
            yield from filter(None, logs)

    def _end_of(self, location: Location, partition: Partition) -> LogEnd | None:
        """Return the end of a log, or None if it has no segments.

        If the last segment is remote and unchanged, the last known end is returned. Otherwise, the search starts there.
        Raises LogError for damage.
        """
        if not partition.segments:
            return None
        last, name = partition.segments[-1].path, partition.segments[-1].name
        state = location.state_of(last) if is_remote(location.origin) else None
        folder = folder_of(name)
        segment, known, near = self._ends.get(folder, ("", None, None))
        if segment != name:
            near = None
        elif state is not None and known == state:
            return near
        found = end_of(partition.segments, self.query.formats, permissive=self.query.permissive, near=near)
        self._ends[folder] = name, state, found
        return found

    def _local_log(self, partition: Partition) -> Log | None:
        location = Location(partition.path, is_named=True)
        return self._log(location, partition, self._end_of(location, partition))

    def _log(self, location: Location, partition: Partition, end: LogEnd | None) -> Log | None:
        """Return a partition's Log up to `end`, or None if `end` is None. Raises PipelineError for a bad folder name.

        Also sets the `end` of the partition's last segment.
        """
        if end is None:
            return None
        partition.segments[-1].end = end.position
        key, name = partition_key(partition.path), location.name_of(partition.path)
        check_number(key[1], name)
        if encodable(key[0]) != key[0]:
            text = f"{name}: the topic name is not valid UTF-8, so Spark can't store its offsets; rename the folder."
            raise PipelineError("MALFORMED_KAFKA_LOG", text)
        first, offset = partition.segments[0].base_offset or 0, end.offset
        if self.query.from_log_start and partition.log_start_offset is not None:
            first = max(first, partition.log_start_offset)
        if self.query.committed:
            offset = min(offset, transactions_of(partition, location, self.query).stable)
        return Log(key, partition, first, max(first, offset), name, *identity(partition), max(first, end.offset))

    def read(self, partition: InputPartition) -> Iterator[Any]:
        rows = rows_of_task(partition.value or (), self.query, self.columns, self._check_rejected)
        yield from under_names(rows, self.names)

    def _check_rejected(self, error: PipelineError, split: Split) -> None:
        """Raise a split's error, unless retention deleted its file and the query tolerates data loss."""
        if error.condition != "KAFKA_LOG_NOT_FOUND":
            raise error
        deleted = _is_deleted(split, self.query)
        if not deleted:
            text = "retention has apparently not deleted it; check that this worker can read the partition's folder"
            raise unreadable(f"{error.text.rstrip('.')}; {text}", ENOENT)
        if self.query.fails_on_loss:
            raise loss(f"{error.text.rstrip('.')}; the segment was deleted before it was read")


def _is_deleted(split: Split, query: LogQuery) -> bool:
    """Return whether a missing segment was deleted: its folder still exists, and the log now begins after the split.

    If the folder is missing too, the worker may not have mounted it.
    """
    with ExitStack() as stack:
        try:
            location = folder_location(folder_of(split.file), stack, query.storage)
            segments = location.partition(location.local).segments if location else ()
        except (OSError, TagwireError):
            return False
        first = segments[0].base_offset if segments else None
    return first is not None and first >= min(split.next_base, split.end_offset)
