"""Input of any bytes-like kind as `bytes`, which is what all readers index and slice fastest, and as a view."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["as_bytes", "as_view"]


def as_bytes(data: Any) -> bytes:
    """Any bytes-like object as bytes; without a copy where it is a view of all of a bytes object."""
    view = memoryview(data)
    whole = view.obj
    if type(whole) is bytes and view.contiguous and view.nbytes == len(whole):
        return whole
    return view.tobytes()


def as_view(data: Any, buf: bytes) -> memoryview:
    """The bytes of `data` as a view that slices by bytes: of `data` itself, or of its copy `buf` where it has gaps."""
    view = memoryview(data)
    return view.cast("B") if view.contiguous else memoryview(buf)
