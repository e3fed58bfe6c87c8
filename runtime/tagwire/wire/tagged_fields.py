"""Tagged fields at the end of a struct, for generated serializers.

Source: KIP-482. A section has a count, and then the tag, size and data of each field, in ascending order of tags.
Unknown fields are kept as bytes, by tag, and are written again in tag order.
"""

from collections.abc import Iterable, Mapping, Sequence

from tagwire.wire.scalars import Binary, UnreadableBytes, UnwritableValue, binary, uvarint
from tagwire.wire.unknown_tags import NO_TAGS
from tagwire.wire.varint import UVARINT_MAX, put_uvarint


def tag_header(buf: bytes, pos: int, last: int) -> tuple[int, int, int]:
    """Return the tag, data end and data start of the field at `pos`. The tag must be above `last`, the previous tag."""
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
    """Read a tag section in which all tags are unknown. `first` is the first byte of the field count; it isn't 0."""
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
    """Append a section with the `known` fields, which are in tag order, and the unknown fields.

    `known_tags` are all tags that this version defines. Raises UnwritableValue if an unknown field has a known tag.
    """
    fields = known if unknown is NO_TAGS else merged_fields(known, unknown, known_tags, UVARINT_MAX)
    put_uvarint(out, len(fields))
    for tag, data in fields:
        put_uvarint(out, tag)
        put_uvarint(out, len(data))
        out += data
