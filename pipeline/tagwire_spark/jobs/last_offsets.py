"""Find the last offset of each key by shuffling keys and offsets, and store the results in files next to the output.

    lasts/ID/7          the last offsets that one task found for partition number 7

A file contains ascending int64 offsets. Each task after the shuffle writes to its own folder. The task that rewrites a
segment searches these folders for the segment's offsets.
"""

import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from tagwire.limits import Limits
from tagwire.log.batch_summary import Survey
from tagwire.log.column_stream import record_arrays
from tagwire.log.compaction import LastOffsets
from tagwire.log.file_bytes import FileBytes, open_file
from tagwire.log.scan import Scan
from tagwire.log.whole_folder import on_disk
from tagwire.records import FormatSet
from tagwire_spark.columns.arrow_types import pc
from tagwire_spark.files.store import StorageOptions
from tagwire_spark.jobs.outputs import Staging, attempt
from tagwire_spark.jobs.tasks import over_units
from tagwire_spark.jobs.units import SentSegment, received_segment
from tagwire_spark.session import settle_worker, spark_errors_converted

_WIDTH: Final = 8

_KEYS: Final = pa.schema([("log", pa.int32()), ("key", pa.binary()), ("offset", pa.int64())])
_WRITTEN: Final = pa.schema([("log", pa.int32()), ("attempt", pa.string()), ("keys", pa.int64())])
_OF_BATCH: Final = ("producer_id", "base_offset")


class KeysUnit(NamedTuple):
    """A segment whose keys a task finds, and the part of the partition's survey that concerns the segment."""

    log: int
    size: int
    sent: SentSegment
    known: Survey


Reading = tuple[FormatSet, Limits]
"""The record formats and the limits that tasks use to read segments."""


def find_last_offsets(
    spark: SparkSession, staged: Staging, units: list[KeysUnit], reading: Reading, storage: StorageOptions
) -> dict[int, int]:
    """Find each key's last offset, and write it to the job's folder. Return the number of keys in each partition.

    Raises PipelineError if a task fails.
    """
    if not units:
        return {}
    work = partial(_last_of_keys, reading=reading, storage=storage)
    keys = over_units(spark, units, [unit.size for unit in units], work, _KEYS)
    lasts = keys.groupBy("log", "key").agg(F.max("offset").alias("offset")).select("log", "offset")
    with spark_errors_converted():
        rows = lasts.mapInArrow(_writing(str(staged.attempts)), from_arrow_schema(_WRITTEN)).collect()
    for name in {row.attempt for row in rows}:
        staged.lasts.mkdir(exist_ok=True)
        (staged.attempts / name).rename(staged.lasts / name)
    counts = dict.fromkeys((unit.log for unit in units), 0)
    for row in rows:
        counts[row.log] += row["keys"]
    return counts


def last_offsets_between(folder: Path, log: int, first: int, end: int) -> LastOffsets:
    """Return the offsets from `first` to `end` (exclusive) at which a key has its last record."""
    found = array("q")
    for path in sorted(folder.glob(f"*/{log}")):
        with open_file(path) as data:
            rows, offset_at = range(len(data) // _WIDTH), partial(_offset_at, data)
            begin, stop = (bisect_left(rows, bound, key=offset_at) for bound in (first, end))
            found.frombytes(data[_WIDTH * begin : _WIDTH * stop])
    return LastOffsets(array("q", _ascending(pa.array(found, pa.int64()))))


def _offset_at(data: FileBytes, row: int) -> int:
    return int.from_bytes(data[_WIDTH * row : _WIDTH * (row + 1)], sys.byteorder, signed=True)


def _ascending(offsets: Any) -> bytes:
    """Sort the offsets in an Arrow array. Return them as bytes, because Python integers would use more memory."""
    return bytes(offsets.take(pc.sort_indices(offsets)).buffers()[1])


def _last_of_keys(number: int, unit: KeysUnit, reading: Reading, storage: StorageOptions) -> Iterator[pa.RecordBatch]:
    """Yield a segment's keys and the last offset of each, as Arrow batches. Raises LogError for an invalid batch."""
    log, _, sent, known = unit
    columns = ["offset", "key", "is_control", *(("is_transactional", *_OF_BATCH) if known.aborted else ())]
    with received_segment(sent, storage) as segment, segment.opened() as data:
        scan = Scan(segment.name, data, *reading)
        for array_of in record_arrays(scan, columns):
            batch = pa.record_batch(array_of)
            yield _grouped(log, batch.filter(_counts(batch, known)))


def _counts(batch: Any, known: Survey) -> Any:
    """Return a mask that is true for records that have a key, except markers and records of aborted transactions."""
    counts = pc.and_(pc.is_valid(batch.column("key")), pc.invert(batch.column("is_control")))
    if not known.aborted:
        return counts
    batches = pa.Table.from_batches([batch.filter(batch.column("is_transactional")).select(_OF_BATCH)])
    found = batches.group_by(list(_OF_BATCH), use_threads=False).aggregate([]).to_pylist()
    aborted = [each["base_offset"] for each in found if known.has_aborted(*(each[name] for name in _OF_BATCH))]
    in_one = pc.is_in(batch.column("base_offset"), value_set=pa.array(aborted, pa.int64()))
    return pc.and_not(counts, pc.and_(in_one, batch.column("is_transactional")))


def _grouped(log: int, batch: Any) -> Any:
    """Return a row for each key in `batch`: partition number, key, and highest offset."""
    table = pa.Table.from_batches([batch.select(["key", "offset"])])
    found = table.group_by("key", use_threads=False).aggregate([("offset", "max")]).combine_chunks()
    [keys], [offsets] = (found.column(name).chunks or [pa.array([], kind)] for name, kind in _GROUPED)
    logs = pa.repeat(pa.scalar(log, pa.int32()), len(offsets))
    return pa.RecordBatch.from_arrays([logs, keys, offsets], schema=_KEYS)


_GROUPED: Final = (("key", pa.binary()), ("offset_max", pa.int64()))


def _writing(attempts: str) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function that writes the offsets of each partition to a file."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle_worker()
        gathered: dict[int, list[Any]] = {}
        for batch in batches:
            for log in pc.unique(batch.column("log")).to_pylist():
                offsets = batch.column("offset").filter(pc.equal(batch.column("log"), log))
                gathered.setdefault(log, []).append(offsets)
        if not gathered:
            return
        folder = attempt(attempts)
        for log, parts in gathered.items():
            offsets = pa.concat_arrays(parts)
            path = folder / str(log)
            path.write_bytes(_ascending(offsets))
            on_disk(path)
            row = {"log": log, "attempt": folder.name, "keys": len(offsets)}
            yield pa.RecordBatch.from_pylist([row], schema=_WRITTEN)

    return run
