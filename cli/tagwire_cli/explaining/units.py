"""Explain an input unit by unit. A unit is a message, a frame, or a batch.

After an error in a unit, the next unit is still read if its position is known.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import click

from tagwire.captures import UNKNOWN_API, CapturedFrame, CaptureError, capture_kind
from tagwire.errors import DecodeError, MissingExtraError, TagwireError
from tagwire.explain.trace import Trace, trace, trace_request, trace_response
from tagwire.frames.known_packages import KAFKA_MESSAGES
from tagwire.frames.pairing import SaslTokens
from tagwire.frames.registry import Registry
from tagwire.guessing import guess
from tagwire.limits import Limits
from tagwire.records.format_set import FormatSet
from tagwire_cli.explaining.explained import Explained, explained
from tagwire_cli.explaining.input import (
    Detected,
    InputFrame,
    captured_frames,
    is_stream,
    selected_frames,
    stream_frames,
)
from tagwire_cli.input.encodings import bytes_of
from tagwire_cli.input.message_arguments import message_of, response_of

KINDS = ("message", "request", "response", "format", "guess", "capture")

Explainer = Callable[[InputFrame], Explained]


class ExplainSettings(NamedTuple):
    """The options that determine how input bytes are interpreted."""

    registry: Registry
    kind: str
    """How to interpret the input: one of `KINDS`."""
    args: Sequence[str]
    """The arguments of the command: the message, followed by the file."""
    formats: FormatSet
    records: str | None
    """The format of the records in messages, or None to use the format that each message's spec names."""
    opens_records: bool
    strict: bool
    limits: Limits
    where: Callable[[CapturedFrame], bool] | None = None
    """A function that returns whether to explain a captured frame, or None to explain all frames."""


class Input(NamedTuple):
    """The input bytes, and how they are split into frames."""

    data: bytes
    file: str
    """The name of the file, or "-" for standard input."""
    encoding: str
    has_sizes: bool
    only: str | None
    port: int


def explainer_of(settings: ExplainSettings) -> tuple[Explainer | None, Sequence[str]]:
    """Return (a function that explains one unit, the arguments that name the file).

    For record batches, the function is None. Raises click.UsageError if the arguments name an unknown message or
    version.
    """
    if settings.kind in ("message", "response"):
        return _of_version(settings)
    explain = {"request": _as_request, "guess": _guessed, "capture": _captured}.get(settings.kind)
    return explain and partial(explain, settings), settings.args


def explain_units(
    settings: ExplainSettings, explainer: Explainer | None, given: Input
) -> tuple[bool, Iterator[Explained]]:
    """Explain each unit of the input. Return whether there may be several units, and an iterator over the explanations.

    Raises InputError for invalid input, and click.UsageError for options that don't fit the input.
    """
    data = given.data
    if settings.kind == "capture" or (settings.kind == "guess" and capture_kind(data)):
        frames = captured_frames(data, given.file, given.port, settings.registry, settings.where)
        return True, _each(selected_frames(frames, given.only), partial(_captured, settings))
    data = bytes_of(data, given.encoding)
    if explainer is not None and (given.has_sizes or (settings.kind == "guess" and is_stream(data))):
        tokens = SaslTokens(settings.registry) if settings.kind in ("request", "guess") else None
        return True, _each(selected_frames(stream_frames(data, tokens), given.only), explainer)
    if settings.where is not None:
        raise click.UsageError("--where needs --capture.")
    if given.only is not None:
        raise click.UsageError("--only needs --frames or --capture.")
    return False, _batches(settings, data) if explainer is None else iter([explainer(InputFrame(1, "", data))])


def explain_detected(
    settings: ExplainSettings, inputs: Iterator[Detected], only: str | None, port: int
) -> tuple[bool, Iterator[Explained]]:
    """Explain detected inputs. Return whether they may contain many units, and an iterator that explains each unit.

    Raises InputError for invalid input, and click.UsageError for options that don't fit the input.
    """
    first, package = next(inputs), settings.registry.package
    note = f"; read as messages of {package} (for Kafka's, add --package {KAFKA_MESSAGES})"
    note = "" if package == KAFKA_MESSAGES else note
    is_many, units = _detected_units(settings, first, only, port)

    def all_units() -> Iterator[Explained]:
        yield from _introduced(first._replace(description=first.description + note), units)
        for each in inputs:
            yield from _introduced(each, _detected_units(settings, each, only, port)[1])

    return is_many or first.kind == "format", all_units()


