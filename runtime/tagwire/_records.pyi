from array import array

Bases = tuple[int, int, bool]

def facts(
    data: bytes | bytearray, pos: int, end: int, count: int, bases: Bases, lasts: array[int] | bytes | memoryview
) -> bytes | None: ...
def lines(
    data: bytes | bytearray,
    pos: int,
    end: int,
    count: int,
    bases: Bases,
    has_attributes: bool,
    head: bytes,
    most: int,
) -> tuple[bytes, int, int]: ...

class RecordRun:
    data: bytes
    size: int
    base_timestamp: int
    last_offset: int
    max_timestamp: int
    def __init__(self, base_offset: int, base_timestamp: int | None) -> None: ...
    def take(
        self,
        data: bytes | bytearray,
        pos: int,
        end: int,
        count: int,
        bases: Bases,
        kept: bytes | None,
        most_bytes: int | None,
        most_records: int | None,
    ) -> tuple[int, int, int | None]: ...
    def __len__(self) -> int: ...
