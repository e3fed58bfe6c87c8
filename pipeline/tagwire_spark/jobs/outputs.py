"""The output folders of jobs. An output appears only when it is complete, even if workers die.

    .OUTPUT.3f2a.../            next to the output, on the same file system
        attempts/ID/            what one attempt wrote for one unit
        lasts/                  results that one round of a job passes to the next (`last_offsets`)
        output/                 becomes the output, by one rename

An output for a URL is built in a work folder, and then uploaded (`_upload`). Each attempt at a unit of work writes to
its own folder. Spark accepts one attempt; the folders of others are removed at the end.
"""

import shutil
import tempfile
import uuid
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from tagwire.log import LogPathError
from tagwire.log.errors import is_file, not_written
from tagwire.log.whole_folder import claimed, on_disk, publish
from tagwire_spark.errors import PipelineError, changed
from tagwire_spark.files import commit
from tagwire_spark.files.commit import abandon, work_folders
from tagwire_spark.files.commit_folder import DONE, Change, Job, in_staging
from tagwire_spark.files.local_files import local_path
from tagwire_spark.files.remote_commit import RemoteFolder
from tagwire_spark.files.store import NO_OPTIONS, ConditionalObjects, StorageOptions, output_url, reaching, store
from tagwire_spark.jobs.tasks import run_units

# Upload a job's output to object storage: tasks upload the files, and a `kafka_log` commit publishes them.
#
# Tasks upload the files below a hidden prefix, and one commit copies them all to their final names. So a `kafka_log`
# reader sees either all of the output or nothing. Other readers can wait for `_SUCCESS`, which appears last.


def _upload(spark: SparkSession, folder: Path, job: Job) -> None:
    """Upload all files of `folder`, and commit them. Raises LogPathError or PipelineError if this fails."""
    files = [path for path in sorted(folder.rglob("*")) if is_file(path)]
    files.sort(key=lambda path: path.suffix == ".log")  # a segment must appear after its indexes
    names = [path.relative_to(folder).as_posix() for path in files]
    units = [[str(path), name] for path, name in zip(files, names, strict=True)]
    staged = run_units(spark, units, [path.stat().st_size for path in files], partial(_put, job=job))
    moves = tuple(zip(staged, names, strict=True))

    def change(before: Mapping[str, Any]) -> Change:
        _check_empty(job.root, job.storage)
        return Change(moves)

    commit.carry_out(job, change)


def _check_empty(url: str, storage: StorageOptions) -> None:
    """Raise LogPathError if an upload's prefix isn't empty, and PipelineError if it can't be listed."""
    with reaching(url, storage):
        found = ConditionalObjects(*store(url, storage)).level()
    if any(name != DONE and not name.startswith(".tagwire-") for name in found):
        raise LogPathError(
            f"{storage.hidden(url)} already exists, and tagwire does not replace it; choose another output"
        )


def _put(unit: Sequence[str], job: Job) -> str:
    """Upload a file to the job's staging folder, on a worker. Return its name below the output's prefix."""
    path, name = unit
    folder, staged = RemoteFolder(job.root, job.storage), f"{in_staging(job)}/{name}"
    folder.check_active(job)
    try:
        Path(path).stat()
    except OSError as error:
        text = f"{path} can't be read by a worker: {error.strerror}; all workers must mount the work folder"
        raise LogPathError(text) from None
    folder.upload({Path(path): staged})
    folder.check_active(job)
    return staged


