"""Arrow columns beside objects: many messages in an array of bytes, to columns and back, on one core and on two.

The contender is what a program without columns does: decode each message in pure Python, and make Arrow arrays of the
attributes. CPU time of the thread, interleaved, as in all of `bench/`; only the row about two threads is in wall time,
and needs idle cores. One kind of messages is of a spec made for the purpose, so this needs the generator.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from operator import attrgetter
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Final

import pyarrow as pa
from timing import interleaved, ratio

import tagwire_messages as messages
from tagwire import arrow
from tagwire.message.engines import python_serializer

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))  # which generate packages as they go

__all__ = ["ColumnRow", "measure_columns"]

ColumnRow = dict[str, Any]
"""`messages`, `way`, and `nanoseconds` for each with the `ratio` to the slowest way, or `times_one_thread`."""

_SLOWEST: Final = "objects in pure Python, then Arrow"
_PIECES: Final = 4
"""Into which the array is cut for two threads."""
_SECONDS: Final = 0.3
"""What one thread takes at least to go through them, again and again."""

_FLAT: Final = {
    "type": "data",
    "name": "CommittedOffset",
    "validVersions": "0",
    "flexibleVersions": "0+",
    "fields": [
        {"name": "GroupId", "type": "string", "versions": "0+"},
        {"name": "Generation", "type": "int32", "versions": "0+"},
        {"name": "Topic", "type": "string", "versions": "0+"},
        {"name": "PartitionIndex", "type": "int32", "versions": "0+"},
        {"name": "CommittedOffset", "type": "int64", "versions": "0+"},
        {"name": "CommittedLeaderEpoch", "type": "int32", "versions": "0+"},
        {"name": "CommittedMetadata", "type": "string", "versions": "0+", "nullableVersions": "0+"},
    ],
}
"""No message of Kafka is a flat record of a usual kind, so this one is made for the purpose."""


class Shape:
    """A kind of messages: their bytes in an array, and how to get columns of them through objects."""

    def __init__(
        self, name: str, cls: Any, version: int, rows: list[bytes], to_arrow: Callable[[list[Any]], Any]
    ) -> None:
        self.name = name
        self.cls = cls
        self.version = version
        self.data = pa.array(rows, pa.binary())
        self.size = sum(map(len, rows)) / len(rows)
        self.to_arrow = to_arrow

    def by_objects(self, decode: Callable[[bytes], Any]) -> Any:
        return self.to_arrow([decode(row) for row in self.data.to_pylist()])

    def columns(self, data: Any = None, **how: Any) -> Any:
        return arrow.decode_column(self.data if data is None else data, self.cls, self.version, **how)


def flat(folder: Path, count: int) -> Shape:
    """Records of some 50 bytes without arrays or structs."""
    from build_package import build_package

    cls: Any = build_package(folder, "flat_records", [_FLAT]).CommittedOffset
    random = Random(3)
    rows = [
        cls(
            group_id=f"group-{random.randrange(50)}",
            generation=7,
            topic=f"topic-{random.randrange(200)}.events",
            partition_index=random.randrange(64),
            committed_offset=random.randrange(2**40),
            committed_leader_epoch=random.randrange(100),
            committed_metadata=None if number % 3 else f"meta {number}",
        ).encode(0)
        for number in range(count)
    ]
    names = [row.name for row in cls.FIELDS]
    schema = pa.schema(arrow.schema(cls, 0, unknown_tags=False))

    def to_arrow(records: list[Any]) -> Any:
        values = zip(*map(attrgetter(*names), records), strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(values, schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    return Shape("flat record", cls, 0, rows, to_arrow)


def nested(count: int) -> Shape:
    """OffsetCommitRequests of one topic with three partitions."""
    module: Any = messages.offset_commit_request
    cls = module.OffsetCommitRequest
    random = Random(4)
    rows = []
    for number in range(count):
        partitions = [
            module.OffsetCommitRequestPartition(
                partition_index=index,
                committed_offset=random.randrange(2**40),
                committed_leader_epoch=5,
                committed_metadata=None if index else "m",
            )
            for index in range(3)
        ]
        topics = [module.OffsetCommitRequestTopic(name=f"topic-{random.randrange(200)}", partitions=partitions)]
        member = f"consumer-{number}"
        group = f"group-{random.randrange(50)}"
        request = cls(group_id=group, generation_id_or_member_epoch=7, member_id=member, topics=topics)
        rows.append(request.encode(8))
    schema = pa.schema(arrow.schema(cls, 8, unknown_tags=False))

    def to_arrow(requests: list[Any]) -> Any:
        values = [_plain_values(each) for each in requests]
        return pa.RecordBatch.from_arrays(
            [pa.array([value[field.name] for value in values], field.type) for field in schema], schema=schema
        )

    return Shape("nested OffsetCommitRequest v8", cls, 8, rows, to_arrow)


def _plain_values(request: Any) -> dict[str, Any]:
    """An OffsetCommitRequest as pyarrow takes it."""
    return {
        "group_id": request.group_id,
        "generation_id_or_member_epoch": request.generation_id_or_member_epoch,
        "member_id": request.member_id,
        "group_instance_id": request.group_instance_id,
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    {
                        "partition_index": partition.partition_index,
                        "committed_offset": partition.committed_offset,
                        "committed_leader_epoch": partition.committed_leader_epoch,
                        "committed_metadata": partition.committed_metadata,
                    }
                    for partition in topic.partitions
                ],
            }
            for topic in request.topics
        ],
    }


def measure_columns(*, rounds: int, count: int, progress: Callable[[str], None]) -> list[ColumnRow]:
    """A row for each kind of messages and each way to columns and back."""
    with tempfile.TemporaryDirectory() as folder:
        return [
            row for shape in (flat(Path(folder), count), nested(count)) for row in measured(shape, rounds, progress)
        ]


def measured(shape: Shape, rounds: int, progress: Callable[[str], None]) -> Iterator[ColumnRow]:
    """The rows for one kind of messages."""
    progress(f"columns: {shape.name}")
    pure = python_serializer(shape.cls, shape.version)
    ways: dict[str, Callable[[], object]] = {
        _SLOWEST: lambda: shape.by_objects(pure.decode),
        "native objects, then Arrow": lambda: shape.by_objects(lambda row: shape.cls.decode(row, shape.version)),
        "columns": lambda: shape.columns(unknown_tags=False),
        "columns with unknown tags": shape.columns,
        "columns, one field chosen": lambda: shape.columns(fields=["group_id"]),
    }
    expected = pa.RecordBatch.from_struct_array(pa.array(shape.columns(unknown_tags=False)))
    assert expected.equals(shape.by_objects(pure.decode)), "there is no race between different results"
    made = shape.columns()
    assert pa.array(arrow.encode_column(made, shape.cls, shape.version)).equals(shape.data)
    compared = set(ways) - {_SLOWEST}
    ways["back to bytes"] = lambda: arrow.encode_column(made, shape.cls, shape.version)
    times = interleaved(ways, rounds=rounds, seconds=0)
    count = len(shape.data)
    messages = f"{shape.name}, {shape.size:.0f} bytes"
    for way in ways:
        yield {
            "messages": messages,
            "way": way,
            "nanoseconds": median(times[way]) / count * 1e9,
            "ratio": list(ratio(times[_SLOWEST], times[way])) if way in compared else None,
        }
    yield {"messages": messages, "way": "columns, two threads", "times_one_thread": threads(shape, rounds)}


def threads(shape: Shape, rounds: int) -> float:
    """How many times as fast two threads go through pieces of the array: wall time, the median of rounds.

    One thread and two in turn, for long enough that it counts for little how long it takes to wake a thread, and to
    move it to an idle core.
    """
    size = len(shape.data) // _PIECES
    pieces = [shape.data[number * size : (number + 1) * size] for number in range(_PIECES)]

    def work(some: Sequence[Any]) -> float:
        start = time.perf_counter()
        for each in some:
            shape.columns(each)
        return time.perf_counter() - start

    pieces *= ceil(_SECONDS / work(pieces))
    ratios = []
    with ThreadPoolExecutor(2) as pool:
        for _ in range(rounds):
            alone = work(pieces)
            start = time.perf_counter()
            list(pool.map(work, (pieces[::2], pieces[1::2])))
            ratios.append(alone / (time.perf_counter() - start))
    return median(ratios)
