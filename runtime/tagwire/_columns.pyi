from collections.abc import Mapping
from typing import Any

from tagwire.arrow.shape import Column
from tagwire.layout import Layout
from tagwire.limits import Limits
from tagwire.versions import Versions

class ArrowStream:
    def __len__(self) -> int: ...
    @property
    def schema_text(self) -> str: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

class ArrowArray(ArrowStream):
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...

class Decoder:
    most: int
    def __init__(
        self, root: Column, value: Column, layouts: Mapping[int, Layout], name: str, supported: Versions
    ) -> None: ...
    def decode(self, data: Any, versions: Any, errors: str, strict: bool, limits: Limits) -> ArrowStream: ...

class Encoder:
    most: int
    def __init__(
        self,
        message: Column,
        root: Column,
        value: Column,
        layouts: Mapping[int, Layout],
        name: str,
        supported: Versions,
    ) -> None: ...
    def encode(self, data: Any, versions: Any, errors: str) -> ArrowStream: ...

def export_schema(column: Column) -> Any: ...
