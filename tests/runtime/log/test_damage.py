import struct

import pytest
from small_logs import sealed

from tagwire.layout import Fixed, Item, StructLayout
from tagwire.log import LogError
from tagwire.log.damage import Damage, SumCheck, pieces
from tagwire.log.scan import Scan
from tagwire.records import FormatSet, Record, build, format_names, format_of
from tagwire.wire.types import WIRE_TYPES


def batch(first: int, last: int | None = None) -> bytes:
    offsets = range(first, (first if last is None else last) + 1)
    return build([Record(offset, 300, b"k", b"v") for offset in offsets], "v2").encode()


def endless(first: int) -> bytes:
    """Return a batch whose length (at byte 8) exceeds the file, so that readers must search for the next batch."""
    return batch(first)[:8] + b"\x7f\xff\xff\xff" + batch(first)[12:]


def flipped(first: int) -> bytes:
    return batch(first)[:-1] + b"\x01"


def miscounted(first: int) -> bytes:
    """Return a batch of one record whose record count (at byte 57) is two. Its checksum is valid."""
    data = batch(first)
    return sealed(data[:57] + struct.pack(">i", 2) + data[61:])


def backward(first: int) -> bytes:
    """Return an empty batch with an invalid last offset delta (at byte 23) of -1. Its checksum is valid."""
    data = batch(first)
    return sealed(data[:23] + struct.pack(">i", -1) + data[27:57] + bytes(4))


def holding(first: int, *batches: bytes) -> bytes:
    """Return a damaged batch whose last record has `batches` as its value, followed by a header count of 0."""
    return endless(first) + b"".join(batches) + b"\0"


LOST, KEPT = False, True

CASES = {
    "offsets that go on": [(KEPT, batch(5, 6)), (LOST, endless(7)), (KEPT, batch(8)), (KEPT, batch(9))],
    "from the last one on": [(KEPT, batch(5, 6)), (LOST, endless(7)), (KEPT, batch(7))],
    "below the last one": [(KEPT, batch(5, 6)), (LOST, holding(7, batch(3))), (KEPT, batch(10))],
    "the last one again": [(KEPT, batch(5, 6)), (LOST, holding(7, batch(6))), (KEPT, batch(10))],
    "begins below the last one": [(KEPT, batch(5, 6)), (LOST, holding(7, batch(6, 8))), (KEPT, batch(10))],
    "below the second, above the first": [
        *[(KEPT, batch(5)), (KEPT, batch(20)), (LOST, holding(21, batch(7))), (KEPT, batch(30))],
    ],
    "below what is behind other damage": [
        *[(KEPT, batch(5)), (LOST, endless(6)), (KEPT, batch(20)), (LOST, holding(21, batch(7))), (KEPT, batch(30))],
    ],
    "nothing before it": [(LOST, endless(7)), (KEPT, batch(0))],
    "a right length, and offsets that do not go on": [(KEPT, batch(5, 6)), (LOST, flipped(7)), (KEPT, batch(3))],
    "a right length at the end": [(KEPT, batch(5)), (LOST, flipped(7))],
    "a right length, and damage behind it": [(KEPT, batch(5)), (LOST, flipped(6) + endless(7)), (KEPT, batch(8))],
    "below a wrong offset that others pass": [
        *[(KEPT, batch(5)), (KEPT, batch(10)), (LOST, endless(7)), (KEPT, batch(8)), (KEPT, batch(9, 10))],
        *[(KEPT, batch(11)), (LOST, flipped(12)), (KEPT, batch(13)), (LOST, endless(14)), (KEPT, batch(15))],
    ],
    "records that can't be read": [(KEPT, batch(5)), (LOST, endless(7) + miscounted(8)), (KEPT, batch(9))],
    "a last offset below the first": [(KEPT, batch(5)), (LOST, endless(7) + backward(8)), (KEPT, batch(9))],
    "nothing behind it": [(KEPT, batch(5)), (LOST, endless(6) + b"junk" * 40)],
}


