from dataclasses import replace
from pathlib import Path

import pytest

from tagwire_generator.model import MessageSummary
from tagwire_generator.model.spec_set_rules import check_set
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import find_specs
from tagwire_generator.reading.spec import load

KAFKA = Path(__file__).parents[3] / "message_specs" / "kafka"


def summary(name: str, kind: str, api_key: int | None, component: str = "", versions: str = "0-3") -> MessageSummary:
    return MessageSummary(name, kind, api_key, component, versions, "1+", f"{component}/{name}.json", 1, 1)


@pytest.mark.parametrize(
    "members",
    [
        [summary("FooRequest", "request", 1), summary("FooResponse", "response", 1)],
        [summary("FooRequest", "request", 1, versions="none"), summary("FooResponse", "response", 1, versions="none")],
        [summary("Key", "coordinator-key", 1, "group"), summary("Value", "coordinator-value", 1, "group")],
        # Different kinds of messages, or different components, can share an API key.
        [
            *(summary(f"{c}Record", "metadata", 1, c) for c in ("a", "b")),
            *(summary(f"{c}Key", "coordinator-key", 1, c) for c in ("a", "b")),
            *(summary(f"{c}Value", "coordinator-value", 1, c) for c in ("a", "b")),
            summary("FooRequest", "request", 1, "a"),
            summary("FooResponse", "response", 1, "a"),
        ],
        # Headers and data messages are not looked up by API key, so their keys may repeat.
        [summary("Header", "header", None), summary("Data", "data", 1), summary("Data2", "data", 1)],
        [],
    ],
)
def test_a_set_without_problems(members: list[MessageSummary]) -> None:
    assert check_set(members) == ()


def test_ranges_are_compared_as_versions() -> None:
    request, response = summary("FooRequest", "request", 1), summary("FooResponse", "response", 1)
    for flexible, differs in (("1+", False), ("1-3", False), ("9+", True), ("none", True)):
        other = replace(response, flexible_versions=flexible)
        assert [problem.rule for problem in check_set([request, other])] == (["TW821"] if differs else [])


def test_requests_without_a_response_are_rejected_by_default() -> None:
    request = summary("FooRequest", "request", 1)
    response = replace(summary("FooResponse", "response", 1), valid_versions="0")
    (rejected,) = check_set([request, response])
    assert (rejected.rule, rejected.severity) == ("TW808", "error")
    assert rejected.message == (
        f"FooResponse has versions 0, but FooRequest has {request.valid_versions}: "
        "a request of version 1 can't be answered; give both the same versions"
    )
    (problem,) = check_set([request, response], SpecOptions(unanswered_versions=True))
    assert (problem.rule, problem.severity) == ("TW820", "warning")


def test_the_specs_of_kafka_are_a_set_without_errors() -> None:
    specs = [load(spec.path, component=spec.component) for spec in find_specs(KAFKA)]
    assert len(specs) == 291
    assert [problem.rule for problem in check_set(spec.summary() for spec in specs)] == []