def _detected_units(
    settings: ExplainSettings, found: Detected, only: str | None, port: int
) -> tuple[bool, Iterator[Explained]]:
    settings = settings._replace(kind=found.kind)
    explainer, _ = explainer_of(settings)
    return explain_units(settings, explainer, Input(found.data, found.file, "binary", False, only, port))


def _introduced(found: Detected, units: Iterator[Explained]) -> Iterator[Explained]:
    """Yield the units of an input, and add the input's description to the first unit."""
    description = found.description
    while True:
        try:
            one = next(units, None)
        except DecodeError as error:  # yield this error, and go on with the next segment
            one = Explained("", (), error=str(error))
        if one is None:
            return
        is_part = one.is_part or found.is_part
        yield one._replace(input=description, is_apart=one.is_apart or bool(description), is_part=is_part)
        description = ""


def _each(frames: Iterator[InputFrame], explainer: Explainer) -> Iterator[Explained]:
    """Yield an explanation of each frame, or its error."""
    try:
        for frame in frames:
            yield _with_errors(explainer, frame)
    except (DecodeError, CaptureError) as error:  # after this error, the next frame can't be found
        yield Explained("", (), error=str(error))


def _with_errors(explainer: Explainer, frame: InputFrame) -> Explained:
    if frame.error:
        return Explained(frame.title, (), error=frame.error)
    try:
        return explainer(frame)
    except TagwireError as error:  # raised, for example, if the package doesn't have the API
        return Explained(frame.title, (), error=str(error))


def explain_captured(settings: ExplainSettings, frame: InputFrame) -> Explained:
    """Explain a captured frame. If that fails, the result contains the error."""
    return _with_errors(partial(_captured, settings), frame)


def _of_version(settings: ExplainSettings) -> tuple[Explainer, Sequence[str]]:
    if settings.kind == "response":
        message, version, files = response_of(settings.registry, settings.args)
        api_key = message.API_KEY
        assert api_key is not None, "a response has an API key"
        return lambda frame: _as_response(settings, frame, (api_key, version)), files
    expected = "MESSAGE VERSION, --request, --response API VERSION, or --guess"
    message, version, files = message_of(settings.registry, settings.args, expected)
    return (
        lambda frame: _opened(
            settings, frame, trace(message, frame.data, version, strict=settings.strict, limits=settings.limits)
        ),
        files,
    )


def _as_request(settings: ExplainSettings, frame: InputFrame) -> Explained:
    return _opened(
        settings, frame, trace_request(settings.registry, frame.data, strict=settings.strict, limits=settings.limits)
    )


def _as_response(settings: ExplainSettings, frame: InputFrame, api: tuple[int, int]) -> Explained:
    seen = trace_response(settings.registry, frame.data, *api, strict=settings.strict, limits=settings.limits)
    return _opened(settings, frame, seen)


def _opened(settings: ExplainSettings, frame: InputFrame, seen: Trace) -> Explained:
    return Explained(frame.title, (seen,), missing=_open(settings, seen))


def _open(settings: ExplainSettings, seen: Trace) -> str:
    """Add a message's record batches to its trace. Return an error if a codec's library is missing."""
    if settings.opens_records and seen.message_name in settings.registry:
        from tagwire.records.opening import open_records

        message = settings.registry[seen.message_name]
        try:
            open_records(seen, message, format=settings.records, strict=settings.strict, limits=settings.limits)
        except MissingExtraError as error:
            return str(error)
    return ""


def _batches(settings: ExplainSettings, data: bytes) -> Iterator[Explained]:
    """Yield the explanation of each batch, up to the first batch with an error."""
    from tagwire.records.opening import trace_batches

    position = 0
    for seen in trace_batches(data, settings.formats, strict=settings.strict, limits=settings.limits):
        title = f"batch at byte {position}" if seen.error is not None and position else ""
        yield Explained(title, (seen,), is_apart=False)
        position += len(seen.data)


def _guessed(settings: ExplainSettings, frame: InputFrame) -> Explained:
    found = explained(frame.title, frame.data, guess(settings.registry, frame.data, limits=settings.limits))
    missing = {_open(settings, seen) for seen in found.traces}
    return found._replace(missing=max(missing, default=""))


def _captured(settings: ExplainSettings, frame: InputFrame) -> Explained:
    if frame.is_request:
        return _as_request(settings, frame)
    if frame.api:
        return _as_response(settings, frame, frame.api)
    found = _guessed(settings, frame)
    return found if found.traces else found._replace(error=UNKNOWN_API)
