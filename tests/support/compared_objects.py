"""Compare native methods of message objects with the Python functions that they replace.

The Python functions are loaded a second time from `tagwire.message.struct_class`. Each nested struct is also compared
separately, because it may use native methods.
"""

import copy
import pickle
from collections import deque
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from random import Random
from typing import Any, Final

from compared_json import outcome
from mistaken_values import ODD_VALUES, with_odd_value

import tagwire.message.struct_class
from tagwire import Struct
from tagwire.message.declarations import attributes_of


def _python_methods() -> dict[str, Any]:
    spec = spec_from_file_location("python_base", tagwire.message.struct_class.__file__)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: getattr(value, "call", value) for name, value in vars(module.Struct).items()}


PYTHON: Final = _python_methods()
_ODD_VALUES: Final = [value for value in ODD_VALUES if not isinstance(value, Iterator)]
_GONE: Final = object()


def objects_differ(message: Struct, equal: Struct, random: Random) -> str | None:
    """Describe the first method whose results differ between the engines, or return None.

    `message` and `equal` must be equal messages. Each struct is compared unchanged, and with one invalid value.
    """
    for one, other in zip(_structs(message), _structs(equal), strict=True):
        changed = with_odd_value(one, random)
        if _is_used_up(changed):
            continue
        for name, native, python in (*_calls(one, other, changed, random), *_calls(changed, one, changed, random)):
            found, expected = outcome(native), outcome(python)
            if not identical(found, expected):
                return f"{type(one).__name__} {name}: native {found!r:.300}, Python {expected!r:.300}"
    return None


Call = Callable[[], Any]


def _calls(one: Any, other: Any, changed: Any, random: Random) -> Iterator[tuple[str, Call, Call]]:
    """For each comparison, yield its name, a native call, and the equivalent Python call."""
    cls: Any = type(one)
    fields = {name: getattr(one, name) for name in attributes_of(cls) if hasattr(one, name)}
    some = {name: value for name, value in fields.items() if random.random() < 0.5}
    odd = {random.choice(attributes_of(cls)): random.choice(_ODD_VALUES)}
    wrong = {random.choice((f"{attributes_of(cls)[0]}s", "wrong")): 1}
    for which, second in (("an equal one", other), ("a changed one", changed), ("another object", 7)):
        yield f"== {which}", lambda: one == second, lambda: PYTHON["__eq__"](one, second) is True  # noqa: B023
    yield "repr", lambda: repr(one), lambda: PYTHON["__repr__"](one)
    for given in (fields, some, odd, fields | wrong):
        yield f"made of {[*given]}", lambda: cls(**given), lambda: _constructed(cls, given)  # noqa: B023
        yield f"replace {[*given]}", lambda: one.replace(**given), lambda: PYTHON["replace"](one, **given)  # noqa: B023
    yield "replace(1)", lambda: one.replace(1), lambda: PYTHON["replace"](one, 1)
    yield "copy", lambda: copy.copy(one), lambda: PYTHON["replace"](one)
    yield "deepcopy", lambda: copy.deepcopy(one), lambda: PYTHON["__deepcopy__"](one, {})
    yield "pickle", lambda: pickle.loads(pickle.dumps(one)), lambda: _pickled(one)


def _constructed(cls: Any, fields: dict[str, Any]) -> Any:
    """Create an object with Python's `__init__` instead of the native constructor."""
    constructed = object.__new__(cls)
    cls.__init__(constructed, **fields)
    return constructed


def _pickled(one: Any) -> Any:
    constructor, args, fields, _, _, fill = PYTHON["__reduce__"](one)
    copied = constructor(*args)
    fill(copied, pickle.loads(pickle.dumps(fields)))
    return copied


def _structs(value: Any) -> Iterator[Any]:
    if isinstance(value, Struct):
        yield value
        for name in attributes_of(type(value)):
            yield from _structs(getattr(value, name))
    elif isinstance(value, tuple):
        for element in value:
            yield from _structs(element)


def _is_used_up(value: Any) -> bool:
    """Return whether the value contains an iterator."""
    if isinstance(value, Struct):
        return any(_is_used_up(getattr(value, name, None)) for name in attributes_of(type(value)))
    return any(map(_is_used_up, value)) if isinstance(value, tuple | list | deque) else isinstance(value, Iterator)


def identical(one: Any, other: Any) -> bool:
    """Return whether two results are deeply equal. Objects without `__eq__` are equal if they have the same class."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Struct):
        return all(
            identical(getattr(one, name, _GONE), getattr(other, name, _GONE)) for name in attributes_of(type(one))
        )
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(identical, one, other))
    if isinstance(one, float):
        return bool(one.hex() == other.hex())
    compares: Any = type(one).__eq__
    return compares is object.__eq__ or bool(one == other)
