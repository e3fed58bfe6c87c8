"""Check that mutated bytes are valid or invalid as claimed, with the native engine, generated code and interpreter.

`python tests/support/mutation_claims.py --count 300000` checks more mutations than the tests.
"""

import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any, cast

from native_engine import Plan

import tagwire_messages
from tagwire import DecodeError, Limits, Message
from tagwire.frames.registry import Registry
from tagwire.interpreter import reader
from tagwire.message.engines import python_serializer
from tagwire.message.field_table import layout_of
from tagwire.message.serializer import READ_ERRORS
from tagwire_workbench.fuzzing.corpus import seeds
from tagwire_workbench.fuzzing.mutate import Mutation, Mutator

_LIMITS = Limits()
Way = tuple[str, Any, DecodeError | None]
"""The name of an engine, the decoded value, and the error. Either the value or the error is None."""


@cache
def _plan(cls: type[Message], version: int) -> Any:
    return None if Plan is None else Plan(layout_of(cls, version))


def _ways(cls: type[Message], version: int, data: bytes) -> Iterator[Way]:
    """Decode with the interpreter, and then with the native engine if it is installed."""
    layout = layout_of(cls, version)
    readers: dict[str, Callable[[], Any]] = {
        "interpreter": lambda: reader.decode(layout, data, whole=True, strict=True, limits=_LIMITS)[0]
    }
    plan = _plan(cast(Any, cls), version)
    if plan is not None:
        readers["native"] = lambda: plan.decode(data)
    for name, read in readers.items():
        try:
            yield name, read(), None
        except DecodeError as error:
            yield name, None, error


def _reads_purely(cls: type[Message], version: int, data: bytes) -> bool:
    try:
        return bool(python_serializer(cls, version).read(data, data, 0)[1] == len(data))
    except READ_ERRORS:
        return False


def broken_claims(mutation: Mutation) -> list[str]:
    """Return a description of each false claim of a mutation, and of each disagreement between engines.

    A mutation claims that its bytes are valid, or that decoding them raises a certain error.
    """
    cls, version = mutation.message, mutation.version
    outcomes = list(_ways(cls, version, mutation.data))
    found = []
    if len({str(error) for _, _, error in outcomes}) > 1 or any(value != outcomes[0][1] for _, value, _ in outcomes):
        found.append("the engines differ")
    if _reads_purely(cls, version, mutation.data) != (outcomes[0][2] is None):
        found.append("generated code differs from the interpreter")
    for name, value, error in outcomes:
        if mutation.kind == "valid":
            found += [f"{name}: {text}" for text in _not_valid(mutation, value, error)]
        if mutation.error is not None and (error is None or (error.path, error.offset) != mutation.error[1:]):
            found.append(f"{name}: {error}, and not {mutation.error}")
    return [f"{cls.NAME} v{version} {mutation.data.hex()} {mutation.changes}: {text}" for text in found]


def _not_valid(mutation: Mutation, value: Any, error: DecodeError | None) -> Iterator[str]:
    assert mutation.version is not None
    if error is not None:
        yield f"rejected: {error}"
        return
    written = value.encode(mutation.version)
    if (written == mutation.data) != mutation.canonical:
        yield f"canonical is {mutation.canonical}, and it is written as {written.hex()}"
    if type(value).decode(written, mutation.version) != value:
        yield "is another value when it is written and read again"


def mutations(registry: Registry, cls: type[Message], version: int, count: int) -> Iterator[Mutation]:
    mutator = Mutator(registry, cls, version)
    for shape, message in seeds(cls, version):
        data = message.encode(version)
        for number in range(count):
            yield mutator.mutate(data, Random(f"{cls.NAME} {version} {shape} {number}"))


def main() -> int:
    parser = ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=300_000, help="how many mutations to try, about")
    count = parser.parse_args().count
    registry = tagwire_messages.registry
    versions = [(registry[name], version) for name in registry.names() for version in registry[name].VERSIONS]
    each = max(1, count // sum(len(list(seeds(cls, version))) for cls, version in versions))
    counts: Counter[str] = Counter()
    broken = 0
    for cls, version in versions:
        for mutation in mutations(registry, cls, version, each):
            counts[mutation.error.rule if mutation.error else mutation.kind] += 1
            for text in broken_claims(mutation):
                broken += 1
                print(text)
    print(f"{counts.total()} mutations, {broken} broken claims", file=sys.stderr)
    for name, number in counts.most_common():
        print(f"{number:8} {name}", file=sys.stderr)
    return broken > 0


if __name__ == "__main__":
    sys.exit(main())
