"""`tagwire demo`: decode captured traffic, and check that encoding it produces the same bytes."""

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

import tagwire
from tagwire.captures import CapturedFrame
from tagwire.errors import TagwireError
from tagwire.text_format import count
from tagwire_cli.arguments.options import package_option, port_option
from tagwire_cli.arguments.packages import find_registry
from tagwire_cli.input.captures import captured_frames, digest, read_faults, round_trip
from tagwire_cli.input.filters import api_stem
from tagwire_cli.output.echo import progress_bar, say
from tagwire_cli.output.tables import print_table, table_columns
from tagwire_cli.paths import InputPath

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.message import Message


_SAMPLE: Final = Path(__file__).parents[1] / "data" / "demo.jsonl.gz"
"""A capture with one frame for each API, direction and client.

The frames were taken from the captures in tests/data/captures.
"""
_APIS_SHOWN: Final = 4
_CLIENTS_SHOWN: Final = 8
_FAILURES_SHOWN: Final = 10
_EXPLAINED_BYTES: Final = range(48, 97)
_COLUMNS: Final = table_columns(
    *("client", "frames", "bytes", "APIs", "most frequent"), numbers=("frames", "bytes", "APIs")
)

_NEXT: Final = """\

Next:
  tagwire explain 0012000300000007000864656d6f2d61707000087461677769726504312e3000
                                    show each byte of a request (or of a file, a capture, a log)
  tagwire show MetadataRequest      show the fields of a message by version
  tagwire init pings                start a project with your own specs"""


@dataclass
class _Outcome:
    """The results of decoding and re-encoding all frames of a file."""

    good: list[CapturedFrame] = field(default_factory=list)
    rejected: list[tuple[CapturedFrame, TagwireError]] = field(default_factory=list)
    """Frames that were rejected, as expected, because the sender's bytes are invalid."""
    failed: list[tuple[CapturedFrame, str]] = field(default_factory=list)
    """Frames with an unexpected result, each with a description."""
    missing: int = 0
    """The number of frames of unknown APIs or versions."""
    seconds: float = 0.0


@click.command("demo")
@click.argument("file", type=InputPath(folders=False, allow_dash=True), default=_SAMPLE, metavar="[FILE]")
@port_option
@package_option
def command(file: Path, port: int, package: str | None) -> None:
    """Decode captured traffic and encode it to the same bytes.

    Without FILE, the traffic is a sample that comes with tagwire: frames of nine
    Kafka clients. FILE is a capture: lines of JSON, as described in
    docs/capture-format.md, or a pcap or pcapng file. Each frame is decoded strictly.
    Frames listed in sender_faults.json next to FILE must be rejected. All others
    must encode to the same bytes. Otherwise the exit status is 1. One request is
    shown byte by byte.

    \b
    Examples:
      tagwire demo
      tagwire demo captures.jsonl.gz
    """
    registry = find_registry(package)
    captures = [*captured_frames(str(file), registry, port=port)]
    faults = read_faults(file)
    outcome = _Outcome()
    with progress_bar("frames") as progress:
        for number, capture in enumerate(captures):
            _replay(registry, capture, digest(capture) in faults, outcome)
            if progress is not None and number % 100 == 0:
                progress(number, len(captures))
    if outcome.good:
        _print_clients(registry, outcome.good)
        _explain_one(registry, outcome.good)
        _print_summary(registry, outcome)
    _print_faults(registry, outcome, faults)
    _print_failures(registry, outcome)
    if outcome.failed or not outcome.good:
        raise click.exceptions.Exit(1)
    say(_NEXT, lines=True)


def _replay(registry: "Registry", capture: CapturedFrame, is_fault: bool, outcome: _Outcome) -> None:
    if not is_fault and not _has_version(registry, capture):
        outcome.missing += 1
        return
    error = None
    again = b""
    start = time.perf_counter()
    try:
        again = round_trip(registry, capture)
    except TagwireError as rejection:
        error = rejection
    outcome.seconds += time.perf_counter() - start
    if is_fault and error is not None:
        outcome.rejected.append((capture, error))
    elif is_fault:
        outcome.failed.append((capture, "should be rejected, but was accepted"))
    elif error is not None:
        outcome.failed.append((capture, f"was rejected: {error}"))
    elif again != capture.data:
        outcome.failed.append((capture, "was encoded to different bytes"))
    else:
        outcome.good.append(capture)


def _has_version(registry: "Registry", capture: CapturedFrame) -> bool:
    try:
        message = _message(registry, capture)
    except TagwireError:
        return False
    return _version(capture) in message.VERSIONS or message.FALLBACK is not None


