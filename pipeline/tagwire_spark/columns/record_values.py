"""Decode a column of coordinator or metadata log records to structs with type, version, and fields as JSON.

A log contains many message types in many versions, and each record names its own type and version. No single struct
fits all of them, so the fields are JSON.
"""

import json
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql.types import StructType

from tagwire.errors import TagwireError
from tagwire.frames.record_frames import COORDINATOR_LOGS, METADATA_LOGS
from tagwire_spark.columns.arrow_types import ERROR_TYPE, is_bytes, spark_type
from tagwire_spark.columns.packages import find_registry
from tagwire_spark.errors import PipelineError, described, rejection
from tagwire_spark.options import MODES, Options, invalid

_FIELDS: Final = (("message", pa.string()), ("version", pa.int32()), ("body", pa.string()))


class RecordReading(NamedTuple):
    """The options for decoding log records."""

    log: str
    package: str
    permissive: bool
    strict: bool

    @property
    def type(self) -> Any:
        return pa.struct([*_FIELDS, ("_error", ERROR_TYPE)] if self.permissive else list(_FIELDS))

    def read(self, data: Any, keys: Any = None, *, always_error: bool = False) -> Any:
        """Decode a column of records. Values in a coordinator log can be decoded only with their `keys`.

        With `always_error`, the structs have a field `_error` even in FAILFAST mode. Raises PipelineError for a column
        that isn't binary and, in FAILFAST mode, for an invalid record.
        """
        for name, column in (("data", data), ("key", keys)):
            if column is not None and not is_bytes(column.type):
                text = f"{name}: expected binary, got the Arrow type '{column.type}'."
                raise PipelineError("MALFORMED_KAFKA_RECORD", text)
        registry = find_registry(self.package)
        # Pass b"" for a null key, because `decode_record` with the key None would decode the value as a key.
        all_keys = [None] * len(data) if keys is None else [key or b"" for key in keys.to_pylist()]
        return pa.array(
            [
                None if value is None else self._row(registry, row, value, key)
                for row, (value, key) in enumerate(zip(data.to_pylist(), all_keys, strict=True))
            ],
            in_permissive_mode(self).type if always_error else self.type,
        )

    def _row(self, registry: Any, row: int, value: bytes, key: bytes | None) -> dict[str, Any]:
        try:
            frame = registry.decode_record(value, self.log, key, strict=self.strict)
        except TagwireError as error:
            if not self.permissive:
                rejected = rejection(error, "MALFORMED_KAFKA_RECORD")
                raise PipelineError(rejected.condition, f"row {row}: {rejected.text}") from None
            return {"_error": described(error)}
        body = json.dumps(frame.message.to_json(frame.version), separators=(",", ":"), ensure_ascii=False)
        return {"message": frame.message.NAME, "version": frame.version, "body": body}


def record_reading(log: str, options: Any) -> RecordReading:
    """Validate the options and return a RecordReading. Raises PipelineError for an unknown log, package or option."""
    read = Options(options, ("mode", "package", "strict"))
    logs = (*COORDINATOR_LOGS, *METADATA_LOGS)
    if log not in logs:
        raise invalid(f"Unknown log {log!r}; expected {' or '.join(logs)}.")
    find_registry(read.text("package"))
    return RecordReading(
        log, read.text("package"), read.choice("mode", MODES) == "PERMISSIVE", read.flag("strict", True)
    )


def in_permissive_mode(reading: RecordReading) -> RecordReading:
    """Return a copy of the RecordReading in PERMISSIVE mode: it stores errors in rows instead of raising them."""
    return reading._replace(permissive=True)


def record_schema(reading: RecordReading) -> StructType:
    """Return the Spark type of a column of decoded records."""
    found = spark_type(reading.type)
    assert isinstance(found, StructType)
    return found
