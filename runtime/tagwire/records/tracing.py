"""Traces of batches: each of its own, so that offsets count from where it begins."""

from collections.abc import Iterator
from typing import Any

from tagwire.errors import DecodeError
from tagwire.explain.trace import Trace, trace
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.records.format import Format
from tagwire.records.formats import format_of
from tagwire.records.reading import batch_at, nearest_format
from tagwire.wire.buffers import as_bytes

__all__ = ["trace_batches"]


def trace_batches(
    data: Any, format: "str | Format" = "auto", *, strict: bool = True, limits: Limits = DEFAULT_LIMITS
) -> Iterator[Trace]:
    """The trace of each batch in `data`; a batch at fault is the last, and its trace has all that was left.

    Raises FormatError for an unknown name.
    """
    buf = as_bytes(data)
    known = None if format == "auto" else format_of(format)
    pos = 0
    while pos < len(buf):
        try:
            batch = batch_at(buf, pos, known, limits)
            found, size = format_of(batch.format), batch.size
        except DecodeError:
            found, size = known or nearest_format(buf, pos), len(buf) - pos
        seen = trace(found.layout, buf[pos : pos + size], strict=strict, limits=limits)
        yield seen
        if seen.error is not None:
            return
        pos += size
