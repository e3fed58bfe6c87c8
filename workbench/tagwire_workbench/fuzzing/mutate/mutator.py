"""Mutate inputs at random, and state how a decoder must treat the result."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Final

from tagwire.message.base import Message
from tagwire_workbench.fuzzing.corpus.shapes import seeds
from tagwire_workbench.fuzzing.framing import FramingError, FuzzInput, InputFraming
from tagwire_workbench.fuzzing.input_parts import InputPart, Patch, parts_of
from tagwire_workbench.fuzzing.mutate.bit_noise import bit_noise_patch
from tagwire_workbench.fuzzing.mutate.mutation import Kind, Mutation
from tagwire_workbench.fuzzing.mutate.rule_breaks import DIALECT_RULES, RULES, rule_break
from tagwire_workbench.fuzzing.mutate.valid_edits import valid_edit

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry

_KINDS: Final[tuple[Kind, ...]] = ("valid", "valid", "near", "near", "invalid")
"""The kinds to choose from. A kind that is listed twice is chosen twice as often."""
_TRIES: Final = 6


class Mutator:
    """Mutates inputs that contain messages. Takes the same parameters as `InputFraming`.

    The same input and seed always result in the same bytes. A mutator can be called as `mutator(data, max_size, seed)`,
    like a custom mutator of Atheris or libFuzzer.
    """

    def __init__(
        self,
        registry: Registry,
        message: type[Message] | None = None,
        version: int | None = None,
        *,
        kind: str | None = None,
        frames: bool = False,
        prefix: str | None = None,
    ) -> None:
        self.framing = InputFraming(registry, message, version, kind=kind, frames=frames, prefix=prefix)
        self._messages: Sequence[tuple[type[Message], int]] = ()

    def __call__(self, data: bytes | bytearray, max_size: int, seed: int) -> bytes:
        """Return a mutation of a random kind, at most `max_size` bytes long."""
        return self.mutate(bytes(data), seed, max_size=max_size).data

    def mutate(
        self,
        data: bytes,
        seed: int | Random,
        *,
        kind: Kind | None = None,
        rule: str | None = None,
        max_size: int | None = None,
    ) -> Mutation:
        """Return a mutation of `data` or, if `data` is not a valid input, of a seed from the corpus.

        `rule` is the rule that the result must break: one of `RULES` or `DIALECT_RULES`. If the message in `data` does
        not allow the requested change, a seed is used instead. If no result fits in `max_size`, returns a mutation of
        the kind "near", truncated to this size. If `max_size` is None and no message allows the change, raises
        FramingError.
        """
        if rule is not None and rule not in RULES and rule not in DIALECT_RULES:
            raise FramingError(f"unknown rule {rule!r}; rules are {', '.join(RULES)}")
        random = seed if isinstance(seed, Random) else Random(seed)
        chosen = "invalid" if rule is not None else kind if kind is not None else random.choice(_KINDS)
        read = self.framing.read(data)
        for _ in range(_TRIES if rule is None else 100 * _TRIES):
            mutated = self._near(data, read, random) if chosen == "near" else self._claimed(read, chosen, rule, random)
            if mutated is not None and (max_size is None or len(mutated.data) <= max_size):
                return mutated
            read = None if chosen != "near" else read
        if max_size is None:
            raise FramingError(f"no mutation of kind {rule or chosen!r} is possible for any of the messages")
        near = self._near(data, read, random)
        return near._replace(data=near.data[:max_size])

    def seed(self, random: Random) -> bytes:
        if not self._messages:
            self._messages = tuple(self.framing.messages())
        cls, version = random.choice(self._messages)
        _, message = random.choice(list(seeds(cls, version)))
        return self.framing.write(message, version)

    def _claimed(self, read: FuzzInput | None, kind: Kind, rule: str | None, random: Random) -> Mutation | None:
        """Make a valid or an invalid mutation, as `kind` says. If the input is invalid, mutate a seed instead."""
        changes: list[str] = []
        if read is None or read.error is not None:
            read = self.framing.read(self.seed(random))
            changes.append("a new seed")
            assert read is not None
        for _ in range(random.choice((1, 1, 2, 3)) if kind == "valid" else random.choice((0, 0, 1))):
            edit = valid_edit(read, _parts(read), random)
            edited = None if edit is None else self.framing.read(edit.spliced.data)
            if edit is not None and edited is not None:
                changes.append(f"{edit.path}: {edit.what}" if edit.path else edit.what)
                read = edited
        if kind == "valid":
            canonical = read.trace.canonical
            return Mutation(read.data, kind, tuple(changes), None, canonical, read.cls, read.version)
        broken = rule_break(read, _parts(read), random, rule)
        if broken is None:
            return None
        wrong, error = broken
        changes.append(str(error))
        return Mutation(wrong, kind, tuple(changes), error, False, read.cls, read.version)

    def _near(self, data: bytes, read: FuzzInput | None, random: Random) -> Mutation:
        """Change a random place in an input, or in a seed if `read` is None (unknown message)."""
        changes: list[str] = []
        if read is None:
            data = self.seed(random)
            read = self.framing.read(data)
            changes.append("a new seed")
            assert read is not None
        what, path, patch = bit_noise_patch(data, _parts(read), random)
        changes.append(f"{path}: {what}" if path else what)
        return Mutation(_patched(data, patch), "near", tuple(changes), None, False, read.cls, read.version)


def _parts(read: FuzzInput) -> list[InputPart]:
    return [part for message in parts_of(read) for part in message.walk()]


def _patched(data: bytes, patch: Patch) -> bytes:
    return data[: patch.start] + patch.data + data[patch.end :]
