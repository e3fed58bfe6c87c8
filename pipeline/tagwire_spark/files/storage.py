"""Locations of logs, in local folders or in any file system that fsspec supports.

For planning, a remote log is listed, and a local tree of empty files with the same names is created. The driver and the
tasks read ranges of the remote files (`reading`), so nothing large is copied to disk or kept in memory.
"""

import glob
import os
import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

from tagwire.lazy import required
from tagwire.log import Partition, Segment
from tagwire.log.errors import exists, is_folder
from tagwire.log.file_bytes import FileBytes, file_status, open_file
from tagwire.log.names import log_file
from tagwire_spark.errors import PipelineError, rejections, unreadable
from tagwire_spark.files.file_state import FileState, growing_state, modified_at, state_of_facts, state_of_status
from tagwire_spark.files.local_files import files_below, local_path, matching_paths, temporary_folder
from tagwire_spark.files.reading import RemoteFile, opened_remote
from tagwire_spark.files.remote_log import Marks, RemotePartition, RemoteSegment, is_staged
from tagwire_spark.files.store import (
    NO_OPTIONS,
    StorageOptions,
    at_once,
    is_concurrent,
    is_remote,
    reaching,
    retried,
    store,
)

Listed = tuple[str, int, str, int]
"""A listed file as it is sent to workers: relative name, size, ETag, and modification time in nanoseconds."""


class Location:
    """A local or remote file or folder.

    `local` is the path of a local file or folder. For a remote file or folder, `local` is a path in a local tree of
    empty files with the remote names.
    """

    def __init__(self, local: Path, tree: "_Tree | None" = None, *, is_named: bool) -> None:
        self.local = local
        self.is_named = is_named
        """Whether the user gave exactly this path, not a pattern."""
        self._tree = tree

    @property
    def origin(self) -> str:
        return self.name_of(self.local)

    def name_of(self, path: Path) -> str:
        """Return a file's name for users: its URL if the location is remote; otherwise, its path."""
        return str(path) if self._tree is None else self._tree.url_of(path)

    def state_of(self, path: Path) -> FileState:
        """Return the size and identity of a file below this location. Raises LogPathError if the file is missing."""
        return state_of_status(file_status(path)) if self._tree is None else self._tree.states[path]

    def growing_state_of(self, path: Path, end: int | None) -> FileState:
        """Return the state of a file that may grow. A local file's state has checksums of its first and last bytes.

        Raises LogPathError if the file can't be read.
        """
        if self._tree is not None:
            return self.state_of(path)
        with open_file(path) as data:
            return growing_state(data, end)

    def partition(self, path: Path) -> Partition:
        return Partition(path) if self._tree is None else RemotePartition(path, self)

    def segment(self, path: Path) -> Segment:
        return Segment(path) if self._tree is None else RemoteSegment(path, self)

    def remote(self, path: Path) -> RemoteFile:
        """Return the remote file that an empty file in the local tree represents."""
        assert self._tree is not None
        return RemoteFile(self._tree.url_of(path), self._tree.states[path], self._tree.options)

    @property
    def options(self) -> StorageOptions:
        return NO_OPTIONS if self._tree is None else self._tree.options

    @property
    def is_concurrent(self) -> bool:
        return self._tree is not None and self._tree.is_concurrent

    @contextmanager
    def opened(self, path: Path) -> Generator[FileBytes]:
        """Open a file below this location. On workers, blocks of remote files are prefetched.

        Raises LogPathError or PipelineError if the file can't be read or was replaced.
        """
        if self._tree is None:
            with open_file(path) as data:
                yield data
            return
        remote = self.remote(path)
        with opened_remote(remote, 0, remote.state.size, ahead=self._tree.is_received) as data:
            yield data

    def listed(self, folder: Path, paths: Iterable[Path]) -> list[Listed] | None:
        """Return the entries of remote files that a worker passes to `received`, or None if the folder is local."""
        if self._tree is None:
            return None
        states = self._tree.states
        return [
            (path.relative_to(folder).as_posix(), states[path].size, states[path].tag, path.stat().st_mtime_ns)
            for path in paths
        ]

    def check_settled(self, folder: Path) -> None:
        """Raise PipelineError (KAFKA_LOG_CHANGED) if a commit was made while the folder was listed."""
        if self._tree is not None and self._tree.marks is not None:
            self._tree.marks.check(*self._tree.named(folder))

    def bring(self, *paths: Path) -> None:
        """Fetch small remote files, and replace the empty files that represent them in the local tree.

        Raises PipelineError or LogPathError if a file can't be fetched.
        """
        if self._tree is not None:
            missing = [path for path in paths if path.stat().st_size < self._tree.states[path].size]
            for _ in at_once(self._bring, missing, is_concurrent=self.is_concurrent and len(missing) > 1):
                pass

    def _bring(self, path: Path) -> None:
        remote = self.remote(path)
        path.write_bytes(remote.range(0, remote.state.size))

    def bring_above(self, folder: Path, name: str) -> None:
        """Fetch the file `name` from the parent of a remote folder, if it exists. Raises PipelineError on failure."""
        path = folder.parent / name
        if self._tree is None:
            return
        if not path.is_relative_to(self._tree.root):
            if not path.exists():
                self._tree.bring_from_above(path)
        elif path in self._tree.states:
            self.bring(path)


