"""Input of any bytes-like kind as `bytes`, which is what all readers index and slice fastest."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["as_bytes"]


def as_bytes(data: Any) -> bytes:
    """Any bytes-like object as bytes; without a copy where it is a view of all of a bytes object."""
    view = memoryview(data)
    whole = view.obj
    if type(whole) is bytes and view.contiguous and view.nbytes == len(whole):
        return whole
    return view.tobytes()
