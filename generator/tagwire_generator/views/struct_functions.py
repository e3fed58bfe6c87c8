"""The functions of a serializer module, one for each layout of a struct: which there are, and what they are called."""

from collections.abc import Mapping

from tagwire.layout import Nested, Sized, StructLayout, innermost, nested_struct
from tagwire_generator.model.python_names import snake_case


class StructNames:
    """The functions of a module, by struct layout: equal layouts share one, named after the first version.

    The name of the message, with which many structs begin, is left away where
    what is left is no other struct's name: `_read_topic_v0` is in its module.
    """

    def __init__(
        self, message: str, module: str, serializers: frozenset[str], shared: Mapping[str, str] | None = None
    ) -> None:
        self.message = message
        self.module = module
        """The module of the data classes."""
        self.shared = shared or {}
        """The modules of shared structs, by struct."""
        self.serializers = serializers
        """The names of the serializer classes."""
        self.functions: list[tuple[StructLayout, int]] = []
        """Layout and first version; each after those that it calls."""

    def module_of(self, name: str) -> str:
        """The module of a data class."""
        return self.shared.get(name, self.module)

    def add(self, struct: StructLayout, version: int) -> None:
        for field in struct.fields:
            nested = nested_struct(field.type)
            if nested is not None:
                self.add(nested, version)
        if not any(known == struct for known, _ in self.functions):
            self.functions.append((struct, version))

    def name(self, struct: StructLayout) -> str:
        version = next(version for known, version in self.functions if known == struct)
        return f"{snake_case(self._short(struct.name))}_v{version}"

    def _short(self, name: str) -> str:
        short = name.removeprefix(self.message)
        others = {known.name.removeprefix(self.message) for known, _ in self.functions if known.name != name}
        return short if short and short not in others else name


def has_binary(struct: StructLayout) -> bool:
    """Whether slices of the input stand anywhere in a struct, so that its reader needs `raw`."""
    for field in struct.fields:
        inner = innermost(field.type)
        if isinstance(inner, Sized) and inner.wire.is_slice:
            return True
        if isinstance(inner, Nested) and has_binary(inner.struct):
            return True
    return False
