"""What a mutator gives: bytes, and what it claims of them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tagwire.message.base import Message

Kind = Literal["valid", "near", "invalid"]


class Fault(NamedTuple):
    """The rule that is broken, and the place where a decoder can first tell."""

    rule: str
    path: str
    """The field, "" for the message itself."""
    offset: int
    """The byte in the whole input, what stands before a message included."""

    def __str__(self) -> str:
        return f"{self.path} at byte {self.offset}: {self.rule}" if self.path else f"byte {self.offset}: {self.rule}"


class Mutation(NamedTuple):
    """Mutated bytes."""

    data: bytes
    kind: Kind
    """`valid`: to be accepted. `near`: one place is wrong, which a decoder may see or not. `invalid`: to be refused."""
    changes: tuple[str, ...]
    """What was done, in order, each with the path of the field."""
    fault: Fault | None
    """Of invalid bytes: why they are."""
    canonical: bool
    """Of valid bytes: whether an encoder gives them again. A tagged field at its default is legal, and not written."""
    message: type[Message]
    """The class that the bytes are of."""
    version: int
