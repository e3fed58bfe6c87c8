"""Collect the problems in a spec while it is read.

If a key violates a rule, the violation is reported, and the key's object is built again without the key, so that the
rest of the file is checked. Violations that depend on such a key (`Part.broken_keys`) are not reported.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tagwire.versions import HIGHEST, Versions
from tagwire_generator.model.field_spec import FieldSpec
from tagwire_generator.model.import_spec import ImportSpec
from tagwire_generator.problems import InvalidSpec, Problem, Violation, quoted
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.keys import BadValue, is_reversed, version_range
from tagwire_generator.syntax.parse import JsonNode, Object, ParsedSpec, Scalar, walk
from tagwire_generator.syntax.spec_schema import is_extended, shape_errors

if TYPE_CHECKING:
    from tagwire_generator.reading.imports import SharedStructs
    from tagwire_generator.reading.register import Registers

EVERYWHERE: Final = Versions(0, HIGHEST)
"""All versions. Used in place of a missing or invalid version range, and never shown in error messages."""
STAND_IN_NAME: Final = "Unreadable{}At{}"
"""The pattern of names that replace missing and invalid names. Error messages show `'?'` instead of these names."""
_STAND_INS: Final = re.compile(STAND_IN_NAME.format(r"\d+", r"\d+"))

T = TypeVar("T", FieldSpec, ImportSpec)


class Part:
    """An object of a spec while it is read: its node in the tree, and its invalid keys (`broken_keys`).

    `spelled` maps attributes of the model to the spec's keys, if they have different names.
    """

    def __init__(self, node: Object, spelled: Mapping[str, str] | None = None) -> None:
        self.node = node
        self.broken_keys: set[str] = set()
        self._spelled = spelled or {}

    def node_of(self, key: str) -> JsonNode:
        """Return the node at which to report a problem with a key: its value or, if the key is absent, the object."""
        member = self.node.members.get(self._spelled.get(key, key))
        return self.node if member is None else member.value


class Reading:
    """The state while a spec is read: the options, and the problems found so far."""

    def __init__(
        self,
        document: ParsedSpec,
        root: Object,
        options: SpecOptions,
        registers: "Registers | None" = None,
        shared: "SharedStructs | None" = None,
    ) -> None:
        self.options = options
        self.registers = registers
        """The registers of the spec set. None if the set is unknown; then names of registers are not checked."""
        self.shared = shared
        """The shared structs that can be imported. None if imports are not resolved."""
        self.is_draft = document.is_draft
        self.is_format = root.text_of("type") == "format"
        self.is_extended = is_extended(root, by_default=options.dialect == "tagwire")
        """Whether the spec may use the extensions of the tagwire dialect."""
        self.optional_versions = EVERYWHERE
        """The versions in the draft dialect's versionsWithOptional, once these have been read."""
        self.problems: list[Problem] = [*document.problems]
        self.broken_message_keys: set[str] = set()
        """Wrong keys of the message, and "structs", "uses", "members" or "unions" if some could not be read."""
        self._source = document.source
        self._rejected: set[int] = set()
        own_types = {name for name, _ in options.entity_types}
        for error in shape_errors(root, allow_extensions=self.is_extended):
            if error.rule == "TW112" and isinstance(error.node, Scalar) and error.node.raw in own_types:
                continue  # the settings define this entity type
            self.report(error.rule, error.node, error.message)
            if error.unusable is not None:
                self._rejected.add(id(error.unusable))

    @property
    def has_errors(self) -> bool:
        """Whether any problem found so far is an error, which stops generation."""
        return any(problem.severity == "error" for problem in self.problems)

    def report(self, rule: str, node: JsonNode, message: str, *, because: str = "") -> None:
        """Report a problem at a node. If errors in another file cause the problem, `because` is that file's name."""
        problem = self._source.problem(rule, node.line, node.column, _STAND_INS.sub("'?'", message))
        self.problems.append(replace(problem, because=because) if because else problem)

    def is_rejected(self, node: JsonNode) -> bool:
        """Return whether this value, or a value inside it, violates the JSON schema for specs."""
        return bool(self._rejected) and any(id(each) in self._rejected for each in walk(node))

    def value(self, part: Part, key: str, convert: Callable[[JsonNode], Any]) -> Any:
        """Return a key's converted value, or None if it is absent or invalid. Adds an invalid key to `broken_keys`."""
        node = part.node.get(key)
        if node is None:
            return None
        if not self.is_rejected(node):
            try:
                value = convert(node)
                if convert is version_range and isinstance(node, Scalar) and is_reversed(node, value):
                    message = f"the range {quoted(node.raw)} contains no version; write 'none' if that is intended"
                    self.report("TW220", node, message)
                return value
            except BadValue as bad:
                self.report(bad.rule, bad.node, bad.message)
            except InvalidSpec as invalid:
                for violation in invalid.violations:
                    self.report(violation.rule, node, violation.message)
        part.broken_keys.add(key)
        return None

    def build(self, part: Part, values: dict[str, Any], make: Callable[[Mapping[str, Any]], T]) -> T:
        """Build an object with `make`. If values violate rules, report and drop these values, and try again."""
        while True:
            try:
                built = make(values)
            except InvalidSpec as invalid:
                broken = [violation for violation in invalid.errors if violation.key in values]
                assert broken, "each rule names a key without which it holds"
                for violation in invalid.errors:
                    self.report_violation(violation, part)
                for violation in broken:
                    part.broken_keys.add(violation.key)
                    values.pop(violation.key, None)
            else:
                for violation in built.warnings:
                    self.report_violation(violation, part)
                return built

    def report_violation(self, violation: Violation, part: Part, around: Iterable[Part] = ()) -> None:
        """Report that an object violates a rule, unless the rule depends on a value already reported as invalid."""
        broken_keys = part.broken_keys.union(*(other.broken_keys for other in around))
        for need in (violation.key, *violation.needs):
            scope, _, key = need.rpartition(":")
            if key in (self.broken_message_keys if scope else broken_keys):
                return
        self.report(violation.rule, part.node_of(violation.key), violation.message)
