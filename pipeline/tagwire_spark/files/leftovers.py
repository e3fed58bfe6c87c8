"""Find and remove files that writes and jobs left behind because their driver was killed.

The folder of a killed write looks like the folder of a running write. Only age distinguishes them: the time since
anything in the folder was last written.
"""

import re
import time
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Final, NamedTuple

from tagwire.log.errors import is_folder
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.commit import Job, abandon, contents_of, left_of
from tagwire_spark.files.storage import local_path
from tagwire_spark.files.store import NO_OPTIONS, StorageOptions, is_remote

_DIGITS: Final = 32
_WORK: Final = re.compile(rf"\..+\.[0-9a-f]{{{_DIGITS}}}")
"""Names of the hidden folders in which jobs build their output."""


class Leftover(NamedTuple):
    """A hidden folder next to the logs, with the number and size of its files."""

    path: str
    files: int
    bytes: int
    last_written: float
    """Seconds since 1970 of the last write to anything in the folder."""


def leftovers(root: str, storage: StorageOptions = NO_OPTIONS) -> list[Leftover]:
    """Return the hidden folders of killed or running writes. Raises PipelineError if there is no log folder."""
    if not is_remote(root) and not is_folder(root):
        # A job that was killed in its first run may have left work folders, but no output folder.
        if folders := work_folders(local_path(root)):
            return [each for folder in sorted(folders) if (each := _work_leftover(folder)) is not None]
        raise PipelineError("KAFKA_LOG_NOT_FOUND", f"{root}: there is no such folder.")
    found = [each for job in left_of(root, storage) if (each := _leftover(job)) is not None]
    if is_remote(root):
        return found
    root_path = local_path(root)
    folders = [path for path in root_path.iterdir() if _WORK.fullmatch(path.name)] + work_folders(root_path)
    return found + [each for folder in sorted(folders) if (each := _work_leftover(folder)) is not None]


def work_folders(output: Path) -> list[Path]:
    """Return the hidden work folders that killed or running jobs have created next to `output`."""
    return [*output.parent.glob(f".{escape(output.name)}.{'[0-9a-f]' * _DIGITS}")]


def _work_leftover(folder: Path) -> Leftover | None:
    """Describe a job's hidden folder. Ignore files that vanish. Return None if the folder no longer exists."""
    stats, last = [], 0.0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            if path.is_file():
                stats.append(path.stat())
    with suppress(FileNotFoundError):
        last = max([folder.stat().st_mtime, *(each.st_mtime for each in stats)])
    return Leftover(str(folder), len(stats), sum(each.st_size for each in stats), last) if last else None


def remove_leftovers(job: Job, hours: int) -> None:
    """Remove other jobs' folders to which nothing has been written for `hours` hours. Errors are ignored."""
    oldest = time.time() - 3600 * hours
    # Errors don't matter here, because the next write tries again to remove leftovers.
    with suppress(OSError, PipelineError):
        for left in left_of(job.root, job.storage):
            if left.id != job.id and (found := _leftover(left)) is not None and found.last_written < oldest:
                abandon(left)


def _leftover(job: Job) -> Leftover | None:
    found = contents_of(job)
    if not found:
        return None
    sizes = [size for size, _ in found if size is not None]
    return Leftover(f"{job.root}/{job.name}", len(sizes), sum(sizes), max(time for _, time in found))
