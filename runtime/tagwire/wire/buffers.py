"""Input of any bytes-like kind as `bytes`, which is what all readers index and slice fastest, and as a view.

An object is asked for its buffer once, and the buffer is held as long as somebody reads it. Two buffers of one object
need not be alike: a bytearray can be resized between them, and a class with `__buffer__` gives what it likes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def as_bytes(data: Any) -> bytes:
    """Any bytes-like object as bytes; without a copy where it is a view of all of a bytes object."""
    return _bytes_of(memoryview(data))


def bytes_and_view(data: Any) -> tuple[bytes, memoryview]:
    """The same as `as_bytes`, and a view of `data` that slices by bytes; of the copy where `data` has gaps."""
    view = memoryview(data)
    buf = _bytes_of(view)
    try:
        return buf, view.cast("B")
    except (TypeError, ValueError):  # gaps, or items of a format that `cast` does not know
        return buf, memoryview(buf)


def held(data: Any) -> Any:
    """`data` for several readers with views: bytes as they are, else one view that all of them see."""
    return data if type(data) is bytes else memoryview(data)


def _bytes_of(view: memoryview) -> bytes:
    whole = view.obj
    if type(whole) is bytes and view.c_contiguous and view.nbytes == len(whole):
        return whole
    return view.tobytes()
