"""What was explained, as one page that needs nothing else: bytes on one side, fields on the other, linked both ways.

Links are links: bytes lead to their field and a field to its bytes without any
script, which only adds that both light up together, and the arrow keys. What
stands in the page is decided here; the template prints it. The page lets no
script run but its own, whose digest it names, and loads nothing.
"""

import base64
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tagwire.explain.nodes import Node
from tagwire.explain.text import Row, rows_of, title_of
from tagwire.explain.trace import Trace
from tagwire.text_format import count
from tagwire_cli.explaining.explained import Explained, facts_of
from tagwire_cli.output.echo import shown_value

__all__ = ["FIELDS", "RUN", "render_page"]

FIELDS: Final = 5_000
"""Fields on a page; browsers grow slow beyond."""
RUN: Final = 256
"""Bytes of a field that are shown; of a longer one, those at its two ends."""
_ENDS: Final = (192, 32)
_LINE: Final = 16
_DEEPEST: Final = 8

Note = Callable[[Node], str]


class Piece(NamedTuple):
    """The bytes of a field in one line of the dump; those of several lines are several pieces."""

    field: str
    id: str
    """"" for all but the first of a field."""
    kind: str
    text: str
    label: str
    """What a screen reader says."""


class Line(NamedTuple):
    """A line of the dump. One without pieces says what is folded."""

    offset: str
    pieces: list[Piece]
    folded: str


class Field(NamedTuple):
    """A line of the table; one without a number is a title."""

    number: str
    offset: str
    path: str
    type: str
    value: str
    kind: str
    depth: int
    has_bytes: bool


class Dump(NamedTuple):
    """The bytes of a message, or what packed bytes unpack to."""

    title: str
    lines: list[Line]


class Part(NamedTuple):
    """One message."""

    title: str
    dumps: list[Dump]
    fields: list[Field]
    folded: str


class Section(NamedTuple):
    """One unit of the input."""

    facts: list[str]
    parts: list[Part]


def render_page(units: Sequence[Explained], note: Note | None = None) -> str:
    """The page as HTML. At most `FIELDS` fields are on it; what is left out is said where it would stand."""
    left = FIELDS
    sections = []
    for number, one in enumerate(units):
        parts = []
        for place, trace in enumerate(one.traces):
            part = _part(trace, note, f"{number}.{place}", left)
            left -= len(part.fields)
            parts.append(part)
        sections.append(Section(list(facts_of(one)), parts))
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = environment.get_template("page.js.jinja").render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = environment.get_template("page.html.jinja")
    return template.render(title=_title(units), sections=sections, script=script, digest=digest)


def _title(units: Sequence[Explained]) -> str:
    traces = [trace for one in units for trace in one.traces]
    if not traces:
        return "No match" if units else "No bytes"
    return title_of(traces[0]) if len(traces) == 1 else f"{title_of(traces[0])}, and {len(traces) - 1} more"


def _part(trace: Trace, note: Note | None, name: str, most: int) -> Part:
    rows = list(rows_of(trace, note))
    shown, more = rows[: max(0, most)], rows[max(0, most) :]
    numbered = [(f"{name}.{number}", row) for number, row in enumerate(shown)]
    plain = [each for each in numbered if each[1].offset >= 0 and not each[1].mark]
    dumps = [Dump("", list(_lines(plain)))]
    dumps += [Dump(f"{rows[0][1].path}: unpacked", list(_lines(rows))) for rows in _unpacked(numbered)]
    folded = f"{len(more)} more lines from byte {max(0, more[0].offset)} on are not shown" if more else ""
    return Part(title_of(trace), dumps, [_field(*each) for each in numbered], folded)


def _unpacked(numbered: "list[tuple[str, Row]]") -> "Iterator[list[tuple[str, Row]]]":
    """Runs of rows whose offsets are in unpacked bytes."""
    run: list[tuple[str, Row]] = []
    for each in numbered:
        if each[1].mark and (not run or each[1].offset >= run[-1][1].offset):
            run.append(each)
        elif run:
            yield run
            run = [each] if each[1].mark else []
    if run:
        yield run


def _field(number: str, row: Row) -> Field:
    if row.offset < 0:
        return Field("", "", row.path, "", "", row.kind, 0, has_bytes=False)
    offset = f"{row.mark}{row.offset}" if row.data else "!"
    path = row.path or "(message)"
    return Field(
        number, offset, path, row.type, row.value, row.kind, min(row.depth, _DEEPEST), has_bytes=bool(row.data)
    )


def _lines(numbered: "Sequence[tuple[str, Row]]") -> Iterator[Line]:
    """The dump of the rows' bytes, `_LINE` a line; a long field is folded, and the lines begin anew behind it."""
    begin = 0
    pieces: list[Piece] = []
    count = 0
    for number, row in numbered:
        for offset, data, folded in _runs(row):
            if folded or offset != begin + count:
                if pieces:
                    yield Line(str(begin), pieces, "")
                begin, pieces, count = offset, [], 0
            if folded:
                yield Line(str(offset), [], folded)
                begin = offset + len(data)
                continue
            at = 0
            while at < len(data):
                taken = data[at : at + _LINE - count]
                first = at == 0 and offset == row.offset
                pieces.append(_piece(number, row, taken, is_first=first))
                at += len(taken)
                count += len(taken)
                if count == _LINE:
                    yield Line(str(begin), pieces, "")
                    begin, pieces, count = begin + _LINE, [], 0
    if pieces:
        yield Line(str(begin), pieces, "")


def _runs(row: Row) -> Iterator[tuple[int, bytes, str]]:
    """Offset and bytes of what is shown of a row, and what is said instead of the bytes where they are folded."""
    if len(row.data) <= RUN:
        yield row.offset, row.data, ""
        return
    head, tail = _ENDS
    middle = row.data[head:-tail]
    yield row.offset, row.data[:head], ""
    yield row.offset + head, middle, f"{count(len(middle), 'byte')} of {row.path or row.type} not shown"
    yield row.offset + len(row.data) - tail, row.data[-tail:], ""


def _piece(number: str, row: Row, data: bytes, *, is_first: bool) -> Piece:
    size = count(len(row.data), "byte")
    label = f"{size} at {row.offset}: {row.path or row.type} {row.value}".rstrip()
    return Piece(number, f"b{number}" if is_first else "", row.kind, row.hex(data), label)
