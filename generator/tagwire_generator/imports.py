"""Imports follow use: a view asks for a name, and the import appears."""

from collections import defaultdict

__all__ = ["Imports"]


class Imports:
    """The names that a module uses from others."""

    def __init__(self) -> None:
        self._names: defaultdict[str, set[str]] = defaultdict(set)

    def use(self, module: str, name: str) -> str:
        """`name`, which the module will import from `module`."""
        self._names[module].add(name)
        return name

    @property
    def groups(self) -> list[list[str]]:
        """The import lines, sorted: the standard library, then the rest."""
        lines: tuple[list[str], list[str]] = ([], [])
        for module in sorted(self._names):
            own = module.startswith("tagwire")
            lines[own].append(f"from {module} import {', '.join(sorted(self._names[module], key=str.lower))}")
        return [group for group in lines if group]
