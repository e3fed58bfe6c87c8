import os
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough
NATIVE = Path(__file__).parents[3] / "runtime" / "tagwire" / "_native"
INCLUDE = Path(sysconfig.get_path("include"))
COMPILER = shlex.split(os.environ.get("CC") or "cc")
SOURCES = sorted(path.relative_to(NATIVE).as_posix() for path in NATIVE.glob("*/*.[ch]"))


def obstacle() -> str:
    if os.name == "nt" or shutil.which(COMPILER[0]) is None:
        return f"there is no compiler {COMPILER[0]}"
    return "" if (INCLUDE / "Python.h").exists() else f"{INCLUDE} has no Python.h"


def warnings_of(source: str, *options: str) -> str:
    flags = ["-Wall", "-Wextra", "-O0", "-I.", "-isystem", str(INCLUDE), *options]
    command = [*COMPILER, *flags, "-x", "c", "-c", source, "-o", os.devnull]
    return subprocess.run(command, cwd=NATIVE, capture_output=True, text=True, check=False).stderr


@pytest.mark.skipif(bool(obstacle()), reason=obstacle())
@pytest.mark.parametrize("source", SOURCES)
def test_it_compiles_alone_without_a_warning(source: str) -> None:
    assert warnings_of(source) == ""


@pytest.mark.skipif(bool(obstacle()), reason=obstacle())
def test_a_warning_is_found(tmp_path: Path) -> None:
    for text, expected in (("static int unused(void) { return 0; }\n", "unused"), ("int f(type x);\n", "type")):
        source = tmp_path / "odd.h"
        source.write_text(text, encoding="utf-8")
        assert expected in warnings_of(str(source))
