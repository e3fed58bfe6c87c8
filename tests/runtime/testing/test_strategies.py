import sys
from importlib import import_module
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

import tagwire_messages
from tagwire.errors import MissingExtraError
from tagwire.testing import assert_wire, messages
from tagwire.testing.strategies import _primitive
from tagwire.wire.extensions import with_arguments
from tagwire_drafts import kip482_rpcs
from tagwire_messages import FetchRequest, HeartbeatRequest

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


@pytest.mark.parametrize(("version", "flag", "tags"), [(4, True, (0, 1)), (3, True, (0,)), (4, False, (0,))])
def test_strategy_generates_all_edge_cases(version: int, flag: bool, tags: tuple[int, ...]) -> None:
    seen: set[tuple[int, int]] = set()

    @given(messages(HeartbeatRequest, version, unknown_tags=flag))
    @settings(max_examples=300, database=None, derandomize=True)
    def look(message: HeartbeatRequest) -> None:
        seen.add((message.group_instance_id is None, bool(message.unknown_tags)))

    look()
    assert seen == {*product((0, 1), tags)}


def test_strategy_finds_long_strings_and_fields_at_their_default() -> None:
    byte: Any = with_arguments("bytes[1]", None, "decimal(3,0)")
    for strategy, is_found in (
        (messages(HeartbeatRequest, 4), lambda each: len(each.group_id) == 127),
        (messages(FetchRequest, 15), lambda each: each.replica_state.replica_id == -1),
        (_primitive(byte), lambda each: each == b"\x80"),
    ):
        find(strategy, is_found, settings=settings(database=None, derandomize=True, phases=[Phase.generate]))


def test_the_error_without_hypothesis_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "tagwire.testing.strategies")
    with pytest.raises(MissingExtraError, match=r"is not installed; install it with: pip install hypothesis$"):
        import_module("tagwire.testing.strategies")
