"""The explanation of an input, and functions that print it as text or convert it to JSON.

The explanation contains traces (all fields with their bytes) or, if the kind of the input is unclear, a list of
possible kinds. On a terminal, the lines are colored by type and are no wider than the terminal. In a file or pipe, they
have no colors and can be wider.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tagwire.explain.nodes import Node
from tagwire.explain.text import BYTES_A_LINE, Row, annotated_lines, column_widths, rows_of
from tagwire.explain.trace import Trace
from tagwire.guessing import Candidate, Guess
from tagwire.text_format import printable
from tagwire_cli.output.echo import is_colored, is_terminal
from tagwire_cli.output.tables import note_left_out, write_bytes

if TYPE_CHECKING:
    from rich.text import Text


_MOST_HEX = 64
"""The maximum number of input bytes to repeat as hex in a suggested command."""
_LISTED = 8
"""The maximum number of candidates (possible kinds of the input) that are listed if none is clearly the best."""
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
_UNLIMITED: Final = 1 << 30

Note = Callable[[Node], str]
Lines = Iterator[tuple[str, Row | None]]


class Explained(NamedTuple):
    """An explained unit of the input: a message, frame or batch."""

    title: str
    """The title of this unit, or "" if the input has only one unit."""
    traces: tuple[Trace, ...]
    """The traces to print. Empty if the kind of the input was guessed and no candidate is clearly the best."""
    guess: Guess | None = None
    error: str = ""
    """The error if none of the bytes could be read; otherwise empty."""
    is_apart: bool = True
    """Whether to print an empty line before this unit."""
    missing: str = ""
    """The error if the records can't be shown because a library is not installed; otherwise empty."""
    data: bytes = b""
    """The bytes whose kind was guessed, or empty if no kind had to be guessed."""
    is_part: bool = False
    """Whether the bytes are only a part of the input, such as a frame of a capture."""
    input: str = ""
    """A description of the detected input. Only the first unit of the input has a description."""

    @property
    def failure(self) -> str:
        """The reason why the command must exit with status 1, or "" if the input was explained completely."""
        if self.error or self.missing:
            return self.error or self.missing
        error = next((trace.error for trace in self.traces if trace.error is not None), None)
        if error is not None:
            return str(error)
        if self.guess is not None and self.guess.clear is None:
            if not self.guess.size:
                return "the input is empty"
            count = sum(each.whole for each in self.guess.candidates)
            if count == 1:
                return "one message matches these bytes, but perhaps by chance"
            return (
                f"{count} messages match, none clearly the best" if count else "no message matches all of these bytes"
            )
        return ""

    def to_json(self) -> dict[str, Any]:
        """Return the title, error, candidates and traces as a value for `write_json_lazily`."""
        guessed = {"candidates": [each.to_json() for each in self.guess.candidates]} if self.guess else {}
        error = {"error": self.error or self.missing} if self.error or self.missing else {}
        return {"title": self.title, **error, **guessed, "traces": [lazy_trace(trace) for trace in self.traces]}


