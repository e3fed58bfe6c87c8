def lines(
    data: bytes | bytearray,
    pos: int,
    end: int,
    count: int,
    base_offset: int,
    base_timestamp: int,
    appended: bool,
    has_attributes: bool,
    head: bytes,
    most: int,
) -> tuple[bytes, int, int]: ...
