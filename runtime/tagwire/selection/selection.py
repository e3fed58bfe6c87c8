"""Read or rewrite selected fields of encoded messages: `tagwire.select`.

A selection is valid for all versions of a message. When a version is first used, the native engine prepares a plan for
reading the selected fields of that version. Without the native engine, the message is decoded, and `rows_of` reads its
values. Threads can share a selection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tagwire.arguments import check_type
from tagwire.errors import DecodeError, EncodeError, UnsupportedVersionError
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.message.base import check_message_class
from tagwire.selection.paths import Paths, SelectionError
from tagwire.wire.buffers import as_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

    from tagwire._engine import Choosing
    from tagwire.message.base import Message
    from tagwire.message.field_table import FieldRow
    from tagwire.selection.paths import Step

Row = tuple["Any", ...]


class _Drop:
    """A value that a rewrite function returns instead of a new row, to remove the row's array element."""

    def __repr__(self) -> str:
        return "tagwire.DROP"

    def __reduce__(self) -> str:
        return "DROP"  # DROP is compared with `is`, so unpickling must return this module's object


DROP: Final = _Drop()
"""A rewrite function returns this value to remove an array element from the message."""


def select(message: type[Message], *paths: str) -> Selection:
    """Select fields of a message class, to read or rewrite them in encoded messages of any version.

    A path consists of attribute names, with `[]` after an array to enter its elements:
    `topics[].partitions[].leader_id`. Raises SelectionError for a path that no version has, and for paths that overlap.

    There is a row for each element of the innermost array that all paths enter. If there is no such array, the message
    is the only row. With one path, a row is a value; with several, it is a tuple of values. If a path enters another
    array inside a row, its value is a list with one item for each element.
    """
    check_message_class(message)
    if not paths:
        raise SelectionError(f"{message.NAME}: give at least one path")
    return Selection(message, paths)


