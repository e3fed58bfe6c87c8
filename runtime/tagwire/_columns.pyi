from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tagwire.arrow.shape import Column
from tagwire.layout import Layout
from tagwire.limits import Limits
from tagwire.records import FormatSet
from tagwire.versions import Versions

class ArrowStream:
    def __len__(self) -> int: ...
    @property
    def schema_text(self) -> str: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

class ArrowArray(ArrowStream):
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...

class Spares:
    def __init__(self, most: int) -> None: ...

class Conversion:
    most: int
    def __init__(
        self,
        message: Column,
        root: Column,
        value: Column,
        layouts: Mapping[int, Layout],
        name: str,
        supported: Versions,
        spares: Spares,
    ) -> None: ...

class Decoder(Conversion):
    def decode(self, data: Any, versions: Any, errors: str, strict: bool, limits: Limits) -> ArrowStream: ...

class Encoder(Conversion):
    def encode(self, data: Any, versions: Any, errors: str) -> ArrowStream: ...

def export_schema(column: Column) -> Any: ...
def with_message(
    array: ArrowArray, root: Column, kind: str, api_key: int | None, decode: Callable[[Any, Any], Any]
) -> ArrowArray: ...
def export_stream(root: Column, arrays: Iterable[Any]) -> Any: ...

class RecordColumns:
    position: int
    index: int
    last_offset: int
    is_full: bool
    def __init__(
        self,
        root: Column,
        formats: FormatSet,
        *,
        headers_only: bool,
        limits: Limits,
        most_rows: int,
        most_bytes: int,
        spares: Spares,
        verified: bool = ...,
        ordered: bool = ...,
        transient: bool = ...,
    ) -> None: ...
    def begin(self, file: str, position: int, first_offset: int | None) -> None: ...
    def resume_at(self, position: int, last_offset: int | None) -> None: ...
    def walk(self, data: bytes, start: int, end: int) -> str: ...
    def put(self, values: Mapping[str, Any]) -> None: ...
    def take(self) -> ArrowArray: ...
    def __len__(self) -> int: ...