def locations(
    paths: tuple[str, ...], stack: ExitStack, options: StorageOptions = NO_OPTIONS, *, looks_in_parents: bool = True
) -> Iterator[Location]:
    """Yield the files and folders that match paths and patterns. Raises PipelineError if one of them matches nothing.

    Remote folders are mirrored in temporary local folders, which are deleted when `stack` is closed.

    If `looks_in_parents` is true, the parent folder of a partition's URL is also listed, to detect commits to the
    partition.
    """
    for path in paths:
        found = list(
            _remote(path, stack, options, looks_in_parents=looks_in_parents) if is_remote(path) else _local(path)
        )
        if not found:
            text = f"{path}: there is no such file or folder"
            if is_remote(path):
                text += "; in object storage, a folder exists only while it contains objects"
            raise PipelineError("KAFKA_LOG_NOT_FOUND", options.hidden(f"{text}."))
        yield from found


def folder_location(path: str, stack: ExitStack, options: StorageOptions = NO_OPTIONS) -> Location | None:
    """List a folder and return its location, or None if the folder doesn't exist.

    A remote folder is mirrored in a temporary local folder, which is deleted when `stack` is closed. Raises
    PipelineError if a remote folder can't be listed.
    """
    if not is_remote(path):
        return Location(Path(path), is_named=True) if is_folder(path) else None
    system, bare = store(path, options)
    with reaching(path, options):
        found = _found(system, bare)
    if not found:
        return None
    tree = _Tree(path, bare, bare, system, stack, options)
    tree.add(found, [bare.strip("/")])
    return Location(tree.root, tree, is_named=True)


def _local(path: str) -> Iterator[Location]:
    with rejections():
        local = local_path(path)
        if exists(local) or local.is_symlink():
            yield Location(local, is_named=True)
            return
        found = matching_paths(local) if glob.has_magic(str(local)) else ()
    for match in found:
        yield Location(match, is_named=False)


def _remote(path: str, stack: ExitStack, options: StorageOptions, *, looks_in_parents: bool) -> Iterator[Location]:
    """List the folder of a URL or pattern, and return an iterator over the locations that match."""
    system, bare = store(path, options)
    with reaching(path, options):
        is_named = not glob.has_magic(bare)
        root, most = _listed(bare, is_named=is_named)
        marks = Marks(system, options)
        if is_named and looks_in_parents:
            marks.look_in_parents(bare.strip("/"))
        found = _found(system, root, most)
        is_empty = is_named and not found and _is_folder(system, bare)
    if root and root.strip("/") in found:  # the URL names a file
        root = root.rpartition("/")[0]
    name = bare.strip("/")
    selected = [name] if is_empty else _selected(name, root.strip("/"), found, is_named=is_named)
    tree = _Tree(path, bare, root, system, stack, options)
    marks.add(root.strip("/"), found)
    tree.marks = marks
    tree.add(found, selected)
    return iter([Location(tree.local(name), tree, is_named=is_named) for name in selected])


