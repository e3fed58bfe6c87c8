"""Parse paths to fields, such as `brokers[].host`, and check them against a message class.

A path consists of attribute names, separated by dots. `[]` after an array enters its elements. All paths of a selection
form a tree, in which paths that begin alike share nodes (`Step`).
"""

from __future__ import annotations

from re import compile as pattern

from tagwire.errors import TagwireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tagwire.message.base import Message
    from tagwire.message.field_table import FieldRow
    from tagwire.message.struct_class import Struct

_STEP = pattern(r"([^\W\d]\w*)(\[\])?")


class SelectionError(TagwireError, ValueError):
    """Raised if a path does not exist in the message, or if two paths overlap."""


class NoPathError(SelectionError):
    """Raised for a string that is not a valid path."""


class Step:
    """A field in the tree of paths.

    If `each` is set, the field is an array, and paths continue in its elements. If `is_row` is set, each element is a
    row. `column` is the index of the path that ends at this field, or None. `columns` has the indexes of all paths that
    contain the field. `steps` maps attribute names to the fields one level below.
    """

    __slots__ = ("column", "columns", "each", "is_row", "name", "steps")

    def __init__(self, name: str, *, each: bool = False) -> None:
        self.name = name
        self.each = each
        self.is_row = False
        self.column: int | None = None
        self.columns: list[int] = []
        self.steps: dict[str, Step] = {}

    def __str__(self) -> str:
        return f"{self.name}[]" if self.each else self.name


class Paths:
    """The paths of a selection. `root` is the root of their tree.

    `row_path` has the steps to the innermost array that all paths enter. The elements of this array are the rows. If
    there is no such array, or if `whole` is set, `row_path` is empty, and the message is the only row. `fields`
    contains the `FieldRow` of each path's last field.
    """

    def __init__(self, message: type[Message], strings: tuple[str, ...], *, whole: bool = False) -> None:
        self.message = message
        self.strings = strings
        self.root = Step("")
        self.fields: list[FieldRow] = []
        self.trails: list[list[FieldRow]] = []
        """For each path, the field rows that lead to its last field, outermost first."""
        self.lines = [self._add(text, column) for column, text in enumerate(strings)]
        self.row_path: list[Step] = [] if whole else _shared(self.lines)
        if self.row_path:
            self.row_path[-1].is_row = True
        self.rest = [line[len(self.row_path) :] for line in self.lines]
        """The remaining steps of each path within a row."""
        self.element: Any = _element(message, self.row_path)
        """The class of the elements that are rows, or None if they are not structs, or there are no rows."""

    def _add(self, text: str, column: int) -> list[Step]:
        at = self.root
        line: list[Step] = []
        owner: type[Struct] | None = self.message
        field: FieldRow | None = None
        trail: list[FieldRow] = []
        for name, each in self._parsed(text):
            trail += [field] if field else []
            field = _field(self.message, owner, text, name, each=each)
            # An array itself has no fields, so a path can only continue after `[]`.
            owner = field.struct if field.type.count("[]") == each else None
            known = at.steps.setdefault(name, Step(name, each=each))
            if known.each != each or known.column is not None:
                self._reject_overlap(text, known)
            known.columns.append(column)
            line.append(known)
            at = known
        if at.steps:
            self._reject_overlap(text, at)
        assert field is not None, "a path has a step"
        at.column = column
        self.fields.append(field)
        self.trails.append(trail)
        return line

    def _parsed(self, text: str) -> list[tuple[str, bool]]:
        steps = []
        for part in text.split(".") if isinstance(text, str) else ():
            found = _STEP.fullmatch(part)
            if found is None:
                break
            steps.append((found[1], found[2] is not None))
        else:
            if steps:
                return steps
        raise NoPathError(f"expected a path such as topics[].partitions[].leader_id, got {text!r}")

    def _reject_overlap(self, text: str, step: Step) -> None:
        other = next(self.strings[column] for column in step.columns)
        raise SelectionError(
            f"{self.message.NAME}: {text} and {other} overlap; select the whole field, or parts of it, but not both"
        )


def _field(message: type[Message], owner: type[Struct] | None, path: str, name: str, *, each: bool) -> FieldRow:
    rows: dict[str, FieldRow] = {} if owner is None else {row.name: row for row in owner.FIELDS}
    row = rows.get(name)
    if row is None:
        from tagwire.text_format import near

        parent = path.rpartition(".")[0]
        problem = f"{parent} has no fields" if owner is None else f"{owner.__name__} has no field {name!r}"
        raise SelectionError(f"{message.NAME}: {path}: {problem}{near(name, list(rows))}")
    is_array = row.type.startswith("[]")
    if each and not is_array:
        raise SelectionError(f"{message.NAME}: {path}: {name} is not an array; write {name} without []")
    is_last = path.endswith(name)
    if is_array and not each and not is_last:
        raise SelectionError(f"{message.NAME}: {path}: {name} is an array; write {name}[] for its elements")
    return row


def _shared(lines: list[list[Step]]) -> list[Step]:
    """Return the first steps that all paths share, up to the innermost shared array.

    For example, `topics[].name` and `topics[].partitions[].id` share the array `topics`. Return [] if there is no such
    array.
    """
    row_path: list[Step] = []
    together: list[Step] = []
    for steps in zip(*lines, strict=False):
        if any(step is not steps[0] for step in steps):
            break
        together.append(steps[0])
        if steps[0].each:
            row_path = together[:]
    return row_path


def _element(message: type[Message], row_path: list[Step]) -> type[Struct] | None:
    owner: type[Struct] | None = message
    for step in row_path:
        assert owner is not None  # only a path's last step may lead to a value that has no fields
        owner = next(row.struct for row in owner.FIELDS if row.name == step.name)
    return owner if row_path else None
