"""Violations of rules by specs."""

from collections.abc import Iterable
from dataclasses import dataclass

from tagwire.errors import SpecError
from tagwire_generator.diagnostics.problems import RULES


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that an object breaks.

    `key` is the spec key that it belongs to, `needs` the other ones that the
    rule looked at ("message:" before a key of the message): if one of these is
    wrong itself, this is a mere consequence and not worth a report. `struct`
    and `field` are positions in `MessageSpec.structs` and `StructSpec.fields`;
    None is the message itself, or the struct itself.
    """

    rule: str
    key: str
    message: str
    needs: tuple[str, ...] = ()
    field: int | None = None
    struct: int | None = None


class InvalidSpec(SpecError):
    """An object of the model that breaks rules; `violations` holds all of them, `errors` all but the warnings."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations = tuple(violations)
        self.errors = tuple(each for each in self.violations if RULES[each.rule].severity == "error")
        super().__init__(
            "; ".join(each.message for each in self.errors), rule=self.errors[0].rule, problems=self.violations
        )


def enforce(violations: Iterable[Violation]) -> tuple[Violation, ...]:
    """The violations if they are all warnings. Raises InvalidSpec if one is an error."""
    found = tuple(violations)
    if any(RULES[violation.rule].severity == "error" for violation in found):
        raise InvalidSpec(found)
    return found
