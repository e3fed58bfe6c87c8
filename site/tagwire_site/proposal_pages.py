"""Create a page for each of the five proposals, with its section of docs/proposals.md, sample bytes, and sizes.

The sizes are measured when the site is built, for the same records in the proposal's format and in the format that it
changes.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from golden_files import FOLDER, RPC_DRAFTS, read_file

from tagwire.explain.text import parse_annotated
from tagwire.records import format_of
from tagwire_site.format_pages import file_of, format_samples, sample_bytes
from tagwire_site.rendering import render
from tagwire_site.trees import samples_json
from tagwire_workbench.whatif import Bar, BarRow, Plot, Scale, scale_of

__all__ = ["PROPOSALS", "Proposal", "proposal_pages"]

COUNTS: Final = (1, 3, 10, 100)
_SECTION: Final = re.compile(r"^## ", re.MULTILINE)
_LINK: Final = re.compile(r"\]\((?!#|[a-z]+:)")
_RPCS: Final = ("MetadataRequest", "FetchRequest", "ProduceRequest", "OffsetCommitRequest", "ApiVersionsResponse")


class Proposal(NamedTuple):
    """A proposal that tagwire implements."""

    file: str
    heading: str
    """The beginning of the heading of the proposal's section in docs/proposals.md."""
    title: str
    formats: tuple[str, ...]
    base: str
    """The record format with which to compare sizes; "" for a proposal about messages."""


PROPOSALS: Final = (
    Proposal("kip82-int", "KIP-82, first", "KIP-82: headers with int32 keys", ("kip82-int", "kip82-int-signed"), "v1"),
    Proposal("kip82-str", "KIP-82, later", "KIP-82: headers with string keys", ("kip82-str",), "v2"),
    Proposal("kip87", "KIP-87", "KIP-87: an explicit tombstone", ("kip87", "kip82-int+kip87"), "v1"),
    Proposal("smaller-batches", "Smaller batches", "Smaller batches", ("v3", "v3-zigzag"), "v2"),
    Proposal("kip482", "KIP-482", "KIP-482: optional fields", (), ""),
)


def proposal_pages(document: str) -> dict[str, str]:
    """Return the page of each proposal, and a page that lists them, by path in the site.

    `document` is the content of docs/proposals.md, with links relative to the top folder of the site.
    """
    document = _LINK.sub("](../", document)
    sections = {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in _SECTION.split(document)[1:]}
    pages = {}
    for each in PROPOSALS:
        text = next(body for heading, body in sections.items() if heading.startswith(each.heading))
        pages[f"proposals/{each.file}.md"] = render(
            "proposal.md.jinja",
            proposal=each,
            text=_lowered(text),
            plot=_batches(each) if each.base else _messages(),
            formats=[
                (name, f"../{file_of(name)}.html", samples_json(list(format_samples(name)))) for name in each.formats
            ],
        )
    pages["proposals/index.md"] = render("proposals.md.jinja", proposals=PROPOSALS)
    return pages


def _lowered(text: str) -> str:
    """Change headings of level 3 to level 2, because the section becomes a page."""
    return re.sub(r"^###", "##", text, flags=re.MULTILINE)


def _batches(proposal: Proposal) -> Plot:
    names = (proposal.base, proposal.formats[0])
    sizes = [(count, [len(sample_bytes(format_of(name), count)) / count for name in names]) for count in COUNTS]
    scale = scale_of((size for _, both in sizes for size in both), "bytes a record")
    rows = [
        BarRow(f"{count} record{'' if count == 1 else 's'} in a batch", list(_bars(scale, names, both)))
        for count, both in sizes
    ]
    return Plot("Bytes per record, including its share of the batch header", scale, rows)


def _messages() -> Plot:
    sizes = []
    for name in _RPCS:
        module = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
        draft = list(read_file(RPC_DRAFTS / f"{module}.txt"))
        released = list(read_file(FOLDER / f"{module}.txt"))
        sizes.append((name, [_size(released[-1].annotation), _size(draft[-1].annotation)]))
    scale = scale_of((size for _, both in sizes for size in both), "bytes")
    rows = [BarRow(name, list(_bars(scale, ("released", "draft"), both))) for name, both in sizes]
    return Plot("Golden bytes of some messages: the released version and the draft's", scale, rows)


def _size(annotation: str) -> float:
    return float(len(parse_annotated(annotation)))


def _bars(scale: Scale, names: tuple[str, str], sizes: list[float]) -> Iterator[Bar]:
    for kind, name, size in zip(("before", "packed"), names, sizes, strict=True):
        yield scale.bar(kind, size, f"{name}: {size:,.1f}".removesuffix(".0"))
