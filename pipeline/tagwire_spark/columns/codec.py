"""Decode columns of messages to structs, and encode structs to messages, with `tagwire.arrow`. This runs on workers.

A `Decoding` is plain data, so Spark can send it to workers. Each worker imports the message classes named in it.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from tagwire import arrow
from tagwire.arrow.shape import field_paths
from tagwire.errors import SchemaError, TagwireError
from tagwire.frames.known_packages import KAFKA_MESSAGES
from tagwire.frames.message_index import UnknownMessageError
from tagwire.message import Message, Struct
from tagwire.versions import Versions
from tagwire_spark.columns.arrow_types import (
    ERROR_TYPE,
    Misfit,
    converted_rows,
    fitted,
    has_other_bytes,
    in_type,
    may_be_null,
    message_side,
    pc,
    spark_side,
    spark_struct,
    with_error,
)
from tagwire_spark.columns.packages import find_registry
from tagwire_spark.errors import PipelineError, rejection, rejections
from tagwire_spark.options import MODES, Options, invalid

OPTIONS: Final = ("mode", "package", "strict", "unknown.tagged.fields", "versions")
"""Options that `from_message` and `to_message` accept."""

RowName: TypeAlias = Callable[[int], str]
"""A function that describes the row with a given number for error messages, for example by file and offset."""


def message_class(name: str, package: str) -> type[Message]:
    """Return a message class by name. Raises PipelineError for an unknown message or package."""
    try:
        return find_registry(package)[name]
    except UnknownMessageError as error:
        raise PipelineError("KAFKA_MESSAGE_NOT_FOUND", f"{error}.") from None


def _with_row(error: TagwireError, row_name: RowName | None) -> TagwireError:
    if row_name is not None and error.row is not None:
        error.args = (f"{row_name(error.row)}: {str(error).removeprefix(f'row {error.row}: ')}", *error.args[1:])
    return error


NO_VERSION: Final = "the version is null"


def unversioned(name: str, row: int) -> PipelineError:
    """Return the error for a row that has a message but a null version."""
    text = f"row {row}: {name}: {NO_VERSION}, but the message is not; give the version, or leave out such rows."
    return PipelineError("UNSUPPORTED_KAFKA_MESSAGE_VERSION", text)


def _without_version(name: str, data: Any, version: Any, *, permissive: bool) -> Any:
    """Return a mask of the rows that have a message but no version, or None if there are no such rows.

    Unless `permissive`, raises PipelineError for the first such row.
    """
    if not version.null_count:
        return None
    mask = pc.and_(version.is_null(), data.is_valid())
    row = pc.index(mask, True).as_py()
    if row >= 0 and not permissive:
        raise unversioned(name, row)
    return mask if row >= 0 else None


def _misfit(name: str, row: int, misfit: Misfit, condition: str, row_name: RowName | None = None) -> PipelineError:
    row_label = row_name(row) if row_name is not None else f"row {row}"
    return PipelineError(condition, f"{row_label}: {name}: {misfit}; choose other fields, or leave out such rows.")


def _with_misfits(errors: Any, misfits: dict[int, Misfit]) -> Any:
    rows = errors.to_pylist()
    for row, misfit in misfits.items():
        rows[row] = {"path": misfit.path, "offset": None, "reason": misfit.reason}
    return pa.array(rows, errors.type)


def _with_reason(pairs: Any, mask: Any, reason: str) -> Any:
    """Return a copy of `pairs` (structs of `value` and `error`) in which the masked rows have the error `reason`."""
    value, error = pairs.field("value"), pairs.field("error")
    wrong = pa.scalar({"path": "", "offset": None, "reason": reason}, error.type)
    return pa.StructArray.from_arrays([value, pc.if_else(mask, wrong, error)], fields=list(pairs.type))


class Decoding(NamedTuple):
    """The message and fields to decode, and the decoding options."""

    name: str
    package: str
    version: int | None
    """The version of all messages, or None if another column holds the version of each row."""
    versions: tuple[int, ...]
    fields: tuple[str, ...] | None = None
    permissive: bool = False
    strict: bool = True
    unknown_tags: bool = False

    @property
    def cls(self) -> type[Message]:
        return message_class(self.name, self.package)

    def decode(self, data: Any, version: Any = None, row_name: RowName | None = None) -> Any:
        """Decode a column of bytes to a column of structs. Raises PipelineError for the first invalid row."""
        has_versions = self.version is None
        unknown = _without_version(self.name, data, version, permissive=self.permissive) if has_versions else None
        try:
            column = arrow.decode_column(
                data,
                self.cls,
                version if has_versions else self.version,
                versions=self.versions if has_versions else None,
                fields=self.fields,
                errors="column" if self.permissive else "raise",
                strict=self.strict,
                unknown_tags=self.unknown_tags,
                wide_unsigned=True,
            )
        except TagwireError as error:
            raise rejection(_with_row(error, row_name)) from None
        types = _types(self)
        if self.permissive:
            pairs = pa.array(column)
            if unknown is not None:
                pairs = _with_reason(pairs, unknown, NO_VERSION)
            if types.has_other_bytes:
                values, misfits = converted_rows(pairs.field("value"), pa.struct(list(types.type)[:-1]))
                pairs = pa.StructArray.from_arrays(
                    [values, _with_misfits(pairs.field("error"), misfits)], ["value", "error"]
                )
            return fitted(with_error(pairs, data.is_null()), types.type)
        if not types.has_other_bytes:
            return in_type(column, types.type)
        structs, misfits = converted_rows(pa.array(column), types.type)
        for row, misfit in misfits.items():
            raise _misfit(self.name, row, misfit, "MALFORMED_KAFKA_MESSAGE", row_name)
        return structs

    @property
    def schema(self) -> StructType:
        return spark_struct(_types(self).type)

    def commented(self, *, nullable: bool = True) -> Any:
        """Return the schema with each field's documentation as its comment."""
        return _commented(self.schema if nullable else self.strict_schema, self.cls)

    @property
    def strict_schema(self) -> StructType:
        """The Spark type of a column in which no message is null. Fields are NOT NULL unless the spec allows null."""
        return spark_struct(_types(self).strict)


