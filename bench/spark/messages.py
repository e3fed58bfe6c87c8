"""Messages on Spark: our functions and our source beside what else decodes binary columns there, on the same rows.

Each contender makes the same columns, which is checked before anything is
measured. `ready columns` is the ceiling of whatever decodes in `mapInArrow`:
the bytes cross to the worker, and columns that were decoded before come back,
declared as `decode_messages` does it (NOT NULL within lists), and all nullable.
`source of ready batches` is that of whatever decodes in a source (`ready`).
"""

from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
from jars import AVRO, PROTOBUF
from measure import Taken, best, middle, noop, ratio_of, rounds
from message_samples import SHAPES, Shape, make_messages
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType
from ready import ready_rows

from tagwire_spark import decode_messages, from_message
from tagwire_spark.columns.codec import decoding, message_class

__all__ = ["measure_messages"]

_SLOW: Final = 200_000
"""Rows for functions that see them one by one."""
CEILING, AVRO_ROW, PROTOBUF_ROW = "mapInArrow, ready columns", "from_avro", "from_protobuf's technique"
PLAIN: Final = ("udf with our objects", "udf with our objects, through Arrow")
DECODE, FROM, SOURCE = "decode_messages", "from_message", "kafka_log, decoding in place"
LOOSE: Final = "kafka_log, in place, all nullable"
SOURCE_CEILING: Final = "source of ready batches"
LOOSE_CEILING: Final = "mapInArrow, ready columns, all nullable"
FLOORS: Final = (
    *((DECODE, (CEILING,), 0.9), (DECODE, (LOOSE_CEILING,), 0.9), (DECODE, PLAIN, 4.0), (FROM, PLAIN, 4.0)),
    *((DECODE, (PROTOBUF_ROW,), 1.3), (FROM, (PROTOBUF_ROW,), 1.3), (SOURCE, (AVRO_ROW,), 1.2)),
    *((SOURCE, (SOURCE_CEILING,), 0.8), (SOURCE_CEILING, (AVRO_ROW,), 1.2)),
)
"""How much faster the first is to be than the fastest of the others."""


class Contender(NamedTuple):
    """A DataFrame that decodes so many rows."""

    df: Any
    rows: int


def measure_messages(spark: Any, options: Any, jars: dict[str, Path]) -> None:
    """Measure both shapes, and print a table of them, and ratios."""
    found: dict[str, Contender] = {}
    for shape in SHAPES:
        found |= {f"{shape.name}: {name}": each for name, each in _contenders(spark, shape, options, jars).items()}
    works = {name: partial(noop, each.df) for name, each in found.items()}
    taken = rounds(works, options.rounds, options.only or ())
    print(f"{'medians of rounds':48}{'Mrow/s':>8}{'JVM us/row':>12}{'Python us/row':>15}{'best Mrow/s':>13}")
    for name, each in taken.items():
        millions, (wall, jvm, python) = found[name].rows / 1e6, middle(each)
        fastest = millions / best(each).wall
        print(f"{name:48}{millions / wall:8.2f}{jvm / millions:12.2f}{python / millions:15.2f}{fastest:13.2f}")
    for shape in SHAPES:
        for ours, others, floor in FLOORS:
            _print_ratio(found, taken, f"{shape.name}: {ours}", [f"{shape.name}: {name}" for name in others], floor)


def _print_ratio(
    found: dict[str, Contender], taken: dict[str, list[Taken]], ours: str, others: Sequence[str], floor: float
) -> None:
    """How ours stands to the fastest of those that it is held against, in rows a second."""
    there = [name for name in others if name in taken]
    if not there or ours not in taken:
        return
    other = max(there, key=lambda name: found[name].rows / middle(taken[name]).wall)
    ratio = ratio_of(taken[ours], taken[other], found[ours].rows / found[other].rows)
    print(f"{ours} / {other}: {ratio}; floor {floor}")


# ---------------------------------------------------------------- who decodes