def _print_clients(registry: "Registry", captures: Sequence[CapturedFrame]) -> None:
    """Print a row for each client, with its frame count and APIs. The last row sums up the clients with few frames."""
    by_client: dict[str, list[CapturedFrame]] = defaultdict(list)
    for capture in captures:
        by_client[_client(capture)].append(capture)
    rows = []
    ranked = sorted(by_client.items(), key=lambda item: (-len(item[1]), item[0]))
    if len(ranked) > _CLIENTS_SHOWN + 1:
        others = [frame for _, frames in ranked[_CLIENTS_SHOWN:] for frame in frames]
        ranked[_CLIENTS_SHOWN:] = [(f"{len(ranked) - _CLIENTS_SHOWN} others", others)]
    for client, frames in ranked:
        apis = Counter(api_stem(_message(registry, frame).NAME) for frame in frames)
        most = [f"{name} {number}" for name, number in apis.most_common(_APIS_SHOWN)]
        more = len(apis) - len(most)
        text = ", ".join(most) + (f" and {count(more, 'more API')}" if more else "")
        size = sum(len(frame.data) for frame in frames)
        rows.append((client, f"{len(frames):,}", f"{size:,}", str(len(apis)), text))
    print_table(_COLUMNS, rows)
    say()


def _client(capture: CapturedFrame) -> str:
    return capture.client or "?"


def _version(capture: CapturedFrame) -> int:
    return capture.api[1] if capture.api else -1


def _message(registry: "Registry", capture: CapturedFrame) -> "type[Message]":
    return registry.find(capture.direction, capture.api[0] if capture.api else -1)


def _print_summary(registry: "Registry", outcome: _Outcome) -> None:
    good = outcome.good
    requests = sum(capture.is_request for capture in good)
    size = sum(len(capture.data) for capture in good)
    pairs = {each.api for each in good if _version(each) in _message(registry, each).VERSIONS}
    apis = {api_key for api in pairs if api for api_key in api[:1]}
    clients = {capture.client for capture in good}
    spoken = f"{count(len(clients), 'client')}, {count(len(apis), 'API')}, {count(len(pairs), 'version')}"
    rate = f"{len(good) / outcome.seconds:,.0f} messages per second" if outcome.seconds else "immediately"
    say()
    say(f"Decoded {count(len(good), 'frame')} strictly and encoded them to the same bytes: {spoken}.")
    sides = f"{count(requests, 'request')}, {count(len(good) - requests, 'response')}"
    say(f"{sides}, {size:,} bytes in {outcome.seconds:.2f} s")
    say(f"({rate}, including class loading; engine: {tagwire.engine()}).")
    if outcome.missing:
        say(f"Skipped {count(outcome.missing, 'frame')} of unknown APIs or versions.")


def _print_faults(registry: "Registry", outcome: _Outcome, faults: dict[str, str]) -> None:
    if outcome.rejected:
        say(f"Rejected {count(len(outcome.rejected), 'frame')} as expected, because the sender's bytes are invalid.")
    for capture, error in outcome.rejected:
        say(f"  {_client(capture)}, {_what(registry, capture)}: {faults[digest(capture)]}")
        say(f"    {error}")


def _print_failures(registry: "Registry", outcome: _Outcome) -> None:
    for capture, reason in outcome.failed[:_FAILURES_SHOWN]:
        say(f"tagwire: {capture.position}: {_client(capture)}, {_what(registry, capture)} {reason}", err=True)
    if outcome.failed:
        say(f"tagwire: {count(len(outcome.failed), 'frame')} failed", err=True)
    elif not outcome.good:
        say("tagwire: no frames to decode", err=True)


def _what(registry: "Registry", capture: CapturedFrame) -> str:
    return f"{_message(registry, capture).NAME} v{_version(capture)}"


def _explain_one(registry: "Registry", captures: Sequence[CapturedFrame]) -> None:
    """Of the requests that fit on a screen, explain the one with the most fields."""
    from tagwire.explain.trace import trace_request
    from tagwire_cli.explaining.explained import print_text

    fitting = (each for each in captures if each.is_request and len(each.data) in _EXPLAINED_BYTES)
    traces = [(capture, trace_request(registry, capture.data)) for capture in fitting]
    if not traces:
        return
    capture, trace = max(traces, key=lambda pair: sum(1 for _ in pair[1].root.walk()))
    say(f"One request from {_client(capture)}, as `tagwire explain --request` prints it:\n", lines=True)
    print_text([], [trace], color="auto")
