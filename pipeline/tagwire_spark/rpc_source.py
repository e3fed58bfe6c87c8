"""The data source `kafka_rpc`, which shows captured requests and responses as a DataFrame with a row per exchange.

A task reads one file. A request and its response in different files become two rows.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from tagwire.frames.known_packages import KAFKA_MESSAGES
from tagwire.text_format import encodable
from tagwire_spark.columns.arrow_types import ERROR_TYPE, arrow_schema, spark_type
from tagwire_spark.columns.codec import Decoding, decoding, message_class
from tagwire_spark.columns.packages import find_registry
from tagwire_spark.columns.schema_check import check_requested_columns, requested_batch, under_names
from tagwire_spark.errors import rejections
from tagwire_spark.files.file_state import FileState
from tagwire_spark.files.storage import capture_files
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions
from tagwire_spark.log_read.query import paths_of, storage_options
from tagwire_spark.options import Options, invalid
from tagwire_spark.rpc_exchanges import captured_frames, exchange_row, exchanges, rejected
from tagwire_spark.session import settle_worker

OPTIONS: Final = ("path", "paths", "mode", "package", "strict", "body", "api", "versions", "port", "storageOptions")
_TIME: Final = pa.timestamp("us", tz="UTC")
_TYPES: Final = {
    "clientId": pa.string(),
    "apiKey": pa.int32(),
    "api": pa.string(),
    "apiVersion": pa.int32(),
    "correlationId": pa.int32(),
    "headerVersion": pa.int32(),
    "request": pa.string(),
    "response": pa.string(),
    "responseVersion": pa.int32(),
    "requestSize": pa.int32(),
    "responseSize": pa.int32(),
    "requestTime": _TIME,
    "responseTime": _TIME,
    "latencyMs": pa.float64(),
    "requestError": ERROR_TYPE,
    "responseError": ERROR_TYPE,
    "clientLabel": pa.string(),
    "run": pa.string(),
    "connection": pa.string(),
    "file": pa.string(),
    "line": pa.int64(),
}
_BODIES: Final = ("request", "response")
_ROWS: Final = 2_000


class RpcQuery(NamedTuple):
    """The parsed options of a read."""

    paths: tuple[str, ...]
    package: str
    body: str
    fails: bool
    strict: bool
    port: int
    api_key: int | None = None
    structs: tuple[Decoding, Decoding] | None = None
    """How to decode requests and responses to structs, or None if bodies are not structs."""
    storage: StorageOptions = NO_OPTIONS


def rpc_query(options: Any) -> RpcQuery:
    """Parse a query from options. Raises PipelineError for unknown, invalid or contradictory options."""
    read = Options(options, OPTIONS)
    package = read.text("package")
    body = read.choice("body", ("json", "struct", "none"))
    api = read.text("api")
    if body == "struct" and not api:
        raise invalid("Option body=struct needs option 'api', because each API has its own struct.")
    structs = None
    if body == "struct":
        codec = {"mode": "PERMISSIVE", "package": package or KAFKA_MESSAGES, "strict": read.text("strict", "true")}
        if read.has("versions"):
            codec["versions"] = read.text("versions")
        request, response = (decoding(f"{api}{kind}", None, codec, None) for kind in ("Request", "Response"))
        structs = (request, response)
    return RpcQuery(
        paths_of(read),
        package,
        body,
        read.choice("mode", ("PERMISSIVE", "FAILFAST")) == "FAILFAST",
        read.flag("strict", True),
        9092 if (port := read.number("port")) is None else port,
        message_class(f"{api}Request", package).API_KEY if api else None,
        structs,
        storage_options(read),
    )


def full_schema(query: RpcQuery) -> StructType:
    """Return all columns that `kafka_rpc` offers for these options."""
    schema = StructType()
    for name, type in _TYPES.items():
        if name in _BODIES and query.structs is not None:
            schema.add(name, query.structs[_BODIES.index(name)].schema)
        else:
            schema.add(name, spark_type(type))
    return schema


class RpcSource(DataSource):
    """`spark.read.format("kafka_rpc")`. docs/spark-messages.md lists its options and columns."""

    @classmethod
    def name(cls) -> str:
        return "kafka_rpc"

    def schema(self) -> StructType:
        return full_schema(rpc_query(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        query = rpc_query(self.options)
        return RpcReader(query, check_requested_columns(self.name(), schema, full_schema(query)), schema.names)


class RpcReader(DataSourceReader):
    """The batch reader. Each task reads one file of captured frames."""

    def __init__(self, query: RpcQuery, schema: StructType, names: Sequence[str]) -> None:
        self.query = query
        self.columns = schema
        self.names = [*names]

    def partitions(self) -> Sequence[InputPartition]:
        with rejections():
            return [InputPartition(each) for each in capture_files(self.query.paths, self.query.storage)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the exchanges of a file as Arrow batches. If there are no files, Spark calls this once with None."""
        settle_worker()
        if partition.value is not None:
            file, state = partition.value
            with rejections():
                yield from under_names(_batches(file, state, self.query, self.columns), self.names)


def _batches(file: str, state: FileState | None, query: RpcQuery, columns: StructType) -> Iterator[Any]:
    schema = arrow_schema(columns)
    rows = _rows(file, state, query)
    while part := list(islice(rows, _ROWS)):
        arrays = {}
        for side, decoder in zip(_BODIES, query.structs or (), strict=False):
            arrays[side] = _structs(side, decoder, part)
        for error in (rejected(row, file) for row in part if query.fails):
            if error is not None:
                raise error
        for field in schema:
            if field.name not in arrays:
                arrays[field.name] = pa.array([row[field.name] for row in part], field.type)
        yield requested_batch(arrays, schema, lambda _: file)


def _structs(side: str, decoder: Decoding, rows: list[dict[str, Any]]) -> Any:
    """Decode the request or response bodies of all rows to structs. Store errors in `rows`."""
    bodies = [row[side] for row in rows]
    versions = [row["responseVersion" if side == "response" else "apiVersion"] for row in rows]
    structs = decoder.decode(pa.array(bodies, pa.binary()), pa.array(versions, pa.int32()))
    for row, error in zip(rows, structs.field("_error").to_pylist(), strict=True):
        if error is not None:
            if error["offset"] is not None:  # make the offset relative to the start of the frame
                error["offset"] += row[f"{side}Size"] - len(row[side])
            row[f"{side}Error"] = error
    return structs


def _rows(file: str, state: FileState | None, query: RpcQuery) -> Iterator[dict[str, Any]]:
    registry = find_registry(query.package)
    body = "bytes" if query.structs is not None else query.body
    for exchange in exchanges(captured_frames(file, query.port, registry, state, query.storage), registry):
        row = exchange_row(exchange, registry, body=body, strict=query.strict)
        # Skip other APIs, but keep gaps in a capture, because a gap can contain frames of the requested API.
        if query.api_key not in (None, row["apiKey"]) and not exchange.is_gap:
            continue
        yield {**row, "file": encodable(file)}
