"""Breaches of spec rules."""

from collections.abc import Iterable
from dataclasses import dataclass

from tagwire.errors import SpecError
from tagwire_generator.diagnostics.problems import RULES


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that an object breaks.

    `key` is the spec key to blame. `needs` are other keys that the rule depends on ("message:" precedes a key of the
    message); if one of them is wrong, this violation is only a consequence and is not reported. `struct` and `field`
    are indexes of `MessageSpec.structs` and `StructSpec.fields`; None is the message or struct itself.
    """

    rule: str
    key: str
    message: str
    needs: tuple[str, ...] = ()
    field: int | None = None
    struct: int | None = None


class InvalidSpec(SpecError):
    """A model object that breaks rules; `violations` has all breaches, `errors` all but the warnings."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations = tuple(violations)
        self.errors = tuple(each for each in self.violations if RULES[each.rule].severity == "error")
        super().__init__(
            "; ".join(each.message for each in self.errors), rule=self.errors[0].rule, problems=self.violations
        )


def enforce(violations: Iterable[Violation]) -> tuple[Violation, ...]:
    """Return the violations if they are only warnings. Raises InvalidSpec for errors."""
    found = tuple(violations)
    if any(RULES[violation.rule].severity == "error" for violation in found):
        raise InvalidSpec(found)
    return found
