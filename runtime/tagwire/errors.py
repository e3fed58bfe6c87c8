"""The exceptions of tagwire, in one class hierarchy, grouped by cause.

`SpecError`, `SchemaError` and `VersionsError` are for invalid specs, `EncodeError` for invalid values, `DecodeError`
for invalid bytes, `UnsupportedVersionError` for versions that a message does not have, and `MissingExtraError` for
optional libraries that are not installed. The text of each error says what is wrong and where, what was found, and what
was expected.
"""

from collections.abc import Iterable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "DecodeError",
    "EncodeError",
    "LimitError",
    "MissingExtraError",
    "SchemaError",
    "SpecError",
    "TagwireError",
    "UnsupportedVersionError",
    "VersionsError",
]


class TagwireError(Exception):
    """The base class of all errors that tagwire raises on purpose."""

    row: int | None = None
    """The number of the row that can't be encoded or decoded, if `tagwire.arrow` raised the error."""

    def __reduce__(self) -> tuple[object, ...]:
        # By default, a copy is made by calling the class with only the text, but most classes need more arguments.
        from copyreg import __newobj__  # type: ignore[attr-defined]

        return __newobj__, (type(self), *self.args), self.__dict__


class MissingExtraError(TagwireError, ImportError):
    """Raised if an optional library is not installed or, with a `problem` that describes this, is too old.

    The message says how to install the library: with an extra, or by its name if no extra installs it.
    """

    def __init__(self, library: str, extra: str = "", problem: str = "") -> None:
        problem = problem or f"{library} is not installed"
        package = f"'tagwire[{extra}]'" if extra else library
        super().__init__(f"{problem}; install it with: pip install {package}")
        self.name = library


class VersionsError(TagwireError, ValueError):
    """Raised if a string or a pair of numbers does not describe a version range."""


class SchemaError(TagwireError):
    """Raised if the definition of a layout (the fields of one version) or of a `tagwire.Schema` contradicts itself."""


class SpecError(TagwireError):
    """Raised if a message spec breaks a rule.

    `file`, `line` and `column` are the position, counted from 1. `rule` is the rule's ID, which
    `tagwire rule ID` explains. `problems` lists all problems that were found; the other attributes describe the first.
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
    """Raised if a message does not have the requested version. `supported` is the range of versions that it has."""

    def __init__(self, message_name: str, version: int, supported: object) -> None:
        if isinstance(version, int) and version.bit_length() < 128:
            text = f"{message_name} has no version {version!r}"
        else:
            found = "a larger one" if isinstance(version, int) else f"a value of type {type(version).__name__}"
            text = f"{message_name}: expected a 16-bit integer as the version, got {found}"
        super().__init__(f"{text}; supported versions are {supported}")
        self.message_name = message_name
        self.version = version
        self.supported = supported


class EncodeError(TagwireError):
    """Raised if a value can't be encoded in a version. `path` is the path of the field, in snake_case."""

    def __init__(self, reason: str, *, message_name: str, version: int | None, path: str) -> None:
        where = message_name if version is None else f"{message_name} v{version}"
        super().__init__(f"{where}: {path}: {reason}" if path else f"{where}: {reason}")
        self.message_name = message_name
        self.version = version
        self.path = path
        self.reason = reason


class DecodeError(TagwireError):
    """Raised if bytes do not match the layout.

    `path` is the field (`topics[3].partitions[0].leader_id`, "" for the message itself), `offset` is the byte position
    in the input. `found` describes what is at that position, and `expected` what should be there.
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


def details(error: DecodeError, **changes: "Any") -> "dict[str, Any]":
    """Return the keyword arguments that create a DecodeError like this one, except for the `changes`."""
    names = ("message_name", "version", "path", "offset", "found", "expected")
    return {name: getattr(error, name) for name in names} | changes


class LimitError(DecodeError):
    """Raised if input exceeds one of the limits in a `Limits` object, such as the maximum nesting depth."""
