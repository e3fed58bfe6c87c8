"""Read specs from text or files.

    text -> tree with positions -> schema -> fields -> structs -> message
                                          -> entries -> register

All errors and warnings in a file are reported at once. If there are errors, the result has no message and no register.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack

from tagwire.errors import SpecError
from tagwire.versions import HIGHEST, NONE, Versions
from tagwire_generator.model.message_rules import name_violation
from tagwire_generator.model.message_spec import Fallback, MessageSpec
from tagwire_generator.model.record_format_spec import Claim, FormatSpec
from tagwire_generator.model.register_spec import RegisterSpec
from tagwire_generator.problems import CheckedText, InvalidSpec, Problem, Violation, spec_error
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.context import EVERYWHERE, STAND_IN_NAME, Part, Reading
from tagwire_generator.reading.imports import NO_SHARED_STRUCTS, ImportedStruct, SharedStructs, read_imports
from tagwire_generator.reading.keys import (
    BadValue,
    Convert,
    by_version,
    is_reversed,
    items,
    keys_of,
    read_object,
    text,
    version_range,
    whole_number,
)
from tagwire_generator.reading.register import Registers, read_register
from tagwire_generator.reading.struct import MEMBER_KEYS, StructPart, StructReader
from tagwire_generator.syntax.parse import JsonNode, Object, parse, walk
from tagwire_generator.syntax.spec_schema import key_kinds

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


class _Known(TypedDict, total=False):
    """The arguments that all readers of specs pass on to `read_spec`, which describes them."""

    component: str
    options: SpecOptions
    registers: Registers | None
    shared: SharedStructs | None


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
    if document.root.text_of("type") == "register":
        register = read_register(reading, document.root, file=file)
        return ReadResult(None, _sorted(reading), register)
    message = _read_message(reading, document.root, file=file, component=component)
    result = ReadResult(message, _sorted(reading))
    return ReadResult(None, result.problems) if result.has_errors else result


def _sorted(reading: Reading) -> tuple[Problem, ...]:
    return tuple(sorted(set(reading.problems), key=lambda each: (each.line, each.column, each.rule, each.message)))


def read_file(path: str | PathLike[str], *, file: str | None = None, **known: Unpack[_Known]) -> ReadResult:
    """Read a spec from a file. `file` is the file's name in error messages, by default the path.

    Never raises an error. If the file can't be read, the result contains a problem in line 1.
    """
    name = fspath(path) if file is None else file
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        problem = CheckedText(name, "").problem("TW101", 1, 1, f"the file can't be read: {reason}")
        return ReadResult(None, (problem,))
    return read_data(data, file=name, **known)


def read_data(data: bytes, *, file: str = "<spec>", **known: Unpack[_Known]) -> ReadResult:
    """Read a spec from the bytes of its file. Never raises an error: invalid UTF-8 is reported as a problem."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        source = CheckedText(file, data.decode("utf-8", "replace"))
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        byte = f"byte {error.start} of the file, 0x{data[error.start]:02x},"
        problem = source.problem("TW102", line, column, f"{byte} is not valid UTF-8; save the file as UTF-8")
        return ReadResult(None, (problem,))
    return read_spec(text, file=file, **known)


