from array import array
from typing import Any

from typing_extensions import Buffer

Bases = tuple[int, int, bool]
Bytes = tuple[Buffer | None, Buffer, Buffer, int]
Numbers = tuple[Buffer | None, Buffer, int]
Headers = tuple[Buffer | None, Buffer, int, int, Bytes, Bytes]

class Source:
    left: int
    is_read: bool
    def __init__(
        self, data: bytes | bytearray, pos: int, end: int, count: int, bases: Bases, has_attributes: bool = ...
    ) -> None: ...
    def lines(self, text: bytes, most: int, is_text: bool) -> bytes: ...
    def facts(self, lasts: array[int] | bytes | memoryview) -> bytes | None: ...
    def totals(self) -> tuple[int, int, int, int, int | None, int | None, int, int, bool] | None: ...

class HeaderSearch:
    def __init__(self, data: Any, forms: list[tuple[int, bool, bool, bool, int, int, int, int, int, int]]) -> None: ...
    def next(self, window: bytes, start: int, at: int, stop: int) -> int: ...

class Rows:
    next_offset: int
    content: int
    def __init__(
        self,
        count: int,
        keys: Bytes | None,
        values: Bytes | None,
        timestamps: Numbers | None,
        offsets: Numbers | None,
        headers: Headers | None,
        next_offset: int,
    ) -> None: ...

class RecordRun:
    data: bytes
    size: int
    base_timestamp: int
    last_offset: int
    max_timestamp: int
    def __init__(self, base_offset: int, base_timestamp: int | None) -> None: ...
    def take(
        self, source: Source, kept: bytes | None, most_bytes: int | None, most_records: int | None
    ) -> int | None: ...
    def append(
        self, rows: Rows, row: int, stop: int, most_bytes: int | None, most_records: int | None
    ) -> tuple[int, bool]: ...
    def __len__(self) -> int: ...
