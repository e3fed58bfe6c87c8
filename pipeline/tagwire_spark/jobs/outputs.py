"""The folders that jobs write, which appear only when they are complete, even if workers die.

    .OUTPUT.3f2a.../            beside the output, on the same file system
        attempts/ID/            the output of one attempt of one unit
        lasts/                  results of one round of a job for the next (`last_offsets`)
        whole/                  becomes the output, by one rename

Each attempt of a unit writes to a folder of its own and returns its name. Spark accepts one result
for each unit; the output of other attempts is ignored and removed at the end.
"""

import re
import shutil
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tagwire.log import LogPathError
from tagwire.log.claim import claimed
from tagwire.log.whole_folder import publish
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.storage import local_path

__all__ = ["Staged", "Staging", "attempt", "is_url", "output_path", "staging"]

_URL: Final = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:/")
"""Also with one slash, as a `Path` has it."""


class Staged:
    """The folders of a job, for driver and workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.attempts = folder / "attempts"
        self.lasts = folder / "lasts"
        self.whole = folder / "whole"


class Staging(Staged):
    """The folders of a job that is under way."""

    def __init__(self, output: Path) -> None:
        super().__init__(output.with_name(f".{output.name}.{uuid.uuid4().hex}"))

    def take(self, attempt: str, target: str) -> None:
        """Move what an attempt has written to its place in the output."""
        place = self.whole / target
        place.mkdir(parents=True, exist_ok=True)
        for path in sorted((self.attempts / attempt).iterdir()):
            path.rename(place / path.name)

    def carry(self, source: Path, target: str) -> None:
        """Copy a small file as it is."""
        place = self.whole / target
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)


def is_url(text: str) -> bool:
    """Whether a text is a URL of another file system, also as a `Path` has it."""
    return _URL.match(text) is not None


def output_path(output: str | Path) -> Path:
    """The folder that a job is to write. Raises PipelineError for a URL, which as a path would be a local folder."""
    text = str(output)
    if is_url(text):
        how = "write to a folder that the driver and all workers mount, and upload it when the job is done"
        raise PipelineError("KAFKA_LOG_WRITE_FAILED", f"{text}: a job ends by a rename, which a URL lacks; {how}.")
    return local_path(text)


@contextmanager
def staging(output: Path) -> Generator[Staging]:
    """Folders to fill; `whole` becomes `output` when that ends well, and else nothing is left.

    Raises LogPathError if the output exists and is not empty, another process is writing it, or it can't be
    written.
    """
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise LogPathError(f"{output}: exists already; nothing is overwritten")
    with claimed(output):
        made = Staging(output)
        try:
            made.attempts.mkdir(parents=True)
            made.whole.mkdir()
            yield made
            publish(made.whole, output)  # an empty folder gives way
        except OSError as error:
            raise LogPathError(f"{output}: can't be written: {error.strerror}") from None
        finally:
            shutil.rmtree(made.folder, ignore_errors=True)


def attempt(attempts: str | Path) -> Path:
    """A new folder for one attempt, on a worker. Raises LogPathError where the job's folders are not to be seen."""
    made = Path(attempts) / uuid.uuid4().hex
    try:
        made.mkdir()
    except OSError as error:
        text = f"{attempts}: can't be written by a worker: {error.strerror}; all workers must mount the output"
        raise LogPathError(text) from None
    return made
