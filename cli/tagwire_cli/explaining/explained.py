"""The explanation of an input, and functions that print it as lines or as JSON.

The explanation contains traces (all fields with their bytes) or, if the kind of the input is unclear, a list of
possible kinds.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tagwire.explain.nodes import Node
from tagwire.explain.trace import Trace
from tagwire.guessing.candidates import Candidate, Guess

_MOST_HEX = 64
"""The maximum number of input bytes to repeat as hex in a suggested command."""
_LISTED = 8
"""The maximum number of candidates (possible kinds of the input) that are listed if none is clearly the best."""


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
    kind has one, with `options` and either `file` or the bytes as hex.
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
    source = one.data.hex() if len(one.data) <= _MOST_HEX and (one.is_part or not file) else file
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
