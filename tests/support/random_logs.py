"""Make random logs from seeds: partitions with transactions, tombstones, and batches in old formats."""

import os
from pathlib import Path
from random import Random
from typing import Any

from tagwire.log.batch_rules import OpenTransactions
from tagwire.log.writing import SegmentWriter
from tagwire.records import Record, RecordBatch, build

NOW = 1_700_000_000_000
DAY = 86_400_000
CODECS = ("none", "none", "gzip", "lz4", "zstd")
KINDS = {"index", "timeindex", "txnindex"}


class RandomLog:
    """A log of `batches` batches. Each format in `magics` has an equal share of the batches, in this order.

    For every fourth seed, open transactions are not ended.
    """

    def __init__(self, seed: int, magics: tuple[str, ...] = ("v2",), batches: int = 60) -> None:
        self.random = Random(seed)
        self.offset = self.random.choice((0, 0, 1000))
        self.time = NOW - self.random.choice((3 * DAY, DAY + DAY // 20, DAY // 2))
        self.epochs = {producer: self.random.randrange(3) for producer in range(6)}
        self.sequences = dict.fromkeys(range(6), 0)
        self.open: set[int] = set()
        self.keys = [b"k%d" % n for n in range(9)] + [
            b"a key that is longer than sixteen bytes %d" % n for n in range(4)
        ]
        self.batches: list[RecordBatch] = []
        for number in range(batches):
            self.time += self.random.choice((0, 1000, 60_000, 900_000))
            magic = magics[number * len(magics) // batches]
            self.step() if magic == "v2" else self.old(magic)
        for producer in sorted(self.open) if seed % 4 else ():
            self.end(producer)

    def records(self) -> list[Record]:
        records = []
        for _ in range(self.random.choice((1, 1, 2, 3, 8))):
            value = None if self.random.random() < 0.25 else b"value %d" % self.offset
            headers = (("h", b"1"),) if self.random.random() < 0.1 else ()
            time = self.time - self.random.randrange(5)
            records.append(Record(self.offset, time, self.random.choice(self.keys), value, headers))
            self.offset += 1
        return records

    def old(self, magic: str) -> None:
        """Append messages of an old format, either single messages or a wrapper that contains the messages."""
        records = [each.replace(headers=()) for each in self.records()]
        if magic == "v0":
            records = [each.replace(timestamp=-1) for each in records]
        codec = self.random.choice(("none", "none", "gzip", "snappy"))
        if codec == "none":
            self.batches += [build([each], magic) for each in records]
        else:
            self.batches.append(build(records, magic, compression=codec))

    def step(self) -> None:
        """Append a batch or end a transaction.

        Producer 0 has no ID. Producers 1 and 2 are idempotent, and 3 to 5 are transactional.
        """
        producer = self.random.randrange(6)
        if producer in self.open and self.random.random() < 0.4:
            self.end(producer)
            return
        records = self.records()
        settings: dict[str, Any] = {"compression": self.random.choice(CODECS), "partition_leader_epoch": 1}
        if producer:
            if self.random.random() < 0.05 and producer not in self.open:
                self.epochs[producer] += 1
                self.sequences[producer] = 0
            settings |= {
                "producer_id": producer,
                "producer_epoch": self.epochs[producer],
                "base_sequence": self.sequences[producer],
                "is_transactional": producer > 2,
            }
            self.sequences[producer] += len(records)
            if producer > 2:
                self.open.add(producer)
        elif self.random.random() < 0.2:
            settings |= {"timestamp_type": "append", "append_time": self.time}
            records = [each.replace(timestamp=self.time) for each in records]
        if self.random.random() < 0.15 and producer < 3:
            settings["delete_horizon_ms"] = NOW + self.random.choice((-DAY, -1, 0, 1, DAY))
        self.batches.append(build(records, "v2", **settings))

    def end(self, producer: int) -> None:
        """End a producer's transaction with a marker. Some markers raise the producer's epoch."""
        self.open.discard(producer)
        if self.random.random() < 0.3:
            self.epochs[producer] += 1
            self.sequences[producer] = 0
        key = b"\0\0" + self.random.choice((b"\0\0", b"\0\1"))
        marker = Record(self.offset, self.time, key, b"\0\0\0\0\0\1")
        settings = {"producer_id": producer, "producer_epoch": self.epochs[producer], "partition_leader_epoch": 1}
        self.batches.append(build([marker], "v2", is_control=True, is_transactional=True, **settings))
        self.offset += 1

    def write(self, folder: Path, most: int = 25) -> list[int]:
        """Write the batches to segments of fewer than `most` batches each. Return the base offsets of the segments."""
        folder.mkdir(parents=True)
        transactions = OpenTransactions()
        bases, left = [], list(self.batches)
        age = len(left) * DAY // 20
        while left:
            some, left = left[: (size := self.random.randrange(1, most))], left[size:]
            bases.append(some[0].base_offset)
            with SegmentWriter(folder, bases[-1], KINDS, transactions) as writer:
                for batch in some:
                    writer.append(batch, len(batch))
            age -= len(some) * DAY // 20
            os.utime(writer.path, ns=((NOW - age) * 1_000_000, (NOW - age) * 1_000_000))
        return bases
