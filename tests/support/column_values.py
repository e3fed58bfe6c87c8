"""Compute expected column values from decoded objects, without the code that decodes columns."""

from typing import Any
from uuid import UUID

import pyarrow as pa
from damage import Sample

import tagwire
from tagwire import DecodeError, Struct, arrow
from tagwire.arrow.errors import described
from tagwire_messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

COMMIT = OffsetCommitRequest(
    group_id="g",
    member_id="mé",
    topics=[
        OffsetCommitRequestTopic(
            name="a topic with a long name",
            partitions=[OffsetCommitRequestPartition(partition_index=3, committed_metadata=None)],
            unknown_tags={5: b"abc"},
        )
    ],
)
"""An OffsetCommitRequest for version 8. It has a null, an unknown tag, and a string that is not ASCII."""


def column(result: Any) -> list[Any]:
    """Convert a result to a pyarrow array. Validate the array, and return its values."""
    array = pa.array(result)
    array.validate(full=True)
    values: list[Any] = array.to_pylist()
    return values


def in_columns(message: Any, version: int, *, unknown_tags: bool = True) -> Any:
    """Return the value that pyarrow's `to_pylist` should return for a message."""
    cls: type[tagwire.Message] = type(message)
    optional = cls.OPTIONAL_FIELDS
    has_tags = version in cls.FLEXIBLE_VERSIONS or (optional is not None and version in optional.versions)
    return _plain(message, version, has_tags and unknown_tags)


def _plain(value: Any, version: int, has_tags: bool) -> Any:
    if isinstance(value, Struct):
        names = [row.name for row in type(value).FIELDS if version in row.versions]
        plain = {name: _plain(getattr(value, name), version, has_tags) for name in names}
        return plain | ({"unknown_tags": sorted(value.unknown_tags.items())} if has_tags else {})
    if isinstance(value, tuple):
        return [_plain(element, version, has_tags) for element in value]
    return value.bytes if isinstance(value, UUID) else value


def expected_row(sample: Sample, data: bytes, **how: Any) -> dict[str, Any]:
    try:
        value = sample.cls.decode(data, sample.version, **how)
    except DecodeError as error:
        return {"value": None, "error": described(error)}
    return {"value": in_columns(value, sample.version), "error": None}


def columns_of(sample: Sample, rows: list[bytes], **how: Any) -> list[Any]:
    columns = pa.array(arrow.decode_column(pa.array(rows, pa.binary()), sample.cls, sample.version, **how))
    columns.validate(full=True)
    found: list[Any] = columns.to_pylist()
    return found