class Selection:
    """Selected fields of a message: see `select`."""

    def __init__(self, message: type[Message], paths: tuple[str, ...], *, whole: bool = False) -> None:
        self._paths = Paths(message, paths, whole=whole)
        self._plans: dict[int, Choosing | None] = {}

    @property
    def message(self) -> type[Message]:
        """The message class."""
        return self._paths.message

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths, in the same order as the values of a row."""
        return self._paths.strings

    @property
    def fields(self) -> tuple[FieldRow, ...]:
        """The last field of each path, as a `FieldRow` from the message's field table."""
        return tuple(self._paths.fields)

    def holder_versions(self, version: int) -> tuple[int | None, ...]:
        """Return, for each path, the version of the struct that contains its last field.

        It can differ from `version`, because a struct that several messages share has its own versions. Raises
        UnsupportedVersionError for an unknown version.
        """
        if version not in self.message.VERSIONS:
            raise UnsupportedVersionError(self.message.NAME, version, self.message.VERSIONS)
        found: list[int | None] = []
        for trail in self._paths.trails:
            at: int | None = version
            for row in trail:
                at = row.struct_version(at)
            found.append(at)
        return tuple(found)

    def __repr__(self) -> str:
        return f"tagwire.select({', '.join([self.message.__name__, *map(repr, self.paths)])})"

    def __reduce__(self) -> tuple[object, ...]:
        return select, (self.message, *self.paths)

    def read(self, data: Any, version: int, *, offset: int = 0, limits: Limits = DEFAULT_LIMITS) -> list[Any]:
        """Return the rows of the message from `offset` to the end of `data`, which is any bytes-like object.

        The whole message is checked, and the errors and values are the same as with `Message.decode`. A field that the
        version does not have gets its default, and a field inside a null struct is None. Raises DecodeError for invalid
        bytes, and UnsupportedVersionError for an unknown version.
        """
        rows = self.rows(data, version, offset=offset, limits=limits)
        return [row for (row,) in rows] if len(self.paths) == 1 else rows

    def rows(self, data: Any, version: int, *, offset: int = 0, limits: Limits = DEFAULT_LIMITS) -> list[Row]:
        """Return the same rows as `read`, but as tuples even if there is only one path."""
        buf = as_bytes(data)
        plan = self._plan(version)
        rows = None if plan is None else plan.read(buf, offset, limits)
        return self._read_objects(buf, version, offset, limits) if rows is None else rows

    def rewrite(
        self,
        data: Any,
        version: int,
        function: Callable[..., Any],
        *,
        append: Iterable[Any] = (),
        offset: int = 0,
        limits: Limits = DEFAULT_LIMITS,
    ) -> bytes:
        """Return `data` with new values for the selected fields.

        `function(*row)` returns a row's new values (one value, or a tuple if there are several paths), or
        `tagwire.DROP` to remove the row's element. `append` lists rows to add at the end of the array, each
        as an element object or as a row's values. All other fields, even unknown tagged fields, are copied byte for
        byte. Lengths and counts are adjusted.

        Raises the errors of `read`, and EncodeError for a value that the version can't represent. A new value for a
        field that the version does not have raises EncodeError, or is ignored if the field is `ignorable`.
        """
        buf = as_bytes(data)
        changes = Changes(self._paths, version, function, append)
        plan = self._plan(version)
        done: bytes | None = None if plan is None else plan.rewrite(buf, offset, limits, changes.make)
        if done is not None:
            return done
        if changes.rows is None:
            changes.make(self._read_objects(buf, version, offset, limits))
        from tagwire.message.field_table import layout_of
        from tagwire.selection.splicing import spliced

        layout = layout_of(self.message, version)
        rewritten = spliced(layout, buf, offset, changes, limits)
        if layout.root.has_rules:
            self._reject_broken_rules(rewritten, version, offset)
        return rewritten

    def _reject_broken_rules(self, data: bytes, version: int, offset: int) -> None:
        """Raise EncodeError if the new values break a rule about several fields, such as a union."""
        try:
            self.message.decode_from(data, version, offset)
        except DecodeError as error:
            reason = f"the new values have {error.found}; expected {error.expected}"
            raise EncodeError(reason, message_name=self.message.NAME, version=version, path=error.path) from None

    def _plan(self, version: int) -> Choosing | None:
        if not isinstance(version, int) or version not in self._plans:  # pyright: ignore[reportUnnecessaryIsInstance]
            self._plans.setdefault(version, self._made(self.message.serializer(version)))
        return self._plans[version]

    def _made(self, serializer: Any) -> Choosing | None:
        from tagwire.message.engines import engine

        if engine() == "python":
            return None
        from tagwire._engine import Choosing, NotNative, Plan

        try:
            return Choosing(serializer, self._paths, DROP) if type(serializer) is Plan else None
        except NotNative:
            return None

    def _read_objects(self, buf: bytes, version: int, offset: int, limits: Limits) -> list[Row]:
        if offset == 0:
            message = self.message.decode(buf, version, limits=limits)
        else:
            message, end = self.message.decode_from(buf, version, offset, limits=limits)
            if end != len(buf):
                from tagwire.interpreter.reader import LayoutReader
                from tagwire.message.field_table import layout_of

                LayoutReader(layout_of(self.message, version), buf, offset=end).end_of_message()
        return rows_of(message, self._paths)


def rows_of(message: Any, paths: Paths) -> list[Row]:
    """Return a message's rows, one per element of the array at `paths.row_path`. A row has the value at each path."""
    owners: list[Any] = [message]
    for step in paths.row_path:
        owners = [getattr(owner, step.name) for owner in owners if owner is not None]
        if step.each:
            owners = [element for array in owners if array is not None for element in array]
    return [tuple([_value(owner, line) for line in paths.rest]) for owner in owners]


def _value(owner: Any, line: list[Step]) -> Any:
    """Return the value at a path. This is a list if the path enters an array, or None inside a null struct or array."""
    for index, step in enumerate(line):
        if owner is None:
            return None
        owner = getattr(owner, step.name)
        if step.each:
            rest = line[index + 1 :]
            return None if owner is None else [_value(element, rest) for element in owner]
    return owner


