"""The results of a mutator: bytes, and how a decoder must treat them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tagwire.message.base import Message

Kind = Literal["valid", "near", "invalid"]


class ExpectedError(NamedTuple):
    """The rule that invalid bytes break, and the first position at which a decoder can notice it."""

    rule: str
    path: str
    """The path of the field, or "" for the message itself."""
    offset: int
    """Byte offset in the whole input, including any prefix."""

    def __str__(self) -> str:
        return f"{self.path} at byte {self.offset}: {self.rule}" if self.path else f"byte {self.offset}: {self.rule}"


class Mutation(NamedTuple):
    """Mutated bytes, and how a decoder must treat them (`kind`)."""

    data: bytes
    kind: Kind
    """How a decoder must treat the bytes.

    It must accept `valid` and reject `invalid` bytes. `near` bytes have one random change, and may be accepted or
    rejected.
    """
    changes: tuple[str, ...]
    """Descriptions of the changes, in order, each with the path of the changed field."""
    error: ExpectedError | None
    """The error that a decoder must report if `kind` is "invalid", or None for other kinds."""
    canonical: bool
    """Whether encoding the decoded message gives exactly these bytes. Always False unless `kind` is "valid"."""
    message: type[Message]
    version: int
