"""Commit to a prefix in object storage: claim a number with a conditional put, then copy objects.

Object storage has no links, renames, moves or locks. But a put can require that an object does not exist
(`If-None-Match: *`), or is unchanged since it was read (`If-Match`). A commit consists of these steps:

1. The manifest is put under the next number, if that number is free: this put is the commit.
2. Staged objects are copied to names that were free before.
3. `_SUCCESS` is replaced by the manifest, if no other process has replaced it. From then on, the commit is done.
4. Objects that replace others are copied; then removed objects, the manifest and the staged objects are deleted.

Any process may repeat any step, even concurrently, because staged objects are kept until the end. Only step 4 changes
objects that existed before the commit.

If step 2 fails, `_SUCCESS` is replaced by its old content plus the number and job of this commit. From then on, the
commit is undone. The staged objects are deleted first, so that no other process can copy them. Then their copies are
deleted and, last, the manifest.

Before a process deletes objects outside of the staging folder, it checks that no other process has ended the commit.
Most stores can't make this check a part of the deletion. So a process that is suspended between the two, while others
end this commit and make another, could delete objects of the later commit.

If a store ignored put conditions, two writers could commit at once. So `begin` tests the store before anything is
written, and rejects file systems for which fsspec only emulates conditional puts.
"""

import json
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from errno import ENOSYS
from pathlib import Path
from typing import Any, Final

from tagwire_spark.errors import PipelineError
from tagwire_spark.files.commit_folder import (
    DONE,
    Attempt,
    Change,
    CommitFolder,
    Content,
    Job,
    content_of_done,
    in_staging,
    job_of_folder,
    manifest_name,
    number_of,
    too_late,
)
from tagwire_spark.files.file_state import modified_at
from tagwire_spark.files.local_files import temporary_folder
from tagwire_spark.files.store import ConditionalObjects, StorageOptions, has_conditional_puts, reaching, store

_BEGUN: Final = "begun"
_NO_TAG: Final = '"0"'
"""An ETag that no object has. A store that accepts a put with the condition `If-Match: "0"` ignores conditions."""
_UNDONE: Final = 8
"""Maximum number of undone commits that `_SUCCESS` lists."""


