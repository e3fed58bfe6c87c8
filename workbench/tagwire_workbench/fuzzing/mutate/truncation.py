"""Cut bytes off the end of an input, and find the first position at which a reader can detect the cut.

The position is often before the end of the bytes, because readers compare counts and sizes with the number of remaining
bytes.
"""

from __future__ import annotations

from random import Random

from tagwire.layout import Array, Fixed, LengthCode, NullableFixed, Sized
from tagwire_workbench.fuzzing.framing import FuzzInput
from tagwire_workbench.fuzzing.input_parts import InputPart, splice
from tagwire_workbench.fuzzing.mutate.mutation import ExpectedError


def truncated(read: FuzzInput, message: InputPart, random: Random) -> tuple[bytes, ExpectedError] | None:
    """Cut the input at a random position in a message or header. Returns the remaining bytes and the expected error."""
    if message.node.length == 0:
        return None
    cut = random.randrange(message.start, message.end)
    found = _rejected(read, message, cut)
    if found is None:
        return None
    path, offset = found
    return splice(read, None, cut, len(read.data), b"").data, ExpectedError("", path, offset)


def _rejected(read: FuzzInput, part: InputPart, cut: int) -> tuple[str, int] | None:
    """Return the (path, offset) of the error that decoders must raise if `part` ends at `cut`.

    Returns None if decoders may raise different errors.
    """
    own = _own(read, part, cut)
    if own is not None:
        return own
    inner = next((each for each in part.inner if each.end > cut), None)
    return None if inner is None or inner.kind in ("buffer", "raw") else _rejected(read, inner, cut)


def _own(read: FuzzInput, part: InputPart, cut: int) -> tuple[str, int] | None:
    if part.kind == "entry":
        return part.holder.path, cut if cut < part.content_start else part.start
    if part.kind == "section":
        if cut < part.content_start:
            return part.path, cut
        return (part.path, part.start) if len(part.inner) * 2 > cut - part.content_start else None
    type = part.type
    if isinstance(type, Fixed):
        return part.path, part.start
    if isinstance(type, NullableFixed):
        return part.path, part.start + (cut > part.start)
    if isinstance(type, Array | Sized) and type.length is not None:
        return _cut_after_length(read, part, type, type.length, cut)
    return (part.path, part.start) if part.kind == "struct" and cut < part.content_start else None


def _cut_after_length(
    read: FuzzInput, part: InputPart, type: Array | Sized, code: LengthCode, cut: int
) -> tuple[str, int] | None:
    end = part.start + code.width
    while not code.code and end <= cut and read.data[end - 1] >= 0x80:
        end += 1
    if cut < end:
        return part.path, part.start if code.code else cut
    if isinstance(type, Sized):
        return part.path, end
    return (part.path, part.start) if len(part.inner) * type.element.minimum > cut - end else None
