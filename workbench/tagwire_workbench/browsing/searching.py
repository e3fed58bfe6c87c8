"""The bytes in which a filter looks for text: those that are shown, unpacked where they are packed."""

from collections.abc import Iterable, Iterator
from typing import Final

from tagwire.explain.nodes import Node
from tagwire.explain.text import rows_of
from tagwire.explain.trace import Trace
from tagwire_workbench.browsing.listing import Looked

_HIDDEN: Final = b"\0"


def contains(texts: Iterable[bytes], wanted: bytes) -> bool:
    """Whether text, in lower case, is in some bytes; the case of ASCII letters does not count."""
    return any(wanted in text.lower() for text in texts)


def texts_of(looked: Looked) -> Iterator[bytes]:
    """The bytes of an entry, without those that are hidden, and all that is packed in them."""
    yield visible(looked.data, looked.explained.traces)
    for trace in looked.explained.traces:
        for part in trace.parts:
            yield from _unpacked(part)


def _unpacked(node: Node) -> Iterator[bytes]:
    for each in node.walk():
        if each.unpacked is not None:
            yield each.unpacked


def visible(data: bytes, traces: Iterable[Trace]) -> bytes:
    """The bytes with zeros in the place of sensitive ones."""
    shown = bytearray(data)
    for trace in traces:
        if trace.root.may_hide:
            for row in rows_of(trace):
                if row.is_hidden and not row.mark:
                    shown[row.offset : row.offset + len(row.data)] = _HIDDEN * len(row.data)
    return bytes(shown)
