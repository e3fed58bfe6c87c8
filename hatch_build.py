"""Build hooks for hatchling: compile the native engine, copy the data folders into the wheel, and make README links
absolute.

If a C compiler is available, the engine is compiled, and the wheel works for one Python version only. Without a
compiler, the wheel is pure Python and works for every version; the log and `tagwire engine` report that. Environment
variables change this:

    TAGWIRE_BUILD=require   fail if the engine does not compile (used by `make` and CI)
    TAGWIRE_BUILD=skip      build a pure wheel; neither Cython nor setuptools is fetched
    TAGWIRE_ABI=stable      build one slower binary for Python 3.11 and later, with the limited API (docs/engine.md)

`templates/` and `message_specs/` are at the top of the repository, where people look for them. An installed generator
finds them inside its own package (`tagwire_generator.project.resources`). pyproject.toml's `force-include` could not do
this, because it would also leave orphaned copies in editable installs.
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
MODULES = {"_engine": "engine", "_columns": "columns", "_records": "records"}  # module: source folder
STABLE_SINCE = (3, 11)  # the lowest Python version in pyproject.toml
WAYS = {"TAGWIRE_BUILD": ("auto", "require", "skip"), "TAGWIRE_ABI": ("version", "stable")}
COMPILE_ARGS = [
    "-O3",
    "-g0",  # keep paths of the build machine out of the binary
    "-Werror=implicit-function-declaration",  # functions missing from the limited API fail here, not at import
    "-fvisibility=hidden",  # functions shared between C files stay inside the module and are called directly
    "-Werror=int-to-pointer-cast",  # catches objects that Cython mistook for numbers, which would crash
]


RELATIVE_LINK = re.compile(r"(?<=\]\()(?!#|[a-z]+:)")


class TagwireMetadataHook(MetadataHookInterface):
    """Sets the README metadata with absolute links; the repository's README uses relative ones."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme field (called by hatchling for the dynamic fields of [project])."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        pages = f"{metadata['urls']['Homepage']}/blob/main/"
        metadata["readme"] = {"content-type": "text/markdown", "text": RELATIVE_LINK.sub(pages, text)}


class TagwireBuildHook(BuildHookInterface[Any]):
    """Compiles the engine and maps the data folders into the package."""

    def dependencies(self) -> list[str]:
        """Return the packages needed to compile; hatchling installs them into an isolated environment."""
        return ["cython>=3.1,<4", "setuptools>=77"] if wants_engine() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the engine and add files to the wheel (called by hatchling before it collects files)."""
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
        """Delete the build folder (called by hatchling after the wheel is written)."""
        self.work.cleanup()

    def engine(self, root: Path) -> list[Path]:
        """Return the compiled modules in a temporary folder; empty if none are wanted or there is no compiler."""
        if not wants_engine():
            return []
        from setuptools.errors import BaseError, CCompilerError

        try:
            return compiled(root, Path(self.work.name))
        except (BaseError, CCompilerError) as fault:  # Cython errors are bugs in our code and propagate
            if way("TAGWIRE_BUILD") == "require":
                raise
            self.app.display_warning(
                f"tagwire: the native engine did not compile ({fault}), so this build has the pure engine alone; "
                "TAGWIRE_BUILD=require makes an error of that"
            )
            return []


def way(variable: str) -> str:
    """Return the value of an environment variable, or its default if it is not set."""
    value = os.environ.get(variable) or WAYS[variable][0]
    if value not in WAYS[variable]:
        raise SystemExit(f"{variable} is {value!r}; expected {', '.join(WAYS[variable])}")
    return value


def wants_engine() -> bool:
    """Whether to compile. PyPy does not: it runs the pure engine faster than it calls the native one."""
    wanted = way("TAGWIRE_BUILD")
    return wanted == "require" or (wanted == "auto" and platform.python_implementation() == "CPython")


def uses_stable_abi() -> bool:
    """Whether to compile against the limited API, which free-threaded builds do not have."""
    return way("TAGWIRE_ABI") == "stable" and not sysconfig.get_config_var("Py_GIL_DISABLED")


def platform_tag() -> str:
    """Return the platform tag for the wheel's name."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def remove_old_engines(package: Path) -> None:
    """Delete engines of earlier builds, which could be imported instead of the new one or outlive their sources."""
    for module in MODULES:
        for suffix in (sysconfig.get_config_var("EXT_SUFFIX"), ".abi3.so", ".pyd"):
            (package / f"{module}{suffix}").unlink(missing_ok=True)


def sources_in_c(root: Path, folder: str) -> list[str]:
    """Return the C files of a module, relative to the root."""
    return sorted(path.relative_to(root).as_posix() for path in (root / NATIVE / folder).glob("*.c"))


def compiled(root: Path, work: Path) -> list[Path]:
    """Compile the engine's modules in the folder `work` and return their paths."""
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
            # CFLAGS come last, so that they override COMPILE_ARGS.
            extra_compile_args=[] if os.name == "nt" else [*COMPILE_ARGS, *os.environ.get("CFLAGS", "").split()],
        )
        for module, folder in MODULES.items()
    ]
    with contextlib.chdir(root):  # relative sources: Cython writes their paths into the modules
        modules = cythonize(extensions, build_dir=str(work), include_path=[NATIVE], quiet=True)  # type: ignore[no-untyped-call]
        command = build_ext(Distribution({"ext_modules": modules}))
        command.build_lib, command.build_temp = str(work / "lib"), str(work / "temp")
        command.parallel = True  # compile the modules at the same time, one per processor
        command.ensure_finalized()
        command.run()
    return [Path(built) for built in command.get_outputs()]