class RemoteFolder(CommitFolder):
    """A log folder at a prefix of a bucket.

    The constructor raises PipelineError if the file system doesn't support conditional puts.
    """

    slowness = 6

    def __init__(self, root: str, storage: StorageOptions) -> None:
        super().__init__(root.rstrip("/"), storage.hidden(root.rstrip("/")))
        self._storage = storage
        self._system, prefix = store(self.root, storage)
        self._objects = ConditionalObjects(self._system, prefix)
        self._claimed: Mapping[str, Any] = {}
        if not has_conditional_puts(self._system) or "::" in self.root:
            kind = self.root.partition("://")[0]
            text = f"{self.shown}: commits need conditional puts, but fsspec does not support them for {kind}://;"
            text += " write to s3://, or to a folder that all workers mount."
            raise PipelineError("KAFKA_LOG_WRITE_FAILED", text)

    @contextmanager
    def rejected(self) -> Generator[None]:
        with reaching(self.root, self._storage, "can't be written", "KAFKA_LOG_WRITE_FAILED"):
            yield

    def begin(self, job: Job) -> None:
        """Store an object that marks the job as active. Raises PipelineError if the store ignores put conditions."""
        first = f"{job.name}/first"
        self._objects.put(first, b"1")
        try:
            is_kept = not self._objects.create(first, b"2") and not self._objects.replace(first, b"3", _NO_TAG)
        except OSError as error:
            if error.errno != ENOSYS:
                raise
            is_kept = False
        if not is_kept:
            self.remove(job)
            text = f"{self.shown}: commits need conditional puts, but this store ignores the headers If-None-Match"
            text += " and If-Match; write to a store that supports them."
            raise PipelineError("KAFKA_LOG_WRITE_FAILED", text)
        self._objects.delete(first)
        self._objects.create(f"{job.name}/{_BEGUN}", b"")

    def attempt(self, job: Job, *, is_begun: bool) -> Attempt:
        if is_begun:
            self.check_active(job)
        return _RemoteAttempt(self, job, is_begun=is_begun)

    def check_active(self, job: Job) -> None:
        """If a begun job is over, delete what its late task attempts may have uploaded, and raise PipelineError."""
        if self.read(f"{job.name}/{_BEGUN}") is None:
            self.remove(job)
            raise too_late(job)

    def upload(self, names: Mapping[Path, str]) -> None:
        """Upload local files. `names` maps them to their names in this folder."""
        with self.rejected():
            self._objects.each(lambda file: self._system.put_file(str(file), self._objects.path(names[file])), names)

    def remove(self, job: Job) -> None:
        """Delete the job's objects, starting with the object that marks the job as active."""
        with suppress(Exception):  # readers ignore leftover objects
            self._objects.delete(f"{job.name}/{_BEGUN}")
            self._objects.delete_all(self._objects.listed(job.name))

    def jobs(self) -> list[str]:
        with self.rejected():
            return [job for name in self._objects.level() if (job := job_of_folder(name)) is not None]

    def contents(self, job: Job) -> list[Content]:
        with self.rejected():
            self._system.invalidate_cache()
            found = self._system.find(self._objects.path(job.name), detail=True).values()
        return [(int(each["size"] or 0), (modified_at(each) or time.time_ns()) / 1e9) for each in found]

    def read(self, name: str) -> bytes | None:
        with self.rejected():
            return self._objects.tagged(name)[0]

    def stage(self, job: Job, name: str, data: bytes) -> str:
        with self.rejected():
            self._objects.put(f"{job.name}/{name}", data)
        return f"{job.name}/{name}"

    @contextmanager
    def edited(self, name: str) -> Generator[Path]:
        with temporary_folder("tagwire-edited-") as folder:
            path = Path(folder, "file")
            with self.rejected():
                self._system.get_file(self._objects.path(name), str(path))
            yield path
            with self.rejected():
                self._system.put_file(str(path), self._objects.path(name))

    def pending(self) -> list[int]:
        """Return the numbers of commits that still have a manifest, including commits marked as done or undone.

        A manifest is ignored if another commit has already taken its number or a later one.
        """
        with self.rejected():
            found = sorted(number for name in self._objects.level() if (number := number_of(name)) is not None)
            done = self._done()[0] if found else {}
            return [
                number
                for number in found
                if number >= done.get("number", 0) and _outcome(number, self.manifest(number), done) != "too late"
            ]

    def claim(self, job: Job, number: int, manifest: Mapping[str, Any]) -> bool:
        """Store the manifest as commit `number`. Return False if another job already has this or a later number."""
        data, lost = json.dumps(manifest, indent=1).encode(), None
        self._claimed = json.loads(data)
        try:
            is_ours = self._objects.create(manifest_name(number), data)
        except Exception as error:
            is_ours, lost = False, error
        try:
            is_ours = is_ours or self._is_there(number, self._claimed)  # the put succeeded, but the reply was lost
            if not is_ours and lost is None:
                return False
            outcome = _outcome(number, self._claimed, self._done()[0])
            # If manifest and staged objects are gone, other processes have carried out this commit, and later ones.
            if (
                is_ours
                and outcome == "too late"
                and (self._is_there(number, self._claimed) or self._objects.listed(job.name))
            ):
                self._objects.delete(manifest_name(number))
                return False
        except Exception as error:
            raise self._unfinished(error) from None
        if is_ours or lost is None:
            return is_ours
        raise lost if outcome == "open" else self._unfinished(lost)

    def check(self, job: Job, change: Change) -> None:
        there = {*self._objects.listed(job.name)}
        missing = [source for source, _ in change.moves if self._objects.path(source) not in there]
        if missing:
            text = f"{self.shown}/{missing[0]} can't be written: the object was deleted after a task staged it."
            raise PipelineError("KAFKA_LOG_WRITE_FAILED", text)

    def carry_out(self, number: int, *, is_own: bool) -> None:
        """Carry out the remaining copies and deletions of a commit. Other processes may do so concurrently.

        Raises no error if another process's commit can't be finished and is undone.
        """
        try:
            change = self._claimed if is_own else self.manifest(number)
            failure = self._carry_out(number, change) if change else None
        except Exception as error:
            raise self._unfinished(error) from None
        if failure is not None and is_own:
            raise failure

    def _carry_out(self, number: int, change: Mapping[str, Any]) -> Exception | None:
        """Finish a commit. If that fails, undo the commit and return the reason; otherwise return None."""
        outcome, failure = self._decided(number, change)
        if outcome == "undone":
            self._undo(number, change)
            return failure or self.undone_by_another()
        try:
            if outcome == "done":
                self._finish(number, change)
        except Exception:
            if self._is_there(number, change):  # no other process has finished the commit
                raise
        return None

    def _decided(self, number: int, change: Mapping[str, Any]) -> tuple[str, Exception | None]:
        """Mark an open commit as done or, if its files can't be copied, as undone. Return the outcome and error."""
        done, tag = self._done()
        outcome = _outcome(number, change, done)
        if outcome != "open":
            return outcome, None
        failure: Exception | None = None
        decision: dict[str, Any] = dict(change)
        try:
            self._objects.copy(move for move in change["moves"] if move[1] not in change["removes"])
        except Exception as error:
            undone = [*done.get("undone", ()), [number, change["job"]]][-_UNDONE:]
            failure, decision = error, {**done, "number": number, "undone": undone}
        try:
            data = json.dumps(decision, indent=1).encode()
            is_ours = self._objects.create(DONE, data) if tag is None else self._objects.replace(DONE, data, tag)
            outcome = _outcome(number, change, self._done()[0])
        except Exception as error:
            raise failure or error from None
        return outcome, failure if is_ours else None

    def _finish(self, number: int, change: Mapping[str, Any]) -> None:
        targets = {target for _, target in change["moves"]}
        self._objects.copy(move for move in change["moves"] if move[1] in change["removes"])
        if self._is_there(number, change):  # no other process has finished the commit
            self._objects.delete_all([self._objects.path(each) for each in change["removes"] if each not in targets])
            self._end(number, change)

    def _undo(self, number: int, change: Mapping[str, Any]) -> None:
        self._objects.delete_all(self._objects.listed(Job(self.root, change["job"]).name))
        if self._is_there(number, change):  # otherwise, the objects may belong to a later commit
            new = [self._objects.path(target) for _, target in change["moves"] if target not in change["removes"]]
            self._objects.delete_all(new)
            self._end(number, change)

    def _end(self, number: int, change: Mapping[str, Any]) -> None:
        self._objects.delete(manifest_name(number))
        self.remove(Job(self.root, change["job"]))

    def _unfinished(self, error: Exception) -> PipelineError:
        """Return the error for an incomplete commit, which the next read or write will finish or undo."""
        cause = (error.text if isinstance(error, PipelineError) else str(error)).rstrip(".") or type(error).__name__
        text = f"{self.shown}: the write is committed, but not all of its files could be put in place: {cause}. The"
        text += " next write (or read with write permission) finishes or undoes this one; then check if its rows exist."
        return PipelineError("KAFKA_LOG_WRITE_FAILED", self._storage.hidden(text))

    def _done(self) -> tuple[dict[str, Any], str | None]:
        data, tag = self._objects.tagged(DONE)
        return content_of_done(data), tag

    def _is_there(self, number: int, change: Mapping[str, Any]) -> bool:
        """Return whether the commit's manifest still exists, so that no process has ended the commit."""
        return self.manifest(number) == change