class _Children(list[Any]):
    """The children of a node as JSON values. To save memory, each child is created only when it is written."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        super().__init__()
        self._nodes = nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Any]:
        return map(_lazy, self._nodes)


def _lazy(node: Node) -> dict[str, Any]:
    return {**node.facts(), "children": _Children(node.children)}


def lazy_trace(trace: Trace) -> dict[str, Any]:
    """Return the JSON of `Trace.to_json`, but create each list element only when `write_json_lazily` writes it."""
    return {**trace.facts(), "root": _lazy(trace.root)}


def explained(title: str, data: bytes, guess: Guess) -> Explained:
    """Explain bytes whose kind was guessed. If no kind is clearly the best, return a list of possible kinds.

    If the best guess is a request or record batches with an error inside, the bytes before the error are explained.
    """
    shown = guess.clear
    best = guess.best
    if shown is None and best is not None and not best.whole and best.kind in ("request", "batches"):
        shown = best
    return Explained(title, shown.traces if shown else (), guess, data=data, is_part=bool(title))


def facts_of(one: Explained, options: str = "", file: str = "") -> Iterator[str]:
    """Yield the lines above the bytes: the title, any error, and the guess with its reasons.

    If the guess is unclear, the lines list the likeliest kinds of input instead. If a command can name the bytes, each
    kind has one, with `options` and either `file` or, if they can't be secret, the bytes as hex.
    """
    if one.input:
        yield one.input
    if one.title:
        yield one.title
    if one.error or one.missing:
        yield f"! {one.error or one.missing}"
    if one.guess is None:
        return
    if one.traces:
        first = one.guess.candidates[0]
        yield f"{_description(first)}: {', '.join(first.why)}"
        rivals = [each for each in one.guess.candidates[1:] if each.whole]
        if rivals:
            yield f"next best: {_description(rivals[0])}, much less likely"
        return
    rows = (row for each in one.guess.candidates for trace in each.traces for row in rows_of(trace))
    is_short = len(one.data) <= _MOST_HEX and (one.is_part or not file)
    source = one.data.hex() if is_short and not any(row.is_hidden and any(row.data) for row in rows) else file
    is_known = source != file or not one.is_part
    yield from _readings(one.guess, " ".join(filter(None, (options, source))) if is_known else None)


def _readings(guess: Guess, again: str | None) -> Iterator[str]:
    """Yield lines that list the candidates, each with a command that explains the input as this kind.

    `again` is the rest of each command: the options and the input. If it is None, no commands are listed.
    """
    if guess.size and not any(each.whole for each in guess.candidates):
        yield "no message matches all of these bytes"
        if guess.candidates:
            yield "the closest matches:"
    elif guess.candidates:
        is_one = len(guess.candidates) == 1
        yield ("one message matches these bytes:" if is_one else "several messages match these bytes, likeliest first:")
    listed = [
        (_description(each), "" if again is None else f"{how_to_explain(each)} {again}", each)
        for each in guess.candidates[:_LISTED]
    ]
    width = max((len(name) for name, _, _ in listed), default=0)
    for name, how, candidate in listed:
        yield f"  {name:<{width}}  {how}".rstrip()
        if not candidate.whole:
            yield f"      {', '.join(candidate.why)}"
    left = len(guess.candidates) - len(listed)
    if left:
        yield f"  and {left} more"


def how_to_explain(candidate: Candidate) -> str:
    """Return a `tagwire explain` command for input of the candidate's kind. The caller appends the input."""
    if candidate.kind == "response":
        return f"tagwire explain --response {candidate.name.removesuffix('Response')} {candidate.version}"
    if candidate.kind == "message":
        return f"tagwire explain {candidate.name} {candidate.version}"
    return "tagwire explain --record-format auto" if candidate.kind == "batches" else "tagwire explain --request"


def _description(candidate: Candidate) -> str:
    """Describe a candidate, such as `response MetadataResponse v9/10`."""
    if candidate.kind == "batches":
        return f"record batches ({candidate.name})"
    versions = f" v{'/'.join(map(str, candidate.versions))}" if candidate.versions else ""
    part = "" if candidate.whole else ", in part"
    return f"{candidate.kind} {candidate.name}{versions}{part}"


def print_text(
    facts: Sequence[str], traces: Sequence[Trace], note: Note | None = None, *, color: str, most: int | None = None
) -> None:
    """Print `facts` about the input, such as its detected kind, as comment lines. Then print the annotated bytes.

    `color` is always, never, or auto (see `is_colored`). `most` is the maximum number of rows of each trace; None
    means all.
    """
    facts = [printable(fact) for fact in facts]
    if color == "never" or (color == "auto" and not is_colored(sys.stdout)):
        write_bytes("".join(f"# {fact}\n" for fact in facts).encode("utf-8", "backslashreplace"))
        for trace in traces:
            _write_plain(trace, note, most)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, soft_wrap=True, highlight=False, force_terminal=True, legacy_windows=False)
    if not is_terminal(sys.stdout) and "COLUMNS" not in os.environ:  # colors may be forced for a file or a pipe
        console.width = _UNLIMITED
    for fact in facts:
        # Don't wrap a line that contains a command, so that users can copy the command.
        lines = [f"# {fact}"] if "`" in fact or "tagwire " in fact else wrap(f"# {fact}", console.width, **_WRAPPED)
        console.print(Text("\n".join(lines), style="bold"))
    for trace in traces:
        styled = _styled_lines(trace, note, most, console.width)
        while texts := list(islice(styled, _LINES_A_WRITE)):  # printing each line alone takes twice as long
            console.print(*texts, sep="\n")


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


def _styled_lines(trace: Trace, note: Note | None, most: int | None, width: int) -> "Iterator[Text]":
    from rich.text import Text

    bytes_a_line, widths, has_types = _layout(trace, width, most)
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
            shown.truncate(width, overflow="ellipsis")
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
        yield shown


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
