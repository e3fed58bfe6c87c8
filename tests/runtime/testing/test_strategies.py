from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tagwire_messages
from tagwire.testing import assert_wire, messages
from tagwire_drafts import kip482_rpcs
from tagwire_messages import HeartbeatRequest

PACKAGES: tuple[Any, ...] = (tagwire_messages, kip482_rpcs)
ALL = [(package.registry[name], version) for package in PACKAGES for name in package.registry.names()
       for version in package.registry[name].VERSIONS]  # fmt: skip


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