def _found(system: Any, folder: str, levels: int | None = None) -> dict[str, Any]:
    """Return the details of all files below a folder, by name without slashes at the ends.

    Leave out the empty objects with which S3 tools mark a folder. Their names end with a slash.
    """
    system.invalidate_cache()
    listed = retried(partial(system.find, folder, maxdepth=levels, detail=True))
    found = {name: facts for name, facts in listed.items() if not name.endswith("/")}
    unknown = [name for name, facts in found.items() if facts.get("size") is None]  # HTTP listings have no sizes
    details = at_once(lambda name: retried(partial(system.info, name)), unknown, is_concurrent=is_concurrent(system))
    found |= zip(unknown, details, strict=True)
    return {name.strip("/"): facts for name, facts in found.items()}


def _is_folder(system: Any, path: str) -> bool:
    """Return whether a path is a folder, even an empty one, if the file system has empty folders."""
    system.invalidate_cache()
    return bool(retried(partial(system.isdir, path)))


def _listed(bare: str, *, is_named: bool) -> tuple[str, int | None]:
    """Return the folder to list for a URL or pattern, and how many levels deep to list it (None: all levels).

    For a segment's URL, this is the segment's folder, which also has the index files.
    """
    if not is_named:
        return "/".join(takewhile(lambda part: not glob.has_magic(part), bare.split("/"))), None
    return (bare.rpartition("/")[0], 1) if log_file(Path(bare)) is not None else (bare, None)


def _selected(bare: str, root: str, found: Mapping[str, Any], *, is_named: bool) -> list[str]:
    if is_named:
        return [bare] if any(name == bare or not bare or name.startswith(f"{bare}/") for name in found) else []
    pattern = re.compile(required("fsspec", "spark").utils.glob_translate(bare))
    every = {each for name in found if not is_staged(name) for each in _with_folders(name, root)}
    return sorted(each for each in every if pattern.match(each))


def _with_folders(name: str, root: str) -> Iterator[str]:
    """Yield a file's name, and then the names of its parent folders below `root`, starting with the innermost."""
    while len(name) > len(root):
        yield name
        name = name.rpartition("/")[0]


def received(folder: str, listed: Iterable[Listed], stack: ExitStack, options: StorageOptions) -> Location:
    """Return the location of a folder on a worker. `listed` is the driver's listing of the folder.

    The folder is not listed again. Opened files are prefetched. For a local folder, `listed` is ignored. Raises
    PipelineError for a URL that fsspec can't use.
    """
    if not is_remote(folder):
        return Location(Path(folder), is_named=True)
    system, bare = store(folder, options)
    tree = _Tree(folder, bare, bare, system, stack, options)
    tree.is_received = True
    for name, size, tag, time in listed:
        tree.add_file(tree.root / name, FileState(size, "", tag), time)
    return Location(tree.root, tree, is_named=True)


