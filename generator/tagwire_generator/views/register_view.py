"""The view of a register's module: constants, and what they are called.

Part of the stable interface for users' templates (docs/templates.md).
"""

from dataclasses import dataclass

from tagwire_generator.model.register_spec import KeyRangeSpec, RegisterEntry, RegisterSpec
from tagwire_generator.views.docstrings import deprecated_part, prose, sentences

__all__ = ["RegisterModuleView", "register_view"]


@dataclass(frozen=True)
class RegisterModuleView:
    """The module of a register."""

    source: str
    doc: str
    name: str
    """The class."""
    bases: str
    """What the class extends, with keywords for what the register says of fields."""
    constants: tuple[tuple[str, str, str], ...]
    """Name, value and docstring of each, by key; the docstring may be empty."""
    ranges: tuple[str, ...]
    """Calls of KeyRange, by first key; empty where the register has none."""
    retriable: tuple[str, ...]
    """The constants of errors that may pass; empty where the register is not one of errors."""


def register_view(spec: RegisterSpec, source: str) -> RegisterModuleView:
    """The view of a register's module."""
    entries = sorted(spec.entries, key=lambda entry: entry.key)
    ranges = sorted(spec.ranges, key=lambda each: each.first)
    return RegisterModuleView(
        source=source,
        doc=prose(spec.about or f"The register {spec.name}."),
        name=spec.name,
        bases=", ".join(_bases(spec)),
        constants=tuple((spec.constant(entry), _value(spec, entry), _doc(entry)) for entry in entries),
        ranges=tuple(map(_range, ranges)),
        retriable=tuple(spec.constant(entry) for entry in entries if entry.retriable),
    )


def _bases(spec: RegisterSpec) -> list[str]:
    closed = ["closed=True"] if spec.closed else []
    return ["Register", *closed, *([f"names={spec.names!r}"] if spec.names else [])]


def _range(each: KeyRangeSpec) -> str:
    reserved = ", reserved=True" if each.reserved else ""
    return f"KeyRange({each.name!r}, {each.first:#010x}, {each.last:#010x}{reserved})"


def _value(spec: RegisterSpec, entry: RegisterEntry) -> str:
    """The key; with the name where that is not the constant's, and the codec where there is one."""
    words = [entry.name, *([entry.codec] if entry.codec else [])]
    if words == [spec.constant(entry)]:
        return str(entry.key)
    return ", ".join([str(entry.key), *map(repr, words)])


def _doc(entry: RegisterEntry) -> str:
    said = (entry.description, entry.by and f"By {entry.by}.", entry.notes, entry.url)
    return prose(sentences(" ".join(text for text in said if text), deprecated_part(entry)))
