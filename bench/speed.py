"""Measure how long each library takes to encode, decode, read and construct each message, all in one process."""

from collections.abc import Callable, Iterable
from statistics import median
from typing import Any, Final

from library import VERSIONS, Contender, Library
from timing import Ratio, interleaved, ratio
from touching import Fields, reader

__all__ = ["OPERATIONS", "SpeedRow", "check_bytes", "measure_speed", "operations", "work"]

OPERATIONS: Final = ("decode", "decode gc=False", "decode views=True", "decode+touch all", "encode", "construct+encode")
_WITH_VIEWS: Final = ("ProduceRequest", "FetchResponse")
"""The messages with large bytes fields, which are also decoded with `views=True`."""
_OURS: Final = "tagwire"

SpeedRow = dict[str, Any]
"""The results for one message and operation.

The keys `message`, `version`, `size` and `operation` tell what was measured. `versions`, `microseconds` and `ratios`
are dicts with one result per library name. `ratios` has no entry for tagwire itself.
"""


def measure_speed(
    libraries: Iterable[Library], *, rounds: int, seconds: float, progress: Callable[[str], None]
) -> list[SpeedRow]:
    """Measure all libraries, and return one table row for each message and operation."""
    libraries = list(libraries)
    fields = {library.name: library.fields for library in libraries}
    by_library = {library.name: library.contenders() for library in libraries}
    check_bytes(by_library)
    rows = []
    for message in VERSIONS:
        contenders = {name: known[message] for name, known in by_library.items() if message in known}
        for operation in operations(message):
            progress(f"{message}: {operation}")
            calls = {name: work(contender, operation, fields[name]) for name, contender in contenders.items()}
            rows.append(_row(message, operation, contenders, interleaved(calls, rounds=rounds, seconds=seconds)))
    return rows


def operations(message: str) -> list[str]:
    """Return the names of the operations that are measured for a message."""
    return [each for each in OPERATIONS if each != "decode views=True" or message in _WITH_VIEWS]


def check_bytes(by_library: dict[str, Any]) -> None:
    """Check that all libraries encode a message to the same bytes, and that each writes back the bytes it reads.

    Libraries with a different version or format only have to pass the second check. Raises SystemExit if a check fails.
    """
    for message, version in VERSIONS.items():
        ours = by_library[_OURS][message]
        expected = ours.encode(ours.make())
        for name, known in by_library.items():
            if message not in known:
                continue
            contender = known[message]
            data = contender.encode(contender.make())
            if contender.version == version and data != expected:
                raise SystemExit(f"{name} and {_OURS} encode {message} v{version} to different bytes")
            for decode in (contender.decode, contender.untracked, contender.views):
                if decode is not None and contender.encode(decode(data)) != data:
                    raise SystemExit(f"{name} decodes {message} v{contender.version}, but encodes it to other bytes")


def _row(message: str, operation: str, contenders: dict[str, Contender], times: dict[str, list[float]]) -> SpeedRow:
    ours = contenders[_OURS]
    ratios: dict[str, Ratio] = {name: ratio(times[name], times[_OURS]) for name in times if name != _OURS}
    return {
        "message": message,
        "version": ours.version,
        "size": len(ours.encode(ours.make())),
        "operation": operation,
        "versions": {name: contender.version for name, contender in contenders.items()},
        "microseconds": {name: median(figures) * 1e6 for name, figures in times.items()},
        "ratios": {name: list(found) for name, found in ratios.items()},
    }


def work(contender: Contender, operation: str, fields: Fields) -> Callable[[], object]:
    """Return the function to measure for an operation.

    If a library can't decode with `gc=False` or `views=True`, its ordinary decoding is measured instead.
    """
    make, encode, decode = contender.make, contender.encode, contender.decode
    message = make()
    if operation == "encode":
        return lambda: encode(message)
    if operation == "construct+encode":
        return lambda: encode(make())
    data = encode(message)
    if operation == "decode+touch all":
        touch = reader(decode(data), fields)
        assert touch is not None, "a message is a struct"
        return lambda: touch(decode(data))
    decoders = {"decode gc=False": contender.untracked, "decode views=True": contender.views}
    chosen = decoders.get(operation) or decode
    return lambda: chosen(data)