class Changes:
    """The changes to the rows of one message.

    `rows` has the values that were read. For each row, `new` has the new values, or DROP. `appended` has the elements
    to append. `function` gets copies of lists, so that a list modified in place counts as changed.
    """

    def __init__(self, paths: Paths, version: int, function: Callable[..., Any], append: Iterable[Any]) -> None:
        check_type("function", function, Callable, "a function of the values in a row")
        check_type("append", append, Iterable, "a list of rows")
        if isinstance(append, str):
            raise TypeError(f"append: expected a list of rows, got the string {append!r:.100}; write [{append!r:.100}]")
        self.paths = paths
        self.version = version
        self.function = function
        self.append = append
        self.rows: list[Row] | None = None
        self.new: list[Any] = []
        self.appended: tuple[Any, ...] = ()

    def make(self, rows: list[Row]) -> tuple[list[Any], tuple[Any, ...]]:
        """Call `function` for each row. Return the list of its results, and the elements to append to the array."""
        self.rows = rows
        has_lists = any(step.each for line in self.paths.rest for step in line)
        self.new = [self._changed(row, has_lists=has_lists) for row in rows]
        added = list(self.append)
        if added and sum(step.each for step in self.paths.row_path) != 1:
            self._reject(
                "rows can be appended only if they are the elements of a single array; instead, select the array "
                "itself, and return it with more elements"
            )
        self.appended = tuple([self._element(row) for row in added])
        return self.new, self.appended

    def _changed(self, row: Row, *, has_lists: bool) -> Any:
        result = self.function(*map(_thawed, row) if has_lists else row)
        if result is DROP:
            if not self.paths.row_path:
                self._reject(
                    "rows can't be dropped, because no array contains all selected fields, so the only row is the "
                    "whole message"
                )
            return DROP
        values = row_of(result, len(row))
        if values is None:
            self._reject(misfit(result, len(row)))
        return tuple(map(_frozen, row, values)) if has_lists else values

    def _element(self, row: Any) -> Any:
        element = self.paths.element
        if element is None or isinstance(row, element):
            return row
        values = (row,) if len(self.paths.strings) == 1 else row
        if not isinstance(values, tuple | list) or len(values) != len(self.paths.strings):
            self._reject(
                f"an appended row must be a {element.__name__} or have a value for each of the "
                f"{len(self.paths.strings)} paths"
            )
        given = {line[0].name for line in self.paths.rest if line}
        missing = [field.name for field in element.FIELDS if field.required and field.name not in given]
        if missing:
            self._reject(
                f"an appended row has no value for {missing[0]}, which is required; select it too, or append a "
                f"{element.__name__}"
            )
        from tagwire.layout import fresh

        result = fresh(element)
        for line, value in zip(self.paths.rest, values, strict=True):
            if not line or any(step.each for step in line):
                self._reject(
                    f"an appended row must be a {element.__name__}, because one of the paths selects the whole "
                    "element, or leads into an array inside it"
                )
            owner = result
            for step in line[:-1]:
                owner = None if owner is None else getattr(owner, step.name)
            if owner is not None:
                setattr(owner, line[-1].name, value)
            elif value is not None:  # None is allowed: fields inside a null struct are read as None
                path = ".".join(step.name for step in line)
                self._reject(
                    f"an appended row can't set {path}, because it is in a struct that is null in a new "
                    f"{element.__name__}; append a {element.__name__}"
                )
        return result

    def _reject(self, reason: str) -> NoReturn:
        path = "".join(f".{step}" for step in self.paths.row_path).removeprefix(".")
        raise EncodeError(reason, message_name=self.paths.message.NAME, version=self.version, path=path)


def row_of(result: Any, width: int) -> Row | None:
    """Convert the result of a rewrite function to a tuple of `width` values, or return None if that isn't possible."""
    if width == 1:
        return (result,)
    return tuple(result) if isinstance(result, tuple | list) and len(result) == width else None


def misfit(result: Any, width: int) -> str:
    """Return an error message for a value that `row_of` rejected."""
    found = f"{len(result)} values" if isinstance(result, tuple | list) else f"a {type(result).__name__}"
    return f"expected a tuple of {width} values or tagwire.DROP from the function, got {found}"


def _thawed(value: Any) -> Any:
    return list(map(_thawed, value)) if type(value) is list else value


def _frozen(old: Any, new: Any) -> Any:
    """Convert `new` to tuples wherever `old` has lists, because native code accepts only tuples."""
    if type(old) is not list or not isinstance(new, tuple | list):
        return new
    return tuple(map(_frozen, old, new)) if len(old) == len(new) else tuple(new)
