"""`tagwire replay`: send the requests of a capture to a server, and compare its responses with the recorded ones."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Final

import click

from tagwire.text_format import count, shown
from tagwire_cli.arguments.options import (
    json_lines_option,
    package_option,
    port_option,
    seconds_from,
    show_sensitive_option,
)
from tagwire_cli.arguments.packages import find_registry, require_headers
from tagwire_cli.input.captures import captured_frames
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import print_table, table_columns, write_json_line, write_line
from tagwire_cli.paths import InputPath
from tagwire_workbench.serving import server_address

if TYPE_CHECKING:
    from tagwire.addresses import Address
    from tagwire.captures import CapturedFrame
    from tagwire.frames.registry import Registry
    from tagwire.message import Message
    from tagwire.testing.peer.journal import FieldDifference
    from tagwire_workbench.replaying.answers import Ignored
    from tagwire_workbench.replaying.player import RecordedEvent, ReplayedAnswer

    Show = Callable[[ReplayedAnswer, str, list[FieldDifference]], None]

_INDEX: Final = re.compile(r"\[\d+\]")


@click.command("replay")
@click.argument("file", metavar="CAPTURE", type=InputPath(folders=False, allow_dash=True, is_text=True))
@click.option(
    "--to", "server", metavar="HOST:PORT", type=server_address, required=True, help="The server to send requests to."
)
@click.option(
    "--ignore", "ignored", metavar="PATH", multiple=True, help="Ignore this field of responses; may be repeated."
)
@click.option(
    "--server", "recorded_server", metavar="HOST:PORT", help="Send only requests that were recorded with this server."
)
@click.option(
    "--timeout",
    type=seconds_from(0.001),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for each response.",
)
@click.option(
    "--retry",
    type=seconds_from(0.0),
    default=0.0,
    metavar="SECONDS",
    help="How long to resend a request whose response has only retriable errors, unlike the recorded one.",
)
@click.option("--paced", "is_paced", is_flag=True, help="Send each request no earlier than it was recorded.")
@click.option("--summary", "as_summary", is_flag=True, help="Count the responses in which each field differs.")
@json_lines_option
@port_option
@show_sensitive_option
@package_option
def command(
    file: str,
    server: "Address",
    ignored: Sequence[str],
    recorded_server: str | None,
    timeout: float,
    retry: float,
    is_paced: bool,
    as_summary: bool,
    as_json: bool,
    port: int,
    package: str | None,
) -> None:
    """Send the requests of CAPTURE to a server, and compare the responses.

    tagwire opens a connection for each connection of the capture, closes it where the
    recorded connection closed, and keeps the order of requests and responses. Each
    response is compared with the recorded response, field by field, and each difference
    is a line of output.

    The server assigns new IDs to topics, members, producers and sessions. These IDs,
    and the epochs of producers and members, replace the recorded ones in later
    requests and responses.

    The comparison ignores addresses, throttle_time_ms, finalized_features_epoch, and
    the order of partitions, topics, groups and other keyed elements. --ignore names
    another field, including everything inside it: `brokers` or, in one message only,
    `MetadataResponse.controller_id`.

    Everything else is sent as recorded: requests that wrote or deleted something do so
    again, and the server rejects a redacted password.

    \b
    Examples:
      tagwire replay frames.jsonl.gz --to localhost:9092 --summary
      tagwire replay frames.jsonl.gz --to localhost:9092 --ignore brokers --ignore MetadataResponse.controller_id
    """
    if as_summary and as_json:
        raise click.UsageError("--summary and --json can't be combined")
    from tagwire_workbench.replaying.answers import Ignored
    from tagwire_workbench.replaying.player import steps

    registry = find_registry(package)
    require_headers(registry)
    lines = captured_frames(file, registry, port=port, closes=True)
    chosen = lines if recorded_server is None else _sent_to(recorded_server, list(lines))
    left_out = Counter[str]()
    played = list(steps(registry, chosen, file, lambda frame: left_out.update(["gap" if frame.gap else "response"])))
    if left_out:
        parts = " and ".join(count(number, kind) for kind, number in left_out.items())
        reason = "bytes or requests are missing from the capture, or hidden without --show-sensitive"
        say(f"tagwire: {file}: skipped {parts}, because {reason}", err=True)
    paths = Ignored(registry, ignored, _responses(registry, played))
    summary = _Summary()
    show = summary.add if as_summary else _show_json if as_json else _Lines().show
    try:
        results = asyncio.run(_play(registry, played, server, paths, timeout, show, is_paced=is_paced, retry=retry))
    finally:  # even if the server can't be reached any more
        summary.show()
    requests = sum(step.is_request for step in played)
    responses = f"{results['same']} the same, {results['differs']} different, {results['missing']} missing"
    compared = f"responses: {responses}" if results else "the capture has no responses to compare with"
    say(f"replayed {count(requests, 'request')}; {compared}", err=True)
    if results["differs"] or results["missing"] or not results:
        raise click.exceptions.Exit(1)


def _sent_to(server: str, lines: "Sequence[CapturedFrame]") -> "Sequence[CapturedFrame]":
    """Return the frames that were recorded on connections to `server`.

    Raises click.BadParameter if there are no such frames.
    """
    chosen = [line for line in lines if line.row.get("server") == server]
    if not chosen:
        servers = sorted({str(line.row["server"]) for line in lines if "server" in line.row})
        known = f"its servers are {', '.join(servers)}" if servers else "none of its lines has the key 'server'"
        text = f"the capture has no frames to or from {shown(server)}; {known}"
        raise click.BadParameter(text, param_hint="--server")
    return chosen


def _responses(registry: "Registry", played: "Sequence[RecordedEvent]") -> "list[type[Message]]":
    """Return the classes of the recorded responses, except for those that the message package does not know."""
    from tagwire.frames.message_index import UnknownMessageError

    found = []
    for api_key in sorted({step.api_key for step in played if not (step.is_request or step.is_close)}):
        with suppress(UnknownMessageError):
            found.append(registry.response(api_key))
    return found


async def _play(
    registry: "Registry",
    played: "Sequence[RecordedEvent]",
    server: "Address",
    ignored: "Ignored",
    timeout: float,
    show: "Show",
    *,
    is_paced: bool,
    retry: float,
) -> Counter[str]:
    """Send the requests and show the differences. Return how many responses were equal, different or missing."""
    from tagwire_workbench.replaying.answers import answer_differences, is_worth_a_retry, response_name
    from tagwire_workbench.replaying.id_mapping import IdMapping
    from tagwire_workbench.replaying.player import play

    results: Counter[str] = Counter()
    ids = IdMapping(registry)

    def is_retriable(step: "RecordedEvent", data: bytes) -> bool:
        return is_worth_a_retry(registry, step.api_key, step.version, step.data, data)

    playing = play(played, server, timeout, ids.request, is_paced=is_paced, retry=retry, is_retriable=is_retriable)
    async with aclosing(playing) as answers:
        async for answer in answers:
            step = answer.step
            found = []
            if answer.data is not None:
                api = step.api_key, step.version
                found = answer_differences(registry, *api, step.data, answer.data, ignored, ids)
            results[_result(answer, found)] += 1
            show(answer, response_name(registry, step.api_key), found)
    return results


def _result(answer: "ReplayedAnswer", found: "list[FieldDifference]") -> str:
    return "missing" if answer.data is None else "differs" if found else "same"


class _Lines:
    """Prints how each response differs, or refers to an earlier response that differs in the same way."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, tuple[FieldDifference, ...]], int] = {}

    def show(self, answer: "ReplayedAnswer", name: str, found: "list[FieldDifference]") -> None:
        from tagwire.testing.peer.journal import difference_lines

        step = answer.step
        what = f"{step.position}, connection {step.connection or '?'}: {name} v{step.version}"
        first = self._shown.setdefault((name, tuple(found)), step.line)
        if answer.data is None:
            write_line(f"{what} is missing: {answer.reason}")
        elif found and first != step.line:
            write_line(f"{what} differs as in {step.unit} {first}")
        elif found:
            write_line(f"{what} differs")
            for line in difference_lines(found):
                write_line(f"    {line}")


