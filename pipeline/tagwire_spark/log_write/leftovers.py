"""What writes have left in a folder whose driver was killed, removed by a later write.

Nobody else can tell such a folder from that of a write that is still going on, so its age decides:
the time since anything in it was last written.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tagwire_spark.files.commit import Job, abandon, left_of

__all__ = ["remove_leftovers"]


def remove_leftovers(job: Job, hours: int) -> None:
    """Remove the hidden folders of other writes beside this one's, if nothing in them is younger than that."""
    oldest = time.time() - 3600 * hours
    for left in left_of(job.root):
        if left.id != job.id and max(_times(left.folder), default=oldest) < oldest:
            abandon(left)


def _times(folder: Path) -> Iterator[float]:
    """When a folder and all that is in it were written last; what goes meanwhile does not count."""
    for path in (folder, *folder.rglob("*")):
        with suppress(OSError):
            yield path.stat().st_mtime
