"""Print annotated bytes. On a terminal, lines are colored by type and are no wider than the terminal.

Output to a file or pipe has no colors, and its lines can be wider.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from tagwire.explain.nodes import Node
from tagwire.explain.text import BYTES_A_LINE, Row, annotated_lines, column_widths
from tagwire.explain.trace import Trace
from tagwire.text_format import printable
from tagwire_cli.output.diagnostics import is_coloured
from tagwire_cli.output.tables import note_left_out, write_bytes

if TYPE_CHECKING:
    from rich.console import Console


_STYLES: Final = {
    "number": "cyan",
    "text": "green",
    "bytes": "magenta",
    "null": "bright_black",
    "shape": "yellow",
    "title": "bold",
    "error": "bold red",
    "rest": "red",
}
_FOLDED: Final = (BYTES_A_LINE, 8, 4)
"""Possible numbers of bytes per line, from wide to narrow terminals."""
_ROOM: Final = 16
"""The minimum width that must remain for values, in characters."""

_WRAPPED: Final[Any] = {"subsequent_indent": "#   ", "break_long_words": False, "break_on_hyphens": False}

_LINES_A_WRITE: Final = 1000

Note = Callable[[Node], str]
Lines = Iterator[tuple[str, Row | None]]


def wants_colour(when: str) -> bool:
    """Return whether to color standard output. `when` is always, never, or auto (for a terminal without NO_COLOR)."""
    return when == "always" or (when == "auto" and is_coloured(sys.stdout))


def print_text(
    facts: Sequence[str], traces: Sequence[Trace], note: Note | None = None, *, colour: bool, most: int | None = None
) -> None:
    """Print `facts` about the input, such as its detected kind, as comment lines. Then print the annotated bytes.

    `most` is the maximum number of rows of each trace; None means all.
    """
    facts = [printable(fact) for fact in facts]
    if not colour:
        write_bytes("".join(f"# {fact}\n" for fact in facts).encode("utf-8", "backslashreplace"))
        for trace in traces:
            _write_plain(trace, note, most)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, soft_wrap=True, highlight=False, force_terminal=True, legacy_windows=False)
    for fact in facts:
        # Don't wrap a line that contains a command, so that users can copy the command.
        lines = [f"# {fact}"] if "`" in fact or "tagwire " in fact else wrap(f"# {fact}", console.width, **_WRAPPED)
        console.print(Text("\n".join(lines), style="bold"))
    for trace in traces:
        _print_trace(console, trace, note, most)


def _write_plain(trace: Trace, note: Note | None, most: int | None) -> None:
    lines = _first_lines(trace, annotated_lines(trace, note, widths=column_widths(trace, BYTES_A_LINE, most)), most)
    while text := "".join(f"{line}\n" for line, _ in islice(lines, _LINES_A_WRITE)):
        write_bytes(text.encode("utf-8", "backslashreplace"))


def _first_lines(trace: Trace, lines: Lines, most: int | None) -> Lines:
    """Yield the lines of at most `most` rows. If there are more rows, the last line names the option to show them."""
    rows, end, last = 0, 0, None
    for line, row in lines:
        if row is not None and row is not last:
            rows += 1
            last = row
            if most is not None and rows > most:
                limit = f"only the first {most} rows are shown, up to byte {end} of {len(trace.data)}"
                yield f"# {limit}; add --all to show the rest", None
                return
            if row.offset >= 0 and not row.mark:
                end = row.offset + len(row.data)
        yield line, row


def _print_trace(console: "Console", trace: Trace, note: Note | None, most: int | None) -> None:
    from rich.text import Text

    bytes_a_line, widths, has_types = _layout(trace, console.width, most)
    begin = len("offset") + 2
    path = begin + widths[0] + 2
    kind = path + widths[1] + 2
    value = kind + widths[2] + 2
    if not has_types:
        note_left_out("type")
    lines = annotated_lines(trace, note, bytes_a_line=bytes_a_line, widths=widths)
    for line, row in _first_lines(trace, lines, most):
        is_field = row is not None and row.kind not in ("title", "error")
        if not has_types and (is_field or line.startswith("offset")):
            line = line[:kind] + line[value:]
        shown = Text(line)
        if not has_types and is_field:
            shown.truncate(console.width, overflow="ellipsis")
        if row is None:
            shown.stylize("bold")
        elif row.kind in ("title", "error"):
            shown.stylize(_STYLES[row.kind])
        else:
            style = _STYLES[row.kind]
            shown.stylize("dim", 0, begin)
            shown.stylize(style, begin, path)
            shown.stylize("dim", kind, value if has_types else kind)
            shown.stylize(style, value if has_types else kind)
        console.print(shown)


def _layout(trace: Trace, width: int, most: int | None) -> tuple[int, tuple[int, int, int], bool]:
    """Choose how many bytes a line shows, how wide the columns are, and whether to show types."""
    hex_width, *others = column_widths(trace, BYTES_A_LINE, most)
    widths = (0, 0, 0)
    for has_types in (True, False):
        for count in _FOLDED:
            widths = max(len("bytes"), min(hex_width, count * 3 - 1)), others[0], others[1]
            if len("offset") + sum(widths[: 2 + has_types]) + 2 * (3 + has_types) + _ROOM <= width:
                return count, widths, has_types
    return _FOLDED[-1], widths, False
