"""Check that each rule's bad example breaks that rule, and its good example breaks no rule of the same severity."""

import re
from typing import Any, Final

import pytest

from tagwire_generator.evolution import compare_specs
from tagwire_generator.model import MessageSpec
from tagwire_generator.model.spec_set_rules import check_set
from tagwire_generator.problems import CHANGE_RULES, DESIGN_RULES, RULES
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.settings import LintSettings
from tagwire_generator.project.spec_files import SpecData
from tagwire_generator.reading.imports import SharedStructs
from tagwire_generator.reading.register import registers_among
from tagwire_generator.reading.spec import ReadResult, read_spec
from tagwire_generator.rule_examples import EXAMPLES, Example
from tagwire_workbench.designs.collide import Design, conflicts
from tagwire_workbench.designs.lint import chosen, lint_set

EVERY: dict[str, Any] = {**RULES, **CHANGE_RULES, **DESIGN_RULES}
SHOWN = [rule for rule, example in EXAMPLES.items() if not example.file]
DESCRIBED = {"TW101", "TW102", "TW107", "TW312", "TW508"}
"""Rules whose examples only describe a file in words, because no short text can demonstrate the rule."""


MESSAGE: Final = {
    "name": '"Sample"',
    "type": '"data"',
    "validVersions": '"0-3"',
    "flexibleVersions": '"1+"',
    "fields": "[]",
}
REGISTER: Final = {"name": '"Sample"', "type": '"register"', "keys": '"uint32"', "entries": "[]"}
FORMAT: Final = {"name": '"Sample"', "type": '"format"', "format": '"sample"', "fields": "[]"}


def spec_texts(example: Example, text: str) -> dict[str, str]:
    """Expand an abbreviated example to whole specs. Return their texts by file name."""
    if example.whole:
        return {"Sample.json": text}
    base = base_of(example.rule)
    if not text.partition(":")[0].endswith(".json"):
        return {"Sample.json": whole_spec(base, text)}
    files: dict[str, str] = {}
    for line in text.splitlines():
        name, _, keys = line.partition(": ")
        stem = name.rpartition("/")[2].removesuffix(".json")
        own = REGISTER if '"type": "register"' in keys else base
        files[name] = whole_spec(own | {"name": f'"{stem}"'}, keys.strip()[1:-1].strip())
    return files


def base_of(rule: str) -> dict[str, str]:
    if rule in ("TW012", "TW013", "TW014", "TW015", "TW016"):
        return REGISTER
    return FORMAT if rule.startswith(("TW0", "TW914", "TL0", "TL21", "TL22")) else MESSAGE


def whole_spec(base: dict[str, str], text: str) -> str:
    if not text.startswith('"'):
        return whole_spec(base, f'"fields": [ {text} ]')
    has_none = ('"versionsWithOptional"', '"type": "struct"')
    given = {"flexibleVersions"} if any(each in text for each in has_none) else set[str]()
    given |= outer_keys(text)
    kept = ", ".join(f'"{key}": {value}' for key, value in base.items() if key not in given)
    return "{ " + ", ".join(filter(None, [kept, text])) + " }"


def outer_keys(text: str) -> set[str]:
    depth, keys = 0, set[str]()
    for found in re.finditer(r'[\[{]|[\]}]|"(\w+)":', text):
        if found[1] and not depth:
            keys.add(found[1])
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
    return keys


def read_all(texts: dict[str, str], options: SpecOptions) -> dict[str, ReadResult]:
    registers = registers_among(text.encode() for text in texts.values())
    shared = SharedStructs([SpecData(name, "", text.encode()) for name, text in texts.items()], options, registers)
    known: dict[str, Any] = {"options": options, "registers": registers, "shared": shared}
    return {name: read_spec(spec, file=name, **known) for name, spec in texts.items()}


def found(example: Example, text: str) -> list[str]:
    options = SpecOptions(tag_gaps=example.rule == "TL71", unanswered_versions=True)  # TL71 applies only with tag_gaps
    results = read_all(spec_texts(example, text), options)
    rules = [problem.rule for result in results.values() for problem in result.problems]
    specs: list[MessageSpec] = [result.message for result in results.values() if result.message]
    if any(result.has_errors for result in results.values()):
        return rules
    if example.rule.startswith("TW8"):
        rules += [problem.rule for problem in check_set([spec.summary() for spec in specs])]
    elif example.rule.startswith("TL2"):
        rules += [each.rule for each in conflicts([Design(spec.name, (spec,)) for spec in specs])]
    elif example.rule.startswith("TL"):
        rules += [each.rule for each in chosen(lint_set(specs), specs, LintSettings())]
    elif example.rule.startswith("TW9"):
        read = read_all(spec_texts(example, example.old), SpecOptions()).values()
        assert not any(result.has_errors for result in read), "what was released is no spec"
        old = [result.message for result in read]
        rules += [each.rule for each in compare_specs([spec for spec in old if spec], specs)]
    return rules


def test_every_rule_has_an_example() -> None:
    assert set(EXAMPLES) == set(EVERY)
    assert {rule for rule, example in EXAMPLES.items() if example.file} == DESCRIBED
    assert {rule for rule, example in EXAMPLES.items() if example.old} == set(CHANGE_RULES)


@pytest.mark.parametrize("rule", SHOWN)
def test_bad_example_breaks_its_rule(rule: str) -> None:
    assert rule in found(EXAMPLES[rule], EXAMPLES[rule].bad)


@pytest.mark.parametrize("rule", SHOWN)
def test_good_example_does_not_break_its_rule(rule: str) -> None:
    rules = found(EXAMPLES[rule], EXAMPLES[rule].good)
    assert rule not in rules and not [each for each in rules if EVERY[each].severity in ("error", "wire", "semantic")]
