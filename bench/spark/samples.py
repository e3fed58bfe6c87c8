"""What is measured: a partition's folder of one big log, and Parquet files of messages, the same on every machine.

The log is of batches of 16 KiB with records of some 118 bytes; one in 37 has no
key, one in 50 is a tombstone, one in 64 has a header. 64 batches are made and
repeated with other offsets, which a batch's checksum does not cover: so a large
log is written as fast as the disk goes, and packs better than real ones.
"""

import random
import struct
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from tagwire.records import Record, build

__all__ = ["LOG_BYTES", "make_log", "make_messages"]

LOG_BYTES: Final = 500_000_000
_SEGMENT: Final = 128 << 20
_BATCH: Final = 16384
_TIME: Final = 1_700_000_000_000
_OFFSET: Final = struct.Struct(">q")


def make_log(folder: Path, size: int = LOG_BYTES) -> Path:
    """The folder of a partition with segments of about `size` bytes in all, made unless it is there."""
    if folder.exists():
        return folder
    partial = folder.with_name(f".{folder.name}")
    partial.mkdir(parents=True, exist_ok=True)
    pick = random.Random(7)
    templates = [_template(pick, number) for number in range(64)]
    offset = written = 0
    while written < size:
        with (partial / f"{offset:020}.log").open("wb") as file:
            while written < size and file.tell() < _SEGMENT:
                body, count = templates[pick.randrange(64)]
                file.write(_OFFSET.pack(offset))
                file.write(body)
                written, offset = written + 8 + len(body), offset + count
    partial.rename(folder)
    return folder


def _template(pick: random.Random, number: int) -> tuple[bytes, int]:
    """A batch without its offset, and how many records it has."""
    records: list[Record] = []
    size = 61
    while size < _BATCH - 140:
        n = len(records)
        key = pick.randbytes(pick.randint(6, 14)) if n % 37 else None
        value = pick.randbytes(100 + pick.randint(-10, 10)) if n % 50 != 7 else None
        headers = ((("trace", pick.randbytes(8)),)) if n % 64 == 3 else ()
        records.append(Record(n, _TIME + number + n, key, value, headers))
        size += 12 + len(key or b"") + len(value or b"") + 16 * len(headers)
    return build(records, "v2").encode()[8:], len(records)


def make_messages(path: Path, rows: dict[str, list[bytes]], repeats: int) -> Path:
    """A folder of Parquet files with a binary column for each kind, so many times over; made unless it is there."""
    if path.exists():
        return path
    partial = path.with_name(f".{path.name}")
    partial.mkdir(parents=True, exist_ok=True)
    table: Any = pa.table({name: pa.array(values, pa.binary()) for name, values in rows.items()})
    for part in range(4):
        file = partial / f"{part}.parquet"
        with pq.ParquetWriter(file, table.schema, compression="none", use_dictionary=False) as writer:
            for _ in range(repeats // 4):
                writer.write_table(table)
    partial.rename(path)
    return path
