"""Build the engine for a free-threaded Python, and use it from several threads.

The environment variable TAGWIRE_FREE_THREADED_PYTHON names the interpreter. By default, the tests search the PATH.
To build such a Python, run `./configure --disable-gil && make` in Python's source folder.
"""

import os
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NATIVE = ROOT / "runtime" / "tagwire" / "_native"
MODULES = {"_engine": "engine", "_columns": "columns", "_records": "records"}
NAMES = ("python3.13t", "python3.14t", "python3.15t")
PYTHON = os.environ.get("TAGWIRE_FREE_THREADED_PYTHON") or next(filter(None, map(shutil.which, NAMES)), "")
COMPILER = shlex.split(os.environ.get("CC") or "cc")
SCRIPT = "import sysconfig as s; print(s.get_path('include'), s.get_config_var('EXT_SUFFIX'), sep='\\n')"


def obstacle() -> str:
    if not PYTHON:
        return f"there is no free-threaded Python: none of {', '.join(NAMES)} is on PATH"
    if os.name == "nt" or shutil.which(COMPILER[0]) is None or find_spec("Cython") is None:
        return f"building the engine needs Cython and a compiler {COMPILER[0]}"
    return ""


pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(obstacle()), reason=obstacle())]


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=NATIVE, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package tagwire, whose native modules are built for the free-threaded Python."""
    folder = tmp_path_factory.mktemp("free_threaded")
    shutil.copytree(NATIVE.parent, folder / "tagwire", ignore=shutil.ignore_patterns("_native", "*.so", "__pycache__"))
    include, suffix = run(PYTHON, "-c", SCRIPT).split()
    for module, sources in MODULES.items():
        source = folder / f"{module}.c"
        name = ("--module-name", f"tagwire.{module}")
        run(sys.executable, "-m", "cython", "-3", "-I.", *name, f"{sources}/{module}.pyx", "-o", source)
        folders = ["-I.", f"-I{sources}", f"-I{folder}", f"-I{include}"]
        options = [*folders, "-shared", "-fPIC", "-O1", "-fvisibility=hidden"]
        run(*COMPILER, *options, source, *NATIVE.glob(f"{sources}/*.c"), "-o", folder / "tagwire" / f"{module}{suffix}")
    return folder


@pytest.mark.parametrize("seed", ["1", "2"])
def test_threads_share_and_change_objects(folder: Path, seed: str) -> None:
    path = os.pathsep.join(map(str, [folder, ROOT / "generated", ROOT / "tests" / "support"]))
    program = ROOT / "tests" / "support" / "stress_threads.py"
    shown = run(PYTHON, "-X", "faulthandler", program, "15", "4", seed, PYTHONPATH=path)
    assert shown.startswith("native engine, GIL off")


def test_no_module_turns_the_gil_on(folder: Path) -> None:
    code = "import sys, tagwire._engine, tagwire._columns, tagwire._records; print(sys._is_gil_enabled())"
    assert run(PYTHON, "-W", "error", "-c", code, PYTHONPATH=str(folder)) == "False\n"


def test_python_constructs_objects(folder: Path) -> None:
    """The engine must not change a class while other threads may be calling it."""
    code = """
from tagwire._engine import construct_natively
from tagwire_messages import HeartbeatRequest
print(construct_natively(HeartbeatRequest, HeartbeatRequest.__init__), HeartbeatRequest(group_id="g").group_id)
"""
    path = os.pathsep.join(map(str, [folder, ROOT / "generated"]))
    assert run(PYTHON, "-c", code, PYTHONPATH=path) == "False g\n"
