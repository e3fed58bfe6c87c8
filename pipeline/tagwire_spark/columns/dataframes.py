"""Functions on whole DataFrames: `decode_messages` decodes whole Arrow batches; `in_log_order` sorts rows for a write.

`decode_messages` sends all columns of its result through a Python worker, so keep only the columns that you need. It is
faster than `from_message`, because Spark sends the bytes to the worker only once.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col
from pyspark.sql.types import StructField, StructType

from tagwire.message import Message
from tagwire_spark.columns.codec import Decoding, RowName, decoding
from tagwire_spark.options import invalid
from tagwire_spark.session import settle_worker

_LOCATION: Final = ("file", "topic", "partition", "offset", "position")
"""The columns of `kafka_log` that locate a record."""


def decode_messages(
    df: DataFrame,
    messageName: "str | type[Message]",
    version: "int | str",
    options: Mapping[str, str] | None = None,
    *,
    data: str = "value",
    fields: Iterable[str] | None = None,
    into: str | None = "message",
    keep: Iterable[str] | None = None,
) -> DataFrame:
    """Decode the messages in the column `data` of a DataFrame into a struct column `into`.

    If `into` is None, each field of the message becomes a column. `keep` lists the other columns of the result, by
    default all but `data`. `version` is a number or a column name; the other arguments are as in `from_message`. If
    `keep` has location columns of `kafka_log` (file, topic, partition, offset, position), errors name the record's
    location. Raises PipelineError for invalid arguments.
    """
    if isinstance(version, bool) or not isinstance(version, int | str):
        raise invalid(f"version: expected a number, or the name of a column, got {version!r}.")
    number, names = (version, []) if isinstance(version, int) else (None, [version])
    decoder = decoding(messageName, number, options, fields)
    kept = [name for name in df.columns if name != data] if keep is None else list(dict.fromkeys(keep))
    indexes = {name: index for index, name in enumerate(dict.fromkeys((data, *names, *kept)))}
    source = df.select(*_columns(df, indexes))
    inner = decoder.schema
    added = list(inner.fields) if into is None else [StructField(into, inner)]
    twice = set(kept) & {field.name for field in added}
    if twice:
        raise invalid(
            f"These columns would be duplicated: {', '.join(sorted(twice))}; rename them, or leave them out of `keep`."
        )
    there = [source.schema[indexes[name]] for name in kept]
    schema = StructType([*(StructField(n, f.dataType, f.nullable) for n, f in zip(kept, there, strict=True)), *added])
    version_index = indexes[names[0]] if names else None
    return source.mapInArrow(_mapping(decoder, version_index, {name: indexes[name] for name in kept}, into), schema)


def _columns(df: DataFrame, names: Iterable[str]) -> list[Column]:
    """Select columns by name, and rename them to _0, _1, ... Raises PipelineError for missing or duplicate columns.

    The new names have no dots: Spark's `mapInArrow` would interpret a dot as access to a struct field.
    """
    there = df.columns
    for name in names:
        if name not in there:
            raise invalid(f"There is no column {name!r}; the DataFrame has {', '.join(there)}.")
        if there.count(name) > 1:
            raise invalid(f"Column {name!r} exists {there.count(name)} times; drop or rename all but one.")
    return [col("`" + name.replace("`", "``") + "`").alias(f"_{index}") for index, name in enumerate(names)]


def _mapping(decoder: Decoding, version: int | None, kept: Mapping[str, int], into: str | None) -> Any:
    """Return the function that `mapInArrow` runs on workers. It decodes the first column of each Arrow batch."""

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle_worker()
        for batch in batches:
            versions = None if version is None else batch.column(version)
            structs = decoder.decode(batch.column(0), versions, _row_name(batch, kept))
            rows = pa.record_batch([structs], [into]) if into is not None else pa.RecordBatch.from_struct_array(structs)
            for number, (name, index) in enumerate(kept.items()):
                rows = rows.add_column(number, name, batch.column(index))
            yield rows

    return decode


def _row_name(batch: pa.RecordBatch, kept: Mapping[str, int]) -> RowName | None:
    """Return a function that describes a row by its location, such as file and offset, for error messages.

    Returns None if there is neither an offset nor a position column.
    """
    columns = {name: batch.column(kept[name]) for name in _LOCATION if name in kept}
    if "offset" not in columns and "position" not in columns:
        return None
    return lambda row: ", ".join(f"{name} {column[row].as_py()}" for name, column in columns.items())


def in_log_order(df: DataFrame) -> DataFrame:
    """Arrange rows for a write to `kafka_log`, so that each partition is in one task and sorted by offset.

    This causes a shuffle. Rows that were read from a log, or grouped by topic and partition, don't need this call.
    """
    keys = [name for name in ("topic", "partition") if name in df.columns]
    order = [*keys, *(name for name in ("offset",) if name in df.columns)]
    moved = df.repartition(*keys) if keys else df.coalesce(1)
    return moved.sortWithinPartitions(*order) if order else moved
