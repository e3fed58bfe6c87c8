"""Where logs lie: folders of this machine, and of any file system that fsspec knows.

A remote log is planned on a copy of its tree in which segments are holes:
sparse files of the right length. Everything that is small (indexes,
checkpoints, snapshots) is really there, so planning is the same for both. A
task fetches the bytes of its own split to their location in such a file, on the
worker's disk. So no segment is ever held in memory.
"""

import glob
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tagwire.errors import TagwireError
from tagwire.extras import required
from tagwire.log.names import log_file
from tagwire.log.segment import Segment
from tagwire_spark.errors import PipelineError
from tagwire_spark.files.file_state import FileState, state_of_facts, state_of_status

__all__ = ["Location", "capture_files", "fetched", "is_remote", "local_path", "locations", "opened"]

_CHUNK: Final = 8 << 20
_BESIDE: Final = ("index", "timeindex", "txnindex", "snapshot")
"""Kinds of files that planning reads."""
_ABOVE: Final = "log-start-offset-checkpoint"
"""What lies in the folder above a partition's."""


class Location:
    """A path on this machine, and its name at its origin.

    `local` is in `root`, or equals it; `url` is the name of `root`, followed by
    `behind`, the container: zip://NAME::/path/of.zip is in an archive.
    """

    def __init__(
        self,
        local: Path,
        root: Path,
        url: str,
        behind: str = "",
        system: Any = None,
        states: Mapping[Path, FileState] | None = None,
        *,
        is_named: bool,
    ) -> None:
        self.local = local
        self.is_named = is_named
        """Whether somebody gave just this path, and no pattern that it matches."""
        self._root = root
        self._url = url
        self._behind = behind
        self._system = system
        self._states = states

    @property
    def origin(self) -> str:
        """What it is called there itself."""
        return self.name_of(self.local)

    def name_of(self, path: Path) -> str:
        """What a path below, or one beside a file, is called there."""
        relative = path.relative_to(self._root).as_posix()
        return _joined(self._url, "" if relative == "." else relative) + self._behind

    def state_of(self, path: Path) -> FileState:
        """What identifies a file below. Raises LogPathError where it is gone."""
        return state_of_status(Segment(path).status()) if self._states is None else self._states[path]

    def bring(self, path: Path) -> None:
        """Make a file below that planning has to read more than a hole. Raises PipelineError."""
        if self._system is not None:
            name = self.name_of(path)
            with _reaching(name):
                self._system.get_file(_system(name)[1], str(path))


def _joined(url: str, relative: str) -> str:
    return f"{url}{relative}" if not relative or url.endswith("/") else f"{url}/{relative}"


def is_remote(path: str) -> bool:
    """Whether a path is a URL of a file system that is not this machine's."""
    return "://" in path and not path.startswith("file://")


def locations(paths: tuple[str, ...], stack: ExitStack) -> Iterator[Location]:
    """The locations that paths and patterns mean; copies go when `stack` is closed. Raises PipelineError."""
    for path in paths:
        found = list(_remote(path, stack) if is_remote(path) else _local(path))
        if not found:
            raise PipelineError("KAFKA_LOG_NOT_FOUND", f"{path}: there is no such file or folder.")
        yield from found


def local_path(path: str) -> Path:
    """A path of this machine, or its URL, from the root on and with the name of what it leads to: `..` has none."""
    bare = Path(path.removeprefix("file://").removeprefix("file:"))
    return bare.resolve() if ".." in bare.parts else bare.absolute()


def _local(path: str) -> Iterator[Location]:
    whole = local_path(path)
    try:
        if whole.exists() or not glob.has_magic(str(whole)):
            if whole.exists():
                yield Location(whole, whole, str(whole), is_named=True)
            return
    except OSError as error:
        raise PipelineError("KAFKA_LOG_NOT_FOUND", f"{path}: can't be read: {error.strerror}.") from None
    for name in sorted(glob.glob(str(whole))):  # noqa: PTH207
        yield Location(Path(name), Path(name), name, is_named=False)


# ---------------------------------------------------------------- other file systems


def _remote(path: str, stack: ExitStack) -> Iterator[Location]:
    system, bare = _system(path)
    with _reaching(path):
        is_named = not glob.has_magic(bare)
        names = [bare] if is_named else sorted(system.glob(bare))
        url, _, archive = path.partition("::")
        copies = _Copies(system, stack, _UrlOf(url, bare, is_named=is_named), archive and f"::{archive}")
        return iter([copies.location(name, is_named=is_named) for name in names if not name or system.exists(name)])


class _UrlOf:
    """URLs of what a URL means; what a file system calls a file lacks the host, and the scheme."""

    def __init__(self, url: str, bare: str, *, is_named: bool) -> None:
        scheme, _, rest = url.partition("://")
        self._url, self._bare = f"{scheme}://{rest.rstrip('/')}", bare
        if not is_named:  # what is before the first folder with magic is the same in every name
            self._url, self._bare = (text[: text.rfind("/", 0, _magic_at(text)) + 1] for text in (url, bare))

    def __call__(self, name: str) -> str:
        return _joined(self._url, name[len(self._bare) :].lstrip("/"))


def _magic_at(pattern: str) -> int:
    return next(at for at, letter in enumerate(pattern) if glob.has_magic(letter))


