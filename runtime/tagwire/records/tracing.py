"""Trace batches. Each batch has its own trace, in which offsets count from the beginning of the batch."""

from collections.abc import Iterator
from typing import Any

from tagwire.errors import DecodeError
from tagwire.explain.trace import Trace, trace
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.records.format_set import AUTO, Formats, format_set
from tagwire.records.reading import batch_at, naming_hint, other_formats
from tagwire.wire.buffers import as_bytes


def trace_batches(
    data: Any, format: Formats = AUTO, *, only: bool = False, strict: bool = True, limits: Limits = DEFAULT_LIMITS
) -> Iterator[Trace]:
    """Yield the trace of each batch in `data`. `format` and `only` are as in `tagwire.records.read_batches`.

    Stops after the first invalid batch, whose trace covers the rest of `data`. Raises FormatError for an unknown format
    name.
    """
    buf = as_bytes(data)
    formats = format_set(format, only=only)
    pos = 0
    while pos < len(buf):
        try:
            batch = batch_at(buf, pos, formats, limits)
            found, size = batch.record_format, batch.size
        except DecodeError:
            found, size = formats.nearest(buf, pos), len(buf) - pos
        seen = trace(found.layout, buf[pos : pos + size], strict=strict, limits=limits)
        if seen.error is not None:
            seen.error = _with_hint(seen.error, other_formats(buf, pos, formats, limits))
        yield seen
        if seen.error is not None:
            return
        pos += size


def _with_hint(error: DecodeError, names: list[str]) -> DecodeError:
    if not names:
        return error
    return DecodeError(
        message_name=error.message_name,
        version=error.version,
        path=error.path,
        offset=error.offset,
        found=error.found,
        expected=f"{error.expected}; {naming_hint(names)}",
    )
