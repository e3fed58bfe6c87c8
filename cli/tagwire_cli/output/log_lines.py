"""Write the output of `tagwire log dump`, batch by batch, as lines of JSON or tab-separated text.

`RecordFilter` selects the records to write.

The command imports this module only when it runs, so that `--help` is fast.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from tagwire.explain.names import put_names, registers_by_field
from tagwire.frames.known_packages import header_key_name
from tagwire.frames.registry import Registry
from tagwire.layout.parts import bit_names
from tagwire.limits import Limits
from tagwire.log import Partition, Segment
from tagwire.log.checkpoints import read_json, read_leader_epochs, read_offsets, read_properties
from tagwire.log.dump import Keep, More, batch_lines, in_parts, native_lines
from tagwire.log.errors import LogError
from tagwire.log.indexes import OffsetIndex, TimeIndex, read_producer_snapshot, read_transaction_index
from tagwire.log.names import log_file, partition_name
from tagwire.log.scan import LogBatch, Skip
from tagwire.log.topics import INTERNAL_TOPICS, Entry, entry_at
from tagwire.message.field_table import layout_of
from tagwire.message.json import hidden_json
from tagwire.message.register import Register
from tagwire.records import FormatSet, Record, RecordBatch
from tagwire.sensitive import HIDDEN, hides
from tagwire.text_format import printable, printable_json
from tagwire_cli.paths import given_name

_LIKE_OTHERS: Final = re.compile("<(null|[0-9a-f]*)>")
"""Matches strings that look like the output for a null or for bytes, such as `<null>` and `<0aff>`."""
_CELLS: Final = ("offset", "timestamp", "key", "value", "headers", "attributes")
_OF_RECORDS: Final = ("has headers", "tombstone")
"""Attributes that are printed only for the records that have them, even if they are set in the batch's attributes."""


@dataclass
class RecordFilter:
    """The conditions that a record must meet to be printed. A condition that is None does not apply."""

    start_offset: int | None = None
    end_offset: int | None = None
    """Only records with lower offsets are printed. In the same way, `end_time` is not included."""
    start_time: int | None = None
    end_time: int | None = None
    key: str | None = None
    header: str | None = None
    """The header that a record must have, as NAME or NAME=VALUE."""
    left: int | None = None
    """How many more records to print."""

    def of(self, batch: RecordBatch, begin: int | None) -> Callable[[Record], bool] | None:
        """Return a function that tests whether to print a record of this batch; None to print all of them."""
        others = (self.end_offset, self.start_time, self.end_time, self.key, self.header, self.left)
        if any(each is not None for each in others) or (begin is not None and batch.base_offset < begin):
            return lambda record: self._selects(record, begin)
        return None

    def ends_before(self, batch: RecordBatch) -> bool:
        """Return whether printing can stop, because neither this nor any later batch has records to print."""
        return self.left == 0 or (self.end_offset is not None and batch.base_offset >= self.end_offset)

    def _selects(self, record: Record, begin: int | None) -> bool:
        selects = (
            self.left != 0
            and (begin is None or record.offset >= begin)
            and (self.end_offset is None or record.offset < self.end_offset)
            and (self.start_time is None or record.timestamp >= self.start_time)
            and (self.end_time is None or record.timestamp < self.end_time)
            and (self.key is None or record.key == os.fsencode(self.key))
            and (self.header is None or self._has_header(record, self.header))
        )
        if selects and self.left is not None:
            self.left -= 1
        return selects

    @staticmethod
    def _has_header(record: Record, header: str) -> bool:
        name, equals, value = header.partition("=")
        found = [content for key, content in record.headers if header_key_name(key) == name]
        return os.fsencode(value) in found if equals else bool(found)


class DumpOptions(NamedTuple):
    """Which records to print, and how."""

    format: FormatSet
    limits: Limits
    registry: Registry | None
    """The package used to decode records of Kafka's internal topics, or None to print them undecoded."""
    skip: Skip
    """A function to call with an error: for each undecodable record, and for each damaged part that is skipped."""
    partial: bool
    as_json: bool
    is_lenient: bool
    filter: RecordFilter = RecordFilter()
    template: Callable[[Mapping[str, str]], str] | None = None


def dump(
    found: Partition | Segment, begin: int | None, options: DumpOptions, write: Callable[[bytes], object]
) -> Iterator[int]:
    """Write the lines of each batch, then yield the batch's size. Lines before a LogError are still written."""
    skip = options.skip if options.is_lenient else None
    for batch in found.batches(begin, options.format, options.limits, partial=options.partial, skip=skip):
        if options.filter.ends_before(batch):
            return
        more, keep = _messages(batch, options), options.filter.of(batch, begin)
        if options.as_json:
            lines = batch_lines(given_name(batch.file), batch, more, keep)
        else:
            lines = _batch_text(batch, more, keep, options.template and _in_template(options.template, batch.file))
        for text in lines:
            write(printable_json(text.decode()).encode() if options.as_json else text)
        yield batch.size


_registers_of = lru_cache(1)(registers_by_field)


