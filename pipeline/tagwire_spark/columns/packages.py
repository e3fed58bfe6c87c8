"""Generated packages by name: installed ones, and those that were shipped with a job.

`--py-files`, `addPyFile` and `addArtifacts` bring archives to the driver and to all executors. Spark
puts them on the path of functions, but not on that of the processes in which sources plan, read and
write. There only the folder of the files is known, so a package is looked for in its archives.
"""

import sys
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from tagwire.frames.known_packages import KAFKA_MESSAGES
from tagwire.frames.registry import Registry
from tagwire_spark.options import invalid

__all__ = ["find_registry"]

_ARCHIVES: Final = (".zip", ".whl", ".egg", ".jar")
"""What Python imports from."""


def find_registry(package: str) -> Registry:
    """The registry of a generated package. Raises PipelineError for any other package."""
    try:
        registry = _module(package or KAFKA_MESSAGES).registry
    except (ImportError, AttributeError, ValueError) as error:
        raise invalid(
            f"Package {package!r} is not a generated package that can be imported here ({error}); "
            "install it where the driver and the workers run, or ship it in an archive, by --py-files, addPyFile or "
            "addArtifacts(..., pyfile=True)."
        ) from None
    if not isinstance(registry, Registry):
        raise invalid(f"Package {package!r} is not a generated package: it has no message registry.")
    return registry


def _module(package: str) -> Any:
    """A package that is installed, or in an archive that was shipped. Raises ImportError."""
    try:
        return import_module(package)
    except ModuleNotFoundError:
        new = [archive for archive in _shipped() if archive not in sys.path]
        if not new or find_spec(package.partition(".")[0]) is not None:
            raise
        sys.path += new
        invalidate_caches()
        return import_module(package)


def _shipped() -> list[str]:
    """The archives among the files of this job, newest first; none outside of Spark."""
    try:
        from pyspark import SparkFiles  # a client of Spark Connect may be without it

        root = Path(SparkFiles.getRootDirectory()).absolute()
    except Exception:  # without a session, Spark says so in several ways
        return []
    folders = (root, root.parent)  # the readers of streams are told a folder of their session, in that of the job
    found = [file for each in folders for file in each.glob("*") if file.suffix in _ARCHIVES and file.is_file()]
    return [str(file) for file in sorted(found, key=lambda file: file.stat().st_mtime, reverse=True)]
