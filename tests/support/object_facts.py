"""Copy, pickle, compare and change messages of every version, and print hashes of the results, to compare engines.

The messages come from the golden files.
"""

import copy
import hashlib
import pickle
import re
from collections.abc import Iterator
from typing import Any

import golden_files

import tagwire
import tagwire_messages as messages
from tagwire import Struct


def changed_values(value: Any) -> list[Any]:
    """Return replacements for a value: equal and different values of its type, and values of other types."""
    found: list[Any] = [None, (), "x", 1.5, float("nan"), -0.0, 0.0]
    if isinstance(value, tuple):
        found += [list(value), value[:-1], (*value, *value[:1])]
    if isinstance(value, bool):
        found += [int(value), not value]
    if isinstance(value, int):
        found += [value + 1, float(value)]
    if isinstance(value, bytes):
        found += [memoryview(value), bytearray(value)]
    return found


def facts(message: Struct) -> Iterator[str]:
    """Yield the results of copying, pickling and comparing a message, and of replacing each of its field values."""
    yield repr(message)
    fields = {name: getattr(message, name) for name in message.__slots__}
    again = type(message)(**fields)
    for created in (
        again,
        message.replace(),
        copy.copy(message),
        copy.deepcopy(message),
        pickle.loads(pickle.dumps(message)),
    ):
        yield f"{created == message} {created != message} {type(created).__name__} {created!r}"
    for name, value in fields.items():
        for other in changed_values(value):
            try:
                again = message.replace(**{name: other})
            except TypeError as error:
                yield f"{name}: {error}"
                continue
            yield f"{name} {again == message} {message == again} {again!r} {copy.deepcopy(again) == again}"


def main() -> None:
    """For each version of each message, print the SHA-256 of its `facts`."""
    print("engine", tagwire.engine())
    for path in sorted(golden_files.FOLDER.glob("*.txt")):
        cls = next(
            c for n in messages.registry.names() if (c := messages.registry[n]).__module__.endswith("." + path.stem)
        )
        for golden in golden_files.read_file(path):
            message = cls.from_json(golden.value, golden.version)
            text = re.sub("<memory at 0x[0-9a-f]+>", "<memory>", "\n".join(facts(message)))
            print(cls.__name__, golden.version, hashlib.sha256(text.encode()).hexdigest())


if __name__ == "__main__":
    main()
