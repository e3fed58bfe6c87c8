"""`tagwire fuzz minimise`: make a failing fuzzer input as small as possible."""

import contextlib
import importlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tagwire.text_format import count
from tagwire_cli.arguments import completion
from tagwire_cli.arguments.options import Seconds, VersionNumber, package_option
from tagwire_cli.arguments.packages import find_message, find_registry, require_headers, require_version
from tagwire_cli.input.files import InputError, read_bytes
from tagwire_cli.output.echo import say
from tagwire_cli.paths import AnyPath
from tagwire_workbench.fuzzing.framing import framing_options

if TYPE_CHECKING:
    from tagwire_workbench.fuzzing.framing import InputFraming
    from tagwire_workbench.fuzzing.minimise import Keeps

_TARGET: Final = "--target"
_COMMAND: Final = "--command"


class _Version(click.Argument):
    """The argument VERSION. The usage line has a bracket after the name, but error messages leave it out."""

    def get_error_hint(self, ctx: click.Context | None) -> str:
        return "VERSION"


@click.command("minimise")
@click.argument("file", metavar="FILE", type=AnyPath(allow_dash=True, is_text=True))
@click.argument("message", metavar="[MESSAGE", required=False, shell_complete=completion.messages)
@click.argument(
    "version",
    cls=_Version,
    metavar="VERSION]",
    required=False,
    type=VersionNumber(),
    shell_complete=completion.versions,
)
@click.option("--target", metavar="MODULE:FUNCTION", help="Call this function with the bytes; keep the exception.")
@click.option("--command", "shell", metavar="COMMAND", help="Run this command; keep the exit status. {} is the file.")
@click.option("--says", "required_output", metavar="TEXT", help="The command must also print this.")
@click.option(
    "--timeout",
    type=Seconds(0.01),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="End the command after this time. Functions (--target) are not interrupted.",
)
@click.option("--output", required=True, type=AnyPath(), metavar="FILE", help="The file to write.")
@click.option("--tries", type=click.IntRange(min=1), default=20_000, show_default=True, help="Try at most N inputs.")
@framing_options
@package_option
def command(
    file: str,
    message: str | None,
    version: int | None,
    target: str | None,
    shell: str | None,
    required_output: str | None,
    timeout: float,
    output: Path,
    tries: int,
    kind: str | None,
    in_frames: bool,
    prefix: str | None,
    package: str | None,
) -> None:
    """Make an input smaller, as long as it fails in the same way.

    With --target, an input fails in the same way if it raises an exception of the
    same class from the same line of code; with --command, if the exit status or
    signal is the same, or if it runs longer than --timeout. Because many errors have
    exit status 1, use a specific status, or --says with a string that the command
    prints.

    To describe the input, use MESSAGE VERSION, or --kind, --frames and --prefix as
    for `tagwire fuzz corpus`. With a description, whole elements, tagged fields and
    strings are removed, and the result is explained. Without a description, the
    command can't find these, so it only removes ranges of bytes.

    \b
    Examples:
      tagwire fuzz minimise crash-1 MetadataResponse 12 --target target:target --output small
      tagwire fuzz minimise crash-1 --frames request --command "./target {}" --output small
    """
    from tagwire_generator.project.output import write_all
    from tagwire_workbench.fuzzing.minimise import minimise

    if (target is None) == (shell is None):
        raise click.UsageError("give either --target or --command.")
    if required_output is not None and shell is None:
        raise click.UsageError("--says needs --command, because --says checks the output of the command.")
    framing = _framing(message, version, kind, prefix, package, in_frames=in_frames)
    data = read_bytes(file, is_hex=False)
    if target is not None:
        result = minimise(data, _raises(target, data), framing, tries=tries)
    else:
        with tempfile.TemporaryDirectory() as folder:
            keeps = _exits(_split(shell or ""), required_output, timeout, Path(folder) / "input", data)
            result = minimise(data, keeps, framing, tries=tries)
    write_all({output: result.data})
    _explain(result.data, framing)
    rest = "" if result.is_done else "; a higher --tries may find a smaller one"
    tried = "1 try" if result.tries == 1 else f"{result.tries:,} tries"
    say(f"reduced {count(len(data), 'byte')} to {len(result.data)} in {tried}{rest}", err=True)