def _messages(batch: LogBatch, options: DumpOptions) -> More | None:
    """Return a function that decodes records of a control batch or an internal topic, or None for other batches."""
    registry = options.registry
    if registry is None:
        return None
    registers = {} if options.as_json else _registers_of(registry)
    name = partition_name(Path(batch.file).absolute().parent)
    log = INTERNAL_TOPICS.get(name.topic if name else "", "")
    if not log and not batch.is_control:
        return None

    def message(record: Record) -> dict[str, str]:
        try:
            return _line(entry_at(record, log, registry, batch), registers)
        except LogError as error:
            options.skip(error)
        # A record that can't be decoded may contain a secret, so its value is hidden.
        return {"message": "null"} | ({"value": json.dumps(HIDDEN)} if hides() and log == "cluster" else {})

    return message


def _line(entry: Entry, registers: dict[str, type[Register]]) -> dict[str, str]:
    """Return the keys to add to a record's JSON, with their values as JSON text.

    `message` is the decoded record. If the record contains secrets, a placeholder for its value is added as `value`.
    `registers` maps paths of fields to enums. In these fields, the names of numbers are printed.
    """
    value = entry.value
    is_named = value is not None and any(path.startswith(f"{value.NAME}.") for path in registers)
    is_hidden = hides() and value is not None and layout_of(type(value), entry.version).root.has_sensitive
    if value is None or not (is_named or is_hidden):
        return {"message": entry.to_json_text()}
    content = entry.to_json()
    put_names(content["value"], type(value), registers, value.NAME)
    if is_hidden:
        hidden_json(value, content["value"])
    message = {"message": json.dumps(content, ensure_ascii=False)}
    return message | ({"value": json.dumps(HIDDEN)} if is_hidden else {})


def _in_template(template: Callable[[Mapping[str, str]], str], file: str) -> Callable[[list[str]], str]:
    name = partition_name(Path(file).absolute().parent)
    defaults = {
        "file": given_name(file),
        "topic": name.topic if name else "",
        "partition": str(name.partition) if name else "",
    }
    return lambda cells: printable(template(defaults | dict(zip(_CELLS, cells, strict=True))), keep="\t\n")


def _tabbed(cells: list[str]) -> str:
    return "\t".join(cells).rstrip("\t")


def _batch_text(
    batch: RecordBatch,
    more: More | None,
    keep: Keep | None,
    line: Callable[[list[str]], str] | None = None,
) -> Iterator[bytes]:
    words = bit_names(batch.record_format.bits.values(), batch.attributes)
    words = [word for word in words if word not in _OF_RECORDS]
    done: int | None = 0
    if more is None and keep is None and line is None:
        done = yield from native_lines(batch, ", ".join(words).encode(), is_text=True)
    if done is not None:
        records = batch if keep is None else filter(keep, batch)
        yield from in_parts(_text_lines(islice(records, done, None), words, more, line or _tabbed))


def _text_lines(
    records: Iterable[Record], of_batch: list[str], more: More | None, line: Callable[[list[str]], str]
) -> Iterator[str]:
    for record in records:
        headers = ", ".join(f"{_cell(header_key_name(key))}={_cell(value)}" for key, value in record.headers)
        cells = [str(record.offset), str(record.timestamp), _cell(record.key), _cell(record.value), headers]
        found = more(record) if more is not None else {"message": "null"}
        if found["message"] != "null":
            cells[2:4] = [*([] if line is _tabbed else [""]), printable_json(found["message"])]
        elif "value" in found:
            cells[3] = json.loads(found["value"])
        of_record = compress(_OF_RECORDS, (record.headers, record.is_tombstone))
        cells.append(", ".join([*of_batch, *of_record]))
        yield line(cells) + "\n"


def _cell(value: bytes | str | int | None) -> str:
    """Format a key or value: null as <null>, printable text as it is, and other bytes as hex in angle brackets."""
    if value is None:
        return "<null>"
    if isinstance(value, int):
        return str(value)
    try:
        text = value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        text = ""
    if text.isprintable() and (text or not value) and not _LIKE_OTHERS.fullmatch(text):
        return text
    return f"<{(value if isinstance(value, bytes) else value.encode()).hex()}>"


_EPOCHS: Final = "leader-epoch-checkpoint"
_OFFSETS: Final = {
    f"{name}-checkpoint"
    for name in ("log-start-offset", "recovery-point-offset", "replication-offset", "cleaner-offset")
}
_PROPERTIES: Final = ("meta.properties", "partition.metadata")


def file_entries(path: Path) -> Iterator[dict[str, Any]] | None:
    """Return an iterator over a file's entries as JSON objects, or None for a segment. Iterating may raise LogError."""
    name = log_file(path)
    kind = path.name if name is None else name.kind
    if name is not None and kind in ("index", "timeindex"):
        return _named((OffsetIndex if kind == "index" else TimeIndex)(path, name.base_offset))
    if kind == "txnindex":
        return _named(read_transaction_index(path))
    if kind == "snapshot":
        entries = read_producer_snapshot(path)
        fields = [each for each in type(entries[0]).__slots__ if each != "unknown_tags"] if entries else []
        return ({field: getattr(entry, field) for field in fields} for entry in entries)
    if kind in (_EPOCHS, "leader_epoch_checkpoint"):
        return _named(read_leader_epochs(path))
    if kind in _OFFSETS:
        return ({**each._asdict(), "offset": offset} for each, offset in read_offsets(path).items())
    if kind in _PROPERTIES:
        return ({"name": key, "value": value} for key, value in read_properties(path).items())
    return iter([read_json(path)]) if kind == "quorum-state" else None


def _named(entries: Iterable[Any]) -> Iterator[dict[str, Any]]:
    return (entry._asdict() for entry in entries)
