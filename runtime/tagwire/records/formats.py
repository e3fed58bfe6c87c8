"""Formats by name: where each lives, so that it is imported when it is asked for.

The runtime knows the names of generated packages, and imports none of them
before a format is wanted. A format of your own is passed as its class, or
named once with `register`.
"""

from importlib import import_module
from typing import Final

from tagwire.errors import TagwireError
from tagwire.layout import Layout
from tagwire.message.record_format import RecordFormat
from tagwire.records.format import Format
from tagwire.text_format import near, shown

__all__ = ["FormatError", "format_names", "format_of", "register"]

_HOMES: Final = {
    "v0": ("tagwire_records", "MessageV0"),
    "v1": ("tagwire_records", "MessageV1"),
    "v2": ("tagwire_records", "RecordBatchV2"),
    "kip82-int": ("tagwire_drafts.kip82_int", "MessageKip82Int"),
    "kip82-int-signed": ("tagwire_drafts.kip82_int_signed", "MessageKip82Int"),
    "kip82-str": ("tagwire_drafts.kip82_str", "RecordBatchKip82Str"),
    "kip87": ("tagwire_drafts.kip87", "MessageKip87"),
    "kip82-int+kip87": ("tagwire_drafts.kip82_int_kip87", "MessageKip82IntKip87"),
    "v3": ("tagwire_drafts.smaller_batches", "RecordBatchV3"),
    "v3-zigzag": ("tagwire_drafts.smaller_batches", "RecordBatchV3Zigzag"),
}

_formats: Final[dict[str, Format]] = {}


class FormatError(TagwireError, LookupError):
    """A name that no record format has."""


def format_names() -> list[str]:
    """The names that `format_of` knows."""
    return list(dict.fromkeys((*_HOMES, *_formats)))


def format_of(name: "str | Format | type[RecordFormat] | Layout") -> Format:
    """The format of this name; a class or a layout is made into one. Raises FormatError for an unknown name."""
    if isinstance(name, Format):
        return name
    if not isinstance(name, str):
        return Format(name)
    found = _formats.get(name)
    if found is None:
        if name not in _HOMES:
            known = format_names()
            text = f"there is no record format {shown(name)}{near(name, known)}; there are {', '.join(known)}"
            raise FormatError(text)
        package, cls = _HOMES[name]
        found = Format(getattr(import_module(package), cls))
        found.name = found.source = name
        found = _formats.setdefault(name, found)  # one for all threads
    return found


def register(source: "type[RecordFormat] | Layout") -> Format:
    """Give a format of your own its name, for all who ask after this. Raises FormatError for a name that is taken."""
    made = Format(source)
    if made.name in _HOMES or _formats.get(made.name, made).layout != made.layout:
        raise FormatError(f"there is a record format {made.name} already; give yours another name")
    return _formats.setdefault(made.name, made)
