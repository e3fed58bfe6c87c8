"""Cut bytes off the end of an input, and find the first position at which a reader can detect the cut.

The position is often before the end of the bytes, because readers compare counts and sizes with the number of remaining
bytes before they read on. This applies to counts of elements and tags, and to sizes of tagged fields.
"""

from __future__ import annotations

from random import Random

from tagwire.layout import Array, Fixed, LengthCode, NullableFixed, Sized
from tagwire_workbench.fuzzing.framing import FuzzInput
from tagwire_workbench.fuzzing.mutate.mutation import ExpectedError
from tagwire_workbench.fuzzing.sites import InputSite, splice


def truncated(read: FuzzInput, message: InputSite, random: Random) -> tuple[bytes, ExpectedError] | None:
    """Cut the input at a random position in a message or header. Returns the remaining bytes and the expected error."""
    if message.node.length == 0:
        return None
    cut = random.randrange(message.start, message.end)
    found = _rejected(read, message, cut)
    if found is None:
        return None
    path, offset = found
    return splice(read, None, cut, len(read.data), b"").data, ExpectedError("", path, offset)


def _rejected(read: FuzzInput, site: InputSite, cut: int) -> tuple[str, int] | None:
    """Return the (path, offset) of the error if `site` is cut off at `cut`; None if decoders may disagree about it."""
    own = _own(read, site, cut)
    if own is not None:
        return own
    inner = next((each for each in site.inner if each.end > cut), None)
    return None if inner is None or inner.kind in ("buffer", "raw") else _rejected(read, inner, cut)


def _own(read: FuzzInput, site: InputSite, cut: int) -> tuple[str, int] | None:
    if site.kind == "entry":
        return site.holder.path, cut if cut < site.content_start else site.start
    if site.kind == "section":
        if cut < site.content_start:
            return site.path, cut
        return (site.path, site.start) if len(site.inner) * 2 > cut - site.content_start else None
    type = site.type
    if isinstance(type, Fixed):
        return site.path, site.start
    if isinstance(type, NullableFixed):
        return site.path, site.start + (cut > site.start)
    if isinstance(type, Array | Sized) and type.length is not None:
        return _cut_after_length(read, site, type, type.length, cut)
    return (site.path, site.start) if site.kind == "struct" and cut < site.content_start else None


def _cut_after_length(
    read: FuzzInput, site: InputSite, type: Array | Sized, code: LengthCode, cut: int
) -> tuple[str, int] | None:
    end = site.start + code.width
    while not code.code and end <= cut and read.data[end - 1] >= 0x80:
        end += 1
    if cut < end:
        return site.path, site.start if code.code else cut
    if isinstance(type, Sized):
        return site.path, end
    return (site.path, site.start) if len(site.inner) * type.element.minimum > cut - end else None
