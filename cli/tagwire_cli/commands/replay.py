"""`tagwire replay`: the requests of a capture, sent to a server, and its answers compared with those recorded."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

import click

from tagwire.text_format import count
from tagwire_cli.arguments.addresses import ADDRESS
from tagwire_cli.arguments.options import package_option, show_sensitive_option
from tagwire_cli.arguments.packages import find_registry, require_headers
from tagwire_cli.input.bytes import read_bytes
from tagwire_cli.input.capture_lines import capture_lines
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import write_json_line, write_line

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.message import Message
    from tagwire.testing.addresses import Address
    from tagwire.testing.peer.differences import Difference
    from tagwire_cli.replaying.answers import Ignored
    from tagwire_cli.replaying.player import Answer
    from tagwire_cli.replaying.steps import Step

    Show = Callable[[Answer, str, list[Difference]], None]

__all__ = ["command"]


@click.command("replay")
@click.argument("file", metavar="CAPTURE", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--to", "server", metavar="HOST:PORT", type=ADDRESS, required=True, help="The server to ask.")
@click.option(
    "--ignore", "ignored", metavar="PATH", multiple=True, help="Let this field of responses differ; may be repeated."
)
@click.option("--server", "recorded_server", metavar="HOST:PORT", help="Play only what was recorded with this server.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for each answer.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line, for each recorded response.")
@show_sensitive_option
@package_option
def command(
    file: str,
    server: "Address",
    ignored: Sequence[str],
    recorded_server: str | None,
    timeout: float,
    as_json: bool,
    package: str | None,
) -> None:
    """Send the requests of CAPTURE to a server, and compare the answers.

    Each connection of the capture becomes one to the server, and requests keep their
    order. Where a response was recorded, the answer is awaited and compared with it,
    field by field. Each field that differs is a line of output.

    --ignore names a field that may differ, with all that is in it: brokers[].host, or
    of one message only, MetadataResponse.cluster_id. throttle_time_ms may always differ.
    Arrays are compared in their order.

    Requests are sent as they were recorded: what wrote or deleted something does so
    again, and a redacted password is refused.

    \b
    Examples:
      tagwire replay frames.jsonl.gz --to localhost:9092
      tagwire replay frames.jsonl.gz --to localhost:9092 --ignore brokers --ignore MetadataResponse.cluster_id
    """
    from tagwire_cli.replaying.answers import Ignored
    from tagwire_cli.replaying.steps import steps

    registry = find_registry(package)
    require_headers(registry)
    played = list(steps(registry, capture_lines(read_bytes(file, is_hex=False), file), file, recorded_server))
    paths = Ignored(registry, ignored, _responses(registry, played))
    results = asyncio.run(_play(registry, played, server, paths, timeout, _show_json if as_json else _show))
    requests = sum(step.is_request for step in played)
    answers = f"{results['same']} the same, {results['differs']} different, {results['missing']} missing"
    say(f"played {count(requests, 'request')}; answers: {answers}", err=True)
    if results["differs"] or results["missing"] or not results:
        raise click.exceptions.Exit(1)


def _responses(registry: "Registry", played: "Sequence[Step]") -> "list[type[Message]]":
    """The classes of the recorded responses; those that the package lacks are left out."""
    from tagwire.frames.message_index import UnknownMessageError

    found = []
    for api_key in sorted({step.api_key for step in played if not step.is_request}):
        try:
            found.append(registry.response(api_key))
        except UnknownMessageError:
            continue
    return found


async def _play(
    registry: "Registry", played: "Sequence[Step]", server: "Address", ignored: "Ignored", timeout: float, show: "Show"
) -> Counter[str]:
    """Play, and show what differs; counts the results."""
    from tagwire_cli.replaying.answers import answer_differences, response_name
    from tagwire_cli.replaying.player import play

    results: Counter[str] = Counter()
    async with aclosing(play(played, server, timeout)) as answers:
        async for answer in answers:
            step = answer.step
            found = []
            if answer.data is not None:
                found = answer_differences(registry, step.api_key, step.version, step.data, answer.data, ignored)
            results[_result(answer, found)] += 1
            show(answer, response_name(registry, step.api_key), found)
    return results


def _result(answer: "Answer", found: "list[Difference]") -> str:
    return "missing" if answer.data is None else "differs" if found else "same"


def _show(answer: "Answer", name: str, found: "list[Difference]") -> None:
    from tagwire.testing.peer.differences import difference_lines

    step = answer.step
    what = f"line {step.line}, connection {step.connection or '?'}: {name} v{step.version}"
    if answer.data is None:
        write_line(f"{what} is missing: {answer.reason}")
    elif found:
        write_line(f"{what} differs")
        for line in difference_lines(found):
            write_line(f"    {line}")


def _show_json(answer: "Answer", name: str, found: "list[Difference]") -> None:
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
