"""The messages that are measured: two shapes, the same rows as Kafka messages, Avro and Protobuf, and in a log.

`flat` is a committed offset as a row: eight fields, no lists; `nested` is an
OffsetCommitRequest of version 8 with a topic of three partitions. Spark makes
the rows of numbers, so they are the same everywhere, and each is another.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

from jars import AVRO, PROTOBUF
from pyspark.sql.types import ArrayType, DataType, StructType

from tagwire_spark import schema_of_message, to_message

__all__ = ["SHAPES", "Shape", "make_messages", "with_package"]

PACKAGE: Final = "bench_messages"
_PARTITIONS: Final = 4
_TIME: Final = 1_700_000_000_000
_NULLABLE: Final = ("committed_metadata", "group_instance_id")


class Shape(NamedTuple):
    """A kind of message."""

    name: str
    message: str
    version: int
    package: str
    columns: str
    """SQL for the message's fields, from a column `id`."""

    @property
    def options(self) -> dict[str, str]:
        """Options of our functions and of the source."""
        return {"package": self.package}

    @property
    def ddl(self) -> str:
        """The struct's fields, as of a schema."""
        return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in self.schema.fields)

    @property
    def schema(self) -> StructType:
        """The struct of `from_message`."""
        return schema_of_message(self.message, self.version, self.options)

    @property
    def strict_schema(self) -> StructType:
        """The same with NOT NULL, as Avro's schema says it."""
        return schema_of_message(self.message, self.version, self.options, nullable=False)

    @property
    def avro(self) -> str:
        """The schema of the same struct in Avro; text may be null where it is in some row."""
        return json.dumps(_avro(self.schema, "Message"))


def _avro(kind: DataType, name: str) -> Any:
    """What Avro calls a type; `name` is that of the field, which records are called by."""
    if isinstance(kind, StructType):
        fields = [{"name": field.name, "type": _avro(field.dataType, field.name)} for field in kind.fields]
        return {"type": "record", "name": f"Of_{name}", "fields": fields}
    if isinstance(kind, ArrayType):
        return {"type": "array", "items": _avro(kind.elementType, name)}
    word = {"string": "string", "int": "int", "bigint": "long"}[kind.simpleString()]
    return ["null", word] if name in _NULLABLE else word


def _picked(salt: int, count: int, kind: str = "int") -> str:
    return f"cast(pmod(xxhash64(id, {salt}), {count}) as {kind})"


def _partition(number: int) -> str:
    offset, metadata = _picked(10 + number, 1 << 40, "bigint"), "'m'" if number == 0 else "cast(null as string)"
    return (
        f"named_struct('partition_index', {number}, 'committed_offset', {offset}, "
        f"'committed_leader_epoch', 5, 'committed_metadata', {metadata})"
    )


_PARTITION_LIST: Final = ", ".join(_partition(number) for number in range(3))
SHAPES: Final = (
    Shape(
        "flat",
        "CommittedOffset",
        0,
        PACKAGE,
        f"concat('group-', {_picked(1, 50)}) as group_id, 7 as generation, "
        f"concat('topic-', {_picked(2, 200)}, '.events') as topic, {_picked(3, 64)} as partition_index, "
        f"{_picked(4, 1 << 40, 'bigint')} as committed_offset, {_picked(5, 100)} as committed_leader_epoch, "
        f"if(id % 3 = 0, concat('meta ', id), null) as committed_metadata, {_TIME} + id as commit_timestamp",
    ),
    Shape(
        "nested",
        "OffsetCommitRequest",
        8,
        "tagwire_messages",
        f"concat('group-', {_picked(1, 50)}) as group_id, 7 as generation_id_or_member_epoch, "
        "concat('consumer-', id) as member_id, cast(null as string) as group_instance_id, "
        f"array(named_struct('name', concat('topic-', {_picked(2, 200)}), "
        f"'partitions', array({_PARTITION_LIST}))) as topics",
    ),
)
_FIELDS: Final = (
    *(("groupId", "string"), ("generation", "int32"), ("topic", "string"), ("partitionIndex", "int32")),
    *(("committedOffset", "int64"), ("committedLeaderEpoch", "int32")),
    *(("committedMetadata", "string"), ("commitTimestamp", "int64")),
)
_SETTINGS: Final = f'[[tool.tagwire.sets]]\nspecs = "message_specs"\npackage = "{PACKAGE}"\noutput = "package"\n'


def with_package(folder: Path) -> None:
    """Generate the class of the flat message, and let this process and the workers that it will have import it."""
    specs = folder / "message_specs"
    specs.mkdir(parents=True, exist_ok=True)
    fields = [{"name": name, "type": kind, "versions": "0+"} for name, kind in _FIELDS]
    fields[6]["nullableVersions"] = "0+"
    spec = {"type": "data", "name": "CommittedOffset", "validVersions": "0", "flexibleVersions": "0+", "fields": fields}
    (specs / "CommittedOffset.json").write_text(json.dumps(spec, indent=2) + "\n")
    (folder / "pyproject.toml").write_text(_SETTINGS)
    subprocess.run([sys.executable, "-m", "tagwire_cli", "generate"], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    package = str(folder / "package")
    sys.path.insert(0, package)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))


def make_messages(spark: Any, shape: Shape, folder: Path, count: int, jars: dict[str, Path]) -> tuple[Path, Path]:
    """Parquet with a column for each encoding that can be had, and a log of the Kafka messages, made unless there."""
    name = "-".join((shape.name, str(count), *sorted(jars)))
    parquet, log = folder / f"{name}.parquet", folder / f"{shape.name}-{count}"
    rows = spark.range(0, count, 1, _PARTITIONS).selectExpr("id", f"struct({shape.columns}) as m")
    kafka = to_message("m", shape.message, shape.version, shape.options)
    if not parquet.exists():
        encoded = rows.select(kafka.alias("kafka"), *_others(shape, jars))
        writer = encoded.write.option("compression", "none").option("parquet.enable.dictionary", "false")
        writer.parquet(str(parquet))
    if not log.exists():
        number = f"cast(id div {-(-count // _PARTITIONS)} as int) as partition"
        records = rows.select("id", kafka.alias("value")).selectExpr("value", f"'{shape.name}' as topic", number)
        records.write.format("kafka_log").mode("append").save(str(log))
    return parquet, log


def _others(shape: Shape, jars: dict[str, Path]) -> list[Any]:
    """The same rows as Avro and Protobuf."""
    from pyspark.sql.avro.functions import to_avro
    from pyspark.sql.functions import expr

    avro = [to_avro("m", shape.avro).alias("avro")] if AVRO in jars else []
    return avro + ([expr("as_protobuf(m)").alias("protobuf")] if PROTOBUF in jars else [])
