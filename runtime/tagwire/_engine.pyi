from collections.abc import Callable, Iterator
from typing import Any

from tagwire.layout import Layout
from tagwire.limits import Limits
from tagwire.message.base import Message

class NotNative(Exception): ...

class Plan:
    MESSAGE: type[Any]
    VERSION: int | None
    structure: Any
    def __init__(self, layout: Layout) -> None: ...
    def layout(self) -> Layout: ...
    def encode(self, message: Any) -> bytes: ...
    def encoded_size(self, message: Any) -> int: ...
    def decode(
        self, data: Any, *, strict: bool = ..., views: bool = ..., limits: Limits = ..., gc: bool = ...
    ) -> Any: ...
    def decode_from(
        self,
        data: Any,
        offset: int = ...,
        *,
        strict: bool = ...,
        views: bool = ...,
        limits: Limits = ...,
        gc: bool = ...,
    ) -> tuple[Any, int]: ...
    def decode_trusted(self, data: bytes, *, views: bool = ...) -> Any: ...

class Elements:
    inputs: tuple[str, ...]
    depth: int
    structure: Any
    registers: dict[str, int]
    def layout(self) -> Layout: ...
    def __init__(
        self,
        layout: Layout,
        *,
        bases: dict[str, tuple[str, str]],
        hidden: dict[str, int],
        flags: dict[str, tuple[str, int]],
        follows: dict[str, tuple[tuple[int, str, str, str], ...]],
    ) -> None: ...
    def read(
        self,
        data: bytes | bytearray,
        pos: int,
        end: int,
        count: int | None,
        inputs: tuple[Any, ...],
        limits: Limits,
        rest: Callable[[int, int, int], Iterator[Any]],
        views: memoryview | None = ...,
    ) -> Iterator[Any] | None: ...
    def write(self, elements: list[Any], inputs: tuple[Any, ...]) -> tuple[bytes | None, tuple[int, ...], bool]: ...

class Gathering:
    first: Any
    inputs: tuple[Any, ...]
    def __init__(self, plan: Elements, first: Any, inputs: tuple[Any, ...]) -> None: ...
    def __len__(self) -> int: ...
    def written(self) -> tuple[bytes, tuple[int, ...]]: ...

def append_method(cls: type[Any]) -> Any: ...

class Codec:
    message: type[Message]
    def __init__(self, message: type[Message]) -> None: ...
    def calls(self) -> dict[str, Any]: ...
