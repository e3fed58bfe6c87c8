"""The results of a mutator: bytes, and claims about them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tagwire.message.base import Message

Kind = Literal["valid", "near", "invalid"]


class Fault(NamedTuple):
    """The broken rule, and the first position at which a decoder can detect the error."""

    rule: str
    path: str
    """The path of the field; "" for the message itself."""
    offset: int
    """Offset in the whole input, including any prefix."""

    def __str__(self) -> str:
        return f"{self.path} at byte {self.offset}: {self.rule}" if self.path else f"byte {self.offset}: {self.rule}"


class Mutation(NamedTuple):
    """Mutated bytes."""

    data: bytes
    kind: Kind
    """`valid`: must be accepted. `near`: one position is wrong, which a decoder may not notice. `invalid`: must be
    rejected.
    """
    changes: tuple[str, ...]
    """The changes in order, each with the path of the field."""
    fault: Fault | None
    """For invalid bytes: the broken rule. None for other bytes."""
    canonical: bool
    """For valid bytes: whether an encoder would write the same bytes. A tagged field with its default is legal, but
    encoders omit it.
    """
    message: type[Message]
    """The message class of the bytes."""
    version: int