class _RemoteAttempt(Attempt):
    """A local folder of one task attempt, whose files are uploaded to the job's staging folder."""

    def __init__(self, to: RemoteFolder, job: Job, *, is_begun: bool) -> None:
        self._temporary = temporary_folder("tagwire-staged-")
        super().__init__(Path(self._temporary.name, in_staging(job)))
        self.folder.mkdir(parents=True)
        self._to = to
        self._job = job
        self._is_begun = is_begun

    def keep(self, files: list[Path]) -> None:
        """Upload the files, then delete the local copies, because the disk may be too small for all files."""
        self._to.upload({file: file.relative_to(self.folder.parents[1]).as_posix() for file in files})
        for file in files:
            file.unlink()

    def end(self) -> None:
        if self._is_begun:
            self._to.check_active(self._job)

    def close(self) -> None:
        self._temporary.cleanup()


def _outcome(number: int, manifest: Mapping[str, Any], done: Mapping[str, Any]) -> str:
    """Return "open", "done", "undone" or, if another commit took this number or a later one, "too late"."""
    if [number, manifest.get("job")] in done.get("undone", ()):
        return "undone"
    last = done.get("number", 0)
    if number > last:
        return "open"
    return "done" if number == last and manifest.get("job") == done.get("job") else "too late"
