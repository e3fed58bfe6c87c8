"""Error codes out of a release jar: a small enum as javac makes it, and damage of all kinds."""

import zipfile
from pathlib import Path

import pytest
from class_files import ENUM, ERRORS, class_file, enum_file

from tagwire.errors import SpecError, TagwireError
from tagwire_generator.archive.class_file import ClassFile
from tagwire_generator.archive.error_codes import error_codes, import_error_codes
from tagwire_generator.reading.spec import read_file

CONSTANTS = [
    ("UNKNOWN", -1, "Base"),
    ("NONE", 0, ""),
    ("SLOW", 7, "Slow"),
    ("LATE", 300, "Late"),
    ("FAR", 40000, "Base"),
]


def jar(folder: Path, release: str = "4.4.0", *, constants: list[tuple[str, int, str]] = CONSTANTS) -> Path:
    path = folder / f"kafka-clients-{release}.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{ENUM}.class", enum_file(constants))
        archive.writestr(
            f"{ERRORS}RetriableException.class", class_file(f"{ERRORS}RetriableException", f"{ERRORS}Base")
        )
        for name, parent in (("Slow", "Late"), ("Late", "RetriableException"), ("Base", "Nobody")):
            archive.writestr(f"{ERRORS}{name}.class", class_file(ERRORS + name, ERRORS + parent))
    return path


def test_names_numbers_and_what_may_pass(tmp_path: Path) -> None:
    found = [(each.key, each.name, bool(each.retriable)) for each in error_codes(jar(tmp_path))]
    assert found == [
        (-1, "UNKNOWN", False),
        (0, "NONE", False),
        (7, "SLOW", True),
        (300, "LATE", True),
        (40000, "FAR", False),
    ]


def test_the_newest_jar_decides_and_the_register_is_a_spec(tmp_path: Path) -> None:
    old = jar(tmp_path, "3.9.2", constants=[("OLD", 0, "")])
    new = jar(tmp_path, "4.10.1", constants=[("NONE", 0, ""), ("SLOW", 7, "Slow")])
    file = tmp_path / "ErrorCode.json"
    assert import_error_codes([old, tmp_path, new], file) == new
    register = read_file(file).register
    assert register is not None
    assert [(each.key, each.name, each.retriable) for each in register.entries] == [
        (0, "NONE", None),
        (7, "SLOW", True),
    ]


def test_sources_without_error_codes(tmp_path: Path) -> None:
    empty = tmp_path / "kafka-clients-4.4.0.jar"
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("other", b"")
    with pytest.raises(SpecError, match="none of the 1 sources is a jar with error codes"):
        import_error_codes([empty], tmp_path / "out.json")
    empty.write_bytes(b"PK")
    with pytest.raises(SpecError, match="not a jar that can be read"):
        error_codes(empty)


def test_a_file_that_can_not_be_written(tmp_path: Path) -> None:
    with pytest.raises(TagwireError, match="can't be written"):
        import_error_codes([jar(tmp_path)], tmp_path)


def test_each_damaged_class_file_is_refused_or_harmless() -> None:
    whole = enum_file(CONSTANTS)
    refused = 0
    for size in range(len(whole)):
        with pytest.raises(SpecError):
            list(ClassFile(whole[:size], "x").initializer())
    for at in range(len(whole)):
        try:
            list(ClassFile(whole[:at] + b"\xff" + whole[at + 1 :], "x").initializer())
        except SpecError:
            refused += 1
    assert refused > len(whole) // 3