def _framing(
    name: str | None, version: int | None, kind: str | None, prefix: str | None, package: str | None, *, in_frames: bool
) -> "InputFraming | None":
    """Return the input's format (message, header, prefix), or None if no option specifies it."""
    if name is None and not in_frames and prefix is None:
        return None
    from tagwire_workbench.fuzzing.framing import FramingError, InputFraming

    registry = find_registry(package)
    if in_frames:
        require_headers(registry)
    cls = None if name is None else find_message(registry, name)
    if cls is not None and version is not None:
        require_version(cls, version)
    try:
        return InputFraming(registry, cls, version, kind=kind, frames=in_frames, prefix=prefix)
    except FramingError as error:
        raise click.UsageError(f"{error}.") from None


def _raises(target: str, data: bytes) -> "Keeps":
    from tagwire_workbench.fuzzing.minimise import same_failure

    module, colon, name = target.partition(":")
    if not colon or not module or not name:
        raise click.BadParameter(f"expected MODULE:FUNCTION, got {target!r}", param_hint=_TARGET)
    sys.path.insert(0, str(Path.cwd()))  # find modules in the current folder
    try:
        function: Callable[[bytes], object] = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:
        text = f"{target!r} can't be imported: {type(error).__name__}: {error}"
        raise click.BadParameter(text, param_hint=_TARGET) from None
    if not callable(function):
        raise click.BadParameter(f"{target!r} is not a function", param_hint=_TARGET)

    def quiet(changed: bytes) -> None:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is only for results
            function(changed)

    return same_failure(quiet, data)


def _split(command: str) -> list[str]:
    try:
        args = shlex.split(command)
    except ValueError as error:
        text = f"{command!r} can't be split into words: {error}; check its quotes and backslashes"
        raise click.BadParameter(text, param_hint=_COMMAND) from None
    if not args or not args[0]:
        text = f"expected a command such as './target {{}}', got {command!r}, which names no program"
        raise click.BadParameter(text, param_hint=_COMMAND)
    return args


def _exits(args: list[str], required_output: str | None, timeout: float, file: Path, data: bytes) -> "Keeps":
    from tagwire_workbench.fuzzing.minimise import NothingToKeepError

    called = [arg.replace("{}", str(file)) for arg in args]
    if called == args:
        called.append(str(file))

    def outcome(changed: bytes) -> tuple[int | None, bool]:
        file.write_bytes(changed)
        status, printed = _run(called, timeout)
        return status, status is None or required_output is None or required_output.encode() in printed

    expected = outcome(data)
    if expected[0] == 0 and required_output is None:
        raise NothingToKeepError("the command exits with status 0 for this input, so there is no failure to preserve")
    if not expected[1]:
        raise NothingToKeepError(
            f"the command does not print {required_output!r} for this input, so there is no output to preserve"
        )
    return lambda changed: outcome(changed) == expected


def _run(args: list[str], timeout: float) -> tuple[int | None, bytes]:
    """Run a command. Return its exit status and output. If it times out, kill its processes and return status None."""
    try:
        process = subprocess.Popen(
            args,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise InputError(f"{args[0]} can't be run: {error.strerror}") from None
    with process:
        try:
            printed, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # child processes would keep the pipe open
            return None, b""
    return process.returncode, printed


def _explain(data: bytes, framing: "InputFraming | None") -> None:
    """Print the input like `tagwire explain`, or as hex if its format is unknown."""
    from tagwire.explain.names import name_note
    from tagwire_cli.explaining.explained import print_text, wants_colour

    read = None if framing is None else framing.read(data)
    if read is None or framing is None:
        say(data.hex(" "))
        return
    facts = [f"{data[: read.begin].hex(' ')}: the {framing.prefix} before it"] if read.begin else []
    print_text(facts, [read.trace], name_note(framing.registry), colour=wants_colour("auto"))
