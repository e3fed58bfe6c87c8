"""Names for numeric values, from a package's registers.

The fields of an enum have enum members as values. Kafka's own fields keep plain numbers, and their names are shown next
to them in output for people.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tagwire.explain.nodes import Node
from tagwire.frames.known_packages import HEADER_KEYS, header_keys

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.message.register import Register

__all__ = ["name_note"]


def name_note(registry: "Registry") -> Callable[[Node], str]:
    """Return a `note` for `annotate`: it gives the register's name for a node's number, or "" for other nodes."""
    keys = header_keys()
    by_path: dict[str, type[Register]] = dict.fromkeys(HEADER_KEYS, keys) if keys else {}
    for name in registry.registers:
        register: Any = registry.attribute(name)
        by_path |= {_in_layouts(path, registry): register for path in register.named_fields()}

    def note(node: Node) -> str:
        value: Any = node.value
        if not node.complete or type(value) is not int or "[]" in node.type or node.type.startswith("tag"):
            return ""
        path = _without_indexes(node.path)
        last = path.rpartition(".")[2]
        for place in (*(f"{message}.{path}" for message in node.messages), f"*.{last}"):
            register = by_path.get(place)
            if register is not None:
                return register.name_of(value) or ""
        return ""

    return note


def _in_layouts(path: str, registry: "Registry") -> str:
    """Convert a register's path to the layout's path: `RecordBatchV2.magic` is `v2.magic` in layouts."""
    name, _, steps = path.partition(".")
    if not registry.is_format(name):
        return path
    cls: Any = registry[name]
    return f"{cls.FORMAT}.{steps}"


def _without_indexes(path: str) -> str:
    return ".".join(step.partition("[")[0] for step in path.split("."))
