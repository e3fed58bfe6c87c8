"""The options of commands about logs, and other code that these commands share.

The code finds the partitions in the given paths and in output folders, and reports progress and damage.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

import click

from tagwire.errors import DecodeError, LimitError
from tagwire.wire.compression import CODEC_NAMES
from tagwire_cli.arguments.options import json_lines_option, limit_option, option_group
from tagwire_cli.output.echo import progress_bar, say
from tagwire_cli.paths import AnyPath, InputPath, reject_pipe

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from tagwire.log import LogError, LogPathError, Partition, Segment
    from tagwire.log.scan import Progress
    from tagwire.records import FormatSet


F = TypeVar("F", bound=Callable[..., Any])

_AUTO: Final = "auto"
_MOST: Final = 100
"""The maximum number of errors to print individually, since a damaged log may cause a million."""


class FormatName(click.types.StringParamType):
    """A click parameter type for record format names.

    If `is_read` is set, it also accepts `auto` and lists of names.
    """

    name = "format"

    def __init__(self, *, is_read: bool = False) -> None:
        self.is_read = is_read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from tagwire.records.format_set import FormatError, format_of, format_set

        if value in ("json", "html"):
            self.fail(
                f"expected a record format, got {value!r}; for {value.upper()} output, use --{value}.", param, ctx
            )
        try:
            format_set(value) if self.is_read else format_of(value)
        except FormatError as error:
            self.fail(str(error), param, ctx)
        return str(super().convert(value, param, ctx))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        from tagwire.records.format_set import format_names

        names = [*format_names(), *([_AUTO] if self.is_read else [])]
        return [CompletionItem(name) for name in names if name.startswith(incomplete.lower())]


def record_format_option(parameter: str, help_text: str, **more: Any) -> Callable[[F], F]:
    """Add the option `--record-format` (or `--format`), whose value becomes this parameter of the command."""
    format_name = FormatName(is_read=True)
    names = ("--record-format", "--format", parameter)
    return click.option(*names, metavar="NAME", type=format_name, help=help_text, **more)


records_option = click.option(
    "--records",
    metavar="NAME",
    type=FormatName(is_read=True),
    help="The format of records in messages; default: the spec's.",
)
"""Adds the option `--records`, the format of the records in messages."""


def formats_of(name: str | None, *, only: bool, strict: bool = True) -> "FormatSet":
    """Return the record formats to accept. `name` is the value of `--format`, and `only` that of `--only-format`.

    Raises click.UsageError if `only` is set, but `name` is None or `auto`.
    """
    from tagwire.records.format_set import FormatError, format_set

    try:
        return format_set(name or _AUTO, only=only, strict=strict)
    except FormatError:
        raise click.UsageError("--only-format needs --record-format with the name of a format, not `auto`.") from None


paths_argument = click.argument(
    "paths", nargs=-1, required=True, metavar="PATH...", type=InputPath(stdin_name=f"{0:020}.log")
)
"""Adds the argument PATH... for existing paths, which become Path objects. `-` is a segment on standard input."""


def format_option(function: F) -> F:
    """Add the options `--format` and `--only-format`. The command gets both as one parameter, `format`, a FormatSet."""

    @wraps(function)
    def called(*args: Any, format: str, only_format: bool, **options: Any) -> Any:
        strict = not options.get("is_lenient", False)
        return function(*args, format=formats_of(format, only=only_format, strict=strict), **options)

    text = "Assume this format for batches with its magic byte; detect all other formats."
    add = record_format_option("format", text, default="auto", show_default=True)
    return cast(F, only_format_option(add(called)))


def lenient_option(function: F) -> F:
    """Add the option `--lenient`. If it is not given, errors about damaged batches suggest it."""

    @wraps(function)
    def called(*args: Any, is_lenient: bool, **options: Any) -> Any:
        try:
            return function(*args, is_lenient=is_lenient, **options)
        except DecodeError as error:
            is_damage = getattr(error, "rule", "").startswith("TWL1") and not isinstance(error, LimitError)
            if is_damage and not is_lenient and "select a format" not in str(error):
                error.add_note("to skip damaged parts, add --lenient")
            raise

    text = "Accept what Kafka's reader accepts, skip damaged parts, and report both."
    return cast(F, click.option("--lenient", "is_lenient", is_flag=True, help=text)(called))


only_format_option = click.option("--only-format", is_flag=True, help="Reject batches of any other format.")
"""Adds the flag `--only-format`, which rejects batches in any format other than that of `--format`."""

reading_options = option_group(lenient_option, format_option, json_lines_option, limit_option)
"""Adds the options that most commands have: `--lenient`, `--format`, `--only-format`, `--json` and `--limit`."""

output_options = option_group(
    click.option(
        *("--output", "output"),
        required=True,
        metavar="DIR",
        type=AnyPath(files=False),
        help="Write the partitions to this folder.",
    ),
    click.option("--resume", "resumes", is_flag=True, help="Skip partitions that already exist in DIR."),
)
"""Adds the options `--output` and `--resume`, for commands that write whole partitions."""

conversion_options = option_group(
    click.option("--codec", type=click.Choice(CODEC_NAMES), help="The compression of batches; default: unchanged."),
    click.option(
        "--batch-bytes", type=click.IntRange(1), metavar="N", help="Make batches of up to N bytes, uncompressed."
    ),
    click.option("--batch-records", type=click.IntRange(1), metavar="N", help="Make batches of up to N records."),
)
"""Adds the options that set the codec and the maximum size of new batches."""


def new_format_option(name: str = "--to", **more: Any) -> Callable[[F], F]:
    """Add an option whose value is the name of a record format to write. `more` is passed to `click.option`."""
    return click.option(name, metavar="FORMAT", type=FormatName(), **more)


whatif_options = option_group(
    new_format_option(required=True, help="The new format."),
    new_format_option("--against", help="The format to compare with; default: the format of each batch."),
    conversion_options,
    click.option("--html", type=AnyPath(folders=False), metavar="FILE", help="Write an HTML page with plots."),
    click.option(
        "--top", default=20, show_default=True, metavar="N", help="Number of topics in the table and on the page."
    ),
    click.option("--json", "as_json", is_flag=True, help="Print JSON, with every kind of batch."),
    format_option,
)
"""Adds the options that `tagwire whatif` shares with `tagwire spark whatif`."""


def partitions_of(paths: Iterable[Path]) -> Iterator["Partition | Segment"]:
    """Yield the partitions in these folders and their subfolders, and a segment for each path that is a file.

    Raises LogPathError for a folder without partitions, and for a capture file.
    """
    from tagwire.log import Segment

    for path in paths:
        if path.is_file():
            _reject_others(path)
            yield Segment(path)
        else:
            yield from partitions_below(path, "read")


def _reject_others(path: Path) -> None:
    from tagwire.captures import capture_kind
    from tagwire.log import LogPathError
    from tagwire.log.errors import unreadable

    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise unreadable(path, error) from None
    if kind := capture_kind(start):
        found = "a network capture" if kind == "network capture" else kind
        raise LogPathError(f"{path}: expected a log segment, got {found}; read the file with `tagwire explain {path}`")
    if start.startswith(b"\x1f\x8b"):
        raise LogPathError(f"{path} is compressed by gzip; decompress it first, with `gunzip {path}`")


def segments_of(found: "Partition | Segment", *, with_snapshots: bool = True) -> Sequence["Segment"]:
    """Return the segments to read. A partition's metadata snapshots come before its segments."""
    from tagwire.log import Segment

    if isinstance(found, Segment):
        return [found]
    return [*(found.metadata_snapshots if with_snapshots else ()), *found.segments]


