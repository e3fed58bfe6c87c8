import pytest
from command import rejected, tagwire_outcome, tagwire_output, tagwire_result

from tagwire.records import Record, build, read_batches

ONE = build([Record(5, 300, b"k", b"v")], "v1").encode()
PACKED = build([Record(5, 300, b"k", b"v", (("h", None),))], "v2", compression="gzip").encode()


def test_convert() -> None:
    result = tagwire_result("convert", "v3", stdin=ONE + ONE, code=0)
    assert result.stderr == ""
    assert [record.offset for batch in read_batches(result.stdout_bytes, "v3") for record in batch] == [5, 5]


def test_convert_reports_losses() -> None:
    result = tagwire_result("convert", "v1", stdin=PACKED, code=1)
    assert "batch at offset 5: records[0].headers[0]: records have no headers in that format" in result.stderr
    assert [len(batch) for batch in read_batches(result.stdout_bytes)] == [1]
    rejected(tagwire_result("convert", "v1", "--refuse-loss", stdin=PACKED), code=1)


def test_convert_in_hex() -> None:
    assert bytes.fromhex(tagwire_output("convert", "v1", "--hex", stdin=ONE.hex())) == ONE


@pytest.mark.parametrize(
    ("arguments", "data", "code", "sentence"),
    [
        (("convert", "v22"), ONE, 2, "there is no record format 'v22'"),
        (("convert", "auto"), ONE, 2, "there is no record format 'auto'"),
        (("convert", "v2", "--format", "v22"), ONE, 2, "there is no record format 'v22'"),
        (("convert", "v2"), ONE[:-1], 1, "found length"),
    ],
)
def test_rejected_input(arguments: tuple[str, ...], data: bytes, code: int, sentence: str) -> None:
    found, _, err = tagwire_outcome(*arguments, stdin=data)
    assert found == code and sentence in err
