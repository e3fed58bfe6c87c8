"""Names for numeric values, from the enums of a package.

Kafka's own specs have no enums, so the values of their fields are plain numbers. If an enum of the package lists a
field, output for people also shows the enum's names.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tagwire.explain.nodes import Node
from tagwire.frames.known_packages import HEADER_KEYS, header_keys

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.message.register import Register
    from tagwire.message.struct_class import Struct

__all__ = ["name_note", "put_names", "registers_by_field"]


def name_note(registry: "Registry") -> Callable[[Node], str]:
    """Return a function for the argument `note` of `annotate`. It returns the enum name of a number, or ""."""
    keys = header_keys()
    by_path = (dict.fromkeys(HEADER_KEYS, keys) if keys else {}) | registers_by_field(registry)
    last_names = {path.rpartition(".")[2] for path in by_path}

    def note(node: Node) -> str:
        if node.path.rpartition(".")[2].partition("[")[0] not in last_names:
            return ""
        value: Any = node.value
        if not node.complete or type(value) is not int or "[]" in node.type or node.type.startswith("tag"):
            return ""
        path = ".".join(step.partition("[")[0] for step in node.path.split("."))
        last = path.rpartition(".")[2]
        for key in (*(f"{message}.{path}" for message in node.messages), f"*.{last}"):
            register = by_path.get(key)
            if register is not None:
                return register.name_of(value) or ""
        return ""

    return note


def registers_by_field(registry: "Registry") -> "dict[str, type[Register]]":
    """Return a dict from the paths of fields to the enums that name their numbers."""
    registers: list[Any] = [registry.attribute(name) for name in registry.registers]
    return {_in_layouts(path, registry): each for each in registers for path in each.named_fields()}


def put_names(obj: dict[str, Any], struct: "type[Struct]", registers: "dict[str, type[Register]]", path: str) -> None:
    """Replace numbers in the JSON form of a struct with their enum names, in place.

    `path` is the struct's path (`Message.field`).
    """
    for row in struct.FIELDS:
        value: Any = obj.get(row.json_name)
        inner = f"{path}.{row.name}"
        if type(value) is int and inner in registers:
            obj[row.json_name] = registers[inner].name_of(value) or value
        elif value and row.struct is not None:
            elements: list[Any] = value if isinstance(value, list) else [value]
            for each in elements:
                put_names(each, row.struct, registers, inner)


def _in_layouts(path: str, registry: "Registry") -> str:
    name, _, steps = path.partition(".")
    if not registry.is_format(name):
        return path
    cls: Any = registry[name]
    return f"{cls.FORMAT}.{steps}"


def abouts(struct: Any) -> Mapping[str, str]:
    """Return the documentation of a generated class and its fields, as a dict from paths to texts.

    The paths have no array indexes. The path of the class is "". If `struct` is None, the dict is empty.
    """
    if struct is None:
        return {}
    # Only HTML pages need this module.
    from tagwire.message.declarations import class_about, class_deprecation

    return {
        "": " ".join(filter(None, [class_about(struct), class_deprecation(struct)])),
        **dict(_descriptions(struct, "")),
    }


def _descriptions(struct: Any, around: str) -> Iterator[tuple[str, str]]:
    for row in getattr(struct, "FIELDS", ()):
        path = f"{around}{row.name}"
        reason = "" if row.deprecated is None else f"Deprecated: {row.deprecated}" if row.deprecated else "Deprecated."
        text = " ".join(filter(None, [row.about, reason]))
        if text:
            yield path, text
        if row.struct is not None:
            yield from _descriptions(row.struct, f"{path}.")
