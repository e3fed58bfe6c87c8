"""`tagwire explain`: print every byte with its meaning."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from tagwire.captures import capture_kind
from tagwire_cli.arguments import completion
from tagwire_cli.arguments.logs import formats_of, only_format_option, record_format_option, records_option
from tagwire_cli.arguments.options import (
    capture_options,
    frames_option,
    limit_option,
    limits_of,
    package_option,
    repeated_options,
    show_sensitive_option,
)
from tagwire_cli.arguments.packages import find_registry
from tagwire_cli.input.encodings import input_hint
from tagwire_cli.input.files import InputError, looks_like_hex, note_empty, read_pasted
from tagwire_cli.output.echo import is_terminal, say_error
from tagwire_cli.output.tables import write_bytes, write_json_lazily
from tagwire_cli.paths import is_file

if TYPE_CHECKING:
    from tagwire_cli.explaining.explained import Explained
    from tagwire_cli.explaining.units import ExplainSettings

    _Units = tuple[bool, Iterator[Explained], Sequence[str]]
    """Whether there may be several units, the explanation of each unit, and the arguments that name the file."""


_MOST_ROWS = 1000
"""The maximum number of rows shown for each message on a terminal, unless the option `--all` is given."""
_FORMS = ("auto", "binary", "hex", "dump", "escaped", "list", "base64")


@click.command("explain")
@click.argument(
    "args", nargs=-1, metavar="[MESSAGE VERSION | API VERSION] [FILE | HEX]", shell_complete=completion.arguments
)
@click.option("--request", is_flag=True, help="The input is a request: header and body, without a size.")
@click.option("--response", is_flag=True, help="The input is a response to a request of API VERSION.")
@record_format_option(
    "format_name", "The input is record batches. NAME is auto, or the format to assume for its magic byte."
)
@records_option
@click.option("--no-records", is_flag=True, help="Show records in messages as bytes.")
@only_format_option
@click.option("--guess", is_flag=True, help="Guess what the input is.")
@capture_options
@frames_option(is_flag=False, flag_value="message")
@click.option("--only", metavar="N,N-M", help="Show only these frames; the first is 1.")
@click.option("--hex", "is_hex", is_flag=True, help="The input is hex; white space is ignored.")
@click.option("--input", "encoding", type=click.Choice(_FORMS), help="The encoding of the input.")
@click.option("--lenient", is_flag=True, help="Accept what Kafka's own reader accepts; a last line reports such bytes.")
@click.option("--json", "as_json", is_flag=True, help="Print the tree of fields as JSON.")
@click.option("--html", "as_html", is_flag=True, help="Print a self-contained HTML page.")
@click.option(
    "--all",
    "shows_all",
    is_flag=True,
    help=f"Show all rows on a terminal; default: {_MOST_ROWS} rows of each message.",
)
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="When to use colors; auto: on a terminal.",
)
@show_sensitive_option
@limit_option
@package_option
def command(args: Sequence[str], **options: Any) -> None:
    """Print every byte with its field, type and value.

    The input is FILE, hex on the command line, or standard input. Its kind is
    detected and named in the first line: a message or frame as hex, as a hex dump or
    as raw bytes; a network capture or captured frames; a packet; a log segment or a
    log folder.

    Or name the kind: a message (MESSAGE VERSION); a request, which is identified by
    its header (--request); a response to an API, given by name or key (--response
    API VERSION); or record batches (--record-format NAME). With --frames, the input
    is a stream, in which each frame follows its size.

    Each byte is shown exactly once. Records in Produce requests, Fetch responses
    and similar messages are decoded in the format that the spec names. If the
    bytes are invalid, a line with ! shows what was found and what was expected, the
    rest is shown as not read, and the exit status is 1.

    \b
    Examples:
      tagwire explain 0012000300000007000864656d6f2d61707000087461677769726504312e3000
      tagwire explain traffic.pcap
      tagwire explain frames.jsonl.gz --where 'api=Fetch error=any'
      tagwire explain /var/kafka-logs/orders-0
      echo 00 01 67 00 01 6d | tagwire explain LeaveGroupRequest 0 --hex
      tagwire explain --request frame.bin
      tagwire explain --response Metadata 12 --hex frame.txt
      tagwire explain --response 3 12 --json - < frame.bin
      tagwire explain --record-format auto 00000000000000000000.log
      tagwire explain --frames request --only 1-3 sent.bin
      tagwire explain --frames --guess --only 1-3 stream.bin
      tagwire explain --request --html frame.bin > frame.html
    """
    from tagwire_cli.explaining.input import is_unnamed

    kind = _kind(options)
    is_detected = kind == "message" and options["kind"] is None and is_unnamed(args)
    settings = _settings("guess" if is_detected else kind, () if is_detected else args, options)
    options["encoding"] = "hex" if options["is_hex"] else options["encoding"]
    is_many, units, files = _detected(settings, args, options) if is_detected else _named(settings, options)
    if options["as_json"]:
        failures = _write_json(units, settings, is_many=is_many)
    elif options["as_html"]:
        failures = _write_page(units, settings)
    else:
        most = _MOST_ROWS if is_terminal(sys.stdout) and not options["shows_all"] else None
        failures = _print_text(units, settings, options["color"], most, _again(options), _file(files))
    for each in dict.fromkeys(failures):  # a missing library is reported once, not for every frame
        say_error(each)
    if failures:
        raise click.exceptions.Exit(1)


def _settings(kind: str, args: Sequence[str], options: dict[str, Any]) -> "ExplainSettings":
    from tagwire_cli.explaining.units import ExplainSettings
    from tagwire_cli.input.filters import frame_test

    registry = find_registry(options["package"])
    return ExplainSettings(
        registry,
        kind,
        args,
        formats_of(options["format_name"], only=options["only_format"]),
        options["records"],
        opens_records=not options["no_records"],
        strict=not options["lenient"],
        limits=limits_of(options["limits"]),
        where=None if options["where"] is None else frame_test(registry, options["where"]),
    )


def _detected(settings: "ExplainSettings", args: Sequence[str], options: dict[str, Any]) -> "_Units":
    from tagwire_cli.explaining.input import detect
    from tagwire_cli.explaining.units import explain_detected

    found = detect(settings.registry, args, options["encoding"])
    return *explain_detected(settings, found, options["only"], options["port"]), args


def _named(settings: "ExplainSettings", options: dict[str, Any]) -> "_Units":
    """Explain input whose kind the arguments or options name."""
    from tagwire_cli.explaining.units import Input, explain_units, explainer_of

    kind, has_sizes = settings.kind, options["kind"] is not None
    explainer, files = explainer_of(settings)
    data, encoding = read_pasted(files, options["encoding"] or ("auto" if kind == "guess" else "binary"))
    file = _file(files) or "-"
    if not data.strip():
        if kind != "message":
            raise InputError("the input is empty; give a file, hex, or bytes on standard input")
        note_empty(file)
    is_never_text = encoding == "binary" and (has_sizes or kind in ("request", "format"))
    if is_never_text and (capture_kind(data) or looks_like_hex(data)):
        raise InputError(input_hint(data, file))
    given = Input(data, file, encoding, has_sizes, options["only"], options["port"])
    return *explain_units(settings, explainer, given), files


def _kind(options: dict[str, Any]) -> str:
    """Return the kind of input that the options select. Raises click.UsageError for options that exclude each other."""
    if options["records"] is not None and options["no_records"]:
        raise click.UsageError("give --records or --no-records, not both.")
    if options["as_json"] and options["as_html"]:
        raise click.UsageError("give --json or --html, not both.")
    if options["is_hex"] and options["encoding"] not in (None, "hex"):
        raise click.UsageError(f"give --hex or --input {options['encoding']}, not both.")
    kinds = [name.removeprefix("is_") for name in ("request", "response", "guess", "is_capture") if options[name]]
    if options["format_name"] is not None:
        kinds.append("format")
    if options["kind"] in ("request", "response") and kinds != [options["kind"]]:
        kinds.append(f"frames {options['kind']}")
    if len(kinds) > 1:
        raise click.UsageError(f"give --{kinds[0]} or --{kinds[1]}, not both.")
    if options["kind"] and kinds in (["capture"], ["format"]):
        raise click.UsageError(
            f"--frames can't be used with --{kinds[0]}; use it with a message, --request, --response or --guess."
        )
    return kinds[0].removeprefix("frames ") if kinds else "message"


def _failures(units: "Sequence[Explained]") -> list[str]:
    return [
        f"{one.title}: {one.failure}" if one.title and not one.missing else one.failure for one in units if one.failure
    ]


def _write_json(units: "Iterator[Explained]", settings: "ExplainSettings", *, is_many: bool) -> list[str]:
    from tagwire_cli.explaining.explained import lazy_trace

    failures: list[str] = []

    def rows() -> Iterator[Any]:
        """Yield the JSON values of one unit at a time, to save memory."""
        for one in units:
            failures.extend(_failures([one]))
            if is_many or settings.kind == "guess":
                yield one.to_json()
            else:
                yield from map(lazy_trace, one.traces)

    write_json_lazily(rows(), is_list=is_many or settings.kind == "format")
    return failures


def _write_page(units: "Iterator[Explained]", settings: "ExplainSettings") -> list[str]:
    from tagwire.explain.html import Unit, page
    from tagwire.explain.names import name_note
    from tagwire_cli.explaining.explained import facts_of

    seen = list(units)
    if settings.kind == "format":  # show all batches in one section of the page
        seen = [seen[0]._replace(traces=tuple(trace for one in seen for trace in one.traces))] if seen else []
    shown = [Unit(list(facts_of(one)), one.traces) for one in seen]
    write_bytes(page(shown, name_note(settings.registry)).encode("utf-8", "backslashreplace"))
    return _failures(seen)


def _again(options: dict[str, Any]) -> str:
    """Return the options to repeat in a suggested command."""
    encoding = [] if options["is_hex"] else ["--input", options["encoding"] or "auto"]
    return shlex.join([*repeated_options(), *encoding])


def _file(files: Sequence[str]) -> str:
    """Return the FILE for a suggested command, or "" for standard input and for hex on the command line."""
    return shlex.quote(files[0]) if files and is_file(files[0]) else ""


def _print_text(
    units: "Iterator[Explained]", settings: "ExplainSettings", when: str, most: int | None, again: str, file: str
) -> list[str]:
    from tagwire.explain.names import name_note
    from tagwire_cli.explaining.explained import facts_of, print_text

    failures = []
    for number, one in enumerate(units):
        if number and one.is_apart:
            write_bytes(b"\n")
        facts = list(facts_of(one, again, file))
        print_text(facts, one.traces, name_note(settings.registry), color=when, most=most)
        failures += _failures([one])
    return failures
