"""Let several threads use and change the same messages, batches and builders. Fail if a reference is lost or leaked,
or if a call raises SystemError. Run this program in a free-threaded Python:

    python3.13t tests/support/stress_threads.py [SECONDS [THREADS [SEED]]]
"""

import copy
import gc
import gzip
import json
import pickle
import sys
import threading
import time
from collections.abc import Callable
from itertools import islice
from random import Random
from typing import Any, Final
from uuid import UUID

from damage import Sample, damaged
from kafka_cases import FOLDER

import tagwire
import tagwire_messages as messages
from tagwire import Struct
from tagwire.records import BatchBuilder, read_batches
from tagwire_messages.metadata_response import MetadataResponsePartition

SHARED: Final = 8
"""The number of messages that the threads share: few, so that threads often use the same message."""

MARKED: Final[tuple[Any, ...]] = (
    *(bytes([number]) * 40 for number in range(6)),
    *(f"text {number}" + "é" * number for number in range(6)),
    *(10**11 + number for number in range(6)),
    *(UUID(int=10**30 + number) for number in range(3)),
    *((1000, 2000), (4000 + len(sys.argv),) * 3, 1.5 + len(sys.argv)),
)
"""Values that the threads assign. Their reference counts must be unchanged at the end."""


class Shared:
    """The objects that the threads share."""

    def __init__(self, random: Random) -> None:
        with gzip.open(FOLDER / "rand.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = map(json.loads, random.sample([line for line in lines if 400 < len(line) < 1500], 5 * SHARED))
        found = ((messages.registry[row["message"]], row) for row in rows if row["message"] in messages.registry)
        usual = ((cls, row) for cls, row in found if row["version"] in cls.VERSIONS)
        self.samples = [Sample(cls, row["version"], bytes.fromhex(row["hex"])) for cls, row in islice(usual, SHARED)]
        self.messages = [sample.cls.decode(sample.data, sample.version) for sample in self.samples]
        self.parts = [MetadataResponsePartition(partition_index=number, replica_nodes=[5]) for number in range(3)]
        self.values = [*MARKED, *self.parts, {3: b"unknown"}, [1, 2], tuple(self.parts)]
        self.uniform = messages.JoinGroupRequest(group_id="a", member_id="b", protocol_type="c")
        self.builder = BatchBuilder()
        filled = BatchBuilder()
        for number in range(20):
            filled.append(b"key", b"value" * number, timestamp=number)
        self.data = filled.build().encode()
        self.records = iter(next(iter(read_batches(self.data))))


def structs_of(value: Any, depth: int = 0) -> list[Struct]:
    if isinstance(value, list | tuple):
        return [struct for element in tuple(value) for struct in structs_of(element, depth + 1)]
    if not isinstance(value, Struct) or depth > 12:
        return []
    nested = [getattr(value, name, None) for name in value._attributes]
    return [value, *[struct for inner in nested for struct in structs_of(inner, depth + 1)]]


def change(shared: Shared, random: Random) -> None:
    """Assign to an attribute, delete it, restore it, or change its list or dict."""
    number = random.randrange(SHARED)
    sample, message = shared.samples[number], shared.messages[number]
    struct = random.choice(structs_of(message))
    name = random.choice(struct._attributes)
    value, choice = getattr(struct, name, None), random.randrange(9)
    # Don't put a struct into itself, because the garbage collector can't free a cycle that it doesn't track.
    values = MARKED if any(struct is part for part in shared.parts) else shared.values
    if choice == 0:
        delattr(struct, name)
    elif choice < 3:
        setattr(struct, name, random.choice(values))
    elif type(value) is tuple and choice < 7:
        setattr(struct, name, list(value) + random.choices(value or MARKED, k=2))
    elif type(value) is list and choice < 7:
        random.choice((value.clear, value.pop, value.reverse, lambda: value.append(random.choice(MARKED))))()
        value[:0] = value[:3]
    elif type(value) is dict and choice < 7:
        value[random.randrange(10**4, 10**5)] = random.choice(MARKED)
        value.pop(next(iter(value), None), None)
    elif choice == 7:
        shared.messages[number] = sample.cls.decode(sample.data, sample.version)
    else:
        fresh = sample.cls.decode(sample.data, sample.version)
        for name in fresh._attributes:
            setattr(message, name, getattr(fresh, name))


def use(shared: Shared, random: Random) -> None:
    number = random.randrange(SHARED)
    sample, message = shared.samples[number], shared.messages[number]
    random.choice(USES)(sample, message, shared.messages[random.randrange(SHARED)], random)


def _select(sample: Any, message: Any, other: Any, random: Random) -> None:
    name = random.choice(message._attributes)
    selection = tagwire.select(sample.cls, name)
    selection.read(sample.data, sample.version)
    selection.rewrite(sample.data, sample.version, lambda value: random.choice((value, *MARKED)))


USES: Final[tuple[Callable[[Any, Any, Any, Random], object], ...]] = (
    lambda sample, message, other, random: message.encode(sample.version),
    lambda sample, message, other, random: message.encode(sample.version),
    lambda sample, message, other, random: message.encoded_size(sample.version),
    lambda sample, message, other, random: message.encode(random.choice(list(sample.cls.VERSIONS))),
    lambda sample, message, other, random: [message == copy.deepcopy(message), message == other],
    lambda sample, message, other, random: message == sample.cls.decode(sample.data, sample.version),
    lambda sample, message, other, random: repr(message),
    lambda sample, message, other, random: copy.deepcopy(message),
    lambda sample, message, other, random: message.replace(),
    lambda sample, message, other, random: pickle.loads(pickle.dumps(message)),
    lambda sample, message, other, random: sample.cls.from_json(message.to_json(sample.version), sample.version),
    lambda sample, message, other, random: sample.cls.from_json_text(
        message.to_json_text(sample.version, indent=random.choice((None, 2))), sample.version
    ),
    lambda sample, message, other, random: sample.cls.decode(damaged(sample, random), sample.version),
    lambda sample, message, other, random: sample.cls.decode(sample.data, sample.version, views=True, gc=False),
    lambda sample, message, other, random: tagwire.trace(sample.cls, sample.data, sample.version),
    _select,
)


def batch(shared: Shared, random: Random) -> None:
    """Append to a shared builder, build its batch, or read records of a shared batch."""
    choice = random.randrange(10)
    if choice < 5:
        key, value = (each if isinstance(each, bytes) else None for each in random.choices(MARKED, k=2))
        headers = random.choice(((), [], [("name", b"value")]))
        shared.builder.append(key, value, timestamp=random.randrange(10**12), headers=headers)
    elif choice == 5:
        shared.builder.build().encode()
    elif choice == 6:
        shared.builder = BatchBuilder()
    elif choice == 7:
        for record in next(iter(read_batches(shared.data))):
            assert record.timestamp >= 0
    elif choice == 8:
        shared.records = iter(next(iter(read_batches(shared.data))))
    else:
        for _ in range(3):
            next(shared.records)


def tear(shared: Shared, random: Random) -> None:
    """Assign strings of one repeated letter, or check that no string mixes two assigned strings."""
    message, version = shared.uniform, 9
    if random.random() < 0.4:
        for _ in range(200):
            message.group_id, message.member_id, message.protocol_type = (
                random.choice("abcé") * random.randrange(1, 60) for _ in range(3)
            )
        return
    calls: tuple[Callable[[], Any], ...] = (
        lambda: type(message).decode(message.encode(version), version),
        lambda: type(message).from_json_text(message.to_json_text(version), version),
        lambda: type(message).from_json(message.to_json(version), version),
        lambda: copy.deepcopy(message),
        lambda: message.replace(session_timeout_ms=1),
    )
    call = random.choice(calls)
    for _ in range(50):
        result = call()
        for text in (result.group_id, result.member_id, result.protocol_type):
            if len(set(text)) != 1:
                raise SystemError(f"a torn string: {text!r}")
        _ = message.encoded_size(version), message == result, repr(message)


def work(shared: Shared, seed: int, end: float, done: list[int], faults: list[str]) -> None:
    random = Random(seed)
    count = 0
    while time.monotonic() < end and not faults:
        call = random.choice((change, change, use, use, use, batch, tear))
        try:
            for _ in range(random.choice((1, 5, 20)) if call is not tear else 1):
                call(shared, random)
        except (SystemError, MemoryError) as fault:
            faults.append(f"{call.__name__}: {fault!r}")
        except Exception:
            pass  # an invalid or changed value
        count += 1
    done.append(count)


def main(seconds: int = 10, threads: int = 4, seed: int = 1) -> int:
    """Run the threads, print the number of operations and all errors, and return the exit code."""
    before = [sys.getrefcount(value) for value in MARKED]
    shared = Shared(Random(seed))
    done: list[int] = []
    faults: list[str] = []
    end = time.monotonic() + seconds
    workers = [threading.Thread(target=work, args=(shared, seed + n, end, done, faults)) for n in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    del shared, workers
    for _ in range(3):
        gc.collect()
    after = [sys.getrefcount(value) for value in MARKED]
    faults += [f"{v!r:.40}: {b} references became {a}" for v, b, a in zip(MARKED, before, after, strict=True) if a != b]
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"{tagwire.engine()} engine, GIL {'on' if gil else 'off'}, {threads} threads: {sum(done)} operations")
    print(*faults, sep="\n")
    return 1 if faults or len(done) < threads else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
