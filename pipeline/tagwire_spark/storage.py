"""Where logs lie: folders of this machine, and of any file system that fsspec knows.

A remote log is planned on a copy of its tree in which segments are holes:
sparse files of the right length. Everything that is small (indexes,
checkpoints, snapshots) is really there, so planning is the same for both. A
task fetches the bytes of its own split to their place in such a file, on the
worker's disk. So no segment is ever held in memory.
"""

import glob
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tagwire.extras import required
from tagwire.log.names import log_file
from tagwire_spark.errors import PipelineError

__all__ = ["Place", "capture_files", "fetched", "is_remote", "opened", "places"]

_CHUNK: Final = 8 << 20
_BESIDE: Final = ("index", "timeindex", "txnindex", "snapshot")
"""Kinds of files that planning reads."""
_ABOVE: Final = "log-start-offset-checkpoint"
"""What lies in the folder above a partition's."""


class Place:
    """A path on this machine, and what it is called where it came from."""

    def __init__(self, local: Path, name: str, system: Any = None, before: str = "", behind: str = "") -> None:
        self.local = local
        self._name = name
        self._system = system
        self._before = before
        """The scheme of a URL, and what its name stands in: zip://NAME::/path/of.zip is a file in an archive."""
        self._behind = behind

    @property
    def origin(self) -> str:
        """What it is called there itself."""
        return self.name_of(self.local)

    def name_of(self, path: Path) -> str:
        """What a path below is called there."""
        relative = path.relative_to(self.local).as_posix()
        name = self._name
        if relative != ".":
            name = f"{name.rstrip('/')}/{relative}" if name else relative
        return self._before + name + self._behind

    def bring(self, path: Path) -> None:
        """Make a file below that planning has to read more than a hole."""
        if self._system is not None:
            self._system.get_file(_system(self.name_of(path))[1], str(path))


def is_remote(path: str) -> bool:
    """Whether a path is a URL of a file system that is not this machine's."""
    return "://" in path and not path.startswith("file://")


def places(paths: tuple[str, ...], stack: ExitStack) -> Iterator[Place]:
    """The places that paths and patterns mean; copies go when `stack` is closed. Raises PipelineError."""
    for path in paths:
        found = list(_remote(path, stack) if is_remote(path) else _local(path))
        if not found:
            raise PipelineError("KAFKA_LOG_NOT_FOUND", f"{path}: there is no such file or folder.")
        yield from found


def _local(path: str) -> Iterator[Place]:
    bare = path.removeprefix("file://").removeprefix("file:")
    names = sorted(glob.glob(bare)) if glob.has_magic(bare) and not Path(bare).exists() else [bare]  # noqa: PTH207
    for name in names:
        if Path(name).exists():
            local = Path(name).absolute()
            yield Place(local, str(local))


def _remote(path: str, stack: ExitStack) -> Iterator[Place]:
    system, bare = _system(path)
    scheme, _, rest = path.partition("://")
    behind = "".join(rest.partition("::")[1:])
    for number, name in enumerate(sorted(system.glob(bare)) if glob.has_magic(bare) else [bare]):
        if system.exists(name):
            root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tagwire-plan-"))) / str(number)
            local = root / PurePosixPath(name).name
            _mirror(system, name, local)
            above = f"{PurePosixPath(name).parent}/{_ABOVE}"
            if system.exists(above):
                system.get_file(above, str(root / _ABOVE))
            yield Place(local, name, system, f"{scheme}://", behind)


def _system(path: str) -> tuple[Any, str]:
    core = required("fsspec", "spark").core
    try:
        system, bare = core.url_to_fs(path)
    except (ImportError, OSError, ValueError) as error:  # of a scheme that it does not know, or lacks the library of
        raise PipelineError("KAFKA_LOG_NOT_FOUND", f"{path}: fsspec can't reach it: {error}.") from None
    return system, str(bare).rstrip("/")


def _mirror(system: Any, name: str, local: Path) -> None:
    """The tree of a remote folder, with holes for segments."""
    files: dict[str, Any] = system.find(name, detail=True)
    for each, facts in files.items():
        target = local if each.rstrip("/") == name else local / PurePosixPath(each).relative_to(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        file = log_file(target)
        if (file is not None and file.kind in _BESIDE) or target.name.endswith("-checkpoint"):
            system.get_file(each, str(target))
        else:
            _hole(target, int(facts["size"] or 0))


def _hole(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


class Opened:
    """A segment on this machine, of which at least a range is really there."""

    def __init__(self, path: Path, system: Any = None, name: str = "", *, whole: bool = True) -> None:
        self.path = path
        self.is_whole = whole
        self._system = system
        self._name = name

    def fetch(self, start: int, end: int) -> None:
        """Bring a range of bytes to its place."""
        with self.path.open("r+b") as target:
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
        size = int(system.size(name))
        _hole(path, size)
        part = Opened(path, system, name, whole=start == 0 and end >= size)
        part.fetch(start, min(end, size))
        yield part


def capture_files(paths: tuple[str, ...]) -> list[str]:
    """The files that paths and patterns mean: those in folders as well, but hidden ones. Raises PipelineError."""
    with ExitStack() as stack:
        found = []
        for place in places(paths, stack):
            files = [place.local] if place.local.is_file() else sorted(p for p in place.local.rglob("*") if p.is_file())
            found += [place.name_of(file) for file in files if not file.name.startswith((".", "_"))]
        return found


def fetched(file: str, stack: ExitStack) -> str:
    """The path of a file on this machine; a copy goes when `stack` is closed."""
    if not is_remote(file):
        return file
    source = stack.enter_context(opened(file, 0, sys.maxsize))
    return str(source.path)
