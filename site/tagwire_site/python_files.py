"""Collect the Python code that the playground runs in browsers: Pyodide, tagwire, and tagwire's dependencies.

There are two archives. `core.zip`, which is loaded first, contains the modules that explain bytes. `generate.zip`
contains the modules that read specs and generate code. To save time, all modules are compiled to bytecode by the same
Python that runs them. This includes the standard library: Pyodide contains its sources, and compiling these in the
browser took half of the time until the playground was ready.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import markupsafe

from tagwire_site.rendering import FOLDER, ROOT

__all__ = ["CORE", "archive_of", "write_python"]

PYODIDE: Final = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json")
LIBRARY: Final = "python_stdlib.zip"
CORE: Final = (
    "click",
    "tagwire",
    "tagwire_cli",
    "tagwire_messages",
    "tagwire_records",
    "tagwire_drafts",
    "tagwire_site",
)
"""The packages needed to explain bytes. All other packages are only needed for specs."""
_LEFT_OUT: Final = ("tagwire_spark", "pyspark_", "tagwire_drafts/kip482_rpcs", "tagwire_generator/message_specs")
_PLATFORM: Final = "pyemscripten_2026_0_wasm32"


def write_python(site: Path, npm: Path) -> None:
    """Write Pyodide, the archives, and the wheel with compiled code to the folder `playground` of the site.

    Raises CalledProcessError if pip, the wheel build or node fails.
    """
    target = site / "playground"
    target.mkdir(parents=True, exist_ok=True)
    for name in PYODIDE:
        shutil.copy(npm / "pyodide" / name, target / name)
    with tempfile.TemporaryDirectory(prefix="tagwire-site-") as work:
        wheels, modules, library = Path(work, "wheels"), Path(work, "modules"), Path(work, "library")
        _download(wheels)
        [compiled] = wheels.glob(f"*{_PLATFORM}.whl")
        shutil.move(compiled, target / "cramjam.whl")
        for wheel in sorted(wheels.glob("*.whl")):
            _unpack(wheel, modules)
        _add_own(modules)
        _unpack(npm / "pyodide" / LIBRARY, library)
        for folder in (modules, library):
            node = ("node", str(FOLDER / "playground" / "compile.mjs"), str(npm / "pyodide"), str(folder))
            subprocess.run(node, check=True)
        for name in ("core.zip", "generate.zip"):
            _pack(target / name, modules, [path for path in _files(modules) if archive_of(path) == name])
        _pack(target / LIBRARY, library, _files(library))
    script = site / "assets" / "playground-cache.js"
    archives = ("core.zip", "generate.zip", LIBRARY)
    build = hashlib.sha256(b"".join((target / name).read_bytes() for name in archives)).hexdigest()
    script.write_text(script.read_text("utf-8").replace("BUILD", build[:16]), "utf-8")


def _download(wheels: Path) -> None:
    """Download the wheels in requirements.txt, and build a pure wheel of tagwire."""
    pip = (sys.executable, "-m", "pip")
    environment = {**os.environ, "PIP_CONSTRAINT": "", "TAGWIRE_BUILD": "skip"}
    target = ("--platform", _PLATFORM, "--platform", "any", "--python-version", "3.14", "--implementation", "cp")
    requirements = str(FOLDER / "playground" / "requirements.txt")
    download = (
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        *target,
        "--abi",
        "cp314",
        "--abi",
        "none",
    )
    subprocess.run((*pip, *download, "-d", str(wheels), "-r", requirements), check=True, env=environment)
    build = ("wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(wheels), str(ROOT))
    subprocess.run((*pip, *build), check=True, env=environment)


def _unpack(wheel: Path, modules: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(modules, [name for name in archive.namelist() if not name.startswith(_LEFT_OUT)])


def _add_own(modules: Path) -> None:
    """Add the modules that no wheel contains: MarkupSafe without C code, CRC-32C, and the playground's own module."""
    folder = modules / "markupsafe"
    folder.mkdir()
    for name in ("__init__.py", "_native.py"):
        shutil.copy(Path(markupsafe.__file__).parent / name, folder / name)
    shutil.copy(FOLDER / "playground" / "google_crc32c.py", modules)
    own = modules / "tagwire_site"
    own.mkdir()
    for name in ("__init__.py", "playground.py"):
        shutil.copy(FOLDER / "tagwire_site" / name, own / name)


def archive_of(path: str) -> str:
    """Return the archive to which a file belongs; "" for a file that is not needed."""
    top = path.partition("/")[0].partition(".")[0]
    if path.endswith((".pyi", "py.typed", "RECORD", "METADATA")) and not path.endswith("dist-info/METADATA"):
        return ""
    return "core.zip" if top in (*CORE, "google_crc32c") else "generate.zip"


def _pack(target: Path, folder: Path, names: Iterable[str]) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.write(folder / name, name)


def _files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
