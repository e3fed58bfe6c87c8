"""Lazy imports of packages' names and of optional libraries, and a fast replacement for `typing.Generic`.

`import tagwire` is fast because a package's names are loaded on first use (`lazy_names`). Optional libraries are also
imported on first use (`required`). If one is missing, the error names the extra that installs it.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Generic
else:
    from types import GenericAlias

    class Generic:
        """Replaces `typing.Generic`, which is slow to import, for parameters that matter only to type checkers.

        At run time, a parameter may be anything, such as a class name: generated requests extend
        `Message["RequestHeader"]`.
        """

        __slots__ = ()
        __class_getitem__ = classmethod(GenericAlias)


__all__ = ["Generic", "lazy_names", "no_attribute", "required"]


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


def required(module: str, extra: str) -> Any:
    """Import and return a module. Raises MissingExtraError if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        from tagwire.errors import MissingExtraError

        raise MissingExtraError(module.partition(".")[0], extra) from error
