"""Class attributes that are computed on first use: the field table, the constructor, and the engine's methods.

This way, importing a message builds no table and loads no engine. After the first use, the computed objects are
ordinary class attributes.
"""

from __future__ import annotations

from _thread import RLock

from tagwire.message.engines import native_engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final, TypeVar

    from tagwire.message.base import Message
    from tagwire.message.field_table import FieldRow
    from tagwire.message.struct_class import Struct

    Call = TypeVar("Call")

_binding: Final = RLock()
"""A lock held while a class gets its attributes. Don't import while holding it: imports may wait for other threads."""


class FirstUse:
    """A placeholder for a class attribute until its first use.

    On first use, `bind` computes the real attribute, sets it on the class and returns it. For a method, `call` is the
    function in the class body.
    """

    def __init__(self, call: Any, bind: Callable[[FirstUse, Any, type], Any]) -> None:
        self.call = call
        self.bind = bind
        self.__doc__ = call.__doc__
        self.__wrapped__ = call

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner = owner
        self.name = name

    def __get__(self, struct: Any, cls: Any) -> Any:
        # In CPython 3.13, `inspect.signature` passes the class as `struct`.
        bound = self.bind(self, None, struct) if isinstance(struct, type) else self.bind(self, struct, cls)
        get = getattr(type(bound), "__get__", None)
        return bound if get is None else get(bound, struct, cls)


def first_use(bind: Callable[[FirstUse, Any, type], Any]) -> Callable[[Call], Call]:
    """Return a decorator for a method that `bind` replaces on its first use."""
    descriptor: Any = lambda call: FirstUse(call, bind)  # noqa: E731
    return descriptor  # type: ignore[no-any-return]


def _declaring(cls: type) -> type[Struct] | None:
    for base in cls.__mro__:
        members = vars(base)
        if "_declared" in members or isinstance(members.get("FIELDS"), tuple):
            return base
    return None


def from_fields(make: Callable[[type[Struct]], Any]) -> Callable[[FirstUse, Any, type], Any]:
    """Return a `bind` function (see `FirstUse`) that sets `make`'s result on the class that declares the fields."""

    def bind(attribute: FirstUse, struct: Any, cls: type) -> Any:
        owner: Any = _declaring(cls)
        if owner is None:
            return make(cls)
        bound = make(owner)
        setattr(owner, attribute.name, bound)
        return bound

    return bind


def field_table(attribute: FirstUse, struct: Any, cls: type) -> tuple[FieldRow, ...]:
    """Make the field table, with a row for each declared field, and set it as `FIELDS` on the class."""
    owner = _declaring(cls)
    if owner is None:
        return ()
    from tagwire.message.field_table import declared_row

    rows = [declared_row(owner, name, *declared) for name, declared in vars(owner)["_declared"].items()]
    with _binding:  # rows are compared by identity, so all threads must get the same table
        if not isinstance(vars(owner).get("FIELDS"), tuple):
            owner.FIELDS = tuple(rows)
        return owner.FIELDS


def constructor(attribute: FirstUse, struct: Any, cls: type) -> Any:
    """Set `__init__` to a native constructor if possible, else to a Python function compiled from the field table.

    Subclasses, introspection and some arguments need the Python function even if there is a native constructor.
    """
    owner = _declaring(cls)
    if owner is None:
        return attribute.call
    native = native_engine()
    if native is not None and struct is not None and native.construct_natively(owner, attribute):

        def first(struct: Any, /, *args: Any, **fields: Any) -> None:
            constructed: Any = owner(*args, **fields)
            for name in constructed._attributes:
                setattr(struct, name, getattr(constructed, name))

        return first
    from tagwire.message.constructors import constructor_of

    init = constructor_of(owner)
    with _binding:
        # Don't replace an `__init__` that the class itself defines, or that another thread has just set.
        if "__init__" in vars(owner):
            return init
        owner.__init__ = init  # type: ignore[method-assign]
    # Don't hold `_binding` during this call, to prevent a deadlock. The native engine has a lock of its own, and may
    # need `_binding` while it holds that lock.
    if native is not None:
        native.construct_natively(owner, init)
    return init


def engine_methods(attribute: FirstUse, struct: Any, cls: type) -> Any:
    """On first use of a method, replace it with a method of the native engine, if that engine is in use."""
    native = native_engine()
    method = attribute.call if native is None else native.method(attribute.owner, attribute.name, attribute.call)
    setattr(attribute.owner, attribute.name, method)
    return method


def message_calls(attribute: FirstUse, struct: Any, cls: type) -> Any:
    """Set the engine's methods on a message class, unless it overrides them. Return the method for `attribute`."""
    if cls is attribute.owner:
        return attribute.call
    _bind_calls(cls, attribute.owner)
    return _lookup(cls, attribute.name)


def _bind_calls(message: type[Message], base: type[Message]) -> None:
    """Set the engine's methods on a message class, except for methods that it overrides.

    A native codec that another thread has already set is kept, because calls may already use it.
    """
    native = native_engine()
    native_codec: Any = None if native is None else native.Codec(message)
    calls = {name: value.call for name, value in vars(base).copy().items() if _is_call(value)}
    with _binding:
        own = [name for name in calls if _is_call(_lookup(message, name))]
        kept = vars(message).copy()
        codec = kept.get("_codec", native_codec)
        if codec is not None:
            calls = codec.calls()
        # Set `_bound` before the methods, because another thread may create a subclass in between.
        message._codec = codec  # pyright: ignore[reportPrivateUsage]
        message._bound = kept.get("_bound", frozenset()) | frozenset(own)  # pyright: ignore[reportPrivateUsage]
        for name in own:
            setattr(message, name, calls[name])


def inherit_calls(message: type[Message], base: type[Message]) -> None:
    """Make a subclass bind the engine's methods for itself, instead of inheriting its base class's methods."""
    for name, value in vars(base).items():
        if _is_call(value) and name not in vars(message):
            owner = next(cls for cls in message.__mro__ if name in vars(cls))
            if _is_call(vars(owner)[name]) or name in vars(owner).get("_bound", ()):
                setattr(message, name, value)


def _is_call(value: object) -> bool:
    return isinstance(value, FirstUse) and value.bind is message_calls


def _lookup(cls: type, name: str) -> Any:
    return next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
