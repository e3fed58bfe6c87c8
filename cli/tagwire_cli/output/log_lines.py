"""What `tagwire log dump` prints, batch by batch: lines of JSON, or of text with tabs.

Apart from the command, whose help must not wait for what reads logs.
"""

import json
from collections.abc import Callable, Iterator
from typing import Final

from tagwire.errors import DecodeError
from tagwire.frames.known_packages import header_key_name
from tagwire.frames.registry import Registry
from tagwire.layout.parts import words_of_bits
from tagwire.limits import Limits
from tagwire.log import Partition, Segment
from tagwire.log.dump import More, batch_lines, in_parts
from tagwire.log.errors import placed
from tagwire.log.names import partition_name
from tagwire.log.topics import INTERNAL_TOPICS, Entry, decode_entry
from tagwire.message.field_table import layout_of
from tagwire.message.json import hidden_json
from tagwire.records import FormatSet, Record, RecordBatch
from tagwire.sensitive import HIDDEN, hides
from tagwire.text_format import printable_json

__all__ = ["dump"]

_OF_RECORDS: Final = ("has headers", "tombstone")
"""Words for attributes of records, which are also in the attributes of a message."""


def dump(
    found: Partition | Segment,
    begin: int | None,
    format: FormatSet,
    limits: Limits,
    registry: Registry | None,
    write: Callable[[bytes], object],
    *,
    partial: bool,
    as_json: bool,
) -> Iterator[int]:
    """Write the lines of each batch and yield its size in bytes; the lines before a fault are written.

    Raises LogError. With a registry, records of Kafka's own topics are also shown as messages.
    """
    for segment, position, batch in _batches(found, begin, format, limits, partial):
        more = None if registry is None else _messages(found, batch, registry)
        file = str(segment.path)
        try:
            for text in batch_lines(file, batch, more) if as_json else in_parts(_text_lines(batch, more)):
                write(text)
        except DecodeError as error:
            raise placed(error, file, "TWL106", position) from None
        yield batch.size


def _batches(
    found: Partition | Segment, begin: int | None, format: FormatSet, limits: Limits, partial: bool
) -> Iterator[tuple[Segment, int, RecordBatch]]:
    """The batches with their segments and positions."""
    if not isinstance(found, Segment):
        yield from found.placed_batches(begin, format, limits, partial=partial)
        return
    for position, batch in found.placed_batches(begin, format, limits, partial=partial):
        yield found, position, batch


def _messages(found: Partition | Segment, batch: RecordBatch, registry: Registry) -> More | None:
    """What --messages adds to a record: its messages, if the topic is one of Kafka's own; markers of every topic."""
    name = partition_name(found.path.absolute() if found.path.is_dir() else found.path.absolute().parent)
    log = INTERNAL_TOPICS.get(name.topic if name else "", "")
    if not log and not batch.is_control:
        return None
    return lambda record: _told(decode_entry(record, log, registry, is_control=batch.is_control))


def _told(entry: Entry) -> dict[str, str]:
    """The members of a line about its message, as JSON texts; sensitive values and their bytes are left out."""
    value = entry.value
    if hides() and value is not None and layout_of(type(value), entry.version).root.has_sensitive:
        made = entry.to_json()
        hidden = made | {"value": hidden_json(value, made["value"])}
        return {"message": json.dumps(hidden, ensure_ascii=False), "value": json.dumps(HIDDEN)}
    return {"message": entry.to_json_text()}


def _text_lines(batch: RecordBatch, more: More | None) -> Iterator[str]:
    """Offset, timestamp, key, value, headers and attributes of each record, with tabs between them."""
    of_batch = words_of_bits(batch.described_by.bits.values(), batch.attributes)
    of_batch = [word for word in of_batch if word not in _OF_RECORDS]
    for record in batch:
        headers = ", ".join(f"{_text(header_key_name(key))}={_text(value)}" for key, value in record.headers)
        cells = [str(record.offset), str(record.timestamp), _text(record.key), _text(record.value), headers]
        if more is not None:
            cells[2:4] = [printable_json(more(record)["message"])]
        cells.append(", ".join([*of_batch, *_of_record(record)]))
        yield "\t".join(cells).rstrip("\t") + "\n"


def _of_record(record: Record) -> list[str]:
    """What a record is, whether a bit says so or, in formats without that bit, its bytes."""
    words = []
    if record.headers:
        words.append(_OF_RECORDS[0])
    if record.is_tombstone:
        words.append(_OF_RECORDS[1])
    return words


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