class _Types(NamedTuple):
    """The Arrow types of decoded structs: `type` for columns with null messages, `strict` for columns without them.

    `has_other_bytes` is true if Spark stores some values as different bytes, so that decoded columns must be cast.
    """

    type: Any
    strict: Any
    has_other_bytes: bool


def _commented(type: DataType, cls: type[Struct] | None) -> DataType:
    """Return a copy of the type in which Spark's field comments contain the documentation from the message class."""
    if cls is None:
        return type
    if isinstance(type, ArrayType):
        return ArrayType(_commented(type.elementType, cls), type.containsNull)
    if not isinstance(type, StructType):
        return type
    rows = {row.name: row for row in cls.FIELDS}
    fields = []
    for field in type:
        row = rows.get(field.name)
        about = row.about if row is not None else ""
        inner = _commented(field.dataType, row.struct if row is not None else None)
        fields.append(StructField(field.name, inner, field.nullable, {"comment": about} if about else None))
    return StructType(fields)


@lru_cache(64)
def _types(decoding: Decoding) -> _Types:
    versions = decoding.versions if decoding.version is None else (decoding.version,)
    with rejections():
        schema = arrow.schema(
            decoding.cls, versions, fields=decoding.fields, unknown_tags=decoding.unknown_tags, wide_unsigned=True
        )
    found = pa.struct(pa.schema(schema))
    fields = list(spark_side(found))
    loose = [*map(may_be_null, fields), *([pa.field("_error", ERROR_TYPE)] if decoding.permissive else [])]
    # In PERMISSIVE mode, all fields of a row that can't be decoded are null.
    return _Types(pa.struct(loose), pa.struct(loose if decoding.permissive else fields), has_other_bytes(found))


