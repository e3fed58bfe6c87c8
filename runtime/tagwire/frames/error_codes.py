"""The error codes in a response, each with its path, and the exception for a response that contains error codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tagwire.errors import TagwireError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tagwire.frames.registry import Registry
    from tagwire.message.field_table import FieldRow
    from tagwire.message.register import Register
    from tagwire.message.struct_class import Struct

_MOST_SHOWN: Final = 3


class ErrorFound(NamedTuple):
    """An error code in a message."""

    path: str
    """The path of the field that contains the code, such as `topics[0].partitions[2].error_code`."""
    code: Any
    """The error code, as a member of the package's enum. For an unknown code, `Register.of` creates a new member."""
    message: str | None = None
    """The peer's description of the error, if the struct has an `error_message`."""

    @property
    def is_retriable(self) -> bool:
        """Whether sending the same request again may succeed."""
        return bool(self.code.is_retriable)

    def __str__(self) -> str:
        suffix = f": {self.message}" if self.message else ""
        return f"{self.path}: {self.code} ({int(self.code)}){suffix}"


class AnswerError(TagwireError):
    """Raised for a response with error codes. `errors` lists them with their paths; `answer` is the whole response."""

    def __init__(self, answer: Any, errors: Sequence[ErrorFound]) -> None:
        more = f" and {len(errors) - _MOST_SHOWN} more" if len(errors) > _MOST_SHOWN else ""
        super().__init__(f"{answer.NAME}: {', '.join(map(str, errors[:_MOST_SHOWN]))}{more}")
        self.answer = answer
        self.errors = tuple(errors)


def error_register(registry: Registry) -> type[Register] | None:
    """Return the package's enum of error codes, or None if it has none."""
    names = sorted(registry.registers, key=lambda name: name != "ErrorCode")
    return next((cls for cls in map(registry.attribute, names) if hasattr(cls, "is_retriable")), None)


def errors_in(message: Struct, registry: Registry) -> tuple[ErrorFound, ...]:
    """Return the nonzero error codes in a message and its nested structs, in field order."""
    register = error_register(registry)
    if register is None:
        return ()
    return tuple(_walk(message, register, {path.rpartition(".")[2] for path in register.named_fields()}, ""))


def _walk(struct: Struct, register: type[Register], names: set[str], path: str) -> Iterator[ErrorFound]:
    for row in struct.FIELDS:
        value = getattr(struct, row.name)
        if row.struct is not None:
            yield from _inside(value, register, names, f"{path}{row.name}")
        elif value and isinstance(value, int) and _is_code(row, register, names):
            yield ErrorFound(path + row.name, register.of(value), getattr(struct, "error_message", None))


def _inside(value: Any, register: type[Register], names: set[str], path: str) -> Iterator[ErrorFound]:
    if isinstance(value, list | tuple):
        for index, element in enumerate(value):
            yield from _inside(element, register, names, f"{path}[{index}]")
    elif value is not None:
        yield from _walk(value, register, names, f"{path}.")


def _is_code(row: FieldRow, register: type[Register], names: set[str]) -> bool:
    return row.enum is register or row.name in names or any(row.name.endswith(f"_{name}") for name in names)
