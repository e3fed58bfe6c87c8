"""Create a page for each record format, with its fields in wire order, and sample batches explained byte by byte."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tagwire.frames.known_packages import record_format
from tagwire.layout import Array, Item, Nested, StructLayout
from tagwire.records import Format, Record, build, format_names, format_of
from tagwire.records.format_set import format_set
from tagwire.records.opening import trace_batches
from tagwire_site.rendering import render
from tagwire_site.trees import Sample, samples_json

__all__ = ["LayoutRow", "format_pages", "format_samples", "layout_rows"]

TIME: Final = 1_700_000_000_000
ABOUT: Final = {
    "v0": "Kafka's first format: a message with a checksum. Compressed messages are inside another message.",
    "v1": "v0 with a timestamp.",
    "v2": "What Kafka writes today: batches with a header, for records with headers, producers and transactions.",
    "kip82-int": "The first draft of KIP-82: v1 with headers whose keys are numbers.",
    "kip82-int-signed": "The first draft of KIP-82 with header keys that ascend as signed numbers.",
    "kip82-str": "A later draft of KIP-82: headers whose keys are strings.",
    "kip87": "KIP-87: a bit for tombstones, so that a tombstone may have a value.",
    "kip82-int+kip87": "The first draft of KIP-82 together with KIP-87.",
    "v3": "Smaller batches, later KIP-931: v2 with varints in the batch header.",
    "v3-zigzag": "Smaller batches, read so that the varints are signed: the proposal allows both readings.",
}


@dataclass(frozen=True)
class LayoutRow:
    """A field of a record format. `depth` is the number of structs around the field."""

    name: str
    depth: int
    type: str


def layout_rows(struct: StructLayout, depth: int = 0) -> Iterator[LayoutRow]:
    """Yield the fields of a layout. Nested fields follow the field that contains them."""
    for item in struct.items:
        yield LayoutRow(item.name, depth, str(item.type))
        nested = _nested(item)
        if nested is not None:
            yield from layout_rows(nested, depth + 1)


def _nested(item: Item) -> StructLayout | None:
    inner = item.type.element if isinstance(item.type, Array) else item.type
    return inner.struct if isinstance(inner, Nested) else None


def file_of(name: str) -> str:
    """Return the path of a format's page, without extension."""
    return f"formats/{name.replace('+', '-')}"


def format_pages() -> dict[str, str]:
    """Return the page of each record format, and a page that lists them, by path in the site."""
    pages: dict[str, str] = {}
    entries = []
    for name in format_names():
        cls = record_format(name)
        rows = list(layout_rows(cls.layout().root))
        samples = samples_json(list(format_samples(name)))
        file = file_of(name)
        about = ABOUT.get(name, "")
        entries.append((name, file.removeprefix("formats/"), about))
        pages[f"{file}.md"] = render(
            "format.md.jinja", name=name, cls=cls, rows=rows, samples=samples, about=about, magic=format_of(name).magic
        )
    pages["formats/index.md"] = render("formats.md.jinja", entries=entries)
    return pages


def format_samples(name: str) -> Iterator[Sample]:
    """Yield three sample batches of a format: one record, three records, and three records compressed with gzip."""
    found = format_of(name)
    for title, count, codec in (("one record", 1, "none"), ("three records", 3, "none"), ("gzip", 3, "gzip")):
        data = sample_bytes(found, count, codec)
        traces = list(trace_batches(data, format_set(name)))
        yield Sample(
            title, f"made by tagwire.records.build, {len(data)} bytes", traces, f"format={name}&hex={data.hex()}"
        )


def sample_bytes(found: Format, count: int, codec: str = "none") -> bytes:
    """Return an encoded batch of `count` short records, whose timestamps are one millisecond apart."""
    time = TIME if found.name != "v0" else -1
    records = [
        Record(n, -1 if time < 0 else time + n, f"order-{n:04}".encode(), b'{"item":"tea","pounds":2}')
        for n in range(count)
    ]
    return build(records, found.name, compression=codec).encode()
