"""`tagwire log dump`: the records of segments."""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tagwire_cli.input_bytes import limit_option, limits_of
from tagwire_cli.log_options import format_option, json_option, paths_argument
from tagwire_cli.log_paths import byte_progress, partitions_of
from tagwire_cli.output import write_bytes
from tagwire_cli.packages import find_registry, package_option

if TYPE_CHECKING:
    from tagwire.limits import Limits
    from tagwire.log import Partition, Segment
    from tagwire.records import Record, RecordBatch
    from tagwire.registry import Registry

__all__ = ["command"]

_BLOCK: Final = 1024
"""Records that are printed together."""


@click.command("dump")
@paths_argument
@click.option("--start-offset", type=int, metavar="N", help="From this offset on; the indexes are used.")
@click.option("--from-log-start", is_flag=True, help="Not below the start that the log-start-offset-checkpoint has.")
@click.option("--messages", "with_messages", is_flag=True, help="Records of Kafka's own topics as messages, too.")
@click.option("--partial", is_flag=True, help="A batch that is cut off at the end of a log is left out.")
@format_option
@json_option
@limit_option
@package_option
def command(
    paths: Sequence[Path],
    start_offset: int | None,
    from_log_start: bool,
    with_messages: bool,
    partial: bool,
    format: str,
    as_json: bool,
    limits: Sequence[str],
    package: str | None,
) -> None:
    """Print the records of segments, a line each.

    With --json, an object a record: file, baseOffset, magic, compression,
    timestampType, isTransactional, isControl, producerId, producerEpoch,
    baseSequence, offset, timestamp, key and value (base64 or null), headers
    (pairs of a key and base64 or null). With --messages also `message`: type,
    version, key and value by their fields.

    What stands before a fault is printed; then it is told, and the exit status is 1.

    \b
    Examples:
      tagwire log dump alpha-0/00000000000000000000.log
      tagwire log dump alpha-0 --start-offset 12000 --json | head
      tagwire log dump __consumer_offsets-0 --messages --json | jq .message
    """
    bounds = limits_of(limits)
    registry = find_registry(package) if with_messages else None
    found = list(partitions_of(paths))
    with byte_progress("dump", found) as tell:
        for each in found:
            begin = _begin(each, start_offset, from_log_start)
            for segment, position, batch in _batches(each, begin, format, bounds, partial):
                _print(segment, position, batch, _messages(each, batch, registry), as_json)
                if tell:
                    tell(batch.size)


def _print(
    segment: "Segment",
    position: int,
    batch: "RecordBatch",
    more: "Callable[[Record], dict[str, Any]] | None",
    as_json: bool,
) -> None:
    """The lines of a batch; what stands before a fault is printed."""
    from tagwire.errors import DecodeError
    from tagwire.log.dump import batch_lines
    from tagwire.log.errors import placed

    try:
        for text in batch_lines(str(segment.path), batch, more) if as_json else _text_lines(batch, more):
            write_bytes(text)
    except DecodeError as error:
        raise placed(error, str(segment.path), "TWL106", position) from None


def _begin(found: "Partition | Segment", start_offset: int | None, from_log_start: bool) -> int | None:
    """The offset to begin at, None for the first that is there."""
    log_start = getattr(found, "log_start_offset", None) if from_log_start else None
    known = [each for each in (log_start, start_offset) if each is not None]
    return max(known, default=None)


def _batches(
    found: "Partition | Segment", begin: int | None, format: str, limits: "Limits", partial: bool
) -> "Iterator[tuple[Segment, int, RecordBatch]]":
    """The batches with their segments and positions."""
    from tagwire.log import Segment

    if not isinstance(found, Segment):
        yield from found.placed_batches(begin, format, limits, partial=partial)
        return
    for position, batch in found.placed_batches(begin, format, limits, partial=partial):
        yield found, position, batch


def _messages(
    found: "Partition | Segment", batch: "RecordBatch", registry: "Registry | None"
) -> "Callable[[Record], dict[str, Any]] | None":
    """What --messages adds to a record: its messages, if the topic is one of Kafka's own; markers of every topic."""
    from tagwire.log.names import partition_name
    from tagwire.log.topics import INTERNAL_TOPICS, decode_entry

    if registry is None:
        return None
    name = partition_name(found.path.absolute() if found.path.is_dir() else found.path.absolute().parent)
    log = INTERNAL_TOPICS.get(name.topic if name else "", "")
    if not log and not batch.is_control:
        return None
    return lambda record: {"message": decode_entry(record, log, registry, is_control=batch.is_control).to_json()}


def _text_lines(batch: "RecordBatch", more: "Callable[[Record], dict[str, Any]] | None") -> Iterator[bytes]:
    """Offset, timestamp, key, value and headers of each record, with tabs between them."""
    for records in _blocks(batch):
        lines = []
        for record in records:
            headers = ", ".join(f"{_text(key)}={_text(value)}" for key, value in record.headers)
            cells = [str(record.offset), str(record.timestamp), _text(record.key), _text(record.value), headers]
            if more is not None:
                cells[2:4] = [json.dumps(more(record)["message"], ensure_ascii=False)]
            lines.append("\t".join(cells).rstrip("\t") + "\n")
        yield "".join(lines).encode()


def _blocks(batch: "RecordBatch") -> "Iterator[list[Record]]":
    """The records of a batch, some at a time."""
    records = iter(batch)
    while block := list(islice(records, _BLOCK)):
        yield block


def _text(value: bytes | str | int | None) -> str:
    """Text as it is where a line can hold it; null, and other bytes as hex, in <>."""
    if value is None:
        return "<null>"
    if isinstance(value, int):
        return str(value)
    try:
        text = value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        text = ""
    if text.isprintable() and (text or not value):
        return text
    return f"<{(value if isinstance(value, bytes) else value.encode()).hex()}>"