class Staging:
    """The folders of a running job. Tasks get a copy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.attempts = folder / "attempts"
        self.lasts = folder / "lasts"
        self.output = folder / "output"

    def take(self, attempt: str, target: str) -> None:
        target_path = self.output / target
        target_path.mkdir(parents=True, exist_ok=True)
        for path in sorted((self.attempts / attempt).iterdir()):
            path.rename(target_path / path.name)


class JobOutput(NamedTuple):
    """The folder or URL to which a job writes."""

    location: Path | str
    """A folder, or the URL of a prefix in object storage."""
    work: Path | None = None
    """The folder in which the output for a URL is built before it is uploaded. The default is a temporary folder."""
    storage: StorageOptions = NO_OPTIONS

    def below(self, name: str) -> Path | str:
        return self.location / name if isinstance(self.location, Path) else f"{self.location}/{name}"


def job_output(
    output: str | Path, work_folder: str | Path | None = None, options: Mapping[str, Any] | None = None
) -> JobOutput:
    """Return the JobOutput for a job's arguments. Raises PipelineError for an incomplete URL."""
    url = output_url(str(output))
    if url is None:
        return JobOutput(local_path(str(output)))
    work = None if work_folder is None else local_path(str(work_folder))
    return JobOutput(url, work, StorageOptions(options or {}))


@contextmanager
def staging(output: JobOutput, spark: SparkSession) -> Generator[Staging]:
    """Yield the folders that a job fills. If the `with` block succeeds, `output` is moved to the output path.

    The other folders are always removed. Raises LogPathError or PipelineError if the output is not empty, is being
    written by another process, or can't be written.
    """
    with (
        _renamed(output.location) if isinstance(output.location, Path) else _uploaded(output, output.location, spark)
    ) as folder:
        staged = Staging(folder)
        staged.attempts.mkdir(parents=True)
        staged.output.mkdir()
        try:
            yield staged
        except FileNotFoundError as error:
            raise changed(f"{error.filename} was removed after the job listed it") from None


@contextmanager
def _renamed(output: Path) -> Generator[Path]:
    """Yield a work folder. If the `with` block succeeds, its subfolder `output` becomes the output."""
    if output.is_symlink() or output.is_mount():
        text = f"{output} is a link or a mount point, which a job can't replace; choose another output, such as a new"
        raise LogPathError(f"{text} folder in it")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise LogPathError(f"{output} already exists, and tagwire does not replace it; choose another output")
    with claimed(output) as is_alone:
        for left in work_folders(output) if is_alone else ():  # left behind by killed jobs
            shutil.rmtree(left, ignore_errors=True)
        folder = output.with_name(f".{output.name}.{uuid.uuid4().hex}")
        try:
            yield folder
            publish(Staging(folder).output, output)
        except OSError as error:
            raise not_written(output, folder, error) from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _uploaded(output: JobOutput, url: str, spark: SparkSession) -> Generator[Path]:
    """Yield a work folder. If the `with` block succeeds, upload its subfolder `output`."""
    work = output.work
    if work is None:
        if not str(spark.conf.get("spark.master", "")).startswith("local"):
            raise PipelineError(
                "KAFKA_LOG_WRITE_FAILED",
                f"{url}: a job writes its output to a work folder and then uploads it; set argument `work_folder` to a "
                "folder that the driver and all workers mount.",
            )
        work = Path(tempfile.gettempdir())
    commit.settle(url, output.storage)  # completes or undoes the upload of a job that was killed
    _check_empty(url, output.storage)
    job = commit.begin(url, output.storage)
    folder = work / f".tagwire-{job.id}.output"
    try:
        # In a temporary folder, other users of this machine must not be able to read the records.
        folder.mkdir(0o700 if output.work is None else 0o777, parents=True)
        yield folder
        _upload(spark, Staging(folder).output, job)
    except OSError as error:
        raise not_written(folder, folder, error) from None
    finally:
        with suppress(PipelineError):  # if this fails, the next write removes the staged objects
            abandon(job)
        shutil.rmtree(folder, ignore_errors=True)


def flushed(folder: Path) -> str:
    """Flush the files of a task attempt to disk. Return the attempt's name."""
    for path in folder.iterdir():
        on_disk(path)
    return folder.name


def attempt(attempts: str | Path) -> Path:
    """On a worker, create a folder for a task attempt. Raises LogPathError if the worker can't write there."""
    folder = Path(attempts) / uuid.uuid4().hex
    try:
        folder.mkdir()
    except OSError as error:
        text = f"{attempts} can't be written by a worker: {error.strerror}; all workers must mount the output"
        raise LogPathError(text) from None
    return folder
