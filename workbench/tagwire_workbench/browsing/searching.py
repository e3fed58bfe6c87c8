"""The bytes that text filters search: visible bytes, decompressed where necessary."""

from collections.abc import Iterable, Iterator
from typing import Final

from tagwire.explain.nodes import Node
from tagwire.explain.text import rows_of
from tagwire.explain.trace import Trace
from tagwire_workbench.browsing.listing import ExplainedEntry

_HIDDEN: Final = b"\0"


def contains(texts: Iterable[bytes], wanted: bytes) -> bool:
    """Whether a lower-case string is in some bytes, ignoring the case of ASCII letters."""
    return any(wanted in text.lower() for text in texts)


def texts_of(looked: ExplainedEntry) -> Iterator[bytes]:
    """Yield the bytes of an entry, without hidden ones, and all decompressed bytes."""
    yield visible(looked.data, looked.explained.traces)
    for trace in looked.explained.traces:
        for part in trace.parts:
            yield from _unpacked(part)


def _unpacked(node: Node) -> Iterator[bytes]:
    for each in node.walk():
        if each.unpacked is not None:
            yield each.unpacked


def visible(data: bytes, traces: Iterable[Trace]) -> bytes:
    """Return the bytes with sensitive ones zeroed."""
    shown = bytearray(data)
    for trace in traces:
        if trace.root.may_hide:
            for row in rows_of(trace):
                if row.is_hidden and not row.mark:
                    shown[row.offset : row.offset + len(row.data)] = _HIDDEN * len(row.data)
    return bytes(shown)
