"""Correct and report mistakes in released specs that Kafka's own reader accepts.

The spec language rejects these mistakes, because authors of new specs can correct them. Released specs can't change any
more, so they are corrected:

- text after the end of the object (a second closing bracket in 2.8.2) is removed;
- if an object has a duplicate key (3.8.1), the last value counts, as in Kafka's reader;
- a missing `flexibleVersions` (52 files up to 2.8) means none, the default at that time.
"""

import json
import re
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from tagwire_generator.diagnostics.problems import Problem
from tagwire_generator.model.field_spec import ENTITY_TYPES
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import read_spec
from tagwire_generator.syntax.canonical import plain_tree
from tagwire_generator.syntax.parse import parse
from tagwire_workbench.archive.release_source import SpecText

_FOLLOWED: Final = "TW104"
_REPEATED: Final = "TW106"
_NOT_FLEXIBLE: Final = "TW204"
_MENDED: Final = (_FOLLOWED, _REPEATED, _NOT_FLEXIBLE)


def mended(source: SpecText) -> tuple[dict[str, Any] | None, tuple[str, ...], list[Problem]]:
    """Return a spec's corrected tree of plain Python objects, notes about the corrections, and the remaining errors.

    The tree is None if errors remain. Callers must not change the tree, because it is cached.
    """
    tree, notes, errors = _mended(source.text)
    return tree, notes, [replace(problem, file=source.origin) for problem in errors]


@lru_cache(maxsize=4096)
def _mended(text: str) -> tuple[dict[str, Any] | None, tuple[str, ...], tuple[Problem, ...]]:
    """Implement `mended`. Results are cached, because most specs are the same in many releases."""
    text, notes = _without_rest(text)
    errors = _errors(text)
    if any(problem.rule not in _MENDED for problem in errors):
        return None, (), errors
    root = parse(text, file="").root
    assert root is not None, "a spec without a tree has an error that can't be corrected"
    tree: dict[str, Any] = plain_tree(root)
    notes += [f"line {each.line}: {each.message}; the last one is used" for each in errors if each.rule == _REPEATED]
    if any(problem.rule == _NOT_FLEXIBLE for problem in errors):
        tree["flexibleVersions"] = "none"
        notes.append("has no flexibleVersions; assuming none")
    if errors:  # these mistakes may have hidden others, so read the corrected spec again
        errors = _errors(json.dumps(tree))
    return (None, (), errors) if errors else (tree, tuple(notes), ())


def _errors(text: str) -> tuple[Problem, ...]:
    options = SpecOptions(entity_types=own_entity_types(text))
    return tuple(problem for problem in read_spec(text, options=options).problems if problem.severity == "error")


def own_entity_types(text: str) -> tuple[tuple[str, str], ...]:
    """Return the spec's entity types that Kafka doesn't define, as a value for the option `entity_types`.

    Forks of Kafka define such types.
    """
    names = set(re.findall(r'"entityType"\s*:\s*"(\w+)"', text)) - {"unknown", *ENTITY_TYPES}
    return tuple((name, "") for name in sorted(names))


def _without_rest(text: str) -> tuple[str, list[str]]:
    """Return the source up to the end of the spec object, and a note if there was text after it."""
    for problem in parse(text, file="").problems:
        if problem.rule == _FOLLOWED:
            lines = text.split("\n")[: problem.line]
            lines[-1] = lines[-1][: problem.column - 1]
            return "\n".join(lines), [f"line {problem.line}: {problem.message}; it is ignored"]
    return text, []
