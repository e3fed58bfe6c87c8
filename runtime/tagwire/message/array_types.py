"""The types of array attributes, only for type checkers.

Type checkers treat these types as descriptors: a constructor parameter gets its type from `__set__`, and the attribute
from `__get__`. So the constructor accepts any iterable, and the attribute is a tuple.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class Array(Generic[T]):
    """The type of an array attribute. The attribute is a tuple, but the constructor accepts any iterable."""

    @overload
    def __get__(self, struct: None, cls: Any) -> Any: ...
    @overload
    def __get__(self, struct: object, cls: Any) -> tuple[T, ...]: ...
    def __get__(self, struct: object, cls: Any) -> Any: ...
    def __set__(self, struct: object, value: Iterable[T]) -> None: ...


class ArrayOrNone(Generic[T]):
    """An array that may be None."""

    @overload
    def __get__(self, struct: None, cls: Any) -> Any: ...
    @overload
    def __get__(self, struct: object, cls: Any) -> tuple[T, ...] | None: ...
    def __get__(self, struct: object, cls: Any) -> Any: ...
    def __set__(self, struct: object, value: Iterable[T] | None) -> None: ...
