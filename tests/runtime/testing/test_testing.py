from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tagwire_messages
from tagwire import UnsupportedVersionError
from tagwire.testing import assert_wire, messages
from tagwire_drafts import kip482_rpcs
from tagwire_messages import HeartbeatRequest, MetadataResponse

BEAT = HeartbeatRequest(group_id="g", generation_id=3, member_id="m")
GOLDEN = """
    02 67        # group_id
    00000003     # generation_id
    02 6d        # member_id
    00 00        # group_instance_id: null; no tagged fields
"""
PACKAGES: tuple[Any, ...] = (tagwire_messages, kip482_rpcs)
ALL = [(package.registry[name], version) for package in PACKAGES for name in package.registry.names()
       for version in package.registry[name].VERSIONS]  # fmt: skip


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


@given(st.sampled_from(ALL), st.data())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_values_of_the_strategy_fit_the_version(case: tuple[Any, int], data: st.DataObject) -> None:
    cls, version = case
    message = data.draw(messages(cls, version))
    assert version in message.supported_versions()
    assert_wire(message, version, message.encode(version))


def test_strategy_generates_all_edge_cases() -> None:
    seen: set[str] = set()

    @given(messages(HeartbeatRequest, 4))
    @settings(max_examples=300, database=None, derandomize=True)
    def look(message: HeartbeatRequest) -> None:
        seen.add("null" if message.group_instance_id is None else "text")
        seen.add("tags" if message.unknown_tags else "no tags")

    look()
    assert seen == {"null", "text", "tags", "no tags"}


@pytest.mark.parametrize(("version", "flag"), [(3, True), (4, False)])
def test_no_tags_where_none_are_requested_or_possible(version: int, flag: bool) -> None:
    @given(messages(HeartbeatRequest, version, unknown_tags=flag))
    @settings(database=None, derandomize=True)
    def look(message: HeartbeatRequest) -> None:
        assert not message.unknown_tags

    look()


def test_unknown_version() -> None:
    with pytest.raises(UnsupportedVersionError):
        messages(HeartbeatRequest, 5)
