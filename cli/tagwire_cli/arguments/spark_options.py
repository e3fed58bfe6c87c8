"""The options that `tagwire spark` commands share, for the Spark session and the output."""

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import click

from tagwire_cli.arguments.options import option_group
from tagwire_cli.paths import AnyPath, InputPath

F = TypeVar("F", bound=Callable[..., Any])
Session: TypeAlias = Callable[[], AbstractContextManager[Any]]
"""A function that opens a Spark session with the command's options. Use its result in a `with` block."""


class NewLocation(AnyPath):
    """A click parameter type for an output path or a URL. Values are Path objects, or strings for URLs."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if "://" in str(value) else super().convert(value, param, ctx)


class PathOrUrl(NewLocation, InputPath):
    """A click parameter type for an existing path or a URL. Values are Path objects, or strings for URLs."""


def _storage_options(text: str) -> dict[str, Any]:
    """Parse a JSON object, given directly or as @FILE. Errors hide it, since it may be secret."""
    try:
        content = Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the file is not UTF-8"
        raise click.BadParameter(f"{text[1:]} can't be read: {reason}") from None
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise click.BadParameter('expected a JSON object of options for fsspec, such as {"anon": true}, or @FILE')
    return found


location_argument = click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=PathOrUrl())
"""Adds the argument PATH..., for existing paths and for URLs. URLs are passed as strings."""


def spark_options(function: F) -> F:
    """Add the options for the file system of a URL and for the Spark session.

    `--storage-options` becomes the parameter `storage_options`. The other options become the parameter `session`, a
    function that opens the session. It raises PipelineError if Spark fails.
    """

    @wraps(function)
    def called(*args: Any, master: str | None, remote: str | None, conf: Sequence[str], **options: Any) -> Any:
        return function(*args, session=partial(_opened_session, master, remote, conf), **options)

    text = "Options for the file system of a URL, such as credentials: a JSON object, or @FILE."
    add = option_group(
        click.option("--storage-options", type=_storage_options, metavar="JSON", help=text),
        click.option("--master", metavar="URL", help="The Spark master; default: all cores of this machine."),
        click.option("--remote", metavar="URL", help="Connect to a Spark Connect server: sc://host."),
        click.option(
            "--conf", "conf", multiple=True, metavar="NAME=VALUE", help="Set a Spark property; may be repeated."
        ),
    )
    return cast(F, add(called))


def output_option(metavar: str, help: str) -> Callable[[F], F]:
    """Add the options `--output` (the folder or URL to create) and `--work-folder`.

    If the output is a URL, files are first written to the work folder and then uploaded.
    """
    output = click.option(
        *("--output", "output"),
        required=True,
        metavar=metavar,
        type=NewLocation(),
        help=f"{help}, or s3:// URL; it must not exist yet.",
    )
    work = click.option(
        *("--work-folder", "work_folder"),
        metavar="DIR",
        type=AnyPath(),
        help="A folder for output before it is uploaded to a URL. All workers must mount it.",
    )
    return lambda function: output(work(function))


@contextmanager
def _opened_session(master: str | None, remote: str | None, conf: Sequence[str]) -> Generator[Any]:
    """Open the Spark session that the options describe. Raises PipelineError if Spark fails."""
    from tagwire_spark.session import session_of_command

    if master and remote:
        raise click.UsageError("give --master or --remote, not both")
    settings = {}
    for text in conf:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"expected NAME=VALUE, got {text!r}", param_hint="--conf")
        settings[name] = value
    with session_of_command(master, remote, settings) as spark:
        yield spark
