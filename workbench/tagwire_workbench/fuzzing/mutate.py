"""Mutate messages for fuzzers and tests: valid but unusual, nearly valid, or invalid with a known reason.

    Mutator(registry, C, version)         mutates messages of one class and version
    Mutator(registry, kind="response", prefix="key")
                                          mutates any response that follows its API key and version
    mutator.mutate(data, seed)            a Mutation: new bytes, and how a decoder must treat them
    mutator(data, max_size, seed)         only bytes, as fuzzers call a custom mutator
    RULES, DIALECT_RULES                  the rules that invalid bytes break, by name: Kafka's, and tagwire's own

docs/howto-fuzzing.md shows how to use it with fuzzers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, Literal, NamedTuple

from tagwire.frames.registry import Registry
from tagwire.message.base import Message
from tagwire_workbench.fuzzing.corpus import BOUNDS, seeds
from tagwire_workbench.fuzzing.framing import FramingError, FuzzInput, InputFraming
from tagwire_workbench.fuzzing.input_parts import InputPart, Patch, parts_of
from tagwire_workbench.fuzzing.rule_breaks import DIALECT_RULES, RULES, ExpectedError, rule_break
from tagwire_workbench.fuzzing.valid_edits import valid_edit

__all__ = ["DIALECT_RULES", "RULES", "ExpectedError", "FramingError", "InputFraming", "Mutation", "Mutator"]

Kind = Literal["valid", "near", "invalid"]


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


_KINDS: Final[tuple[Kind, ...]] = ("valid", "valid", "near", "near", "invalid")
"""The kinds to choose from. A kind that is listed twice is chosen twice as often."""
_TRIES: Final = 6
_PATCH_TRIES: Final = 8
_TOKENS: Final = tuple(BOUNDS.values())


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
        if kind is not None and kind not in _KINDS:
            raise FramingError(f"unknown kind {kind!r}; kinds are {', '.join(dict.fromkeys(_KINDS))}")
        random = seed if isinstance(seed, Random) else Random(seed)
        chosen = "invalid" if rule is not None else kind if kind is not None else random.choice(_KINDS)
        read = self.framing.read(data)
        for _ in range(_TRIES if rule is None else 100 * _TRIES):
            mutated = self._near(read, random) if chosen == "near" else self._claimed(read, chosen, rule, random)
            if mutated is not None and (max_size is None or len(mutated.data) <= max_size):
                return mutated
            read = None if chosen != "near" else read
        if max_size is None:
            raise FramingError(f"no mutation of kind {rule or chosen!r} is possible for any of the messages")
        near = self._near(read, random)
        return near._replace(data=near.data[:max_size])

    def seed(self, random: Random) -> bytes:
        if not self._messages:
            self._messages = tuple(self.framing.messages())
        cls, version = random.choice(self._messages)
        _, message = random.choice(list(seeds(cls, version)))
        return self.framing.write(message, version)

    def _new(self, random: Random, changes: list[str]) -> FuzzInput:
        """Return a seed as an input, and note it in `changes`."""
        read = self.framing.read(self.seed(random))
        changes.append("a new seed")
        assert read is not None
        return read

    def _claimed(self, read: FuzzInput | None, kind: Kind, rule: str | None, random: Random) -> Mutation | None:
        """Make a valid or an invalid mutation, as `kind` says. If the input is invalid, mutate a seed instead."""
        changes: list[str] = []
        if read is None or read.error is not None:
            read = self._new(random, changes)
        for _ in range(random.choice((1, 1, 2, 3)) if kind == "valid" else random.choice((0, 0, 1))):
            what, edited = valid_edit(read, _parts(read), random) or ("", b"")
            found = self.framing.read(edited) if what else None
            if found is not None:
                changes.append(what)
                read = found
        if kind == "valid":
            canonical = read.trace.canonical
            return Mutation(read.data, kind, tuple(changes), None, canonical, read.cls, read.version)
        broken = rule_break(read, _parts(read), random, rule)
        if broken is None:
            return None
        wrong, error = broken
        changes.append(str(error))
        return Mutation(wrong, kind, tuple(changes), error, False, read.cls, read.version)

    def _near(self, read: FuzzInput | None, random: Random) -> Mutation:
        """Change a random position in an input, or in a seed if `read` is None (unknown message)."""
        changes: list[str] = []
        read = self._new(random, changes) if read is None else read
        what, path, patch = _bit_noise_patch(read.data, _parts(read), random)
        changes.append(f"{path}: {what}" if path else what)
        changed = read.data[: patch.start] + patch.data + read.data[patch.end :]
        return Mutation(changed, "near", tuple(changes), None, False, read.cls, read.version)


def _parts(read: FuzzInput) -> list[InputPart]:
    return [part for message in parts_of(read) for part in message.walk()]


def _bit_noise_patch(data: bytes, parts: Sequence[InputPart], random: Random) -> tuple[str, str, Patch]:
    """Change bytes at one random position. Return a description of the change, the changed field's path, and the patch.

    Faulty senders, flipped bits or version mix-ups cause such changes. No counts or sizes around the position are
    adjusted, and a decoder may or may not detect the change. The position is the start of one of the `parts`, or the
    first byte after its length, count or tag. If there are no parts, the position may be anywhere.
    """
    part = random.choice(parts) if parts else None
    start = (
        random.randrange(len(data) + 1) if part is None else random.choice((part.start, part.start, part.content_start))
    )
    for _ in range(_PATCH_TRIES):
        what, change = random.choice(_CHANGES)
        patch = change(data, min(start, len(data)), random)
        if data[patch.start : patch.end] != patch.data:
            return what, part.path if part else "", patch
    return "a byte appended", part.path if part else "", Patch(len(data), len(data), b"\0")


def _flip(data: bytes, at: int, random: Random) -> Patch:
    return Patch(at, at + 1, bytes([data[at] ^ 1 << random.randrange(8)])) if at < len(data) else Patch(at, at, b"")


def _step(data: bytes, at: int, random: Random) -> Patch:
    width = random.choice((1, 1, 2, 4))
    old = data[at : at + width]
    number = int.from_bytes(old, "big") + random.choice((-1, 1))
    return Patch(at, at + len(old), (number % (1 << 8 * len(old))).to_bytes(len(old), "big"))


def _bound(data: bytes, at: int, random: Random) -> Patch:
    token = random.choice(_TOKENS)
    return Patch(at, min(at + random.choice((1, len(token))), len(data)), token)


def _marker(data: bytes, at: int, random: Random) -> Patch:
    """Replace a byte with 0, 1 or -1, which often distinguish null values, empty values and other values."""
    return Patch(at, min(at + 1, len(data)), random.choice((b"\0", b"\1", b"\xff")))


_CHANGES: Final[tuple[tuple[str, Callable[[bytes, int, Random], Patch]], ...]] = (
    ("a bit flipped", _flip),
    ("one higher or lower", _step),
    ("one higher or lower", _step),
    ("an extreme length or number", _bound),
    ("bytes inserted", lambda data, at, random: Patch(at, at, random.randbytes(random.choice((1, 1, 2, 4))))),
    ("bytes missing", lambda data, at, random: Patch(at, min(at + random.choice((1, 1, 2, 4)), len(data)), b"")),
    ("bytes doubled", lambda data, at, random: Patch(at, at, data[at : at + random.choice((1, 2, 4, 16))])),
    ("another marker", _marker),
)