TO_THE_END = {
    "below a wrong offset, up to the end": [
        *[(KEPT, batch(5)), (KEPT, batch(1 << 40)), (LOST, endless(7)), (KEPT, batch(8)), (KEPT, batch(9))],
    ],
    "below a wrong offset, one batch": [(KEPT, batch(1 << 40)), (LOST, endless(7)), (KEPT, batch(8))],
    "below a wrong offset, and batches in a value": [
        *[(KEPT, batch(1 << 40)), (LOST, holding(7, batch(0), batch(1))), (KEPT, batch(8)), (KEPT, batch(9))],
    ],
    "below a wrong offset, and two batches damaged": [
        *[(KEPT, batch(1 << 40)), (LOST, flipped(7) + endless(8)), (KEPT, batch(9)), (KEPT, batch(10))],
    ],
    "two wrong offsets": [
        *[(KEPT, batch(1 << 40)), (LOST, endless(7)), (KEPT, batch(8)), (KEPT, batch(1 << 41)), (LOST, endless(10))],
        *[(KEPT, batch(11)), (KEPT, batch(12))],
    ],
    "batches in the last value": [(KEPT, batch(5)), (KEPT, batch(20)), (LOST, holding(21, batch(7), batch(8)))],
}
"""Damaged logs. The batches after the damage are accepted only because they extend to the end of the file."""


def found(parts: list[tuple[bool, bytes]]) -> list[tuple[bool, int, int]]:
    ends = [sum(len(data) for _, data in parts[: number + 1]) for number in range(len(parts))]
    return [(kept, end - len(data), end) for (kept, data), end in zip(parts, ends, strict=True)]


def read(
    data: bytes, position: int = 0, last: int = -1, formats: FormatSet | None = None
) -> list[tuple[bool, int, int]]:
    rows = []
    for piece in pieces(Scan("f", data, formats or FormatSet("v2")), position, last):
        if isinstance(piece, Damage):
            rows.append((LOST, piece.position, piece.end))
        else:
            rows.append((KEPT, piece.position, piece.position + piece.size))
    return rows


@pytest.mark.parametrize("zeros", [0, 100])
@pytest.mark.parametrize("parts", CASES.values(), ids=CASES)
def test_what_is_a_batch(parts: list[tuple[bool, bytes]], zeros: int) -> None:
    expected = found(parts)
    if zeros and parts[-1][1].endswith(b"junk"):  # zeros after damage count as part of the damage
        expected[-1] = (LOST, expected[-1][1], expected[-1][2] + zeros)
    assert read(b"".join(data for _, data in parts) + bytes(zeros)) == expected


@pytest.mark.parametrize("parts", TO_THE_END.values(), ids=TO_THE_END)
def test_batches_up_to_the_end_of_the_file(parts: list[tuple[bool, bytes]]) -> None:
    assert read(b"".join(data for _, data in parts)) == found(parts)


def test_zeros_after_a_batch_do_not_confirm_it() -> None:
    """A batch before zeros may be part of a record's value. The first zero would then be the record's header count."""
    wrong, begun, rest = batch(1 << 40), endless(7), batch(8) + bytes(100)
    assert read(wrong + begun + rest) == found([(KEPT, wrong), (LOST, begun + rest)])


def test_batches_at_the_end_of_a_value_in_old_formats() -> None:
    """A batch after damage is skipped if an earlier batch has a higher offset: it may be part of a damaged value."""
    wrong, begun, later = (build([Record(n, 300, None, b"v")], "v1").encode() for n in (1 << 40, 7, 8))
    begun = begun[:8] + b"\x7f\xff\xff\xff" + begun[12:]
    expected = found([(KEPT, wrong), (LOST, begun + later)])
    assert read(wrong + begun + later, formats=FormatSet("v1")) == expected


