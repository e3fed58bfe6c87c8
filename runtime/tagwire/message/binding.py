"""How a message class gets `encode`, `decode`, similar calls and its constructor from its engine, on first use.

So importing a message loads no engine. Afterwards the native engine's callables are attributes of the class, called
without Python code in between.
"""

from __future__ import annotations

from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, TypeVar

    from tagwire.message.base import Message, Struct

    Call = TypeVar("Call")

__all__ = ["FirstConstruction", "FirstUse", "constructor", "first_use", "inherit_calls"]

_binding: Final = RLock()
"""Held while a class gets its methods. Nothing is imported meanwhile: an import can wait for another thread's."""


class FirstUse:
    """Stands for a method of `Message` until a class has the one of its engine."""

    def __init__(self, call: Any) -> None:
        self.call = call
        """The pure engine's: a function, or a class method."""
        self.__doc__ = call.__doc__
        self.__wrapped__ = call

    def __set_name__(self, owner: type[Message], name: str) -> None:
        self.owner = owner
        self.name = name

    def __get__(self, message: Message | None, cls: type[Message]) -> Any:
        if cls is self.owner:
            return self.call.__get__(message, cls)
        _bind(cls, self.owner)
        return getattr(cls if message is None else message, self.name)


def first_use(call: Call) -> Call:
    """Mark a method of `Message` as one that each class gets from its engine. For type checkers it stays a method."""
    made: Any = FirstUse(call)
    return made  # type: ignore[no-any-return]


class FirstConstruction:
    """Stands for the `__init__` of a generated class until the class is first constructed.

    The native engine constructs later objects in C, by what the text of `__init__` says: keyword arguments stored in
    their slots, arrays as tuples, defaults that are made for each object. The text itself runs for the first object,
    for subclasses, and for arguments that C does not take.
    """

    __slots__ = ("init",)

    def __init__(self, init: Any) -> None:
        self.init = init

    def __get__(self, struct: Struct | None, cls: type[Struct]) -> Any:
        if struct is None:
            return self.init
        if isinstance(struct, type):  # `inspect.signature` of CPython 3.13 binds it to the class
            return self.init.__get__(struct, cls)
        owner = next(base for base in cls.__mro__ if vars(base).get("__init__") in (self, self.init))
        _bind_constructor(owner, self.init)
        return self.init.__get__(struct, cls)


def constructor(init: Call) -> Call:
    """Mark the `__init__` of a generated class, which stores its arguments and does nothing else."""
    made: Any = FirstConstruction(init)
    return made  # type: ignore[no-any-return]


def _bind_constructor(owner: type[Struct], init: Any) -> None:
    from tagwire.message.engines import engine

    native = engine() == "native"
    owner.__init__ = init  # type: ignore[method-assign]
    if native:
        from tagwire._engine import construct_natively, install_methods

        install_methods()
        construct_natively(owner, init)


def _bind(message: type[Message], base: type[Message]) -> None:
    """Give a message class its engine's methods, except those that it has written itself.

    Threads may come here together. The class gets one codec, and keeps it: the codec has the plans that other threads
    are using.
    """
    from tagwire.message.engines import engine

    made: Any = None
    if engine() == "native":
        from tagwire._engine import Codec, install_methods

        install_methods()
        made = Codec(message)
    calls = {name: value.call for name, value in vars(base).copy().items() if isinstance(value, FirstUse)}
    with _binding:
        own = [name for name in calls if isinstance(_lookup(message, name), FirstUse)]
        kept = vars(message).copy()
        codec = kept.get("_codec", made)
        if codec is not None:
            calls = codec.calls()
        # A subclass that is made meanwhile needs `_bound` to tell these methods from written ones; see `inherit_calls`.
        message._codec = codec  # pyright: ignore[reportPrivateUsage]
        message._bound = kept.get("_bound", frozenset()) | frozenset(own)  # pyright: ignore[reportPrivateUsage]
        for name in own:
            setattr(message, name, calls[name])


def inherit_calls(message: type[Message], base: type[Message]) -> None:
    """Let a class below another message class have its own methods, not those that were bound to that one."""
    for name, value in vars(base).items():
        if isinstance(value, FirstUse) and name not in vars(message):
            owner = next(cls for cls in message.__mro__ if name in vars(cls))
            if isinstance(vars(owner)[name], FirstUse) or name in vars(owner).get("_bound", ()):
                setattr(message, name, value)


def _lookup(cls: type, name: str) -> Any:
    return next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
