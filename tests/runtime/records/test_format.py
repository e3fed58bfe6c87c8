import pytest

from tagwire.layout import Condition, StructLayout
from tagwire.records import Record, build, format_names, record_items
from tagwire.records.format import Format
from tagwire.records.format_set import format_of


@pytest.mark.parametrize("name", format_names())
def test_size_that_a_batch_header_gives(name: str) -> None:
    data = build([Record(0, -1, b"k", b"v")], name).encode()
    positions = format_of(name).header_positions
    length, end = positions.length(data, 0) or (0, 0)
    assert {positions.sound_size(data[:size], 0) for size in range(end)} == {0}
    assert positions.sound_size(data[:end], 0) == positions.sound_size(b"?" + data, 1) == len(data)
    for size, expected in ((positions.least - 1, 0), (positions.least, len(data) - length + positions.least)):
        number = size.to_bytes(end - 8, "big") if end == 12 else bytes([size * (2 if name == "v3-zigzag" else 1)])
        assert positions.sound_size(data[:8] + number + data[end:], 0) == expected


def test_readers_of_magic_2_ignore_no_rule_of_a_field() -> None:
    format = Format(format_of("v2").layout)
    assert format.has_magic2_records
    for change in ({"condition": Condition("attributes", 1, 0)}, {"equals": 1}):
        items = [item.replace(**change) if item.name == "key" else item for item in format.record.items]
        format.record = StructLayout("Record", tuple(items))
        assert not record_items.fits(format)
