import pytest

from tagwire.records import Record, build, read_batches


@pytest.mark.parametrize("own", [0, 3, 5, 99])
def test_offsets_in_a_wrapper_of_v0_are_absolute(own: int) -> None:
    data = build([Record(4, -1, b"k", b"v"), Record(5, -1, b"l", b"w")], "v0", compression="gzip").encode()
    (batch,) = read_batches(own.to_bytes(8, "big") + data[8:])
    assert [record.offset for record in batch] == [4, 5]
