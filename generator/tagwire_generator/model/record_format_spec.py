"""The attributes of record formats, and the record formats named in `recordFormats` of message fields."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tagwire.versions import Versions
from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.spec_names import is_format_name
from tagwire_generator.problems import Violation, named, quoted


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement in the format's proposal that `field` takes `bytes` bytes if its value is `value`."""

    field: str
    value: int
    bytes: int
    text: str = ""
    """The claim in the proposal's own words."""


@dataclass(frozen=True, slots=True)
class FormatSpec:
    """The attributes that only specs of record formats have."""

    name: str
    """The name that programs use for the format, such as `kip82-int+kip87`."""
    discriminator: str = ""
    """The field whose value tells a reader that the bytes have this format and not another."""
    claims: tuple[Claim, ...] = ()


RecordFormats = tuple[tuple[Versions, str], ...]
"""Ascending version ranges, each with the name of a record format."""

_KEY = "recordFormats"
_CARRIERS = ("records", "bytes")


def record_format_of(formats: RecordFormats, version: int) -> str:
    """Return the name of the record format in a version, or "" if the spec names none."""
    return next((name for versions, name in formats if version in versions), "")


def record_format_violations(
    field: str, type: FieldType, versions: Versions, formats: RecordFormats
) -> Iterator[Violation]:
    """Yield violations in the recordFormats of a field."""
    if not formats:
        return
    if type.is_array or type.name not in _CARRIERS:
        text = f"field {named(field)} is {type}, but only records and bytes have recordFormats; remove the key"
        yield Violation("TW414", _KEY, text, ("type",))
    for range, name in formats:
        if not is_format_name(name):
            text = (
                f"{quoted(name)} for versions {range} can't be a format's name; use lower-case letters, digits, - and +"
            )
            yield Violation("TW416", _KEY, text)
    yield from _range_violations(field, versions, formats)


def _range_violations(field: str, versions: Versions, formats: RecordFormats) -> Iterator[Violation]:
    where = f"recordFormats of {named(field)}"
    if not all(range for range, _ in formats):
        yield Violation("TW415", _KEY, f"{where} has an empty range; remove it")
        return
    for (before, _), (range, _) in pairwise(formats):
        if range.lowest != before.highest + 1:
            text = f"{where} has {before}, then {range}; the ranges must follow each other without gap or overlap"
            yield Violation("TW415", _KEY, text)
            return
    described = Versions(formats[0][0].lowest, formats[-1][0].highest)
    if not versions <= described:
        text = f"{where} covers versions {described}, but the field exists in {versions}; name a format for all of them"
        yield Violation("TW415", _KEY, text, ("versions",))
