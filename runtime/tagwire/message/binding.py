"""How a message class gets `encode`, `decode` and their kind from its engine: when one is first looked up.

So importing a message loads no engine, and once there is one nothing stands between it and the caller: the native
engine's callables are attributes of the class, called without Python code in between.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from tagwire.message.base import Message

    Call = TypeVar("Call")

__all__ = ["FirstUse", "first_use", "inherit_calls"]


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


def _bind(message: type[Message], base: type[Message]) -> None:
    """Give a message class its engine's methods, except those that it has written itself."""
    from tagwire.message.engines import engine

    calls = {name: value.call for name, value in vars(base).items() if isinstance(value, FirstUse)}
    codec: Any = None
    if engine() == "native":
        from tagwire._engine import Codec

        codec = Codec(message)
        calls = codec.calls()
    own = {name: call for name, call in calls.items() if isinstance(_lookup(message, name), FirstUse)}
    for name, value in {**own, "_codec": codec, "_bound": frozenset(own)}.items():
        setattr(message, name, value)


def inherit_calls(message: type[Message], base: type[Message]) -> None:
    """Let a class below another message class have its own methods, not those that were bound to that one."""
    for name, value in vars(base).items():
        if isinstance(value, FirstUse) and name not in vars(message):
            owner = next(cls for cls in message.__mro__ if name in vars(cls))
            if isinstance(vars(owner)[name], FirstUse) or name in vars(owner).get("_bound", ()):
                setattr(message, name, value)


def _lookup(cls: type, name: str) -> Any:
    return next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