def decoded(data: bytes, file: str) -> str:
    """Return the text of a spec file. Raises SpecError with the position of a byte that isn't valid UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise spec_error(read_data(data, file=file).problems) from None


def load(path: str | PathLike[str], *, file: str | None = None, **known: Unpack[_Known]) -> MessageSpec:
    """Return the message in a spec file.

    If there are errors, raises a SpecError that lists all errors and warnings. Also raises SpecError for a register.
    """
    result = read_file(path, file=file, **known)
    if result.register is not None:
        raise SpecError(
            f"{result.register.file}: this spec defines a register; expected a message or a record format",
            file=result.register.file,
        )
    if result.message is None:
        raise spec_error(result.problems)
    return result.message


def _valid_range(node: JsonNode) -> Versions | None:
    versions = version_range(node)
    if versions is None:
        raise BadValue("TW113", node, "validVersions is empty; give the versions that exist, or 'none'")
    if is_reversed(node, versions):
        found = f"the range {text(node)!r} contains no version"
        raise BadValue("TW203", node, f"{found}; if the API is removed, write 'none'")
    return versions


MESSAGE_KEYS: Final = keys_of(
    "message",
    [MessageSpec],
    {
        "dialect": text,
        "validVersions": _valid_range,
        "headerVersions": lambda node: by_version(node, whole_number),
        "fallback": lambda node: read_object(node, "fallback", Fallback),
    },
    {"type": "kind", "versionsWithOptional": "optional_versions", "dialect": "is_extended"},
)
"""The keys of a message, except for `fields` and similar lists, which `reading.struct` reads."""

FORMAT_KEYS: Final[Mapping[str, Convert]] = {
    "format": text,
    "discriminator": text,
    "claims": lambda node: tuple(read_object(item, "claim", Claim) for item in items(node)),
}
"""Converters for the keys that only record formats have. Record formats also have the keys name, type and about."""

_STAND_INS: Final[dict[str, Any]] = {
    "name": STAND_IN_NAME.format(0, 0),
    "type": "data",
    "validVersions": Versions(0, HIGHEST - 1),
}
_GONE_KEYS: Final = ("name", "type", "apiKey", "validVersions")
"""The only keys that are read from the spec of a removed message (one without valid versions)."""


def _read_message(reading: Reading, node: Object, *, file: str, component: str) -> MessageSpec | None:
    """Read a message. If it has errors, report them to `reading` and return None."""
    part = Part(node)
    is_gone = node.text_of("validVersions").strip() == "none"
    is_shared = node.text_of("type") == "struct"
    keys = ("name", "type", "about") if reading.is_format else _GONE_KEYS if is_gone else tuple(MESSAGE_KEYS)
    if is_shared:
        keys = tuple(key for key in keys if key in key_kinds("sharedStruct"))
    values = {key: value for key in keys if (value := reading.value(part, key, MESSAGE_KEYS[key][1])) is not None}
    if reading.is_format:
        values["validVersions"] = Versions(0, 0)
    part.broken_keys |= _STAND_INS.keys() - values.keys()
    bad_name = name_violation(values["name"]) if "name" in values else None
    if bad_name is not None:
        reading.report_violation(bad_name, part)
        del values["name"]
        part.broken_keys.add("name")
    if not is_gone and not reading.is_format:
        _check_dialect(reading, part, values)
    reading.broken_message_keys |= part.broken_keys
    known = {**_STAND_INS, **values}
    attributes = {MESSAGE_KEYS[key][0]: value for key, value in known.items()}
    node_of = part.node_of("name")
    attributes |= {"component": component, "file": file, "line": node_of.line, "column": node_of.column}
    attributes |= {"dialect": "draft" if reading.is_draft else "released", "options": reading.options}
    attributes["is_extended"] = reading.is_extended
    if is_shared and not reading.is_draft:
        attributes["flexible_versions"] = EVERYWHERE  # a stand-in: the importing spec's flexible versions apply
    if is_gone:
        return _build(reading, part, attributes, [], StructPart(node))
    if reading.is_format:
        read = {key: reading.value(part, key, convert) for key, convert in FORMAT_KEYS.items()}
        name = "unreadable" if read["format"] is None else read["format"]
        attributes["format"] = FormatSpec(name, read["discriminator"] or "", read["claims"] or ())
    imports, imported = read_imports(reading, node, known["name"])
    root, own = _read_structs(reading, node, known["name"], known["validVersions"])
    structs: list[StructPart | ImportedStruct] = [*imported, *own]
    attributes |= {"fields": root.spec.fields, "reserved_tags": root.spec.reserved_tags}
    attributes |= {"structs": tuple(struct.spec for struct in structs), "imports": imports}
    return _build(reading, part, attributes, structs, root)


def _check_dialect(reading: Reading, part: Part, values: dict[str, Any]) -> None:
    node, broken_keys = part.node, part.broken_keys
    is_shared = node.text_of("type") == "struct"
    if not reading.is_draft:
        if "flexibleVersions" not in broken_keys and node.get("flexibleVersions") is None and not is_shared:
            reading.report("TW204", node, "the key 'flexibleVersions' is missing; use 'none' if no version is flexible")
            broken_keys.add("flexibleVersions")
        return
    if is_shared:
        message = (
            "a shared struct belongs to the released dialect, but the spec is in the draft's; remove optionalFields"
        )
        reading.report("TW701", part.node_of("type"), message)
    if reading.is_extended and node.get("dialect"):
        message = "the tagwire dialect extends the released dialect, but the spec is in the draft's; remove the key"
        reading.report("TW701", node.members["dialect"], message)
    if values.pop("flexibleVersions", None) is not None:
        message = "flexibleVersions belongs to the released dialect, but the spec is in the draft dialect; use one"
        reading.report("TW701", node.members["flexibleVersions"], message)
        broken_keys.add("flexibleVersions")
    if "versionsWithOptional" in broken_keys:
        return
    optional: Versions | None = values.get("versionsWithOptional")
    if not optional and (node_of := _first_optional_fields(node)) is not None:
        message = "optional fields need versions; give them in the message's versionsWithOptional, such as 9+"
        reading.report("TW702", node_of, message)
        broken_keys.add("versionsWithOptional")
    elif not optional:
        reading.optional_versions = NONE
    else:
        reading.optional_versions = Versions(optional.lowest, HIGHEST)
        valid: Versions | None = values.get("validVersions")
        if valid and valid.highest <= optional.highest:
            # If 12 is the message's last version, the range 9-12 has the same meaning as 9+.
            values["versionsWithOptional"] = reading.optional_versions
        elif optional != reading.optional_versions:
            # Report this error only for the message, and not again for each of its fields.
            reading.broken_message_keys.add("versionsWithOptional")


def _first_optional_fields(node: Object) -> JsonNode | None:
    found = (
        each.members["optionalFields"] for each in walk(node) if isinstance(each, Object) and each.get("optionalFields")
    )
    return next(iter(found), None)


def _read_structs(reading: Reading, node: Object, name: str, versions: Versions) -> tuple[StructPart, list[StructPart]]:
    common = [item for item in items(node.get("commonStructs")) if isinstance(item, Object)]
    reader = StructReader(reading, frozenset(item.text_of("name") for item in common))
    for item in common:
        reader.read_common(item)
    root = reader.read_message(node, name, versions)
    if len(common) < len(items(node.get("commonStructs"))):
        reading.broken_message_keys.add("structs")
    reader.check_references()
    return root, reader.structs


def _build(
    reading: Reading,
    part: Part,
    attributes: dict[str, Any],
    structs: Sequence[StructPart | ImportedStruct],
    root: StructPart,
) -> MessageSpec | None:
    message = None
    violations: tuple[Violation, ...]
    try:
        message = MessageSpec(**attributes)
        violations = message.warnings
    except InvalidSpec as invalid:
        violations = invalid.violations
    for violation in violations:
        if violation.struct is None and violation.field is None and violation.key not in MEMBER_KEYS:
            reading.report_violation(violation, part)
            continue
        struct = root if violation.struct is None else structs[violation.struct]
        if isinstance(struct, ImportedStruct):
            struct.report(reading, violation)
            continue
        node_of = struct if violation.field is None else struct.fields[violation.field]
        reading.report_violation(violation, node_of, [struct])
    if message is None and reading.shared is not None and not reading.has_errors:
        for violation in violations:  # nothing is reported yet if an imported struct is invalid
            reading.report(violation.rule, part.node_of("name"), violation.message)
    return message
