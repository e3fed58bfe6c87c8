"""Everything that tagwire raises on purpose, one tree, by whose fault it is.

A spec's (`SpecError`, `SchemaError`, `VersionsError`), a value's
(`EncodeError`), the bytes' (`DecodeError`), or a version that nobody has
(`UnsupportedVersionError`). Each message says what, where, the two facts that
disagree, and the remedy where there is one.
"""

from collections.abc import Iterable

__all__ = [
    "DecodeError",
    "EncodeError",
    "LimitError",
    "SchemaError",
    "SpecError",
    "TagwireError",
    "UnsupportedVersionError",
    "VersionsError",
]


class TagwireError(Exception):
    """The base of all errors that tagwire raises."""

    row: int | None = None
    """Where columns are encoded or decoded (`tagwire.arrow`): the row at fault."""

    def __reduce__(self) -> tuple[object, ...]:
        # A default copy calls the class with the message alone, and most of these ask for more.
        from copyreg import __newobj__  # type: ignore[attr-defined]

        return __newobj__, (type(self), *self.args), self.__dict__


class VersionsError(TagwireError, ValueError):
    """A string or a pair of numbers that is not a version range."""


class SchemaError(TagwireError):
    """A layout or a `tagwire.Schema` that contradicts itself; raised when it is built."""


class SpecError(TagwireError):
    """A message spec that breaks a rule.

    `file`, `line` and `column` (both from 1) say where, `rule` is the id
    (`tagwire rule ID` explains it). `problems` holds all that was found at
    once; the attributes are those of the first.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str = "",
        line: int = 0,
        column: int = 0,
        rule: str = "",
        problems: Iterable[object] = (),
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.column = column
        self.rule = rule
        self.problems = tuple(problems)


class UnsupportedVersionError(TagwireError):
    """A version that a message does not have. `supported` is the range of those it has."""

    def __init__(self, message_name: str, version: int, supported: object) -> None:
        super().__init__(f"{message_name} has no version {version!r}; supported versions are {supported}")
        self.message_name = message_name
        self.version = version
        self.supported = supported


class EncodeError(TagwireError):
    """A value that a version can't carry. `path` is the path of the field, in snake_case."""

    def __init__(self, reason: str, *, message_name: str, version: int | None, path: str) -> None:
        where = message_name if version is None else f"{message_name} v{version}"
        super().__init__(f"{where}: {path}: {reason}" if path else f"{where}: {reason}")
        self.message_name = message_name
        self.version = version
        self.path = path
        self.reason = reason


class DecodeError(TagwireError):
    """Bytes that do not match the layout.

    `path` is the field (`topics[3].partitions[0].leader_id`, "" for the message
    itself), `offset` the byte in the input, `found` and `expected` the two
    facts that disagree.
    """

    def __init__(
        self, *, message_name: str, version: int | None, path: str, offset: int, found: str, expected: str
    ) -> None:
        where = message_name if version is None else f"{message_name} v{version}"
        at = f"{path} at byte {offset}" if path else f"byte {offset}"
        super().__init__(f"{where}: {at}: found {found}, expected {expected}")
        self.message_name = message_name
        self.version = version
        self.path = path
        self.offset = offset
        self.found = found
        self.expected = expected


class LimitError(DecodeError):
    """Bytes that exceed a limit of a `Limits` object."""
