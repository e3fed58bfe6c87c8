"""Limits on what a decoder accepts from untrusted bytes."""

from __future__ import annotations

from tagwire.arguments import check_type
from tagwire.errors import TagwireError
from tagwire.lazy import FrozenData

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import KW_ONLY
    from typing import ClassVar, Final


__all__ = ["DEFAULT_LIMITS", "Limits", "LimitsError", "check_limits"]


class LimitsError(TagwireError, ValueError):
    """Raised for an invalid limit. A limit is an integer of 0 or more; most limits can also be None."""


class Limits(FrozenData):
    """Immutable limits for untrusted input. Both engines, the record readers, the command line and Spark apply them.

    None means no limit. Even then, the input size limits memory: each element or tag takes at least one byte, and
    counts are compared with the number of remaining bytes before memory is allocated. Decompressed data can be much
    larger than the input, so `decompressed_bytes` and `decompression_ratio` always have a value.
    """

    _: KW_ONLY
    bytes: int | None = None
    """The maximum length of the input, in bytes."""
    depth: int | None = None
    """The maximum nesting depth of structs; a message without structs has depth 1."""
    elements: int | None = None
    """The maximum number of array elements in the whole input; for record batches, in one batch."""
    headers: int | None = None
    """The maximum number of headers of one record."""
    records: int | None = None
    """The maximum number of records in one batch, or of messages inside one compressed message (magic 0 or 1)."""
    unknown_tags: int | None = None
    """The maximum number of unknown tagged fields in the input."""
    unknown_tag_bytes: int | None = None
    """The maximum total size of unknown tagged fields, in bytes."""
    decompressed_bytes: int = 1 << 28
    """The maximum size of one batch after decompression, in bytes."""
    decompression_ratio: int = 1 << 12
    """The maximum ratio of decompressed to compressed bytes of one batch."""
    of_messages: ClassVar[tuple[int | None, ...]]
    """The limits that apply to each message, as one tuple, which is fast to read."""

    def __post_init__(self) -> None:
        """Raise LimitsError for a negative limit, and for a limit of the wrong type."""
        for name, limit in vars(self).items():
            if limit is None and not name.startswith("decompress"):
                continue
            if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
                from tagwire.text_format import shown

                raise LimitsError(f"Limits.{name}: expected an integer of 0 or more, got {shown(limit)}")
            vars(self)[name] = int(limit)
        of_messages = self.depth, self.bytes, self.elements, self.unknown_tags, self.unknown_tag_bytes
        vars(self)["of_messages"] = of_messages

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of all limits, sorted."""
        return sorted(cls._names)

    def allow_all_of(self, size: int, depth: int) -> bool:
        """Return whether these limits accept every input of `size` bytes with structs nested at most `depth` deep."""
        bounds = self.bytes, self.elements, self.unknown_tags, self.unknown_tag_bytes
        fits = all(most is None or size <= most for most in bounds)
        return fits and (self.depth is None or depth <= self.depth)

    @property
    def bound_nothing_counted(self) -> bool:
        """Whether the limits on bytes, depth, elements, headers and records are all None."""
        counted = self.bytes, self.depth, self.elements, self.headers, self.records
        return counted == (None,) * len(counted)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Limits are immutable; {name} can't be set")


DEFAULT_LIMITS: Final = Limits()


def check_limits(limits: object) -> None:
    """Raise TypeError unless `limits` is a Limits, for example because it is a dict instead."""
    check_type("limits", limits, Limits, "a tagwire.Limits")
