"""Formats by name. Generated formats are imported on demand.

Pass your own format as its class, or name it once with `register`.
"""

from typing import Final

from tagwire.errors import TagwireError
from tagwire.frames.known_packages import RECORD_FORMATS, record_format
from tagwire.layout import Layout
from tagwire.message.record_format import RecordFormat
from tagwire.records.format import Format
from tagwire.text_format import near, shown

_formats: Final[dict[str, Format]] = {}


class FormatError(TagwireError, LookupError):
    """No record format has this name."""


def format_names() -> list[str]:
    """Return the names that `format_of` accepts."""
    return list(dict.fromkeys((*RECORD_FORMATS, *_formats)))


def format_of(name: "str | Format | type[RecordFormat] | Layout") -> Format:
    """Return the format for a name, class or layout. Raises FormatError for an unknown name."""
    if isinstance(name, str) and name in _formats:
        return _formats[name]
    if isinstance(name, Format):
        return name
    if not isinstance(name, str):
        if not isinstance(name, Layout) and not (isinstance(name, type) and issubclass(name, RecordFormat)):
            raise FormatError(f"expected a record format as a name, a RecordFormat or a Layout, got {shown(name)}")
        return Format(name)
    found = _formats.get(name)
    if found is None:
        if name not in RECORD_FORMATS:
            known = format_names()
            text = f"there is no record format {shown(name)}{near(name, known)}; there are {', '.join(known)}"
            raise FormatError(text)
        found = Format(record_format(name))
        found.name = found.source = name
        found = _formats.setdefault(name, found)  # the same object for all threads
    return found


def register(source: "type[RecordFormat] | Layout") -> Format:
    """Register a format of your own under its name. Raises FormatError if the name is taken."""
    made = Format(source)
    if made.name in RECORD_FORMATS or _formats.get(made.name, made).layout != made.layout:
        raise FormatError(f"there is a record format {made.name} already; give yours another name")
    return _formats.setdefault(made.name, made)
