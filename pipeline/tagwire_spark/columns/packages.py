"""Find generated packages by name, whether installed or shipped with a job.

`--py-files`, `addPyFile` and `addArtifacts` send archives to the driver and to all executors. Spark adds the archives
to the import path of UDFs, but not to the import path of the processes in which data sources plan, read and write.
Those processes know only the folder that contains the archives, so this module searches that folder.
"""

import sys
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from tagwire.frames.known_packages import KAFKA_MESSAGES
from tagwire.frames.registry import Registry
from tagwire_spark.options import invalid

_ARCHIVES: Final = (".zip", ".whl", ".egg", ".jar")


def find_registry(package: str) -> Registry:
    """Return a generated package's message registry. Raises PipelineError if the package or its registry is missing."""
    try:
        registry = _module(package or KAFKA_MESSAGES).registry
    except (ImportError, AttributeError, ValueError) as error:
        raise invalid(
            f"Package {package!r} can't be imported ({error}); install it on the driver and all workers, or ship it "
            "in an archive, with --py-files, addPyFile or addArtifacts(..., pyfile=True)."
        ) from None
    if not isinstance(registry, Registry):
        raise invalid(f"Package {package!r} is not a generated package: it has no message registry.")
    return registry


def _module(package: str) -> Any:
    """Import a package, if necessary from an archive shipped with the job. Raises ImportError if it is missing."""
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
    """Return the paths of the archives shipped with this job, newest first. Outside of Spark, there are none."""
    try:
        from pyspark import SparkFiles  # some Spark Connect clients lack SparkFiles

        root = Path(SparkFiles.getRootDirectory()).absolute()
    except Exception:  # Spark raises various errors without a session
        return []
    # In a stream reader, `root` is a subfolder for the session; the archives are in its parent folder.
    folders = (root, root.parent)
    found = [file for each in folders for file in each.glob("*") if file.suffix in _ARCHIVES and file.is_file()]
    return [str(file) for file in sorted(found, key=lambda file: file.stat().st_mtime, reverse=True)]
