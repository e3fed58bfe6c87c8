"""Kafka's error codes out of a release jar: number, name, and whether a retry may help; nothing else is taken.

No spec has them. They are an enum of the clients, `Errors`, each constant with
a name, a number, and the exception that it becomes; those that descend from
`RetriableException` may pass.
"""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tagwire.errors import SpecError, TagwireError
from tagwire_generator.archive.class_file import ClassFile
from tagwire_generator.archive.release_source import ZIP_FAULTS, release_name
from tagwire_generator.model.register_spec import Entry
from tagwire_generator.project.release_order import release_order

__all__ = ["error_codes", "import_error_codes"]

_ENUM: Final = "org/apache/kafka/common/protocol/Errors"
_RETRIABLE: Final = "org/apache/kafka/common/errors/RetriableException"
_CLASS_BYTES: Final = 1 << 20
"""The most that one class may have; the enum of Kafka 4.4.0 has 40 kB."""


def import_error_codes(jars: list[Path], file: Path) -> Path:
    """Write the register of the newest of these jars that has the enum; gives that jar.

    Raises SpecError where none has it or it can't be read, TagwireError for a file that can't be written.
    """
    for jar in sorted(jars, key=lambda jar: release_order(release_name(jar)), reverse=True):
        if not jar.is_file():
            continue
        entries = error_codes(jar)
        if entries:
            try:
                file.write_text(_text(entries, jar), encoding="utf-8")
            except OSError as error:
                raise TagwireError(f"{file}: can't be written: {error.strerror}") from None
            return jar
    raise SpecError(f"none of the {len(jars)} sources is a jar with error codes; kafka-clients has them")


def error_codes(jar: Path) -> list[Entry]:
    """The error codes of a jar, by number; none where it has no such enum. Raises SpecError."""
    try:
        with zipfile.ZipFile(jar) as archive:
            if f"{_ENUM}.class" not in archive.namelist():
                return []
            enum = _class(archive, jar, _ENUM)
            found = [_entry(archive, jar, *row) for row in _constants(enum)]
    except ZIP_FAULTS as error:
        raise SpecError(f"{jar}: not a jar that can be read: {error}", file=str(jar)) from None
    return sorted(found, key=lambda entry: entry.key)


def _constants(enum: ClassFile) -> Iterator[tuple[str, int, str]]:
    """Name, number and exception of each constant: what is passed between its `new` and its field."""
    texts: list[str] = []
    numbers: list[int] = []
    made = ""
    for step in enum.initializer():
        if step.what == "new" and step.value == enum.name:
            texts, numbers, made = [], [], ""
        elif step.what == "text":
            texts.append(step.value)
        elif step.what == "number":
            numbers.append(step.value)
        elif step.what == "lambda":
            made = step.value
        elif step.what == "field" and texts:
            if len(numbers) < 2:
                raise SpecError(f"{enum.origin}: its constant {texts[0]} has no number", file=enum.origin)
            yield texts[0], numbers[1], made  # the first number is the ordinal
            texts = []


def _entry(archive: zipfile.ZipFile, jar: Path, name: str, key: int, exception: str) -> Entry:
    return Entry(key=key, name=name, retriable=_is_retriable(archive, jar, exception) or None)


def _is_retriable(archive: zipfile.ZipFile, jar: Path, name: str) -> bool:
    seen: set[str] = set()
    while f"{name}.class" in archive.namelist() and name not in seen:
        if name == _RETRIABLE:
            return True
        seen.add(name)
        name = _class(archive, jar, name).parent
    return False


def _class(archive: zipfile.ZipFile, jar: Path, name: str) -> ClassFile:
    with archive.open(f"{name}.class") as file:
        data = file.read(_CLASS_BYTES + 1)
    if len(data) > _CLASS_BYTES:
        raise SpecError(f"{jar}: {name} has more than {_CLASS_BYTES} bytes", file=str(jar))
    return ClassFile(data, f"{jar}!{name}.class")


def _text(entries: list[Entry], jar: Path) -> str:
    """The register, a line an entry."""
    rows = [{"key": each.key, "name": each.name, **({"retriable": True} if each.retriable else {})} for each in entries]
    head = f"// Written by `tagwire import --error-codes` from {jar.name}; not to be edited."
    lines = ",\n".join(f"    {json.dumps(row)}" for row in rows)
    about = "What went wrong, by the number in a response."
    return (
        f'{head}\n{{\n  "name": "ErrorCode",\n  "type": "register",\n  "keys": "int16",\n'
        f'  "about": "{about}",\n  "entries": [\n{lines}\n  ]\n}}\n'
    )