class _Summary:
    """Counts how many responses differ in each field, and keeps an example for each field."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._examples: dict[tuple[str, str], str] = {}

    def add(self, answer: "ReplayedAnswer", name: str, found: "list[FieldDifference]") -> None:
        """Count each differing field of a response. A field that differs in several array elements counts once."""
        examples: dict[str, str] = {}
        for each in found:
            values = f"expected {each.expected}, received {each.received}"
            examples.setdefault(_INDEX.sub("[]", each.path), values)
        if answer.data is None:
            examples = {"": f"missing: {answer.reason}"}
        for path, example in examples.items():
            self._counts[name, path] += 1
            self._examples.setdefault((name, path), example)

    def show(self) -> None:
        if self._counts:
            rows = [(number, *key, self._examples[key]) for key, number in self._counts.most_common()]
            print_table(table_columns("answers", "message", "field", "example", numbers=("answers",)), rows)


def _show_json(answer: "ReplayedAnswer", name: str, found: "list[FieldDifference]") -> None:
    step = answer.step
    write_json_line(
        {
            "line": step.line,
            "connection": step.connection,
            "message": name,
            "version": step.version,
            "correlationId": step.key,
            "result": _result(answer, found),
            "reason": answer.reason or None,
            "differences": [each._asdict() for each in found],
        }
    )
