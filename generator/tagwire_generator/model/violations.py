"""Violations of the rules for specs."""

from collections.abc import Iterable
from dataclasses import dataclass

from tagwire.errors import SpecError
from tagwire_generator.diagnostics.problems import RULES


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of a rule, found in an object of a spec.

    `key` is the spec key whose value breaks the rule. `needs` are other keys on which the violation depends;
    keys of the message have the prefix "message:". The violation isn't reported if the value of `key`
    or of one of the other keys is invalid.

    `struct` is an index in `MessageSpec.structs`, or None for the message itself. `field` is an index in
    `StructSpec.fields`, or None if the violation isn't in a field.
    """

    rule: str
    key: str
    message: str
    needs: tuple[str, ...] = ()
    field: int | None = None
    struct: int | None = None


class InvalidSpec(SpecError):
    """Raised if a model object violates rules. `violations` includes warnings, but `errors` does not."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations = tuple(violations)
        self.errors = tuple(each for each in self.violations if RULES[each.rule].severity == "error")
        super().__init__(
            "; ".join(each.message for each in self.errors), rule=self.errors[0].rule, problems=self.violations
        )


def enforce(violations: Iterable[Violation]) -> tuple[Violation, ...]:
    """Return the violations if all of them are warnings. Otherwise, raise InvalidSpec."""
    found = tuple(violations)
    if any(RULES[violation.rule].severity == "error" for violation in found):
        raise InvalidSpec(found)
    return found
