"""Read specs from text or files.

    text -> tree with positions -> schema -> fields -> structs -> message
                                          -> entries -> register

All errors and warnings in a file are reported at once. If there are errors, the result has no message and no register.
"""

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

from tagwire.errors import SpecError
from tagwire_generator.model.message_spec import MessageSpec
from tagwire_generator.model.register_spec import RegisterSpec
from tagwire_generator.problems import CheckedText, Problem, spec_error
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.context import Reading
from tagwire_generator.reading.imports import NO_SHARED_STRUCTS, SharedStructs
from tagwire_generator.reading.message import read_message
from tagwire_generator.reading.register import Registers, read_register
from tagwire_generator.syntax.parse import parse
from tagwire_generator.syntax.spec_schema import is_register

__all__ = ["ReadResult", "load", "read_data", "read_file", "read_spec"]

_DEFAULT_OPTIONS = SpecOptions()


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The message or register (a table of named numbers) in a spec, and all problems in file order.

    If there are errors, `message` and `register` are None.
    """

    message: MessageSpec | None
    problems: tuple[Problem, ...]
    register: RegisterSpec | None = None

    @property
    def has_errors(self) -> bool:
        """Whether any problem is an error. Errors stop the generation of code."""
        return any(problem.severity == "error" for problem in self.problems)


def read_spec(
    text: str,
    *,
    file: str = "<spec>",
    component: str = "",
    options: SpecOptions = _DEFAULT_OPTIONS,
    registers: Registers | None = None,
    shared: SharedStructs | None = NO_SHARED_STRUCTS,
) -> ReadResult:
    """Read a spec from its text. Never raises an error, whatever the text is.

    `registers` are the enums that the spec can use; if None, enums are not checked. `shared` are the structs that the
    spec can import. If None, imports are not resolved, and the result for a spec with imports has no message.
    """
    document = parse(text, file=file)
    if document.root is None:
        return ReadResult(None, document.problems)
    reading = Reading(document, document.root, options, registers, shared)
    if is_register(document.root):
        register = read_register(reading, document.root, file=file)
        return ReadResult(None, _sorted(reading), register)
    message = read_message(reading, document.root, file=file, component=component)
    result = ReadResult(message, _sorted(reading))
    return ReadResult(None, result.problems) if result.has_errors else result


def _sorted(reading: Reading) -> tuple[Problem, ...]:
    problems = sorted(set(reading.problems), key=lambda problem: (problem.line, problem.column, problem.rule))
    return tuple(problems)


def read_file(
    path: str | PathLike[str],
    *,
    file: str | None = None,
    component: str = "",
    options: SpecOptions = _DEFAULT_OPTIONS,
    registers: Registers | None = None,
    shared: SharedStructs | None = NO_SHARED_STRUCTS,
) -> ReadResult:
    """Read a spec from a file. `file` is the file's name in error messages, by default the path.

    Never raises an error. If the file can't be read, the result contains a problem in line 1.
    """
    name = fspath(path) if file is None else file
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return _unreadable(CheckedText(name, ""), "TW101", 1, 1, f"the file can't be read: {reason}")
    return read_data(data, file=name, component=component, options=options, registers=registers, shared=shared)


def read_data(
    data: bytes,
    *,
    file: str = "<spec>",
    component: str = "",
    options: SpecOptions = _DEFAULT_OPTIONS,
    registers: Registers | None = None,
    shared: SharedStructs | None = NO_SHARED_STRUCTS,
) -> ReadResult:
    """Read a spec from the bytes of its file. Never raises an error: invalid UTF-8 is reported as a problem."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        source = CheckedText(file, data.decode("utf-8", "replace"))
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = (
            f"byte {error.start} of the file, 0x{data[error.start]:02x}, is not valid UTF-8; save the file as UTF-8"
        )
        return _unreadable(source, "TW102", line, column, message)
    return read_spec(text, file=file, component=component, options=options, registers=registers, shared=shared)


def load(
    path: str | PathLike[str],
    *,
    file: str | None = None,
    component: str = "",
    options: SpecOptions = _DEFAULT_OPTIONS,
    shared: SharedStructs = NO_SHARED_STRUCTS,
) -> MessageSpec:
    """Return the message in a spec file.

    If there are errors, raises a SpecError that lists all errors and warnings. Also raises SpecError for a register.
    """
    result = read_file(path, file=file, component=component, options=options, shared=shared)
    if result.register is not None:
        raise SpecError(
            f"{result.register.file}: this spec defines a register; expected a message or a record format",
            file=result.register.file,
        )
    if result.message is None:
        raise spec_error(result.problems)
    return result.message


def _unreadable(source: CheckedText, rule: str, line: int, column: int, message: str) -> ReadResult:
    return ReadResult(None, (source.problem(rule, line, column, message),))