class Encoding(NamedTuple):
    """The message and version to which structs are encoded, and the encoding options."""

    name: str
    package: str
    version: int | None
    versions: tuple[int, ...]
    permissive: bool = False

    def encode(self, structs: Any, version: Any = None, row_name: RowName | None = None) -> Any:
        """Encode a column of structs to bytes. In PERMISSIVE mode, a row that can't be encoded becomes null."""
        structs = _without_error(structs)
        structs, misfits = converted_rows(
            structs, message_side(structs.type, _column_type(self.name, self.package, self.versions))
        )
        for row, misfit in () if self.permissive else misfits.items():
            raise _misfit(self.name, row, misfit, "UNENCODABLE_KAFKA_MESSAGE", row_name)
        has_versions = self.version is None
        if has_versions:
            _without_version(self.name, structs, version, permissive=self.permissive)
        try:
            column = arrow.encode_column(
                structs,
                message_class(self.name, self.package),
                version if has_versions else self.version,
                versions=self.versions if has_versions else None,
                errors="null" if self.permissive else "raise",
            )
        except TagwireError as error:
            raise rejection(_with_row(error, row_name), "UNENCODABLE_KAFKA_MESSAGE") from None
        return fitted(pa.array(column), pa.binary())


@lru_cache(64)
def _column_type(name: str, package: str, versions: tuple[int, ...]) -> Any:
    with rejections():
        return pa.struct(pa.schema(arrow.schema(message_class(name, package), versions)))


def _without_error(structs: Any) -> Any:
    if not pa.types.is_struct(structs.type) or structs.type.get_field_index("_error") < 0:
        return structs
    kept = [
        (field, column) for field, column in zip(structs.type, structs.flatten(), strict=True) if field.name != "_error"
    ]
    return pa.StructArray.from_arrays(
        [column for _, column in kept], fields=[field for field, _ in kept], mask=structs.is_null()
    )


def decoding(message: str | type[Message], version: int | None, options: Any, fields: Any) -> Decoding:
    """Validate the arguments and return a Decoding. Raises PipelineError for an unknown message, version or field."""
    read = Options(options, OPTIONS)
    name, package = _named(message, read)
    result = Decoding(
        name,
        package,
        version,
        _versions(message_class(name, package), version, read),
        _paths(fields),
        read.choice("mode", MODES) == "PERMISSIVE",
        read.flag("strict", True),
        read.choice("unknown.tagged.fields", ("drop", "binary")) == "binary",
    )
    _types(result)
    return result


def encoding(message: str | type[Message], version: int | None, options: Any) -> Encoding:
    """Validate the arguments and return an Encoding. Raises PipelineError if the message or version doesn't exist."""
    read = Options(options, ("mode", "package", "versions"))
    name, package = _named(message, read)
    versions = _versions(message_class(name, package), version, read)
    return Encoding(name, package, version, versions, read.choice("mode", MODES) == "PERMISSIVE")


def _named(message: str | type[Message], options: Options) -> tuple[str, str]:
    if isinstance(message, str):
        return message, options.text("package", KAFKA_MESSAGES)
    if not (isinstance(message, type) and issubclass(message, Message)):
        raise invalid(f"messageName: expected the name of a message or its class, got {message!r}.")
    return message.NAME, message.__module__.rpartition(".")[0]


def _paths(fields: Any) -> tuple[str, ...] | None:
    try:
        return field_paths(fields)
    except SchemaError as error:
        raise invalid(f"{error}.") from None


def _versions(cls: type[Message], version: Any, options: Options) -> tuple[int, ...]:
    """Return `version` in a tuple or, if it is None, the message's versions that the option `versions` allows.

    If the option is not set, all versions are allowed. Raises PipelineError if the message has no allowed version.
    """
    if version is not None:
        if not isinstance(version, int) or isinstance(version, bool):
            raise invalid(f"version: expected an integer, or a column of integers, got {version!r}.")
        if version not in cls.VERSIONS:
            raise _unsupported(cls, version)
        return (version,)
    selected = cls.VERSIONS
    if options.has("versions"):
        try:
            selected &= Versions.parse(options.text("versions"))
        except (TagwireError, ValueError) as error:
            raise invalid(f"Option versions: {error}.") from None
    if not selected:
        raise _unsupported(cls, options.text("versions", "that is known"))
    return tuple(selected)


def _unsupported(cls: type[Message], versions: object) -> PipelineError:
    text = f"{cls.NAME} has no version {versions}; supported versions are {cls.VERSIONS}."
    return PipelineError("UNSUPPORTED_KAFKA_MESSAGE_VERSION", text)