def _contenders(spark: Any, shape: Shape, options: Any, jars: dict[str, Path]) -> dict[str, Contender]:
    """All of a shape, by name."""
    parquet, log = make_messages(spark, shape, options.data, options.messages, jars)
    data = spark.read.parquet(str(parquet)).select("kafka")
    few = data.limit(min(options.messages, _SLOW)).repartition(2).cache()
    arguments = (shape.message, shape.version, shape.options)
    source = spark.read.format("kafka_log").options(message=shape.message, version=shape.version, **shape.options)
    strict, loose = StructType([StructField("message", shape.strict_schema)]), f"message {shape.schema.simpleString()}"
    whole = {
        DECODE: decode_messages(data, *arguments, data="kafka", into=None),
        FROM: data.select(from_message("kafka", *arguments).alias("m")),
        SOURCE: source.schema(strict).load(str(log)),
        LOOSE: source.schema(loose).load(str(log)),
        SOURCE_CEILING: _ready_rows(spark, shape, strict, log),
        **_in_jvm(spark.read.parquet(str(parquet)), shape, jars),
    }
    slow = {name: few.select(_plain(shape, through_arrow=name != PLAIN[0])("kafka").alias("m")) for name in PLAIN}
    _agree(shape, whole)
    _agree(shape, {DECODE: decode_messages(few, *arguments, data="kafka"), **slow})
    ready = {
        CEILING: data.mapInArrow(_ready(shape), whole[DECODE].schema),
        LOOSE_CEILING: data.mapInArrow(_ready(shape), shape.ddl),
    }
    whole = {"parquet, the bytes alone": data, **ready, **whole}
    rows = few.count()
    return {name: Contender(df, options.messages) for name, df in whole.items()} | {
        name: Contender(df, rows) for name, df in slow.items()
    }


def _in_jvm(table: Any, shape: Shape, jars: dict[str, Path]) -> dict[str, Any]:
    """What decodes the same rows without Python, from Avro and from Protobuf."""
    from pyspark.sql.avro.functions import from_avro

    found = {AVRO_ROW: table.select(from_avro("avro", shape.avro).alias("m"))} if AVRO in jars else {}
    if PROTOBUF in jars:
        found[PROTOBUF_ROW] = table.select(F.expr(f"of_protobuf(protobuf, '{shape.ddl}')").alias("m"))
    return found


def _ready(shape: Shape) -> Any:
    """What gives columns that were decoded once, as many rows as there are bytes."""
    wanted = decoding(shape.message, shape.version, shape.options, None)

    def give(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ready = None
        for batch in batches:
            if ready is None or ready.num_rows < batch.num_rows:
                ready = pa.RecordBatch.from_struct_array(wanted.decode(batch.column(0)))
            yield ready.slice(0, batch.num_rows)

    return give


def _ready_rows(spark: Any, shape: Shape, schema: StructType, log: Path) -> Any:
    """The rows of decoding in place, from a source that only hands them over."""
    options = {"message": shape.message, "version": shape.version, **shape.options}
    return ready_rows(spark, f"ready_{shape.name}", schema, log, log.with_name(f"{log.name}.batches"), **options)


def _plain(shape: Shape, *, through_arrow: bool) -> Any:
    """A function of single rows, as one writes it without columns: an object for each message, and tuples of it."""
    cls, version = message_class(shape.message, shape.package), shape.version
    pick = attrgetter(*shape.schema.names)
    pick_partition = attrgetter("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata")

    def flat(data: bytes) -> Any:
        return pick(cls.decode(data, version))

    def nested(data: bytes) -> Any:
        *fields, topics = pick(cls.decode(data, version))
        return (*fields, [(topic.name, [pick_partition(each) for each in topic.partitions]) for topic in topics])

    return F.udf(flat if shape.name == "flat" else nested, shape.schema, useArrow=through_arrow)


def _agree(shape: Shape, contenders: dict[str, Any]) -> None:
    """Stop unless all give the same rows, in whatever order, as a column for each field or as one struct."""
    sums = {}
    for name, df in contenders.items():
        columns = [F.col(column) for column in df.columns] if len(df.columns) > 1 else [F.col(f"{df.columns[0]}.*")]
        hashes = df.select(*columns).select(F.xxhash64(F.struct("*")).alias("hash"))
        sums[name] = tuple(hashes.agg(F.count("hash"), F.bit_xor("hash")).first())
    if len(set(sums.values())) > 1:
        raise SystemExit(f"not the same rows of {shape.name}: {sums}")
