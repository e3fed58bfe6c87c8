"""Detect listings of object storage that show a part of a commit.

Object storage has no locks, and a long listing takes many requests. But each commit leaves marks in its folder: its
manifest exists from before the first object is copied until after the last one, and then `_SUCCESS` is a different
object. So a listing without a manifest shows no part of a commit if its marks are still the same afterwards. This is
checked if the listing shows that `kafka_log` writes there, or took several requests.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tagwire.log.names import partition_name
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.commit import DONE, settle
from tagwire_spark.files.commit_folder import job_of_folder, number_of
from tagwire_spark.files.file_state import FileState, state_of_facts
from tagwire_spark.files.store import StorageOptions, has_conditional_puts, reaching

__all__ = ["Marks", "is_staged"]

_ONE_REQUEST: Final = 1000
"""Objects that S3 lists in one request, which is atomic."""

_Mark = frozenset[tuple[str, FileState]]


class Marks:
    """The commit marks of a listing, by folder."""

    def __init__(self, system: Any, options: StorageOptions) -> None:
        self._system = system
        self._options = options
        self._is_kept = has_conditional_puts(system)
        """Whether commits are possible in this file system."""
        self._is_long = False
        self._root = ""
        self._seen: dict[str, set[tuple[str, FileState]]] = {}
        self._checked: set[str] = set()

    def look_in_parents(self, name: str) -> None:
        """Record the marks of a partition's parent folder before the partition is listed, unless access is denied."""
        if self._is_kept and "/" in name and partition_name(Path(name)) is not None:
            above = name.rpartition("/")[0]
            try:
                found = self._now(above)
            except PermissionError:
                return
            if found:
                self._seen[above] = {*found}

    def add(self, root: str, found: Mapping[str, Any]) -> None:
        """Record the marks in a listing of this folder."""
        self._root, self._is_long = root, len(found) >= _ONE_REQUEST
        for name, facts in found.items() if self._is_kept else ():
            parts = name.split("/")
            if parts[-1] == DONE or number_of(parts[-1]) is not None:
                self._seen.setdefault("/".join(parts[:-1]), set()).add((parts[-1], state_of_facts(facts)))
            for level, part in enumerate(parts):
                if job_of_folder(part) is not None:
                    self._seen.setdefault("/".join(parts[:level]), set())

    def check(self, folder: str, url: str) -> None:
        """Finish pending commits. Raises PipelineError, KAFKA_LOG_CHANGED, if the folder must be listed again."""
        is_below = f"{folder}/".startswith(self._root)
        if folder in self._checked or not (folder in self._seen or (self._is_kept and self._is_long and is_below)):
            return
        with reaching(url, self._options):
            now = self._now(folder)
            if any(number_of(name) is not None for name, _ in now):
                settle(url, self._options)
                now = self._now(folder)
            if now == self._seen.get(folder, set()):
                self._checked.add(folder)
                return
        text = f"{url}: another write was committed while its files were listed; read again."
        raise PipelineError("KAFKA_LOG_CHANGED", self._options.hidden(text))

    def _now(self, folder: str) -> _Mark:
        self._system.invalidate_cache()
        try:
            found = self._system.ls(folder, detail=True)
        except FileNotFoundError:
            return frozenset()
        named = [(str(each["name"]).rpartition("/")[2], each) for each in found if each["type"] == "file"]
        return frozenset(
            (name, state_of_facts(facts)) for name, facts in named if name == DONE or number_of(name) is not None
        )


def is_staged(name: str) -> bool:
    """Whether a file is staged by a task, and so hidden from readers."""
    return any(job_of_folder(part) is not None for part in name.split("/"))
