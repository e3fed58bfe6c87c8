"""Fuzz the decoders of kafka-python with mutated responses, and print each kind of finding with a small example.

    pip install kafka-python
    python fuzz_kafka_python.py --runs 20000
    python fuzz_kafka_python.py --atheris work seeds

An input is a response, preceded by its API key and version. `tagwire fuzz corpus --kind response --prefix key` writes
such inputs.
Without --atheris, the script runs a simple loop over mutations, which needs no fuzzer.
"""

import argparse
import re
import struct
import sys
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import Any

import tagwire
from tagwire_messages import registry
from tagwire_workbench.fuzzing.minimise import minimise
from tagwire_workbench.fuzzing.mutate import Mutator

for name in ("admin", "consumer", "metadata", "producer", "sasl"):
    import_module(f"kafka.protocol.{name}")
DECODERS: dict[int, Any] = import_module("kafka.protocol.api_header").ResponseClassRegistry._response_class_registry
CAUGHT = (ValueError, struct.error)
"""Errors that kafka.protocol.parser converts to KafkaProtocolError. All others end the client's connection thread."""

_DETAILS = re.compile(r"\d+ ?|: .*|(?<=byte)s\b")
"""Matches the parts of an error message that differ between errors of the same kind: numbers, plurals and values."""


def ours(cls: type[tagwire.Message], body: bytes, version: int) -> tuple[bool, str]:
    """Return whether tagwire would encode exactly these bytes, and the error of its lenient decoder ("" if none)."""
    try:
        cls.decode(body, version, strict=False)
    except tagwire.DecodeError as error:
        return False, _DETAILS.sub("", f"{error.found}, expected {error.expected}")
    try:
        return cls.decode(body, version).encode(version) == body, ""
    except tagwire.DecodeError:
        return False, ""


def finding(data: bytes) -> str:
    """Describe how kafka-python violates Kafka's format when it decodes these bytes; "" if it does not."""
    key, version, body = int.from_bytes(data[:2], "big"), int.from_bytes(data[2:4], "big"), data[4:]
    decoder = DECODERS.get(key)
    if len(data) < 4 or decoder is None or version > decoder.max_version:
        return ""
    cls = registry.response(key)
    if version not in cls.VERSIONS:
        return ""
    is_canonical, reason = ours(cls, body, version)
    try:
        read = decoder.decode(body, version=version)
    except CAUGHT as error:
        return f"rejects valid bytes: {type(error).__name__}" if is_canonical else ""
    except Exception as error:
        return f"{'valid' if is_canonical else 'invalid'} bytes raise {type(error).__name__}"
    if reason:
        return f"accepts: {reason}"
    return "writes other bytes than it read" if is_canonical and bytes(read.encode()) != body else ""


def target(data: bytes) -> None:
    """Raise an AssertionError if there is a finding. Fuzzers and `tagwire fuzz minimise` call this function."""
    found = finding(data)
    if found:
        raise AssertionError(found)


def same(found: str) -> Callable[[bytes], bool]:
    """Return a function that tests whether bytes cause the finding `found`, for use in minimising."""
    return lambda data: finding(data) == found


def loop(mutator: Mutator, runs: int, seed: int) -> None:
    """Mutate seeds `runs` times. Print each finding with its count and a small example."""
    random, smallest, counts = Random(seed), dict[str, bytes](), Counter[str]()
    for _ in range(runs):
        data = mutator.mutate(mutator.seed(random), random).data
        found = finding(data)
        if found:
            counts[found] += 1
            smallest[found] = min(smallest.get(found, data), data, key=len)
    for found, count in counts.most_common():
        data = minimise(smallest[found], same(found), mutator.framing, tries=2000).data
        sys.stdout.write(f"{count:6} {found}\n       {data.hex(' ')}\n")


def main() -> None:
    """Run the simple loop or, with --atheris, the fuzzer Atheris."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--atheris", nargs=argparse.REMAINDER, help="run Atheris with these arguments")
    options = parser.parse_args()
    mutator = Mutator(registry, kind="response", prefix="key")
    if options.atheris is None:
        loop(mutator, options.runs, options.seed)
        return
    atheris: Any = import_module("atheris")
    atheris.instrument_all()
    atheris.Setup([sys.argv[0], *options.atheris], target, custom_mutator=mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
