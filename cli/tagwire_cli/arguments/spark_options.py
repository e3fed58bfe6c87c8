"""The options that commands of `tagwire spark` share: which Spark they run on, and what they make."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["opened_session", "output_option", "spark_options"]

F = TypeVar("F", bound=Callable[..., Any])


def spark_options(function: F) -> F:
    """The options `--master`, `--remote` and `--conf`."""
    for option in (
        click.option(
            "--conf", "conf", multiple=True, metavar="NAME=VALUE", help="Set a Spark property; may be repeated."
        ),
        click.option("--remote", metavar="URL", help="Connect to a Spark Connect server: sc://host."),
        click.option("--master", metavar="URL", help="The Spark master; default: all cores of this machine."),
    ):
        function = option(function)
    return function


def output_option(metavar: str, help: str) -> Callable[[F], F]:
    """The option `--output`, a folder that a job makes."""
    kind = click.Path(path_type=Path)
    text = f"{help}; it must not exist yet."
    return click.option("--output", required=True, metavar=metavar, type=kind, help=text)


@contextmanager
def opened_session(master: str | None, remote: str | None, conf: Sequence[str]) -> Generator[Any]:
    """The session that these options mean. Raises MissingExtraError, PipelineError."""
    from tagwire_spark.session import session_of_command

    if master and remote:
        raise click.UsageError("give --master or --remote, not both")
    settings = {}
    for text in conf:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--conf")
        settings[name] = value
    with session_of_command(master, remote, settings) as spark:
        yield spark