def partitions_below(path: Path, done: str) -> "list[Partition]":
    """Return the partitions in and below a folder. Raises LogPathError if there are none, or if the path is a file.

    `done` is a participle that says what the command does to partitions, such as "converted".
    """
    from tagwire.log import LogPathError, find_partitions

    reject_pipe(path)
    if path.is_file():
        _reject_others(path)
        raise LogPathError(f"{path}: a single segment can't be {done}; give the folder of its partition")
    found = list(find_partitions(path))
    if not found:
        raise LogPathError(f"{path}: no partition found in this folder or below it")
    return found


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

    Raises LogPathError if an output folder exists (without `resumes`) or is inside one of the paths, or if two
    partitions have the same output folder. Also raises LogPathError for a path that is a file or has no partitions.
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
    reject_inside(seen, (each.path for each in work))
    reject_inside(seen, seen.values())  # a partition may be a link to a folder elsewhere
    return work


def partitions_to_write(
    paths: Iterable[Path], output: Path, verb: str, *, resumes: bool, keeps_producers: bool, **bar_options: Any
) -> "Iterator[tuple[Partition, Path, Progress]]":
    """Yield each partition to write to `output`, its output folder, and a function to call with numbers of read bytes.

    A partition's path below `output` is its path below the path argument. If the argument is the partition itself, the
    output folder is directly in `output`. When the caller has written all partitions of a path, the broker's own files
    in the log folders are copied, too: its properties and checkpoints and, with `keeps_producers`, its snapshots.

    `verb` is "convert" or "compact". `bar_options` contains arguments of `byte_progress`.
    """
    from tagwire.log.convert import copy_directory_files

    def find_target(partition: "Partition", path: Path) -> Path:
        return output / (path.absolute().name if partition.path == path else partition.path.relative_to(path))

    folders: list[tuple[Path, Path]] = []
    for path, found, left in work_of(paths, f"{verb}ed", find_target, resumes=resumes):
        with byte_progress(verb, [partition for partition, _ in left], **bar_options) as progress:
            for partition, target in left:
                yield partition, target, progress
        parents = {partition.path.parent for partition in found if partition.path != path}
        folders += [(folder, output / folder.relative_to(path)) for folder in sorted(parents)]
        # Copy the broker's checkpoints now, so that this path's output is complete even if a later path fails.
        copy_directory_files(folders, keeps_producers=keeps_producers)


@contextmanager
def byte_progress(
    label: str, found: "Sequence[Partition | Segment]", rounds: int = 1, *, prints_all_along: bool = False
) -> "Generator[Progress]":
    """Show a progress bar, if possible, while logs are read. Yields a function to call with the number of bytes read.

    `rounds` is the number of times that the command reads each segment. Set `prints_all_along` if the command prints
    lines while the bar is shown (see `progress_bar`).
    """
    from tagwire.log.scan import ignore

    with progress_bar(label, prints_all_along=prints_all_along) as progress:
        if progress is None:
            yield ignore
            return
        total = rounds * sum(segment.size for each in found for segment in segments_of(each))
        done = 0

        def more(count: int) -> None:
            nonlocal done
            done += count
            progress(done, total)

        yield more


class Skipped:
    """Reports and counts the damaged parts of a log that a command skips. Call it with each error, then call `end`."""

    def __init__(self) -> None:
        self.count = 0
        self._last = ""

    def __call__(self, error: "LogError | LogPathError") -> None:
        if str(error) == self._last:  # the batch was read twice
            return
        self._last = str(error)
        self.count += 1
        if self.count <= _MOST:
            say(f"tagwire: skipped: {error}", err=True)

    def end(self) -> None:
        """Print how many errors were not printed individually. Exits with status 1 if there was any error."""
        if self.count > _MOST:
            say(f"tagwire: skipped: {self.count - _MOST} more", err=True)
        if self.count:
            raise click.exceptions.Exit(1)
