"""How fast a task of a write to `kafka_log` is: megabytes of log per second of its processor time, without Spark.

    python bench/spark/writing.py

Rows have a key, a value and a timestamp, and half of them a header.
"""

import os
import tempfile
import time
from statistics import median
from typing import Any

import pyarrow as pa

from tagwire_spark.files.commit_folder import Job
from tagwire_spark.files.local_commit import LocalFolder
from tagwire_spark.log_write.staging import Output
from tagwire_spark.log_write.target import LogTarget

ROWS = 20_000
BATCHES = 5
ROUNDS = 5
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def rows(size: int, *, headers: bool) -> Any:
    """An Arrow batch, as Spark gives them to a task, of values of so many bytes."""
    columns = {
        "key": pa.array([b"%d" % number for number in range(ROWS)], pa.binary()),
        "value": pa.array([os.urandom(size) for _ in range(ROWS)], pa.binary()),
        "timestamp": pa.array([1_700_000_000_000_000 + 1000 * n for n in range(ROWS)], pa.timestamp("us", "UTC")),
    }
    if headers:
        columns["headers"] = pa.array([[{"key": "trace", "value": b"1"}]] * ROWS, HEADERS)
    return pa.record_batch(list(columns.values()), names=list(columns))


def speed(batch: Any, batch_bytes: int) -> float:
    """Megabytes of log per second of processor time."""
    with tempfile.TemporaryDirectory() as folder:
        job, to = Job(folder, "bench"), LocalFolder(folder)
        to.begin(job)
        target = LogTarget(folder, topic="t", batch_bytes=batch_bytes)
        output = Output(folder, lambda: to.attempt(job, is_begun=True), target, anew=True)
        start = time.process_time()
        for _ in range(BATCHES):
            output.add_batch(batch)
        segments = output.end()
        return sum(each.bytes for each in segments) / (time.process_time() - start) / 1e6


def main() -> None:
    """Print a line for each kind of rows and batches."""
    for size in (100, 300, 1000):
        for headers in (False, True):
            batch = rows(size, headers=headers)
            for batch_bytes in (16_384, 1_048_576):
                found = median(speed(batch, batch_bytes) for _ in range(ROUNDS))
                kind = "with headers" if headers else "without headers"
                print(f"values of {size:4} bytes, {kind:15}, batches of {batch_bytes:7}: {found:6.0f} MB/s")


if __name__ == "__main__":
    main()
