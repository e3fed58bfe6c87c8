import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[3] / "runtime" / "tagwire" / "_native"
INCLUDE = Path(sysconfig.get_path("include"))
COMPILER = shlex.split(os.environ.get("CC") or "cc")
SOURCES = {path.relative_to(NATIVE).as_posix(): path.read_text("utf-8") for path in sorted(NATIVE.glob("*/*.[ch]"))}
INCLUDES = {source: re.findall(r'^#include "(.+)"', text, re.MULTILINE) for source, text in SOURCES.items()}
PARTS = {f"engine/{part}_impl.h" for part in ("encode_tags", "framed_decode", "framed_encode", "json_write")}
"""Headers that don't compile alone, because they use functions of the headers that include them."""

TYPE = r"^(?:\} |(?:enum|struct|union) (?=\w+ \{))(tw_\w+)"
FUNCTION = r"^(?!typedef\b)\w.*?\b(tw_\w+)\([^;{}]*\)\s*\{"


def obstacle() -> str:
    if os.name == "nt" or shutil.which(COMPILER[0]) is None:
        return f"there is no compiler {COMPILER[0]}"
    return "" if (INCLUDE / "Python.h").exists() else f"{INCLUDE} has no Python.h"


needs_compiler = pytest.mark.skipif(bool(obstacle()), reason=obstacle())


def warnings_of(source: str, *options: str) -> str:
    flags = ["-Wall", "-Wextra", "-O0", "-I.", "-isystem", str(INCLUDE), *options]
    command = [*COMPILER, *flags, "-x", "c", "-c", source, "-o", os.devnull]
    return subprocess.run(command, cwd=NATIVE, capture_output=True, text=True, check=False).stderr


@needs_compiler
@pytest.mark.thorough
@pytest.mark.parametrize("source", sorted(set(SOURCES) - PARTS))
def test_it_compiles_alone_without_a_warning(source: str) -> None:
    assert warnings_of(source) == ""


@needs_compiler
@pytest.mark.thorough
def test_a_warning_is_found(tmp_path: Path) -> None:
    for text, expected in (("static int unused(void) { return 0; }\n", "unused"), ("int f(type x);\n", "type")):
        source = tmp_path / "odd.h"
        source.write_text(text, encoding="utf-8")
        assert expected in warnings_of(str(source))


def included_by(source: str, *includers: str) -> set[str]:
    """Return the headers that a source includes, directly or through other headers. Fail if one includes itself."""
    assert source not in includers, f"{' includes '.join(includers)} includes {source}"
    found = set(INCLUDES[source])
    return found.union(*(included_by(header, *includers, source) for header in found))


@pytest.mark.parametrize("source", SOURCES)
def test_no_header_includes_itself(source: str) -> None:
    assert included_by(source) <= set(SOURCES)


@pytest.mark.parametrize("part", sorted(PARTS))
def test_how_often_a_part_is_included(part: str) -> None:
    assert sum(includes.count(part) for includes in INCLUDES.values()) == 1 + (part == "engine/json_write_impl.h")


@pytest.mark.parametrize("pattern", [TYPE, FUNCTION], ids=["types", "functions"])
def test_a_name_is_defined_in_one_file(pattern: str) -> None:
    """The same name must not mean two things in two files, even if no module contains both."""
    files: dict[str, set[str]] = {}
    for source, text in SOURCES.items():
        for name in re.findall(pattern, text, re.MULTILINE):
            files.setdefault(name, set()).add(source)
    assert len(files) > 50 and {name: found for name, found in files.items() if len(found) > 1} == {}