class _Tree:
    """A local tree of empty files that mirrors a remote listing. It remembers the state and URL of each remote file."""

    def __init__(self, url: str, bare: str, root: str, system: Any, stack: ExitStack, options: StorageOptions) -> None:
        self.options = options
        self.is_concurrent = is_concurrent(system)
        self.is_received = False
        """Whether this process is a task that received the listing from the driver."""
        self.marks: Marks | None = None
        self.states: dict[Path, FileState] = {}
        self._name = root.strip("/")
        self._url, self._suffix = _above(url, len(PurePosixPath(bare[len(root) :].strip("/")).parts))
        self._check(self._name)
        folder = Path(stack.enter_context(temporary_folder("tagwire-plan-")))
        self.root = folder / (PurePosixPath(self._name).name or "root")
        self.root.mkdir()

    def add(self, found: Mapping[str, Any], selected: list[str]) -> None:
        """Add the selected files and folders of a listing to the tree.

        A selected folder is added with all files below it, and a selected file with the other files in its folder.
        The broker's checkpoint files in the parent of each folder are also added.
        """
        folders = {name.rpartition("/")[0] if name in found else name for name in selected}
        above = {name.rpartition("/")[0] for name in folders}
        for name, facts in found.items():
            is_checkpoint = name.endswith("-checkpoint") and name.rpartition("/")[0] in above
            is_below = "" in folders or any(each in folders for each in _with_folders(name, ""))
            if facts["type"] == "file" and (is_below or is_checkpoint) and not is_staged(name):
                self._check(name)
                self.add_file(self.local(name), state_of_facts(facts), modified_at(facts))

    def _check(self, name: str) -> None:
        """Raise PipelineError for a name with the part `..` or `.`, because its local file would have another name.

        A name may begin with `.` if the URL does, as in `tar://.::/path/of.tar`.
        """
        if ".." in name.split("/"):
            text = f"{name}: object names with the part '..' are not supported; rename the object, or give another URL"
            raise unreadable(self.options.hidden(text))
        if "." in name[len(self._name) :].split("/"):
            url = _joined(self._url, ".") + self._suffix
            text = f"{name}: the part '.' of an object name must be in the URL; give {url}"
            raise PipelineError("KAFKA_LOG_NOT_FOUND", self.options.hidden(f"{text}."))

    def add_file(self, path: Path, state: FileState, time: int | None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        if time is not None:
            os.utime(path, ns=(time, time))
        self.states[path] = state

    def named(self, folder: Path) -> tuple[str, str]:
        """Return the name and the URL of a folder, such as ("bucket/logs", "s3://bucket/logs")."""
        if folder == self.root.parent:
            above, suffix = _above(self._url + self._suffix, 1)
            return self._name.rpartition("/")[0], above + suffix
        relative = "" if folder == self.root else folder.relative_to(self.root).as_posix()
        return _joined(self._name, relative), self.url_of(folder)

    def local(self, name: str) -> Path:
        """Return the local path of the remote file or folder `name`."""
        return self.root / name[len(self._name) :].lstrip("/")

    def url_of(self, path: Path) -> str:
        relative = path.relative_to(self.root).as_posix()
        return _joined(self._url, "" if relative == "." else relative) + self._suffix

    def bring_from_above(self, path: Path) -> None:
        """Download a file from the parent folder, if it exists. Raises PipelineError on failure."""
        if not self._name:
            return
        above, suffix = _above(self._url + self._suffix, 1)
        url = _joined(above, path.name) + suffix
        system, name = store(url, self.options)
        with reaching(url, self.options), suppress(FileNotFoundError):
            path.write_bytes(retried(partial(system.cat_file, name)))


def folder_of(file: str) -> str:
    """Return the path or URL of the folder that contains a file."""
    if is_remote(file):
        return "".join(_above(file, 1))
    return os.path.dirname(file)  # noqa: PTH120 - called for each segment


def _above(url: str, levels: int) -> tuple[str, str]:
    """Remove the last `levels` parts of a URL's path. Return the shorter URL as two strings.

    The second string is the container, as in ("zip://logs", "::/path/of.zip"), or empty.
    """
    base, colons, container = url.partition("::")
    scheme, _, rest = base.partition("://")
    parts = rest.rstrip("/").split("/")
    return f"{scheme}://{'/'.join(parts[: len(parts) - levels])}", colons + container


def _joined(url: str, relative: str) -> str:
    return f"{url}{relative}" if not relative or url.endswith("/") else f"{url}/{relative}"


def capture_files(paths: tuple[str, ...], options: StorageOptions = NO_OPTIONS) -> list[tuple[str, FileState | None]]:
    """Return the files at paths and patterns, each with its state (None for a local file).

    For a folder, return all its files except hidden ones. Raises PipelineError if a path matches nothing.
    """
    with ExitStack() as stack:
        found = []
        for location in locations(paths, stack, options):
            files = [location.local] if location.local.is_file() else files_below(location.local)
            shown = [file for file in files if not file.name.startswith((".", "_"))]
            found += [
                (name, location.state_of(file) if is_remote(name) else None)
                for file, name in zip(shown, map(location.name_of, shown), strict=True)
            ]
        return found
