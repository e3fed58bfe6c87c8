"""Create nearly valid bytes: a message that is changed at one position.

Faulty senders, flipped bits or version mix-ups produce such bytes. The changed position is the start of a field,
length, count or tag. Nothing else is adjusted, and a decoder may or may not detect the change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from tagwire_workbench.fuzzing.corpus.dictionary import BOUNDS
from tagwire_workbench.fuzzing.input_parts import InputPart, Patch


def bit_noise_patch(data: bytes, parts: Sequence[InputPart], random: Random) -> tuple[str, str, Patch]:
    """Change bytes at one random position. Return a description of the change, the changed field's path, and the patch.

    The position is the start of one of the `parts`, or the first byte after its length, count or tag. If there are no
    parts, the position may be anywhere.
    """
    part = random.choice(parts) if parts else None
    start = (
        random.randrange(len(data) + 1) if part is None else random.choice((part.start, part.start, part.content_start))
    )
    for _ in range(_TRIES):
        what, change = random.choice(_CHANGES)
        patch = change(data, min(start, len(data)), random)
        if data[patch.start : patch.end] != patch.data:
            return what, part.path if part else "", patch
    return "a byte appended", part.path if part else "", Patch(len(data), len(data), b"\0")


_TRIES: Final = 8
_TOKENS: Final = tuple(BOUNDS.values())


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


def _insert(data: bytes, at: int, random: Random) -> Patch:
    return Patch(at, at, random.randbytes(random.choice((1, 1, 2, 4))))


def _delete(data: bytes, at: int, random: Random) -> Patch:
    return Patch(at, min(at + random.choice((1, 1, 2, 4)), len(data)), b"")


def _double(data: bytes, at: int, random: Random) -> Patch:
    return Patch(at, at, data[at : at + random.choice((1, 2, 4, 16))])


def _marker(data: bytes, at: int, random: Random) -> Patch:
    """Replace a byte with 0, 1 or -1, which often distinguish null values, empty values and other values."""
    return Patch(at, min(at + 1, len(data)), random.choice((b"\0", b"\1", b"\xff")))


_CHANGES: Final[tuple[tuple[str, Callable[[bytes, int, Random], Patch]], ...]] = (
    ("a bit flipped", _flip),
    ("one higher or lower", _step),
    ("one higher or lower", _step),
    ("an extreme length or number", _bound),
    ("bytes inserted", _insert),
    ("bytes missing", _delete),
    ("bytes doubled", _double),
    ("another marker", _marker),
)
