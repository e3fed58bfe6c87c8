"""Check that the columns in a read's schema exist, and that NOT NULL columns contain no nulls.

Spark doesn't check NOT NULL columns for nulls. If a whole column is declared NOT NULL, this module checks each batch
for nulls. A schema may declare a field of a message NOT NULL only if the spec doesn't allow null for it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from tagwire_spark.columns.arrow_types import in_type
from tagwire_spark.errors import PipelineError


def columns_of(source: str, schema: StructType, known: Collection[str]) -> dict[str, StructField]:
    """Map names in `known` to the columns of a schema. Case is ignored, as elsewhere in Spark.

    Raises PipelineError for unknown columns, and if two columns have the same name.
    """
    names = {name.lower(): name for name in known}
    found: dict[str, StructField] = {}
    for column in schema:
        name = names.get(column.name.lower())
        if name is None:
            raise _unknown(f"{source} has no column {column.name}; it has {', '.join(known)}.")
        if name in found:
            raise _unknown(f"Columns {found[name].name} and {column.name} are the same column; give only one of them.")
        found[name] = column
    return found


def check_requested_columns(source: str, requested: StructType, there: StructType) -> StructType:
    """Return the requested columns, with their names spelled as in the source.

    Raises PipelineError for unknown columns, wrong types, and NOT NULL fields that may contain nulls.
    """
    types = {field.name: field.dataType for field in there}
    fields = []
    for name, column in columns_of(source, requested, types).items():
        field = StructField(name, column.dataType, column.nullable)
        fields.append(field)
        found, expected = field.dataType.simpleString(), types[field.name].simpleString()
        # Times without a time zone (`timestamp_ntz`) are in UTC.
        if found not in (expected, f"{expected}_ntz"):
            raise _unknown(f"Column {field.name}: expected {expected}, got {found}.")
        path = _too_strict(field.dataType, types[field.name], field.name)
        if path is not None:
            raise _unknown(f"{path} may be null, but the schema declares it NOT NULL; remove NOT NULL.")
    return StructType(fields)


def under_names(batches: Iterable[Any], names: Sequence[str]) -> Iterator[Any]:
    """Rename the columns of Arrow batches to `names`.

    The new names may differ from the old ones only in upper and lower case.
    """
    for batch in batches:
        yield batch if batch.schema.names == names else batch.rename_columns(names)


def _unknown(text: str) -> PipelineError:
    return PipelineError("UNKNOWN_COLUMN_OF_SOURCE", text)


def _too_strict(requested: DataType, there: DataType, path: str) -> str | None:
    """Return the path of the first field or element that may be null, but is NOT NULL in the requested schema.

    Returns None if there is no such field or element.
    """
    for (_, part, nullable), (name, other, may_be_null) in zip(_parts(requested), _parts(there), strict=True):
        if may_be_null and not nullable:
            return f"{path}.{name}"
        found = _too_strict(part, other, f"{path}.{name}")
        if found is not None:
            return found
    return None


def _parts(type: DataType) -> list[tuple[str, DataType, bool]]:
    """Return the name, type and nullability of a struct's fields, an array's element, or a map's key and value."""
    if isinstance(type, StructType):
        return [(field.name, field.dataType, field.nullable) for field in type]
    if isinstance(type, ArrayType):
        return [("element", type.elementType, type.containsNull)]
    if isinstance(type, MapType):
        return [("key", type.keyType, False), ("value", type.valueType, type.valueContainsNull)]
    return []


def requested_batch(columns: Mapping[str, Any], schema: Any, file_of: Callable[[int], str]) -> Any:
    """Combine columns into an Arrow batch with this schema. Raises PipelineError if a NOT NULL column has a null.

    `file_of` maps a row's number to its file, for error messages.
    """
    for field in schema:
        if not field.nullable and columns[field.name].null_count:
            file = file_of(columns[field.name].is_null().to_pylist().index(True))
            text = f"{file}: column {field.name} has a null, but the schema declares it NOT NULL; remove NOT NULL."
            raise PipelineError("NOT_NULL_ASSERT_VIOLATION", text)
    arrays = [_declared(columns[field.name], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _declared(column: Any, type: Any) -> Any:
    return column if column.type.equals(type) else in_type(column, type)
