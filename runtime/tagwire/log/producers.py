"""Read the `.snapshot` files of a partition: the broker's state of its producers at an offset."""

from pathlib import Path
from typing import Any, Final

from tagwire.errors import DecodeError
from tagwire.frames.known_packages import kafka_messages
from tagwire.log.errors import placed, refuse
from tagwire.log.indexes import read_file
from tagwire.text_format import count
from tagwire.wire.checksums import checksum

_RULE: Final = "TWL231"
_CRC_AT: Final = 2
_CRC_END: Final = 6


def read_producer_snapshot(path: Path) -> tuple[Any, ...]:
    """Return the entries of a snapshot, as in the archive's message ProducerSnapshot: `producer_id`, `epoch`,
    `last_sequence`, `last_offset`, `offset_delta`, `timestamp`, `coordinator_epoch`, `current_txn_first_offset`.

    Raises LogError.
    """
    data = read_file(path, _RULE)
    cls: Any = kafka_messages()["ProducerSnapshot"]
    version = int.from_bytes(data[:_CRC_AT], "big", signed=True)
    if len(data) < _CRC_END or version not in cls.VERSIONS:
        found = f"version {version}" if len(data) >= _CRC_END else count(len(data), "byte")
        refuse(str(path), _RULE, 0, found, f"version {cls.VERSIONS}, and a checksum")
    stated, actual = int.from_bytes(data[_CRC_AT:_CRC_END], "big"), checksum("crc32c", data[_CRC_END:])
    if stated != actual:
        refuse(str(path), _RULE, _CRC_AT, f"crc {stated:#010x}", f"{actual:#010x}, the checksum of the bytes after it")
    try:
        snapshot = cls.decode(data[_CRC_AT:], version)
    except DecodeError as error:
        raise placed(error, str(path), _RULE, _CRC_AT) from None
    return tuple(snapshot.producer_entries)
