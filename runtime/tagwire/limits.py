"""Limits on what a decoder accepts from untrusted bytes."""

from __future__ import annotations

from tagwire.errors import TagwireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


__all__ = ["DEFAULT_LIMITS", "Limits", "LimitsError"]


class LimitsError(TagwireError, ValueError):
    """Raised for an invalid limit. A limit is an integer of 0 or more; most limits can also be None."""


class Limits:
    """Immutable limits for untrusted input. Both engines, the record readers, the command line and Spark apply them.

    None means no limit. Even then, the input size limits memory: each element or tag takes at least one byte, and
    counts are compared with the number of remaining bytes before memory is allocated. Decompressed data can be much
    larger than the input, so `decompressed_bytes` and `decompression_ratio` always have a value.
    """

    __slots__ = (
        "bytes",
        "decompressed_bytes",
        "decompression_ratio",
        "depth",
        "elements",
        "headers",
        "records",
        "unknown_tag_bytes",
        "unknown_tags",
    )

    bytes: int | None
    """The maximum length of the input, in bytes."""
    depth: int | None
    """The maximum nesting depth of structs; a message without structs has depth 1."""
    elements: int | None
    """The maximum number of array elements in the whole input; for record batches, in one batch."""
    headers: int | None
    """The maximum number of headers of one record."""
    records: int | None
    """The maximum number of records in one batch, or of messages inside one compressed message (magic 0 or 1)."""
    unknown_tags: int | None
    """The maximum number of unknown tagged fields in the input."""
    unknown_tag_bytes: int | None
    """The maximum total size of unknown tagged fields, in bytes."""
    decompressed_bytes: int
    """The maximum size of one batch after decompression, in bytes."""
    decompression_ratio: int
    """The maximum ratio of decompressed to compressed bytes of one batch."""

    def __init__(
        self,
        *,
        bytes: int | None = None,
        depth: int | None = None,
        elements: int | None = None,
        headers: int | None = None,
        records: int | None = None,
        unknown_tags: int | None = None,
        unknown_tag_bytes: int | None = None,
        decompressed_bytes: int = 1 << 28,
        decompression_ratio: int = 1 << 12,
    ) -> None:
        """Raises LimitsError for a negative limit, and for a limit of the wrong type."""
        values = locals()
        for name in self.__slots__:
            limit = values[name]
            if limit is None and not name.startswith("decompress"):
                pass
            elif isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
                from tagwire.text_format import shown

                raise LimitsError(f"Limits.{name}: expected an integer of 0 or more, got {shown(limit)}")
            object.__setattr__(self, name, limit if limit is None else int(limit))

    def allow_all_of(self, size: int, depth: int) -> bool:
        """Return whether these limits accept every input of `size` bytes with structs nested at most `depth` deep."""
        return (
            (self.depth is None or depth <= self.depth)
            and (self.bytes is None or size <= self.bytes)
            and (self.elements is None or size <= self.elements)
            and (self.unknown_tags is None or size <= self.unknown_tags)
            and (self.unknown_tag_bytes is None or size <= self.unknown_tag_bytes)
        )

    @property
    def bound_nothing_counted(self) -> bool:
        """Whether the limits on bytes, depth, elements, headers and records are all None."""
        counted = self.bytes, self.depth, self.elements, self.headers, self.records
        return counted == (None,) * len(counted)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Limits are immutable; {name} can't be set")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Limits):
            return NotImplemented
        return self is other or all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self.__slots__))

    def __repr__(self) -> str:
        changed = (name for name in self.__slots__ if getattr(self, name) != getattr(DEFAULT_LIMITS, name))
        return f"Limits({', '.join(f'{name}={getattr(self, name)}' for name in changed)})"

    def __reduce__(self) -> tuple[object, tuple[dict[str, int | None]]]:
        return _limits, ({name: getattr(self, name) for name in self.__slots__},)


def _limits(values: dict[str, int]) -> Limits:
    return Limits(**values)


DEFAULT_LIMITS: Final = Limits()
