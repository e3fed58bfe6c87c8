"""The types of array attributes, for type checkers alone: annotations of data classes are never evaluated.

A type checker takes the parameter of a constructor from `__set__` of the attribute's type, and the attribute from
`__get__`. So the constructor accepts any iterable, and an attribute is a tuple.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class Array(Generic[T]):
    """An array: the constructor takes any iterable, and the attribute is a tuple."""

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
