"""Prove that a change breaks the wire format, by finding a value that one side encodes and the other side misreads.

Each layout encodes the value, and the other layout decodes the bytes. An error or a wrong value is the proof. The
old reader is tried first, with the new bytes. If it reads them correctly, the new reader is tried with the old bytes,
because some changes break only one direction.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from tagwire.errors import DecodeError, EncodeError
from tagwire.explain.text import annotate
from tagwire.explain.trace import trace
from tagwire.interpreter.reader import decode
from tagwire.interpreter.writer import encode
from tagwire.layout import DEFAULT_STRUCT, Layout, Nested
from tagwire.limits import DEFAULT_LIMITS
from tagwire.sensitive import showing_sensitive
from tagwire_generator.evolution.compare import Steps
from tagwire_generator.evolution.samples import as_json, converted, field_at, samples, without_classes

Side = Literal["old", "new"]

_INDEX: Final = re.compile(r"\[[0-9]+\]")


@dataclass(frozen=True, slots=True)
class Proof:
    """A value that one side encodes and the other side can't decode correctly.

    `old_bytes` and `new_bytes` are the value as encoded by each layout, or None if a layout can't represent the value.
    """

    version: int
    value: Any
    """The message as JSON, before it is encoded."""
    old_bytes: bytes | None
    new_bytes: bytes | None
    reader: Side
    """The side that decodes. If it is "old", the old layout reads bytes of the new layout; if "new", the reverse."""
    error: str
    """The error with which the reader rejects the bytes, or "" if it accepts them."""
    reads: Any
    """The value that the reader decodes, as JSON, or None if decoding fails."""
    trace: str
    """An annotated trace that shows how the reader decodes the bytes."""

    def as_dict(self) -> dict[str, Any]:
        """Return the proof as a JSON-compatible dict, with bytes in hex."""
        return {
            "version": self.version,
            "value": self.value,
            "old": None if self.old_bytes is None else self.old_bytes.hex(),
            "new": None if self.new_bytes is None else self.new_bytes.hex(),
            "reader": self.reader,
            "error": self.error or None,
            "reads": self.reads,
        }


def prove(old: Layout, new: Layout, steps: Steps) -> Proof | None:
    """Find a value that one layout encodes and the other can't decode correctly. Return None if none is found.

    Both layouts describe the same version. `steps` is the path to the field in which they differ. The path can come
    from a different version, because only its names are used.
    """
    readers: tuple[Side, Side] = ("old", "new")
    paths = {".".join(item.name for item in side if item) for side in zip(*steps, strict=True)}
    found = [
        (readers.index(reader), outcome.rank(paths), number, trial, outcome)
        for number, trial in enumerate(_trials(without_classes(old), without_classes(new), steps))
        for reader in readers
        if (outcome := trial.outcome(reader)) is not None
    ]
    if not found:
        return None
    *_, trial, outcome = min(found, key=lambda row: row[:3])
    return trial.proof(outcome)


def _trials(old: Layout, new: Layout, steps: Steps) -> Iterator["_Trial"]:
    ours = [step.old.name for step in steps if step.old]
    theirs = [step.new.name for step in steps if step.new]
    is_old, is_new = len(ours) == len(steps), len(theirs) == len(steps)
    ends = [
        field_at(layout, names)
        for layout, names, there in ((old, ours, is_old), (new, theirs, is_new))
        if there and names
    ]
    defaults = [item.default for item in ends if item.default is not DEFAULT_STRUCT]
    if is_new:
        for value in samples(new, theirs, defaults):
            yield _Trial(old, new, converted(value, new.root, old.root, is_forward=False), value, "new")
    if is_old:
        for value in samples(old, ours, defaults):
            yield _Trial(old, new, value, converted(value, old.root, new.root, is_forward=True), "old")


class _Trial:
    """Encodes a sample value with both layouts."""

    def __init__(self, old: Layout, new: Layout, old_value: Any, new_value: Any, home: Side) -> None:
        self.layouts: dict[Side, Layout] = {"old": old, "new": new}
        self.values: dict[Side, Any] = {"old": old_value, "new": new_value}
        self.home: Side = home
        """The side whose layout the value was created for."""
        self.bytes: dict[Side, bytes | None] = {
            side: _encoded(layout, self.values[side]) for side, layout in self.layouts.items()
        }

    def outcome(self, reader: Side) -> "_Outcome | None":
        """Decode the other side's bytes. Return the error or the wrong value, or None if there is neither."""
        data = self.bytes[_other(reader)]
        if data is None:
            return None
        can_represent = self.bytes[reader] is not None
        try:
            value, _ = decode(self.layouts[reader], data, whole=True, strict=True, limits=DEFAULT_LIMITS)
        except DecodeError as error:
            return _Outcome(reader, data, error, None, can_represent)
        read = as_json(value, Nested(self.layouts[reader].root))
        return (
            None if can_represent and read == self._json(reader) else _Outcome(reader, data, None, read, can_represent)
        )

    def proof(self, outcome: "_Outcome") -> Proof:
        layout = self.layouts[outcome.reader]
        assert layout.version is not None
        with showing_sensitive():  # sample values contain no secrets
            shown = annotate(trace(layout, outcome.data))
        return Proof(
            version=layout.version,
            value=self._json(self.home if self.bytes[self.home] is not None else _other(outcome.reader)),
            old_bytes=self.bytes["old"],
            new_bytes=self.bytes["new"],
            reader=outcome.reader,
            error=str(outcome.error or ""),
            reads=outcome.read,
            trace=shown,
        )

    def _json(self, side: Side) -> Any:
        return as_json(self.values[side], Nested(self.layouts[side].root))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The error or wrong value that results when one side decodes the other side's bytes."""

    reader: Side
    data: bytes
    error: DecodeError | None
    read: Any
    can_represent: bool
    """Whether the reader's layout can represent the value that the other side encoded."""

    def rank(self, paths: Collection[str]) -> int:
        """Return how clearly the outcome proves a change. The lowest number is the clearest proof.

        An error outside the changed field is the least clear proof.
        """
        if self.error is None:
            return 0 if self.can_represent else 1
        error_path = _INDEX.sub("", self.error.path)
        return 0 if any(f"{error_path}.".startswith(f"{path}.") for path in paths) else 2


def _other(side: Side) -> Side:
    return "new" if side == "old" else "old"


def _encoded(layout: Layout, value: Any) -> bytes | None:
    try:
        return encode(layout, value)
    except EncodeError:
        return None
