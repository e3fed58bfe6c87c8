"""Collect the imports of a generated module. The import of a name is added when the name is first used."""

from collections import defaultdict
from collections.abc import Iterable


class ModuleImports:
    """The names that a module imports.

    If a spec uses a name such as `Message` or `UUID` itself, the imported name gets a leading underscore.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._names: defaultdict[str, set[str]] = defaultdict(set)
        self._taken = frozenset(taken)

    def use(self, module: str, name: str) -> str:
        """Add an import of `name` from `module`. Return the name to write in the generated code."""
        if name in self._taken:
            return self.use_aliased(module, name)
        self._names[module].add(name)
        return name

    def use_aliased(self, module: str, name: str) -> str:
        """Import a name like `use` does, but always with a leading underscore."""
        self._names[module].add(f"{name} as _{name}")
        return f"_{name}"

    @property
    def groups(self) -> list[list[str]]:
        """The sorted import lines: the standard library, then all other modules."""
        lines: tuple[list[str], list[str]] = ([], [])
        for module in sorted(self._names):
            own = module.startswith("tagwire")
            lines[own].append(f"from {module} import {', '.join(sorted(sorted(self._names[module]), key=str.lower))}")
        return [group for group in lines if group]
