"""The options and parameter types that many commands share, such as the option for input limits."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from tagwire.text_format import whole_number
from tagwire_cli.arguments import completion
from tagwire_cli.paths import AnyPath

if TYPE_CHECKING:
    from tagwire.limits import Limits


KINDS: Final = ("request", "response", "message")
"""The kinds of frames. A "request" or "response" has a header before the message; a "message" has no header."""

_LONGEST: Final = 1_000_000
"""The longest timeout in seconds (about eleven days).

Operating systems support timeouts of up to about 24 days.
"""

F = TypeVar("F", bound=Callable[..., Any])


# Most parameter types are functions that parse a string, or raise click.BadParameter.


def version_number(text: str) -> int:
    """Parse a message version, such as `13` or `v13`. A number with leading zeros is rejected."""
    digits = text.removeprefix("v")
    number = whole_number(digits)
    if number is None or digits != str(number):
        raise click.BadParameter(f"expected a version number, got {text!r}")
    return number


def seconds_from(lowest: float) -> Callable[[str], float]:
    """Return a function that parses a number of seconds. Unlike `click.FloatRange`, it rejects `nan` and `inf`."""

    def seconds(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not lowest <= number <= _LONGEST:
            raise click.BadParameter(f"expected a number of seconds from {lowest:g} to {_LONGEST}, got {text}")
        return number

    return seconds


def option_group(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Combine decorators that add options into one decorator. The help lists the options in this order."""

    def add(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return add


package_option = click.option(
    "--package",
    metavar="NAME",
    shell_complete=completion.packages,
    help="The generated package; default: the first set of [tool.tagwire], or tagwire_messages.",
)
"""Adds the option `--package`. Pass its value to `tagwire_cli.arguments.packages.find_registry`."""


limit_option = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=N",
    shell_complete=completion.limits,
    help="Reject input over a limit (bytes, depth, elements, records, decompressed_bytes ...); may be repeated.",
)
"""Adds the option `--limit`, whose values `limits_of` parses."""


def repeated_options() -> list[str]:
    """Return the options of the running command, such as `--hex`, that a suggested command must repeat."""
    given = click.get_current_context().params
    args = [f"--{name}" for name in ("hex", "lenient") if given.get(name) or given.get(f"is_{name}")]
    if given.get("package"):
        args += ["--package", given["package"]]
    for limit in given.get("limits", ()):
        args += ["--limit", limit]
    return args


file_option = click.option(
    "--file",
    metavar="FILE",
    default="-",
    type=AnyPath(allow_dash=True, is_text=True),
    help="Read this file instead of standard input.",
)
"""Adds the option `--file`, for commands whose arguments are not files."""


def frames_option(
    kinds: Sequence[str] = KINDS, help_text: str = "The input is a stream of frames of this kind.", **more: Any
) -> Callable[[F], F]:
    """Add the option `--frames` (or `--frame`). Its value becomes the parameter `kind`, which is None by default."""
    return click.option("--frames", "--frame", "kind", type=click.Choice(kinds), help=help_text, **more)


json_lines_option = click.option("--json", "--jsonl", "as_json", is_flag=True, help="Print JSON, one object per line.")
"""Adds the option `--json` (or `--jsonl`), for commands that print one JSON object per line."""


port_option = click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=9092,
    help="The port of the brokers, in pcap files.",
    show_default=True,
)
"""Adds the option `--port`, the port of the broker in a network capture."""


capture_options = option_group(
    click.option(
        "--capture", "is_capture", is_flag=True, help="The input is captured frames: JSON lines, pcap or pcapng."
    ),
    click.option(
        "--where",
        metavar="FILTER",
        help="Only captured frames that match, such as 'api=Fetch,Produce version=12- dir=response error=any'.",
    ),
    port_option,
)
"""Adds the options `--capture` (parameter `is_capture`), `--where` (parsed by `frame_test`) and `--port`."""


def check_frame_options() -> None:
    """Raise click.UsageError if the running command got options about frames or captures that contradict each other."""
    given = click.get_current_context().params
    is_capture, kind, requests_file = given.get("is_capture"), given["kind"], given["requests_file"]
    if is_capture and (kind is not None or requests_file is not None or given["is_hex"]):
        raise click.UsageError("--capture can't be combined with --frames, --requests or --hex.")
    if given.get("where") is not None and not is_capture:
        raise click.UsageError("--where needs --capture.")
    if requests_file is not None and kind != "response":
        raise click.UsageError("--requests needs --frames response.")


requests_option = click.option(
    "--requests",
    "requests_file",
    metavar="FILE",
    type=AnyPath(is_text=True),
    help="The requests, as frames; responses are matched by correlation ID.",
)
"""Adds the option `--requests` (parameter `requests_file`). `tagwire_cli.input.frame_stream` reads the file."""


def show_sensitive_option(function: F) -> F:
    """Add the option `--show-sensitive`. If it is given, the command shows secrets instead of hiding them."""

    def begin(ctx: click.Context, param: click.Parameter, is_requested: bool) -> None:
        if is_requested:
            from tagwire.sensitive import showing_sensitive

            ctx.with_resource(showing_sensitive())

    return click.option(
        "--show-sensitive",
        is_flag=True,
        expose_value=False,
        callback=begin,
        help="Show values that the specs mark as sensitive: passwords, tokens, keys, configurations.",
    )(function)


def limits_of(options: Sequence[str]) -> "Limits":
    """Parse `NAME=N` options into limits. Raises click.BadParameter for an unknown name or an invalid number."""
    from tagwire.limits import Limits

    values: dict[str, int] = {}
    for text in options:
        name, _, value = text.partition("=")
        number = whole_number(value)
        if name not in Limits.names() or number is None:
            known = ", ".join(Limits.names())
            raise click.BadParameter(f"expected NAME=N (NAME is one of {known}), got {text!r}", param_hint="--limit")
        values[name] = number
    return Limits(**values)
