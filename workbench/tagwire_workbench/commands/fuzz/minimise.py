"""`tagwire fuzz minimise`: make a failing fuzzer input as small as possible."""

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tagwire.text_format import count
from tagwire_cli.arguments import completion
from tagwire_cli.arguments.options import package_option, seconds_from, version_number
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


@click.command("minimise")
@click.argument("file", metavar="FILE", type=AnyPath(allow_dash=True, is_text=True))
@click.argument("message", metavar="[MESSAGE", required=False, shell_complete=completion.messages)
@click.argument("version", metavar="VERSION]", required=False, type=version_number, shell_complete=completion.versions)
@click.option("--target", metavar="MODULE:FUNCTION", help="Call this function with the bytes; keep the exception.")
@click.option("--command", "shell", metavar="COMMAND", help="Run this command; keep the exit status. {} is the file.")
@click.option("--says", "required_output", metavar="TEXT", help="The command must also print this.")
@click.option(
    "--timeout",
    type=seconds_from(0.01),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="End each call of the function or command after this time.",
)
@click.option("--output", required=True, type=AnyPath(folders=False), metavar="FILE", help="The file to write.")
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
    signal is the same. If the input runs longer than --timeout, smaller inputs must do
    the same. The function is called in another process, whose exit status or signal
    counts if it crashes. Because many errors have exit status 1, use a specific status,
    or --says with a string that the command prints.

    To describe the input, use MESSAGE VERSION, or --kind, --frames and --prefix as
    for `tagwire fuzz corpus`. With a description, whole elements, tagged fields and
    strings are removed, and the result is explained. Without a description, the
    command can't find these, so it only removes ranges of bytes.

    \b
    Examples:
      tagwire fuzz minimise crash-1 MetadataResponse 12 --target target:target --output small
      tagwire fuzz minimise crash-1 --frames request --command "./target {}" --output small
    """
    from tagwire.log.whole_folder import reject_inside
    from tagwire_generator.project.output import reject_unwritable, write_all
    from tagwire_workbench.fuzzing.minimise import minimise

    if (target is None) == (shell is None):
        raise click.UsageError("give either --target or --command.")
    if required_output is not None and shell is None:
        raise click.UsageError("--says needs --command, because --says checks the output of the command.")
    reject_inside([output], [Path(file)])
    reject_unwritable(output)
    framing = _framing(message, version, kind, prefix, package, in_frames=in_frames)
    data = read_bytes(file, is_hex=False)
    testing = _exits(shell or "", required_output, timeout, data) if target is None else _raises(target, timeout, data)
    with _sigterm_like_ctrl_c(), testing as keeps:
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


@contextmanager
def _sigterm_like_ctrl_c() -> "Generator[None]":
    """Make SIGTERM act like Ctrl-C. Otherwise, the tested process would keep running, maybe in an endless loop."""
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def _raises(target: str, timeout: float, data: bytes) -> "Generator[Keeps]":
    """Yield a function that tests whether the target fails for an input as it does for `data`."""
    from tagwire_workbench.fuzzing.minimise import NO_ERROR, same_result
    from tagwire_workbench.fuzzing.target_process import TargetError, TargetProcess

    module, colon, name = target.partition(":")
    if not colon or not module or not name:
        raise click.BadParameter(f"expected MODULE:FUNCTION, got {target!r}", param_hint=_TARGET)
    try:
        process = TargetProcess(module, name, timeout)
    except TargetError as error:
        raise click.BadParameter(str(error), param_hint=_TARGET) from None
    with closing(process):
        yield same_result(process.failure, data, NO_ERROR)


@contextmanager
def _exits(command: str, required_output: str | None, timeout: float, data: bytes) -> "Generator[Keeps]":
    """Yield a function that tests whether the command fails for an input as it does for `data`."""
    from tagwire_workbench.fuzzing.minimise import same_result

    args = _split(command)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "input"
        called = [arg.replace("{}", str(file)) for arg in args]
        if called == args:
            called.append(str(file))

        def failure(changed: bytes) -> object:
            file.write_bytes(changed)
            status, printed = _run(called, timeout)
            if status is None:
                return "timeout"
            is_failure = status != 0 if required_output is None else required_output.encode() in printed
            return ("exit status", status) if is_failure else None

        no_failure = "the command exits with status 0 for this input, so there is no failure to preserve"
        if required_output is not None:
            no_failure = (
                f"the command does not print {required_output!r} for this input, so there is no output to preserve"
            )
        yield same_result(failure, data, no_failure)


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


def _run(args: list[str], timeout: float) -> tuple[int | None, bytes]:
    """Run a command. Return its exit status and output. If it times out, return status None.

    At a timeout, Ctrl-C and SIGTERM, all processes of the command are killed.
    """
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
        except (subprocess.TimeoutExpired, KeyboardInterrupt) as error:
            os.killpg(process.pid, signal.SIGKILL)  # its child processes would keep the pipe open
            if isinstance(error, KeyboardInterrupt):  # Ctrl-C has not reached them: they are in a session of their own
                raise
            return None, b""
    return process.returncode, printed


def _explain(data: bytes, framing: "InputFraming | None") -> None:
    """Print the input like `tagwire explain`, or as hex if its format is unknown."""
    from tagwire.explain.names import name_note
    from tagwire_cli.explaining.explained import print_text

    read = None if framing is None else framing.read(data)
    if read is None or framing is None:
        say(data.hex(" "))
        return
    facts = [f"{data[: read.begin].hex(' ')}: the {framing.prefix} before the message"] if read.begin else []
    print_text(facts, [read.trace], name_note(framing.registry), color="auto")
