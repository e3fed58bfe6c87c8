import pytest

from tagwire import UnsupportedVersionError
from tagwire.testing import assert_wire
from tagwire_messages import HeartbeatRequest, MetadataResponse

BEAT = HeartbeatRequest(group_id="g", generation_id=3, member_id="m")
GOLDEN = """
    02 67        # group_id
    00000003     # generation_id
    02 6d        # member_id
    00 00        # group_instance_id: null; no tagged fields
"""


@pytest.mark.parametrize("expected", [GOLDEN, BEAT.encode(4), BEAT.encode(4).hex()])
def test_the_right_bytes_pass(expected: str | bytes) -> None:
    assert_wire(BEAT, 4, expected)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (GOLDEN.replace("00000003", "00000007"), "byte 5: expected 07, got 03"),
        (GOLDEN + "00", "expected 11 bytes, got 10"),
        ("", "expected 0 bytes, got 10"),
    ],
)
def test_wrong_bytes_are_shown_next_to_the_right_ones(expected: str, message: str) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_wire(BEAT, 4, expected)
    text = str(caught.value)
    assert text.startswith(f"HeartbeatRequest v4 is not encoded as expected: {message}\n\nexpected:\n# Heart")
    assert text.count("encoded:\n# HeartbeatRequest v4: 10 bytes\n") == 1
    assert "     2  00 00 00 03  generation_id      int32                    3\n" in text.partition("encoded:")[2]


def test_a_message_that_does_not_come_back_is_shown() -> None:
    lossy = MetadataResponse(cluster_id="c")  # version 0 has no cluster_id
    with pytest.raises(AssertionError, match=r"not decoded as expected\n\n.*: MetadataResponse\(cluster_id='c'\)"):
        assert_wire(lossy, 0, lossy.encode(0))


@pytest.mark.parametrize(
    ("version", "expected", "error"),
    [(5, GOLDEN, UnsupportedVersionError), (4, "0g", ValueError), (4, "0", ValueError)],
)
def test_mistakes_of_the_test_itself(version: int, expected: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        assert_wire(BEAT, version, expected)
