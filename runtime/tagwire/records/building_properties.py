"""Check that a format can represent the properties of a new batch, and encode flags as attribute bits."""

from typing import TYPE_CHECKING, Any, Final

from tagwire.text_format import shown

if TYPE_CHECKING:
    from tagwire.records.building import BatchBuilder

_IGNORED: Final = "ignore_message_attributes"
"""The name of the attribute bit, in a batch header, that means "the records have no attributes byte"."""
_INTEGERS: Final = ("base_offset", "last_offset", "base_timestamp", "max_timestamp", "delete_horizon_ms", "append_time")
_NUMBERS: Final = ("partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence")


def numbers_of(builder: "BatchBuilder") -> dict[str, int]:
    """Return the names and values of the header fields that don't depend on the records, such as `producer_id`."""
    return {name: getattr(builder, name) for name in _NUMBERS}


def _flags(builder: "BatchBuilder") -> dict[str, bool]:
    """Return the names and values of the attribute bits that don't depend on the records."""
    return {
        "is_transactional": builder.is_transactional,
        "is_control": builder.is_control,
        "has_delete_horizon": builder.delete_horizon_ms is not None,
    }


def check_properties(builder: "BatchBuilder") -> None:
    """Raise EncodeError for properties of the wrong type, and for those that the format can't represent."""
    _check_kinds(builder)
    for name, value in numbers_of(builder).items():
        if value != -1 and name not in builder.format.fields:
            builder.fail(name, f"expected -1, got {value}: {builder.format.name} has no field for it")
    for name, flag in _flags(builder).items():
        if flag and name not in builder.format.bits:
            builder.fail(name, f"expected False, got True: {builder.format.name} has no attribute bit for it")
    builder.check_records()
    if builder.timestamp_type not in ("create", "append"):
        builder.fail("timestamp_type", f"expected 'create' or 'append', got {shown(builder.timestamp_type)}")
    if builder.timestamp_type == "append" and "timestamp_type" not in builder.format.bits:
        name = builder.format.name
        builder.fail("timestamp_type", f"expected 'create', got 'append': {name} has no attribute bit for it")
    _check_fields_exist(builder)


def _check_kinds(builder: "BatchBuilder") -> None:
    for name in _INTEGERS:
        value = getattr(builder, name)
        if value is not None and not isinstance(value, int):
            builder.fail(name, f"expected an int, got {shown(value)}")
    for name, value in numbers_of(builder).items():
        if not isinstance(value, int):
            builder.fail(name, f"expected an int, got {shown(value)}")
    if not isinstance(builder.attribute_bits, int):
        builder.fail("attribute_bits", f"expected an int, got {shown(builder.attribute_bits)}")
    if not isinstance(builder.wrapper_key, bytes | None):
        builder.fail("wrapper_key", f"expected bytes or None, got {shown(builder.wrapper_key)}")
    for name, flag in (*_flags(builder).items(), (_IGNORED, builder.ignore_message_attributes or False)):
        if flag not in (False, True):
            builder.fail(name, f"expected True or False, got {shown(flag)}")


def _check_fields_exist(builder: "BatchBuilder") -> None:
    """Raise EncodeError for a property that this kind of batch can't store."""
    fields = builder.format.fields
    if builder.append_time != -1 and builder.timestamp_type != "append":
        builder.fail("append_time", f"expected -1 for timestamp_type 'create', got {builder.append_time}")
    if builder.ignore_message_attributes is not None and _IGNORED not in builder.format.bits:
        why = f"{builder.format.name} has no attribute bit for it"
        builder.fail(_IGNORED, f"expected None, got {builder.ignore_message_attributes}: {why}")
    is_message_set = builder.format.records is None
    is_wrapper = is_message_set and builder.compression != "none"
    has_field = {
        "last_offset": is_wrapper or "last_offset_delta" in fields,
        "base_timestamp": not is_message_set and "base_timestamp" in fields,
        "max_timestamp": "base_timestamp" in fields if is_wrapper else "max_timestamp" in fields,
        "append_time": "base_timestamp" in fields,
        "attribute_bits": not builder.attribute_bits or builder.as_read or is_wrapper or not is_message_set,
        "wrapper_key": builder.as_read or is_wrapper,
    }
    for name, exists in has_field.items():
        if not exists and getattr(builder, name) not in (None, -1):
            builder.fail(name, f"got {shown(getattr(builder, name))}, but this kind of batch has no field for it")
    given = [each for each in (builder.base_offset, builder.last_offset) if each is not None]
    if given and not builder.as_read and builder.records:
        _check_offsets(builder, builder.records[0].offset, builder.records[-1].offset)


def _check_offsets(builder: "BatchBuilder", first: Any, last: Any) -> None:
    """Raise EncodeError if the given base offset or last offset contradicts the offsets of the records."""
    is_message = builder.format.records is None and builder.compression == "none"
    if is_message and builder.base_offset not in (None, first):
        builder.fail("base_offset", f"expected {first}, the offset of the first message, got {builder.base_offset}")
    if builder.last_offset is not None and isinstance(last, int) and builder.last_offset < last:
        builder.fail("last_offset", f"expected at least {last}, the last record's offset, got {builder.last_offset}")


def batch_attributes(builder: "BatchBuilder") -> int:
    """Return the attributes of the batch: an int that contains the bits of all its properties."""
    bits = builder.format.bits
    values: dict[str, int] = {name: int(flag) for name, flag in _flags(builder).items()}
    values["compression"] = builder.format.codecs.index(builder.codec())
    values["timestamp_type"] = int(builder.timestamp_type == "append")
    if _IGNORED in bits:
        values[_IGNORED] = int(_ignores_attributes(builder))
    number = builder.attribute_bits
    for name, value in values.items():
        number = bits[name].put(number, value) if name in bits else number
    return number


def _ignores_attributes(builder: "BatchBuilder") -> bool:
    """Return whether to omit the records' attributes bytes. By default, they are omitted if all of them are 0."""
    has_any = builder.has_attributes
    if has_any is None:
        has_any = any(record.attributes for record in builder.records)
    setting = builder.ignore_message_attributes
    if has_any and setting:
        builder.fail(_IGNORED, "expected False or None, got True: some records have attributes")
    return not has_any if setting is None else setting
