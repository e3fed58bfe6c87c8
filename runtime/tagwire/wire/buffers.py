"""Convert input of any bytes-like type to `bytes`, which readers index and slice fastest, and to a view.

Each object's buffer is requested once, and held as long as a reader uses it. Two buffers of one object may differ: a
bytearray can be resized between them, and a class with `__buffer__` can return anything.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any


def as_bytes(data: Any) -> bytes:
    """Return any bytes-like object as bytes; without a copy if it is a view of all of a bytes object."""
    return _bytes_of(memoryview(data))


def bytes_and_view(data: Any) -> tuple[bytes, memoryview]:
    """Return `data` as bytes, and a byte view of `data`; if `data` is not contiguous, a view of those bytes."""
    view = memoryview(data)
    buf = _bytes_of(view)
    try:
        return buf, view.cast("B")
    except (TypeError, ValueError):  # `data` is not contiguous, or has an item format that `cast` does not support
        return buf, memoryview(buf)


def held(data: Any) -> Any:
    """Return an object that several readers can slice: `data` itself if it is bytes, otherwise a memoryview of it."""
    return data if type(data) is bytes else memoryview(data)


def _bytes_of(view: memoryview) -> bytes:
    whole = view.obj
    if type(whole) is bytes and view.c_contiguous and view.nbytes == len(whole):
        return whole
    return view.tobytes()


# A sink that counts bytes instead of keeping them.
#
# A size is computed by encoding into this sink. So a size always equals the number of encoded bytes, and a value that
# can't be encoded has no size.


class ByteCount:
    """A byte counter with the part of the bytearray interface that writers use: `+=`, `append`, `len()`."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 0

    def __iadd__(self, data: bytes | bytearray | memoryview | ByteCount) -> ByteCount:
        self.size += len(data)
        return self

    def append(self, byte: int) -> None:
        """Count one byte."""
        self.size += 1

    def __len__(self) -> int:
        return self.size
