"""The view of a register's module: the constants that its template prints. A register is a table of named numbers.

Part of the stable interface for users' templates (docs/templates.md).
"""

from dataclasses import dataclass

from tagwire_generator.model.register_spec import KeyRangeSpec, RegisterEntry, RegisterSpec
from tagwire_generator.views.docstrings import deprecated_part, prose, sentences

__all__ = ["RegisterModuleView", "register_view"]


@dataclass(frozen=True)
class RegisterModuleView:
    """Template data for a register's module."""

    source: str
    doc: str
    name: str
    """The class name."""
    bases: str
    """The base class, with keywords for the settings of the register."""
    constants: tuple[tuple[str, str, str], ...]
    """The name, value and docstring of each constant, sorted by key. The docstring may be empty."""
    ranges: tuple[str, ...]
    """The source code of a KeyRange call for each range, sorted by first key."""
    retriable: tuple[str, ...]
    """The names of the constants for retriable errors; empty if the register does not contain errors."""


def register_view(spec: RegisterSpec, source: str) -> RegisterModuleView:
    """Return the view of a register's module, for its template."""
    entries = sorted(spec.entries, key=lambda entry: entry.key)
    ranges = sorted(spec.ranges, key=lambda each: each.first)
    return RegisterModuleView(
        source=source,
        doc=prose(spec.about or f"The register {spec.name}."),
        name=spec.name,
        bases="Register" + ", closed=True" * spec.closed + (f", names={spec.names!r}" if spec.names else ""),
        constants=tuple((spec.constant(entry), _value(spec, entry), _doc(entry)) for entry in entries),
        ranges=tuple(map(_range, ranges)),
        retriable=tuple(spec.constant(entry) for entry in entries if entry.retriable),
    )


def _range(each: KeyRangeSpec) -> str:
    reserved = ", reserved=True" if each.reserved else ""
    return f"KeyRange({each.name!r}, {each.first:#010x}, {each.last:#010x}{reserved})"


def _value(spec: RegisterSpec, entry: RegisterEntry) -> str:
    names = [entry.name, *([entry.codec] if entry.codec else [])]
    if names == [spec.constant(entry)]:
        return str(entry.key)
    return ", ".join([str(entry.key), *map(repr, names)])


def _doc(entry: RegisterEntry) -> str:
    parts = (entry.description, entry.by and f"By {entry.by}.", entry.notes, entry.url)
    return prose(sentences(" ".join(text for text in parts if text), deprecated_part(entry)))
