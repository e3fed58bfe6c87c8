"""Build hooks for hatchling: compile the native engine, copy the data folders into the wheel, and make README links
absolute.

If a C compiler is available, the engine is compiled, and the wheel works for one Python version only. Without a
compiler, the wheel is pure Python and works for every version; the log and `tagwire engine` report that. Environment
variables change this:

    TAGWIRE_BUILD=require   fail if the engine does not compile (used by `make` and CI)
    TAGWIRE_BUILD=skip      build a pure wheel; neither Cython nor setuptools is fetched
    TAGWIRE_ABI=stable      build one slower binary for Python 3.11 and later, with the limited API (docs/engine.md)

`templates/` and `message_specs/` are at the top of the repository, where people look for them. An installed generator
finds them inside its own package (`tagwire_generator.project.resources`), so this hook copies them there. The setting
`force-include` in pyproject.toml would also copy them in editable installs, where nothing uses the copies.
"""

import contextlib
import os
import platform
import re
import shutil
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

DATA = {
    "templates": "tagwire_generator/templates",
    "message_specs": "tagwire_generator/message_specs",
}
PACKAGE = "runtime/tagwire"
NATIVE = f"{PACKAGE}/_native"
MODULES = {"_engine": "engine", "_columns": "columns", "_records": "records"}  # the source folder of each module
STABLE_SINCE = (3, 11)  # the lowest Python version in pyproject.toml
CHOICES = {"TAGWIRE_BUILD": ("auto", "require", "skip"), "TAGWIRE_ABI": ("version", "stable")}
COMPILE_ARGS = [
    "-O3",
    "-g0",  # keep paths of the build machine out of the binary
    "-Werror=implicit-function-declaration",  # detects functions missing from the limited API
    "-fvisibility=hidden",  # calls between C files of a module are direct, which is faster
    "-Werror=int-to-pointer-cast",  # catches objects that Cython mistook for numbers, which would crash
]


RELATIVE_LINK = re.compile(r"(?<=\]\()(?!#|[a-z]+:)")


class TagwireMetadataHook(MetadataHookInterface):
    """Sets the README in the package metadata, with absolute instead of relative links."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field `readme`. hatchling calls this for the dynamic fields of [project]."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        pages = f"{metadata['urls']['Homepage']}/blob/main/"
        metadata["readme"] = {"content-type": "text/markdown", "text": RELATIVE_LINK.sub(pages, text)}


class TagwireBuildHook(BuildHookInterface[Any]):
    """Compiles the engine, and adds it and the data folders to the wheel."""

    def dependencies(self) -> list[str]:
        """Return the packages needed to compile. hatchling installs them in an isolated environment."""
        return ["cython>=3.1,<4", "setuptools>=77"] if compiles_engine() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the engine and add files to the wheel. hatchling calls this before it collects files."""
        root = Path(self.root)
        editable = version == "editable"
        self.work = tempfile.TemporaryDirectory(prefix="tagwire-build-")
        if editable:
            remove_old_engines(root / PACKAGE)
        else:
            build_data["force_include"].update({str(root / source): target for source, target in DATA.items()})
        engine = self.engine(root)
        if not engine:
            return
        if editable:
            for module in engine:
                shutil.copy2(module, root / PACKAGE / module.name)
            return
        build_data["force_include"].update({str(module): f"tagwire/{module.name}" for module in engine})
        build_data["pure_python"] = False
        if uses_stable_abi():
            build_data["tag"] = "cp{}{}-abi3-{}".format(*STABLE_SINCE, platform_tag())
        else:
            build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete the build folder. hatchling calls this after it has written the wheel."""
        self.work.cleanup()

    def engine(self, root: Path) -> list[Path]:
        """Compile the modules in a temporary folder. Return an empty list if they aren't requested or don't compile."""
        if not compiles_engine():
            return []
        from setuptools.errors import BaseError, CCompilerError

        try:
            return compiled(root, Path(self.work.name))
        except (BaseError, CCompilerError) as error:  # Cython errors are bugs in tagwire, so don't catch them
            if choice("TAGWIRE_BUILD") == "require":
                raise
            self.app.display_warning(
                f"tagwire: the native engine did not compile ({error}), so this build only has the pure engine; "
                "set TAGWIRE_BUILD=require to make this an error"
            )
            return []


def choice(variable: str) -> str:
    """Return the value of an environment variable in CHOICES; by default, the first value listed there."""
    value = os.environ.get(variable) or CHOICES[variable][0]
    if value not in CHOICES[variable]:
        raise SystemExit(f"{variable} is {value!r}; expected {', '.join(CHOICES[variable])}")
    return value


def compiles_engine() -> bool:
    """Return whether to compile. On PyPy, the pure engine is faster than calls into the native engine."""
    build = choice("TAGWIRE_BUILD")
    return build == "require" or (build == "auto" and platform.python_implementation() == "CPython")


def uses_stable_abi() -> bool:
    """Return whether to compile for the limited API, which free-threaded Python does not have."""
    return choice("TAGWIRE_ABI") == "stable" and not sysconfig.get_config_var("Py_GIL_DISABLED")


def platform_tag() -> str:
    """Return the platform tag for the wheel's name."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def remove_old_engines(package: Path) -> None:
    """Delete engines of earlier builds: Python could import them instead of the new engine."""
    for module in MODULES:
        for suffix in (sysconfig.get_config_var("EXT_SUFFIX"), ".abi3.so", ".pyd"):
            (package / f"{module}{suffix}").unlink(missing_ok=True)


def sources_in_c(root: Path, folder: str) -> list[str]:
    """Return the C files of a module, with paths relative to the root."""
    return sorted(path.relative_to(root).as_posix() for path in (root / NATIVE / folder).glob("*.c"))


def compiled(root: Path, work: Path) -> list[Path]:
    """Compile the engine's modules in the folder `work`, and return the paths of the results."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    stable = uses_stable_abi()
    extensions = [
        Extension(
            f"tagwire.{module}",
            [f"{NATIVE}/{folder}/{module}.pyx", *sources_in_c(root, folder)],
            include_dirs=[NATIVE],
            define_macros=[("Py_LIMITED_API", "0x{:02X}{:02X}0000".format(*STABLE_SINCE))] if stable else [],
            py_limited_api=stable,
            # CFLAGS come last, because later options override earlier ones.
            extra_compile_args=[] if os.name == "nt" else [*COMPILE_ARGS, *os.environ.get("CFLAGS", "").split()],
        )
        for module, folder in MODULES.items()
    ]
    with contextlib.chdir(root):  # Cython writes source paths into modules
        modules = cythonize(extensions, build_dir=str(work), include_path=[NATIVE], quiet=True)  # type: ignore[no-untyped-call]
        command = build_ext(Distribution({"ext_modules": modules}))
        command.build_lib, command.build_temp = str(work / "lib"), str(work / "temp")
        command.parallel = True  # compile the modules at the same time, one per processor
        command.ensure_finalized()
        command.run()
    return [Path(built) for built in command.get_outputs()]
