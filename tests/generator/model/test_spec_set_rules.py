from dataclasses import replace
from pathlib import Path

import pytest

from tagwire_generator.model import MessageSummary
from tagwire_generator.model.spec_set_rules import check_set
from tagwire_generator.problems import RULES, Problem
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import find_specs
from tagwire_generator.reading.spec import load

KAFKA = Path(__file__).parents[3] / "message_specs" / "kafka"


def summary(name: str, kind: str, api_key: int | None, component: str = "clients") -> MessageSummary:
    return MessageSummary(name, kind, api_key, component, "0-3", "1+", f"{name}.json", 3, 12)


FOO = summary("FooRequest", "request", 1)
FOO_RESPONSE = summary("FooResponse", "response", 1)
BAR = summary("BarRequest", "request", 1)
KEY, VALUE = summary("K", "coordinator-key", 1), summary("V", "coordinator-value", 1)


@pytest.mark.parametrize(
    "members",
    [
        [FOO, FOO_RESPONSE],
        [replace(FOO, valid_versions="none"), replace(FOO_RESPONSE, valid_versions="none")],
        # Different kinds of messages, or different components, can share an API key.
        [FOO, FOO_RESPONSE, KEY, VALUE, summary("Record", "metadata", 1)],
        [summary(f"{c}{kind}", kind, 1, c) for c in ("a", "b") for kind in ("metadata", KEY.kind, VALUE.kind)],
        # Headers and data messages are not looked up by API key, so their keys may repeat.
        [summary("Header", "header", None), summary("Data", "data", 1), summary("Data2", "data", 1)],
        [],
    ],
)
def test_a_set_without_problems(members: list[MessageSummary]) -> None:
    assert check_set(members) == ()


def test_ranges_are_compared_as_versions() -> None:
    for flexible, differs in (("1+", False), ("1-3", False), ("9+", True), ("none", True)):
        other = replace(FOO_RESPONSE, flexible_versions=flexible)
        assert [problem.rule for problem in check_set([FOO, other])] == (["TW821"] if differs else [])


def test_requests_without_a_response_are_rejected_by_default() -> None:
    response = replace(FOO_RESPONSE, valid_versions="0")
    (rejected,) = check_set([FOO, response])
    assert (rejected.rule, rejected.severity) == ("TW808", "error")
    assert rejected.message == (
        f"FooResponse has versions 0, but FooRequest has {FOO.valid_versions}: "
        "a request of version 1 can't be answered; give both the same versions"
    )
    (problem,) = check_set([FOO, response], SpecOptions(unanswered_versions=True))
    assert (problem.rule, problem.severity) == ("TW820", "warning")


def test_the_specs_of_kafka_are_a_set_without_errors() -> None:
    specs = [load(spec.path, component=spec.component) for spec in find_specs(KAFKA)]
    assert len(specs) == 291
    assert [problem.rule for problem in check_set(spec.summary() for spec in specs)] == []


SETS = [
    ("TW801", "foo.json", [summary("foo", "data", None, "a"), summary("Foo", "data", None, "b")]),
    ("TW802", "Bar.json", [summary("Bar", "metadata", None)]),
    ("TW802", "BarRequest.json", [summary("BarRequest", "request", None)]),
    ("TW803", "Foo2Request.json", [summary("Foo2Request", "request", 1), summary("A", "request", 1), FOO_RESPONSE]),
    ("TW803", "K.json", [summary("A", "coordinator-key", 1), KEY, VALUE]),
    ("TW804", "FooRequest.json", [FOO]),
    ("TW804", "FooRequest.json", [FOO, *(replace(each, component="other") for each in (BAR, FOO_RESPONSE))]),
    ("TW805", "FooResponse.json", [FOO_RESPONSE]),
    ("TW806", "Foo.json", [replace(FOO, name="Foo", file="Foo.json"), FOO_RESPONSE]),
    ("TW807", "FooResponse.json", [FOO, replace(FOO_RESPONSE, aliases=("fooREQUEST",))]),
    ("TW807", "FooResponse.json", [replace(FOO, aliases=("Old",)), replace(FOO_RESPONSE, aliases=("Old",))]),
    ("TW808", "FooResponse.json", [replace(FOO, valid_versions="0-9"), FOO_RESPONSE]),
    ("TW808", "FooResponse.json", [FOO, replace(FOO_RESPONSE, valid_versions="1-9")]),
    ("TW820", "FooResponse.json", [FOO, replace(FOO_RESPONSE, valid_versions="0-9")]),
    ("TW821", "FooResponse.json", [FOO, replace(FOO_RESPONSE, flexible_versions="2+")]),
    ("TW822", "BarResponse.json", [FOO, replace(FOO_RESPONSE, name="BarResponse", file="BarResponse.json")]),
    ("TW823", "K.json", [KEY]),
    ("TW823", "V.json", [VALUE]),
    ("TW824", "Other.json", [FOO, replace(FOO_RESPONSE, file="Other.json")]),
]


@pytest.mark.parametrize(("rule", "file", "members"), SETS)
def test_a_set_of_specs(rule: str, file: str, members: list[MessageSummary]) -> None:
    found: list[Problem] = [problem for problem in check_set(members, SpecOptions()) if problem.rule == rule]
    assert [(problem.file, problem.line, problem.column) for problem in found] == [(file, 3, 12)]


def test_every_rule_about_sets_is_seen_to_reject() -> None:
    assert {rule for rule, _, _ in SETS} == {rule for rule in RULES if rule.startswith("TW8")}
