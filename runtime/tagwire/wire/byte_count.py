"""A sink that counts bytes instead of keeping them.

Sizes are the same walk as encoding, into this sink: a size and the bytes can't
disagree, and a value that encode refuses has no size.
"""


class ByteCount:
    """What serializers and the layout writer ask of a bytearray: `+=`, `append`, `len()`."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 0

    def __iadd__(self, data: "bytes | bytearray | memoryview | ByteCount") -> "ByteCount":
        self.size += len(data)
        return self

    def append(self, byte: int) -> None:
        """Count one byte."""
        self.size += 1

    def __len__(self) -> int:
        return self.size
