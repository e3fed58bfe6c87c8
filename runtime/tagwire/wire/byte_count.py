"""A sink that counts bytes instead of keeping them.

Computing a size is the same walk as encoding, into this sink. So a size always equals
the number of encoded bytes, and a value that can't be encoded has no size.
"""


class ByteCount:
    """The part of the bytearray interface that serializers and the layout writer use: `+=`, `append`, `len()`."""

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