@pytest.mark.parametrize(("last", "is_batch"), [(-1, True), (7, True), (8, False), (9, False)])
def test_from_a_position_the_last_offset_is_given(last: int, is_batch: bool) -> None:
    begun, candidate, end = endless(7), batch(8), batch(30)
    parts = [(LOST, begun), (KEPT, candidate), (LOST, b"\0"), (KEPT, end)]
    expected = found(parts if is_batch else [(LOST, begun + candidate + b"\0"), (KEPT, end)])
    assert read(b"?" * 9 + begun + candidate + b"\0" + end, 9, last) == [
        (kept, at + 9, to + 9) for kept, at, to in expected
    ]


OWN = format_of("v2").layout.replace(
    name="own",
    root=StructLayout("own", (Item("mark", Fixed(WIRE_TYPES["int8"]), default=0), *format_of("v2").root.items)),
)
"""A format like v2, but with an extra byte at the start."""


@pytest.mark.parametrize("only", [True, False])
@pytest.mark.parametrize("zeros", [0, 1, 63, 64, 65, 200, 1 << 17])
def test_a_format_that_no_pattern_finds(zeros: int, only: bool) -> None:
    formats = FormatSet(OWN, only=only)
    assert formats.pattern is None

    def own(offset: int) -> bytes:
        return build([Record(offset, 300, b"k", b"v")], formats.formats[-1]).encode()

    cut = own(6)[:9] + b"\x7f\xff\xff\xff" + own(6)[13:]
    parts = [
        (KEPT, own(5)),
        (LOST, cut + own(3) + bytes(zeros + 1)),
        (KEPT, own(7)),
        (LOST, b"\1" + cut),
        (KEPT, own(9)),
    ]
    assert read(b"".join(data for _, data in parts), formats=formats) == found(parts)


@pytest.mark.parametrize("shift", [0, 1, 8, 17, 62, 63, 64, 65])
def test_batch_header_across_two_search_windows(shift: int) -> None:
    """Find a batch header that lies across the end of a 512 KiB search window, after damage at the window's start."""
    cut = endless(7)
    junk = b"\xff" * ((1 << 19) + 1 - len(cut) - 64 + shift)
    parts = [(KEPT, batch(5)), (LOST, cut + junk), (KEPT, batch(8)), (LOST, b"\xff" * 500), (KEPT, batch(9))]
    assert read(b"".join(data for _, data in parts)) == found(parts)


_NAMES = format_names()


def batches(name: str, first: int) -> bytes:
    return build([Record(first + n, -1, b"k", b"v" * 40) for n in range(3)], name).encode()


@pytest.mark.parametrize("name", _NAMES)
def test_checksum_errors_equal_those_of_reading(name: str) -> None:
    formats, data = FormatSet(name), bytearray(batches(name, 0))
    SumCheck("f", bytes(data)).reject_wrong(0, [format_of(name)])
    data[Scan("f", bytes(data), formats).size(0) - 1] ^= 1
    with pytest.raises(LogError) as read:
        Scan("f", bytes(data), formats).batch(0)
    with pytest.raises(LogError) as caught:
        SumCheck("f", bytes(data)).reject_wrong(0, [format_of(name)])
    assert str(caught.value) == str(read.value)


@pytest.mark.parametrize("gap", [b"", bytes(200_000), b"junk" * 50_000, b"\0\x01" * 3_000])
@pytest.mark.parametrize("name", _NAMES)
def test_batches_after_damage_are_found_in_every_format(name: str, gap: bytes) -> None:
    begun, rest = batches(name, 0), batches(name, 10)
    data = bytes((begun[0] ^ 1, *begun[1:20], begun[20] ^ 1)) + begun[21:] + gap + rest
    found = [piece.position for piece in pieces(Scan("f", data, FormatSet(name))) if not isinstance(piece, Damage)]
    assert len(begun + gap) in found
