"""`tagwire explain`: bytes beside what they mean."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tagwire_cli import completion
from tagwire_cli.diagnostics import is_coloured
from tagwire_cli.input_bytes import limit_option, limits_of, read_bytes
from tagwire_cli.output import write_bytes, write_json
from tagwire_cli.packages import error_note, find_message, find_registry, find_response, package_option, require_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagwire.limits import Limits
    from tagwire.registry import Registry
    from tagwire.tracer import Node, Trace

    Tracer = Callable[[bytes], Trace]

__all__ = ["command", "print_trace"]


@click.command("explain")
@click.argument("words", nargs=-1, metavar="[MESSAGE VERSION | API VERSION] [FILE]", shell_complete=completion.words)
@click.option("--request", "is_request", is_flag=True, help="The input is a request: header and body, without a size.")
@click.option(
    "--response", "is_response", is_flag=True, help="The input is a response to a request of API and VERSION."
)
@click.option(
    "--format",
    "format_name",
    metavar="NAME",
    shell_complete=completion.formats,
    help="The input is record batches of this format, or auto.",
)
@click.option("--hex", "is_hex", is_flag=True, help="The input is hex text; white space in it does not count.")
@click.option("--lenient", is_flag=True, help="Take what Kafka's own reader takes; a last line says if something was.")
@click.option("--json", "as_json", is_flag=True, help="The tree of fields as JSON.")
@limit_option
@package_option
def command(
    words: Sequence[str],
    is_request: bool,
    is_response: bool,
    format_name: str | None,
    is_hex: bool,
    lenient: bool,
    as_json: bool,
    limits: Sequence[str],
    package: str | None,
) -> None:
    """Print bytes with their meaning: offset, hex, field, type, value.

    The input is FILE, or standard input without one or with -. It is a message
    alone (MESSAGE VERSION), a request whose header says what it is (--request),
    or a response to a request of an API, given by name or key (--response API
    VERSION), or record batches (--format NAME). Every byte is shown, in one line. Where the bytes are at fault, a
    line with ! says what was found and what expected, the rest is shown as not
    read, and the exit status is 1.

    \b
    Examples:
      echo 00 01 67 00 01 6d | tagwire explain LeaveGroupRequest 0 --hex
      tagwire explain --request frame.bin
      tagwire explain --response Metadata 12 --hex frame.txt
      tagwire explain --response 3 12 --json - < frame.bin
      tagwire explain --format auto 00000000000000000000.log
    """
    if is_request and is_response:
        raise click.UsageError("--request or --response, not both.")
    bounds = limits_of(limits)
    if format_name is not None:
        if is_request or is_response:
            raise click.UsageError("--format goes without --request and --response.")
        explain_batches(words, format_name, is_hex=is_hex, as_json=as_json, strict=not lenient, limits=bounds)
        return
    registry = find_registry(package)
    if is_request:
        tracer, files = _of_request(registry, words, strict=not lenient, limits=bounds)
    else:
        tracer, files = _of_version(registry, words, is_response=is_response, strict=not lenient, limits=bounds)
    if len(files) > 1:
        raise click.UsageError(f"one FILE at most; what is {files[1]!r}?")
    trace = tracer(read_bytes(files[0] if files else "-", is_hex=is_hex))
    if as_json:
        write_json(trace.to_json())
    else:
        print_trace(trace, error_note(registry))
    _exit_for(trace)


def explain_batches(
    files: Sequence[str], format_name: str, *, is_hex: bool, as_json: bool, strict: bool, limits: "Limits"
) -> None:
    """The traces of batches, one behind the other, up to the first that is at fault."""
    from tagwire.records.tracing import trace_batches

    if len(files) > 1:
        raise click.UsageError(f"one FILE at most; what is {files[1]!r}?")
    data = read_bytes(files[0] if files else "-", is_hex=is_hex)
    traces = list(trace_batches(data, format_name, strict=strict, limits=limits))
    if as_json:
        write_json([trace.to_json() for trace in traces])
    for trace in traces:
        if not as_json:
            print_trace(trace)
        _exit_for(trace)


def _exit_for(trace: "Trace") -> None:
    """Exit status 1, and the error, if the bytes were at fault."""
    if trace.error is not None:
        click.echo(f"tagwire: {trace.error}", err=True)
        raise click.exceptions.Exit(1)


def _of_request(
    registry: "Registry", words: Sequence[str], *, strict: bool, limits: "Limits"
) -> "tuple[Tracer, Sequence[str]]":
    from tagwire.tracer import trace_request

    return lambda data: trace_request(registry, data, strict=strict, limits=limits), words


def _of_version(
    registry: "Registry", words: Sequence[str], *, is_response: bool, strict: bool, limits: "Limits"
) -> "tuple[Tracer, Sequence[str]]":
    """How to trace a message or a response, and the words behind its name and version."""
    from tagwire.tracer import trace, trace_response

    if len(words) < 2:
        wanted = "API VERSION" if is_response else "MESSAGE VERSION, --request or --response API VERSION"
        raise click.UsageError(f"say what the bytes are: {wanted}.")
    name, version_text, *files = words
    if not (version_text.isascii() and version_text.isdigit() and len(version_text) < 20):
        raise click.BadParameter(f"{version_text!r} is no version number", param_hint="VERSION")
    version = int(version_text)
    message = find_response(registry, name) if is_response else find_message(registry, name)
    if not is_response:
        require_version(message, version)
        return lambda data: trace(message, data, version, strict=strict, limits=limits), files
    api_key = message.API_KEY
    assert api_key is not None, "a response has an API key"
    if message.FALLBACK is None:  # else the answer may come in another version than was asked for
        require_version(message, version)
    return lambda data: trace_response(registry, data, api_key, version, strict=strict, limits=limits), files


def print_trace(trace: "Trace", note: "Callable[[Node], str] | None" = None) -> None:
    """The annotated bytes on standard output, coloured on a terminal; `note` is as in `annotate`."""
    from tagwire.annotations import annotate

    text = annotate(trace, note)
    if not is_coloured(sys.stdout):
        write_bytes(text.encode())
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, soft_wrap=True, highlight=False)
    begin, end = 0, 0
    for line in text.splitlines():
        if line.split()[:2] == ["offset", "bytes"]:
            begin, end = line.index("bytes"), line.index("path")
        shown = Text(line)
        if line.startswith("#"):
            shown.stylize("bold")
        elif line.lstrip().startswith("!"):
            shown.stylize("bold red")
        else:
            shown.stylize("dim", 0, begin)
            shown.stylize("cyan", begin, end)
        console.print(shown)
