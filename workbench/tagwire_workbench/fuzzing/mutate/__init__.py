"""Mutate messages for fuzzers and tests: valid but unusual, nearly valid, or invalid with a known reason.

    Mutator(registry, C, version)         mutates messages of one class and version
    Mutator(registry, kind="response", prefix="key")
                                          mutates any response that follows its API key and version
    mutator.mutate(data, seed)            a Mutation: new bytes, and how a decoder must treat them
    mutator(data, max_size, seed)         only bytes, as fuzzers call a custom mutator
    RULES, DIALECT_RULES                  the rules that invalid bytes break, by name: Kafka's, and tagwire's own

docs/howto-fuzzing.md shows how to use it with fuzzers.
"""

from typing import TYPE_CHECKING

from tagwire.lazy import lazy_names

if TYPE_CHECKING:
    from tagwire_workbench.fuzzing.framing import FramingError, InputFraming
    from tagwire_workbench.fuzzing.mutate.mutation import ExpectedError, Mutation
    from tagwire_workbench.fuzzing.mutate.mutator import Mutator
    from tagwire_workbench.fuzzing.mutate.rule_breaks import DIALECT_RULES, RULES

__all__ = ["DIALECT_RULES", "RULES", "ExpectedError", "FramingError", "InputFraming", "Mutation", "Mutator"]

_MODULES = {
    "tagwire_workbench.fuzzing.framing": ("InputFraming", "FramingError"),
    "tagwire_workbench.fuzzing.mutate.mutation": ("ExpectedError", "Mutation"),
    "tagwire_workbench.fuzzing.mutate.mutator": ("Mutator",),
    "tagwire_workbench.fuzzing.mutate.rule_breaks": ("DIALECT_RULES", "RULES"),
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
