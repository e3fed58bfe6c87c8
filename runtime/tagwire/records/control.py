"""Control records: the markers that brokers write between records.

A marker's key consists of two int16 numbers: the version and the type of the marker. A marker's value is decoded as one
of Kafka's messages, or stays bytes if `tagwire_messages` is not installed.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tagwire.arguments import check_type
from tagwire.errors import TagwireError
from tagwire.frames.frame_headers import unreadable
from tagwire.frames.known_packages import kafka_messages
from tagwire.limits import DEFAULT_LIMITS, Limits
from tagwire.records.format_set import AUTO, Formats
from tagwire.records.reading import read_batches
from tagwire.records.record import Record
from tagwire.text_format import count, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tagwire.frames.registry import Registry


CONTROL_TYPES: Final = {
    0: ("abort", "EndTxnMarker"),
    1: ("commit", "EndTxnMarker"),
    2: ("leader_change", "LeaderChangeMessage"),
    3: ("snapshot_header", "SnapshotHeaderRecord"),
    4: ("snapshot_footer", "SnapshotFooterRecord"),
    5: ("kraft_version", "KRaftVersionRecord"),
    6: ("kraft_voters", "VotersRecord"),
}
"""For each type number, the name of the marker type, and the name of the message in the value of such a record."""


class ControlRecord(NamedTuple):
    """A decoded marker. `message` is its decoded value, or None for an unknown type."""

    key_version: int
    number: int
    value: bytes | None
    message: Any

    @property
    def type(self) -> str:
        """The name of the marker's type, or `unknown`."""
        return CONTROL_TYPES.get(self.number, ("unknown", ""))[0]

    def __repr__(self) -> str:
        return f"<control record {self.type}: {self.value!r}>" if self.message is None else repr(self.message)


def control_type(key: bytes | None) -> int:
    """Return the type number in a marker's key, such as 1 for a commit, or -1 if the key is null or too short."""
    return int.from_bytes(key[2:4], "big", signed=True) if key and len(key) >= 4 else -1


def control_record(record: Record, registry: Registry | None = None) -> ControlRecord:
    """Decode a record of a control batch.

    Values are decoded as messages of `registry`, by default the registry of `tagwire_messages`. As in Kafka, a value
    with a newer version is read as the highest known version. Raises DecodeError if the key isn't a marker's key,
    or if the value is invalid.
    """
    check_type("record", record, Record, "a record of a control batch")
    key = record.key
    if key is None or len(key) < 4:
        found = "null" if key is None else count(len(key), "byte")
        raise unreadable("control record", None, "key", 0, found, "a version and a type (4 bytes)")
    key_version, number = int.from_bytes(key[:2], "big", signed=True), control_type(key)
    message = None
    known = registry
    if known is None:
        with suppress(ImportError):  # if the messages package is not installed, values stay bytes
            known = kafka_messages()
    name = CONTROL_TYPES.get(number, ("", ""))[1]
    if known is not None and name in known.names() and record.value is not None and len(record.value) >= 2:
        message = _message(known, name, record.value)
    return ControlRecord(key_version, number, record.value, message)


def _message(registry: Registry, name: str, value: bytes) -> Any:
    """Decode a marker's value, which begins with the message's version in two bytes.

    If the message's first field is `version`, these bytes are that field. Otherwise, the message begins after them.
    """
    cls = registry[name]
    version = int.from_bytes(value[:2], "big", signed=True)
    version = min(max(version, cls.VERSIONS.lowest), cls.VERSIONS.highest)
    first = cls.FIELDS[0].name if cls.FIELDS else ""
    data = value if first == "version" else value[2:]
    return cls.decode(data, version, strict=False)


def committed(
    partition: Any, *, start: int | None = None, format: Formats = AUTO, limits: Limits = DEFAULT_LIMITS
) -> Iterator[Record]:
    """Iterate over the records of a partition in a FetchResponse, as a consumer sees them.

    `partition` has `records`, and `aborted_transactions` if the request was READ_COMMITTED. As in Kafka's consumer, the
    result leaves out records of aborted transactions, markers, a truncated last batch, and records with offsets below
    `start` (if set). Raises DecodeError for invalid batches, and LimitError if they exceed a limit.
    """
    if not hasattr(partition, "aborted_transactions"):
        raise TagwireError(
            f"expected a partition of a FetchResponse, got {shown(partition)}; to read bytes, call read_batches"
        )
    aborted = deque(sorted((each.first_offset, each.producer_id) for each in partition.aborted_transactions or ()))
    open_aborted: set[int] = set()
    for batch in read_batches(partition.records or b"", format, limits, partial=True):
        while aborted and aborted[0][0] <= batch.last_offset:
            open_aborted.add(aborted.popleft()[1])
        if batch.is_control:
            if any(CONTROL_TYPES.get(control_type(record.key), ("",))[0] == "abort" for record in batch):
                open_aborted.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in open_aborted):
            yield from (record for record in batch if start is None or record.offset >= start)
