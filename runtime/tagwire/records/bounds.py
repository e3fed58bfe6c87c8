"""Enforce the limits on records and headers while a batch is read, natively or in Python.

Records are read one at a time, so a batch that exceeds a limit is never in memory as a whole. If the header's record
count already exceeds the limit, no record is read.
"""

from collections.abc import Iterator

from tagwire.errors import LimitError
from tagwire.limits import Limits
from tagwire.records.record import Record


def bounded(records: Iterator[Record], stated: int, name: str, offset: int, limits: Limits) -> Iterator[Record]:
    """Yield the records of the batch at `offset`. Raises LimitError as soon as a limit is exceeded."""
    most = limits.records
    if most is not None and stated > most:
        raise _beyond(name, "", offset, f"{stated} records", "records", most)
    for index, record in enumerate(records):
        if most is not None and index >= most:
            raise _beyond(name, f"[{index}]", offset, f"{index + 1} records", "records", most)
        if limits.headers is not None and len(record.headers) > limits.headers:
            path, found = f"[{index}].headers", f"{len(record.headers)} headers"
            raise _beyond(name, path, offset, found, "headers", limits.headers)
        yield record


def _beyond(name: str, path: str, offset: int, found: str, limit: str, most: int) -> LimitError:
    return LimitError(
        message_name=name,
        version=None,
        path=f"records{path}",
        offset=offset,
        found=found,
        expected=f"at most {most} (Limits.{limit})",
    )
