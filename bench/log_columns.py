"""A segment to Arrow columns: megabytes of log a second, on one core, from the page cache.

    python bench/log_columns.py [MEGABYTES]

The segment has magic 2, nothing packed, batches of 16 KiB, records with keys of 9 bytes, values of 90 to 110, and a
header in one of 66. CPU time of the thread that reads, best of the rounds, which are interleaved. The arrays are
dropped as they come, as by who writes them elsewhere. Checksums are verified in all rows but that of heads.
"""

import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Final

from tagwire import log
from tagwire.records import Record, RecordBatch, build

__all__ = ["measure_log_columns", "write_segment"]

_ROUNDS: Final = 5
_BATCH: Final = 16 << 10
_WAYS: Final[dict[str, tuple[str, list[str] | None]]] = {
    "all columns": ("record", None),
    "offset, timestamp, key, value, headers": ("record", ["offset", "timestamp", "key", "value", "headers"]),
    "value": ("record", ["value"]),
    "offset, key": ("record", ["offset", "key"]),
    "heads of batches": ("batch", None),
}


def _batch(random: Random) -> tuple[RecordBatch, int]:
    records: list[Record] = []
    size = 0
    while size < _BATCH:
        headers = (("trace", b"12345678"),) if random.random() < 0.015 else ()
        value = random.randbytes(random.randint(90, 110))
        records.append(
            Record(len(records), 1_700_000_000_000 + len(records), b"key-%05d" % len(records), value, headers)
        )
        size += len(value) + 20
    return build(records, "v2"), len(records)


def write_segment(path: Path, size: int) -> None:
    """A segment of about so many bytes."""
    random = Random(7)
    batches = [_batch(random) for _ in range(100)]
    offset = number = 0
    with path.open("wb") as file:
        while file.tell() < size:
            batch, count = batches[number % len(batches)]
            file.write(batch.replace(base_offset=offset).encode())
            offset += count
            number += 1


def measure_log_columns(path: Path) -> dict[str, float]:
    """Bytes of log a second, by what is read."""
    best = dict.fromkeys(_WAYS, float("inf"))
    for _ in range(_ROUNDS):
        for name, (level, columns) in _WAYS.items():
            start = time.thread_time()
            for _ in log.columns(path, columns, level=level):
                pass
            best[name] = min(best[name], time.thread_time() - start)
    size = path.stat().st_size
    return {name: size / seconds for name, seconds in best.items()}


def main() -> None:
    """Print the table."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "00000000000000000000.log"
        write_segment(path, size * 1_000_000)
        for name, speed in measure_log_columns(path).items():
            print(f"{name:40} {speed / 1e6:6.0f} MB/s")


if __name__ == "__main__":
    main()
