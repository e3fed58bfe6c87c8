"""The options that commands of `tagwire log` and `tagwire spark` share."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from tagwire.wire.compression import CODEC_NAMES
from tagwire_cli.paths import InputPath

if TYPE_CHECKING:
    from tagwire.records import FormatSet


_AUTO = "auto"


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

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from tagwire.records.format_set import format_names

        names = [*format_names(), *([_AUTO] if self.is_read else [])]
        return [CompletionItem(name) for name in names if name.startswith(incomplete.lower())]


def formats_of(name: str | None, *, only: bool, strict: bool = True) -> "FormatSet":
    """Return the record formats to accept. `name` is the value of `--format`, and `only` that of `--only-format`.

    Raises click.UsageError if `only` is set, but `name` is None or `auto`.
    """
    from tagwire.records.format_set import FormatError, format_set

    try:
        return format_set(name or _AUTO, only=only, strict=strict)
    except FormatError:
        raise click.UsageError("--only-format needs --record-format with the name of a format, not `auto`.") from None


F = TypeVar("F", bound=Callable[..., Any])


def paths_argument(function: F) -> F:
    """Add the argument PATH... for existing paths, which become Path objects. `-` is a segment on standard input."""
    kind = InputPath(stdin_name=f"{0:020}.log")
    return click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=kind)(function)


def format_option(function: F) -> F:
    """Add the options `--format` and `--only-format`. The command gets both as one parameter, `format`, a FormatSet."""
    return only_format_option(
        click.option(
            "--record-format",
            "--format",
            "format",
            default="auto",
            show_default=True,
            metavar="NAME",
            type=FormatName(is_read=True),
            help="Assume this format for batches with its magic byte; detect all other formats.",
        )(_with_formats(function))
    )


def lenient_option(function: F) -> F:
    """Add the option `--lenient`, which accepts all records that Kafka's reader accepts."""
    return click.option(
        *("--lenient", "is_lenient"),
        is_flag=True,
        help="Accept what Kafka's reader accepts, skip damaged parts, and report both.",
    )(function)


def only_format_option(function: F) -> F:
    """Add the flag `--only-format`, which rejects batches in any format other than that of `--format`."""
    return click.option("--only-format", is_flag=True, help="Reject batches of any other format.")(function)


def _with_formats(function: F) -> F:
    @wraps(function)
    def called(*args: Any, format: str, only_format: bool, **options: Any) -> Any:
        strict = not options.get("is_lenient", False)
        return function(*args, format=formats_of(format, only=only_format, strict=strict), **options)

    return cast(F, called)


def output_options(function: F) -> F:
    """Add the options `--output` and `--resume`, for commands that write whole partitions."""
    for option in (
        click.option("--resume", "resumes", is_flag=True, help="Skip partitions that already exist in DIR."),
        click.option(
            *("--output", "output"),
            required=True,
            metavar="DIR",
            type=click.Path(path_type=Path),
            help="Write the partitions to this folder.",
        ),
    ):
        function = option(function)
    return function


def conversion_options(function: F) -> F:
    """Add the options that set the codec and the maximum size of new batches."""
    codecs = click.Choice(CODEC_NAMES)
    for option in (
        click.option("--batch-records", type=click.IntRange(1), metavar="N", help="Make batches of up to N records."),
        click.option(
            "--batch-bytes", type=click.IntRange(1), metavar="N", help="Make batches of up to N bytes, uncompressed."
        ),
        click.option("--codec", type=codecs, help="The compression of batches; default: unchanged."),
    ):
        function = option(function)
    return function


def new_format_option(**more: Any) -> Callable[[F], F]:
    """Add the option `--to`, whose value is the name of a record format. `more` is passed to `click.option`."""
    return click.option("--to", metavar="FORMAT", type=FormatName(), **more)


def whatif_options(function: F) -> F:
    """Add the options that `tagwire whatif` shares with `tagwire spark whatif`."""
    against_help = "The format to compare with; default: the format of each batch."
    page = click.Path(path_type=Path, dir_okay=False)
    for option in (
        format_option,
        click.option("--json", "as_json", is_flag=True, help="Print JSON, with every kind of batch."),
        click.option(
            "--top", default=20, show_default=True, metavar="N", help="Number of topics in the table and on the page."
        ),
        click.option("--html", type=page, metavar="FILE", help="Write an HTML page with plots."),
        conversion_options,
        click.option("--against", metavar="FORMAT", type=FormatName(), help=against_help),
        new_format_option(required=True, help="The new format."),
    ):
        function = option(function)
    return function
