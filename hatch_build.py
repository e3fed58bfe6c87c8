"""What hatchling does not do by itself: compile the native engine, bring the flat data folders into the wheel, and give
the README of a package index absolute links.

The engine is compiled where there is a compiler. A wheel then holds it and is for one Python; without a compiler it is
a pure wheel for all of them, which the log says, and `tagwire engine`. Three ways to have it otherwise:

    TAGWIRE_BUILD=require   no pure wheel: a compile error ends the build (ours: `make`, CI)
    TAGWIRE_BUILD=skip      a pure wheel; neither Cython nor setuptools is fetched
    TAGWIRE_ABI=stable      one binary for all Pythons from 3.11 on, by the limited API; slower (docs/engine.md)

`templates/` and `message_specs/` lie at the top of the repository, where people look for them; an installed generator
finds them inside its own package (`tagwire_generator.project.resources`). This is a hook and not `force-include` in
pyproject.toml, because that would leave orphans in editable installs too.
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
MODULES = {"_engine": "engine", "_columns": "columns", "_records": "records"}  # by name, the folder of its sources
STABLE_SINCE = (3, 11)  # with the lowest Python of pyproject.toml
WAYS = {"TAGWIRE_BUILD": ("auto", "require", "skip"), "TAGWIRE_ABI": ("version", "stable")}
COMPILE_ARGS = [
    "-O3",
    "-g0",  # no paths of the building machine in the binary
    "-Werror=implicit-function-declaration",  # a call that the limited API lacks: else it links, and fails at import
    "-fvisibility=hidden",  # functions that C files share are the module's own, and are called directly
    "-Werror=int-to-pointer-cast",  # an object that Cython took for a number: else it crashes
]


RELATIVE_LINK = re.compile(r"(?<=\]\()(?!#|[a-z]+:)")


class TagwireMetadataHook(MetadataHookInterface):
    """The README as metadata; its links are relative in the repository, where a checkout has the files."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling for the dynamic fields of [project]."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        pages = f"{metadata['urls']['Homepage']}/blob/main/"
        metadata["readme"] = {"content-type": "text/markdown", "text": RELATIVE_LINK.sub(pages, text)}


class TagwireBuildHook(BuildHookInterface[Any]):
    """Compiles the engine, and maps the data folders into the package."""

    def dependencies(self) -> list[str]:
        """What compiling needs; hatchling has it fetched into an isolated environment."""
        return ["cython>=3.1,<4", "setuptools>=77"] if wants_engine() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects the files."""
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
        """Called by hatchling when the wheel is written."""
        self.work.cleanup()

    def engine(self, root: Path) -> list[Path]:
        """The compiled modules in a temporary folder; none where there are to be none, or no compiler."""
        if not wants_engine():
            return []
        from setuptools.errors import BaseError, CCompilerError

        try:
            return compiled(root, Path(self.work.name))
        except (BaseError, CCompilerError) as fault:  # not Cython's own errors: those are mistakes of ours
            if way("TAGWIRE_BUILD") == "require":
                raise
            self.app.display_warning(
                f"tagwire: the native engine did not compile ({fault}), so this build has the pure engine alone; "
                "TAGWIRE_BUILD=require makes an error of that"
            )
            return []


def way(variable: str) -> str:
    """The setting of an environment variable; the first of the possible ones where it is not set."""
    value = os.environ.get(variable) or WAYS[variable][0]
    if value not in WAYS[variable]:
        raise SystemExit(f"{variable} is {value!r}; expected {', '.join(WAYS[variable])}")
    return value


def wants_engine() -> bool:
    """Whether to compile at all: PyPy runs the pure engine faster than it calls the native one."""
    wanted = way("TAGWIRE_BUILD")
    return wanted == "require" or (wanted == "auto" and platform.python_implementation() == "CPython")


def uses_stable_abi() -> bool:
    """Whether to compile against the limited API, which free-threaded builds do not have."""
    return way("TAGWIRE_ABI") == "stable" and not sysconfig.get_config_var("Py_GIL_DISABLED")


def platform_tag() -> str:
    """This system, as names of wheels have it."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def remove_old_engines(package: Path) -> None:
    """An engine of an earlier build for this Python would win over the new one, or outlive its sources."""
    for module in MODULES:
        for suffix in (sysconfig.get_config_var("EXT_SUFFIX"), ".abi3.so", ".pyd"):
            (package / f"{module}{suffix}").unlink(missing_ok=True)


def sources_in_c(root: Path, folder: str) -> list[str]:
    """The C files of a module, relative to the root."""
    return sorted(path.relative_to(root).as_posix() for path in (root / NATIVE / folder).glob("*.c"))


def compiled(root: Path, work: Path) -> list[Path]:
    """The engine's modules, compiled in the folder `work`."""
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
            # What the builder asks for comes last, so that it wins.
            extra_compile_args=[] if os.name == "nt" else [*COMPILE_ARGS, *os.environ.get("CFLAGS", "").split()],
        )
        for module, folder in MODULES.items()
    ]
    with contextlib.chdir(root):  # relative sources: Cython writes their names into the modules
        modules = cythonize(extensions, build_dir=str(work), include_path=[NATIVE], quiet=True)  # type: ignore[no-untyped-call]
        command = build_ext(Distribution({"ext_modules": modules}))
        command.build_lib, command.build_temp = str(work / "lib"), str(work / "temp")
        command.parallel = True  # a compiler for each module, as many as there are processors
        command.ensure_finalized()
        command.run()
    return [Path(built) for built in command.get_outputs()]
