import pytest

from tagwire.records import Record, build, format_names
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
