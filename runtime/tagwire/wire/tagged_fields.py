"""Tagged fields at the end of a struct, for generated serializers.

Source: KIP-482. A section has a count, and then the tag, size and data of each field, in ascending order of tags.
Unknown fields are kept as bytes, and are written again in tag order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tagwire.wire.scalars import Binary, UnreadableBytes, UnwritableValue, binary, uvarint
from tagwire.wire.unknown_tags import NO_TAGS
from tagwire.wire.varint import UVARINT_MAX, put_uvarint, to_zigzag, uvarint_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final


def tag_header(buf: bytes, pos: int, last: int) -> tuple[int, int, int]:
    """Return (tag, end of the data, start of the data) for the field at `pos`.

    Raises UnreadableBytes for invalid bytes, such as a tag that is not above `last`, the previous tag.
    """
    tag = buf[pos]
    pos += 1
    if tag >= 0x80:
        tag, pos = uvarint(buf, pos, tag)
    size = buf[pos]
    pos += 1
    if size >= 0x80:
        size, pos = uvarint(buf, pos, size)
    end = pos + size
    if tag <= last or end > len(buf):
        raise UnreadableBytes
    return tag, end, pos


def read_tags(buf: bytes, pos: int, first: int) -> tuple[dict[int, bytes], int]:
    """Read a tag section whose tags are all unknown.

    `first`, the byte before `pos`, begins the field count. It must not be 0: callers use NO_TAGS for an empty section.
    """
    count = first
    if count >= 0x80:
        count, pos = uvarint(buf, pos, count)
    unknown = {}
    tag = -1
    for _ in range(count):
        tag, end, pos = tag_header(buf, pos, tag)
        unknown[tag] = buf[pos:end]
        pos = end
    return unknown, pos


def merged_fields(
    known: Iterable[tuple[int, Binary]], unknown: Mapping[int, Binary], known_tags: frozenset[int], highest: int
) -> list[tuple[int, Binary]]:
    """Merge known and unknown fields in tag order. Raises UnwritableValue if `unknown` has an invalid or known tag."""
    if not isinstance(unknown, Mapping):
        raise UnwritableValue
    for tag in unknown:
        if type(tag) is not int or not 0 <= tag <= highest or tag in known_tags:
            raise UnwritableValue
    return sorted([*known, *((tag, binary(data)) for tag, data in unknown.items())], key=lambda field: field[0])


def put_tags(
    out: bytearray,
    known: Sequence[tuple[int, Binary]],
    unknown: Mapping[int, Binary],
    known_tags: frozenset[int] = frozenset(),
) -> None:
    """Append a section with the known and unknown fields. `known` must be in tag order.

    `known_tags` are all tags that this version defines. Raises UnwritableValue if an unknown field has a known tag.
    """
    fields = known if unknown is NO_TAGS else merged_fields(known, unknown, known_tags, UVARINT_MAX)
    put_uvarint(out, len(fields))
    for tag, data in fields:
        put_uvarint(out, tag)
        put_uvarint(out, len(data))
        out += data


def breaks_union(unknown_tags: Mapping[int, bytes], *alternatives: Any) -> bool:
    """Return whether a union is broken: several alternatives are set, or none is set and there are no unknown tags."""
    present = len(alternatives) - alternatives.count(None)
    return present > 1 or not (present or unknown_tags)


# The draft dialect's buffer of optional fields, for generated serializers.
#
# Source: the first draft of KIP-482. The buffer has entries of length, tag (uint16) and value, in ascending order of
# tags; a length of zero ends it. The draft leaves two questions open: whether lengths are zig-zag or plain varints, and
# whether they include the tag's two bytes. Each spec answers them.

TAG_MAX: Final = 0xFFFF


class OptionalFieldsBuffer:
    """Reads and writes buffers of optional fields, as defined in the first draft of KIP-482.

    The arguments settle two questions that the draft leaves open; see `tagwire.Schema`.
    """

    __slots__ = ("_tag_bytes", "_zigzag")

    def __init__(self, length_varint: str, *, counts_tag: bool) -> None:
        self._zigzag = length_varint == "zigzag"
        self._tag_bytes = 2 if counts_tag else 0

    def header(self, buf: bytes, pos: int, last: int) -> tuple[int, int, int]:
        """Return (tag, end of the value, start of the value) for the entry at `pos`.

        At the end of the buffer, the tag is -1, and both positions are the end of the buffer. Raises UnreadableBytes
        for invalid bytes, such as a tag that is not above `last`, the previous tag.
        """
        size = buf[pos]
        pos += 1
        if size >= 0x80:
            size, pos = uvarint(buf, pos, size)
        if size == 0:
            return -1, pos, pos
        if self._zigzag:
            if size & 1:
                raise UnreadableBytes
            size >>= 1
        tag = buf[pos] << 8 | buf[pos + 1]
        pos += 2
        end = pos + size - self._tag_bytes
        if tag <= last or end <= pos or end > len(buf):
            raise UnreadableBytes
        return tag, end, pos

    def unknown_tags(self, buf: bytes, pos: int) -> tuple[Mapping[int, bytes], int]:
        """Read a buffer of unknown fields. Return a mapping from tags to data, and the position after the buffer."""
        if buf[pos] == 0:
            return NO_TAGS, pos + 1
        unknown: dict[int, bytes] = {}
        tag, stop, pos = self.header(buf, pos, -1)
        while tag >= 0:
            unknown[tag] = buf[pos:stop]
            tag, stop, pos = self.header(buf, stop, tag)
        return unknown or NO_TAGS, pos

    def put(
        self,
        out: bytearray,
        known: Sequence[tuple[int, Binary]],
        unknown: Mapping[int, Binary],
        known_tags: frozenset[int] = frozenset(),
    ) -> None:
        """Append the known and unknown fields as one buffer. `known` must be in tag order.

        `known_tags` are all tags that this version defines. Raises UnwritableValue if an unknown field has a known tag.
        """
        fields = known if unknown is NO_TAGS else merged_fields(known, unknown, known_tags, TAG_MAX)
        for tag, data in fields:
            size = len(data) + self._tag_bytes
            if size == 0:
                raise UnwritableValue  # a length of zero would end the buffer
            out += uvarint_bytes(to_zigzag(size) if self._zigzag else size)
            out += tag.to_bytes(2, "big")
            out += data
        out.append(0)
