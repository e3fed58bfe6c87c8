"""Upload a job's output to object storage: tasks upload the files, and a `kafka_log` commit publishes them.

While a job runs, it moves and rereads its files, so it builds the output in a folder that the driver and all workers
can access. Tasks then upload the files below a hidden prefix, and one commit copies all of them into place. So a
`kafka_log` reader sees either all of the output or nothing. Other readers can wait for `_SUCCESS`, which appears last.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tagwire.log import LogPathError
from tagwire_spark.files import commit
from tagwire_spark.files.commit import Change, Job
from tagwire_spark.files.store import StorageOptions, reaching, retried, store
from tagwire_spark.jobs.tasks import run_units


def begin_upload(url: str, storage: StorageOptions) -> Job:
    """Begin the upload to a prefix. Raises LogPathError if it isn't empty, and PipelineError if it can't be written."""
    _check_empty(url, storage)
    return commit.begin(url, storage)


def upload(spark: SparkSession, folder: Path, job: Job) -> None:
    """Upload all files of `folder`, and commit them. Raises LogPathError or PipelineError if this fails."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    files.sort(key=lambda path: path.suffix == ".log")  # a segment must appear after its indexes
    names = [path.relative_to(folder).as_posix() for path in files]
    units = [[str(path), name] for path, name in zip(files, names, strict=True)]
    put = partial(_put, root=job.root, id=job.id, storage=job.storage)
    staged = run_units(spark, units, [path.stat().st_size for path in files], put)
    moves = tuple(zip(staged, names, strict=True))

    def change(before: Mapping[str, Any]) -> Change:
        _check_empty(job.root, job.storage)
        return Change(moves)

    commit.carry_out(job, change)


def _check_empty(url: str, storage: StorageOptions) -> None:
    with reaching(url, storage):
        system, bare = store(url, storage)
        system.invalidate_cache()
        try:
            listed = retried(partial(system.ls, bare, detail=False))
        except FileNotFoundError:
            return
    found = [str(name).rstrip("/").rpartition("/")[2] for name in listed]
    if any(name != commit.DONE and not name.startswith(".tagwire-") for name in found):
        raise LogPathError(f"{storage.hidden(url)} already exists and is not replaced; choose another output")


def _put(unit: Sequence[str], root: str, id: str, storage: StorageOptions) -> str:
    path, name = unit
    attempt = commit.staging(commit.job_of(root, id, storage))
    try:
        link = attempt.folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
        attempt.keep([link])
        attempt.end()
    except OSError as error:
        text = f"{path} can't be read by a worker: {error.strerror}; all workers must mount the work folder"
        raise LogPathError(text) from None
    finally:
        attempt.close()
    return f"{attempt.job.name}/{attempt.folder.name}/{name}"
