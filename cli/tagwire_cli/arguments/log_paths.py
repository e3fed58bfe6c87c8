"""Find the segments and partitions in the paths given to a `tagwire log` command."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tagwire_cli.output.echo import say
from tagwire_cli.output.progress import progress_bar

if TYPE_CHECKING:
    from tagwire.log import Partition, Segment


def partitions_of(paths: Iterable[Path]) -> Iterator["Partition | Segment"]:
    """Yield the partitions in these folders and their subfolders, and a segment for each path that is a file.

    Raises LogPathError for a folder without partitions, and for a capture file.
    """
    from tagwire.log import LogPathError, Segment, find_partitions

    for path in paths:
        if path.is_file():
            _reject_others(path)
            yield Segment(path)
            continue
        found = list(find_partitions(path))
        if not found:
            raise LogPathError(f"{path}: no partition found in this folder or below it")
        yield from found


def _reject_others(path: Path) -> None:
    from tagwire.captures import capture_kind
    from tagwire.log import LogPathError

    with path.open("rb") as file:
        start = file.read(4096)
    if kind := capture_kind(start):
        found = "a network capture" if kind == "network capture" else kind
        raise LogPathError(f"{path}: expected a log segment, got {found}; read the file with `tagwire explain {path}`")
    if start.startswith(b"\x1f\x8b"):
        raise LogPathError(f"{path} is compressed by gzip; decompress it first, with `gunzip {path}`")


def segments_of(found: "Partition | Segment") -> Sequence["Segment"]:
    """Return the segments to read. A partition's metadata snapshots come before its segments."""
    from tagwire.log import Segment

    return [found] if isinstance(found, Segment) else [*found.metadata_snapshots, *found.segments]


def partitions_below(path: Path, done: str) -> "list[Partition]":
    """Return the partitions in and below a folder. Raises LogPathError if there are none, or if the path is a file."""
    from tagwire.log import LogPathError, find_partitions

    if path.is_file():
        _reject_others(path)
        raise LogPathError(f"{path}: a single segment can't be {done}; give the folder of its partition")
    found = list(find_partitions(path))
    if not found:
        raise LogPathError(f"{path}: no partition found in this folder or below it")
    return found


def target_of(partition: "Partition", path: Path, output: Path) -> Path:
    """Return the output folder of a partition. Its path below `output` is the partition's path below `path`.

    If `path` is the partition itself, the output folder is directly in `output` and has the partition's name.
    """
    if partition.path == path:
        return output / path.absolute().name
    return output / partition.path.relative_to(path)


class Work(NamedTuple):
    """The partitions that a command must process for one path argument."""

    path: Path
    found: "list[Partition]"
    """All partitions in and below the path, including those already written."""
    left: "list[tuple[Partition, Path]]"
    """The partitions that are not yet written, with their output folders."""


def work_of(
    paths: Iterable[Path], done: str, target_of: "Callable[[Partition, Path], Path]", *, resumes: bool
) -> list[Work]:
    """Find the partitions to write, without writing anything.

    `target_of(partition, path)` returns the output folder of a partition in `path`. With `resumes`, a partition whose
    output folder exists is skipped.

    Raises LogPathError if an output folder exists (without `resumes`) or is inside a partition, or if two partitions
    have the same output folder. Also raises LogPathError for a path that is a file or has no partitions.
    """
    from tagwire.log import LogPathError
    from tagwire.log.whole_folder import reject_existing, reject_inside

    work, seen = [], dict[Path, Path]()
    for path in paths:
        found, left = partitions_below(path, done), []
        for partition in found:
            target = target_of(partition, path)
            if target in seen:
                raise LogPathError(
                    f"{partition.path} and {seen[target]} would both be written to {target}; give only one of them"
                )
            seen[target] = partition.path
            if resumes and target.exists():
                say(f"tagwire: {target} already exists; skipped", err=True)
                continue
            reject_existing(target)
            left.append((partition, target))
        work.append(Work(path, found, left))
    reject_inside(seen, seen.values())
    return work


def log_folders(found: "Iterable[Partition]", path: Path, output: Path) -> list[tuple[Path, Path]]:
    """Return the folders at or below `path` that contain partitions, each with the matching folder below `output`.

    The result is empty if `path` is itself a partition.
    """
    folders = {partition.path.parent for partition in found if partition.path != path}
    return [(folder, output / folder.relative_to(path)) for folder in sorted(folders)]


@contextmanager
def byte_progress(
    label: str, found: "Sequence[Partition | Segment]", rounds: int = 1, *, prints_all_along: bool = False
) -> Generator[Callable[[int], None] | None]:
    """Show a progress bar while logs are read. Yields a function to call with the number of bytes just read.

    If no bar can be shown, yields None instead. `rounds` is the number of times that the command reads each segment.
    Set `prints_all_along` if the command prints lines while the bar is shown (see `progress_bar`).
    """
    with progress_bar(label, prints_all_along=prints_all_along) as tell:
        if tell is None:
            yield None
            return
        total = rounds * sum(segment.size for each in found for segment in segments_of(each))
        done = 0

        def more(count: int) -> None:
            nonlocal done
            done += count
            tell(done, total)

        yield more