class _Copies:
    """Copies of remote folders for planning; files that are matched in one share it."""

    def __init__(self, system: Any, stack: ExitStack, url_of: _UrlOf, behind: str) -> None:
        self._system = system
        self._stack = stack
        self._url_of = url_of
        self._behind = behind
        self._made: dict[str, Path] = {}
        self._states: dict[Path, FileState] = {}

    def location(self, name: str, *, is_named: bool) -> Location:
        """What planning sees of a file or a folder."""
        local, root, url = self._copied(name)
        return Location(local, root, url, self._behind, self._system, self._states, is_named=is_named)

    def _copied(self, name: str) -> tuple[Path, Path, str]:
        """A folder; a segment in its partition's folder, with what lies beside it; or another file. And its root."""
        url = self._url_of(name)
        if not self._system.isfile(name):
            folder = self._copy(name, self._system.find)
            return folder, folder, url
        if log_file(Path(name)) is not None:
            above, _, file = name.rpartition("/")
            folder = self._copy(above, self._system.ls)
            return folder / file, folder, url[: url.rfind("/") + 1]
        alone = self._folder() / PurePosixPath(name).name
        self._states[alone] = state_of_facts(self._system.info(name))
        _hole(alone, self._states[alone].size)
        return alone, alone, url

    def _copy(self, name: str, listed: Any) -> Path:
        """The tree of a folder, or its files, with holes for segments; and a checkpoint of the folder above."""
        if name in self._made:
            return self._made[name]
        above, _, last = name.rpartition("/")
        root = self._made[name] = self._folder() / (last or "root")
        root.mkdir()
        for each, facts in _files(listed(name, detail=True)):
            target = root / PurePosixPath(each.strip("/")).relative_to(name.strip("/"))
            target.parent.mkdir(parents=True, exist_ok=True)
            self._states[target] = state_of_facts(facts)
            if _is_read(target):
                self._system.get_file(each, str(target))
            else:
                _hole(target, self._states[target].size)
        if name and self._system.exists(f"{above}/{_ABOVE}"):
            self._system.get_file(f"{above}/{_ABOVE}", str(root.parent / _ABOVE))
        return root

    def _folder(self) -> Path:
        return Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="tagwire-plan-")))


def _files(listed: Any) -> Iterator[tuple[str, Any]]:
    """Names and facts of files, as fsspec's `find` and `ls` have them."""
    for facts in listed.values() if isinstance(listed, dict) else listed:
        if facts["type"] == "file":
            yield facts["name"], facts


def _is_read(path: Path) -> bool:
    """Whether planning reads a file: small ones, and what a swap was cleaned from is known by its last batch."""
    file = log_file(path)
    if file is None:
        return path.name.endswith("-checkpoint")
    return file.kind in _BESIDE or (file.kind == "log" and file.state == "swap")


def _system(path: str) -> tuple[Any, str]:
    core = required("fsspec", "spark").core
    with _reaching(path):  # of a scheme that it does not know, or lacks the library of
        system, bare = core.url_to_fs(path)
    return system, str(bare).rstrip("/")


@contextmanager
def _reaching(path: str) -> Generator[None]:
    """Turn all errors of a file system's library into PipelineError."""
    try:
        yield
    except TagwireError:
        raise
    except Exception as error:
        said = str(error) or type(error).__name__
        raise PipelineError("KAFKA_LOG_NOT_FOUND", f"{path}: fsspec can't reach it: {said}.") from None


def _hole(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


class Opened:
    """A segment on this machine, of which at least a range is really there."""

    def __init__(
        self, path: Path, system: Any = None, name: str = "", state: FileState | None = None, *, whole: bool = True
    ) -> None:
        self.path = path
        self.state = state
        """What identifies a remote file; None for one of this machine."""
        self.is_whole = whole
        self._system = system
        self._name = name

    def fetch(self, start: int, end: int) -> None:
        """Bring a range of bytes to its location. Raises PipelineError."""
        with self.path.open("r+b") as target, _reaching(self._name):
            target.seek(start)
            for begin in range(start, end, _CHUNK):
                target.write(self._system.cat_file(self._name, start=begin, end=min(begin + _CHUNK, end)))

    def fetch_all(self) -> None:
        """Bring what is not there yet."""
        self.fetch(0, self.path.stat().st_size)
        self.is_whole = True


@contextmanager
def opened(file: str, start: int, end: int) -> Generator[Opened]:
    """A segment by the name that planning gave it, with its bytes from `start` to `end` at least."""
    if not is_remote(file):
        yield Opened(Path(file))
        return
    system, name = _system(file)
    with tempfile.TemporaryDirectory(prefix="tagwire-split-") as folder:
        path = Path(folder) / PurePosixPath(name).name
        with _reaching(file):
            state = state_of_facts(system.info(name))
        size = state.size
        _hole(path, size)
        part = Opened(path, system, name, state, whole=start == 0 and end >= size)
        part.fetch(start, min(end, size))
        yield part


def capture_files(paths: tuple[str, ...]) -> list[str]:
    """The files that paths and patterns mean: those in folders as well, but hidden ones. Raises PipelineError."""
    with ExitStack() as stack:
        found = []
        for location in locations(paths, stack):
            files = (
                [location.local]
                if location.local.is_file()
                else sorted(p for p in location.local.rglob("*") if p.is_file())
            )
            found += [location.name_of(file) for file in files if not file.name.startswith((".", "_"))]
        return found


def fetched(file: str, stack: ExitStack) -> str:
    """The path of a file on this machine; a copy goes when `stack` is closed."""
    if not is_remote(file):
        return file
    source = stack.enter_context(opened(file, 0, sys.maxsize))
    return str(source.path)
