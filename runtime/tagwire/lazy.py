"""Load a package's names on first use, so that importing the package is fast."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def no_attribute(package: str, name: str) -> AttributeError:
    """Return the AttributeError for an unknown name in a package. When printed, it suggests a similar name."""
    return AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules.get(package))


def lazy_names(
    package: str, modules: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` functions for a package. `modules` lists the names that each module provides.

    Type checkers do not see these names, so the package also imports them under `TYPE_CHECKING`.
    """
    module_of = {name: module for module, names in modules.items() for name in names}
    namespace = vars(sys.modules[package])

    def load(name: str) -> object:
        module = module_of.get(name)
        if module is None:
            raise no_attribute(package, name)
        found = import_module(module)
        value = namespace[name] = found if module == f"{package}.{name}" else getattr(found, name)
        return value

    def names() -> list[str]:
        return sorted({*namespace, *module_of})

    return load, names
