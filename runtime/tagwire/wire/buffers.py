"""Convert input of any bytes-like type to `bytes` and to memoryviews.

An object's buffer is requested only once, and kept as long as a reader uses it. A second request might return other
bytes.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any


def as_bytes(data: Any) -> bytes:
    """Return any bytes-like object as bytes. If it is a view of a whole bytes object, nothing is copied."""
    return _bytes_of(view_of(data))


def bytes_and_view(data: Any) -> tuple[bytes, memoryview]:
    """Return `data` as bytes, and as a memoryview of single bytes.

    If `data` is not contiguous, it is copied, and the memoryview is a view of the copy.
    """
    view = view_of(data)
    buf = _bytes_of(view)
    try:
        return buf, view.cast("B")
    except (TypeError, ValueError):  # the view isn't contiguous, or `cast` doesn't support its item format
        return buf, memoryview(buf)


def held(data: Any) -> Any:
    """Return `data` itself if it is bytes, otherwise a memoryview of `data`."""
    return data if type(data) is bytes else view_of(data)


def view_of(data: Any) -> memoryview:
    """Return a memoryview of any bytes-like object. Raises TypeError for other objects."""
    try:
        return memoryview(data)
    except TypeError:
        raise TypeError(f"data: expected bytes, got {type(data).__name__}") from None


def _bytes_of(view: memoryview) -> bytes:
    owner = view.obj
    if type(owner) is bytes and view.c_contiguous and view.nbytes == len(owner):
        return owner
    return view.tobytes()


# A sink for encoders that counts the bytes instead of storing them.
#
# A value's size is computed by encoding the value into this sink.


class ByteCount:
    """Counts bytes. Has the bytearray methods that writers use: `+=`, `append` and `len()`."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 0

    def __iadd__(self, data: bytes | bytearray | memoryview | ByteCount) -> ByteCount:
        self.size += len(data)
        return self

    def append(self, byte: int) -> None:
        self.size += 1

    def __len__(self) -> int:
        return self.size
