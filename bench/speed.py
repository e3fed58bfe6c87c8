"""Encode, decode, and construct and encode: each message, each library, in one process."""

from collections.abc import Callable, Iterable
from statistics import median
from typing import Any, Final

from library import VERSIONS, Contender, Library
from timing import Ratio, interleaved, ratio

__all__ = ["OPERATIONS", "SpeedRow", "check_bytes", "measure_speed"]

OPERATIONS: Final = ("decode", "decode gc=False", "decode views=True", "encode", "construct+encode")
_WITH_VIEWS: Final = ("ProduceRequest", "FetchResponse")
"""What has bytes worth a view."""
_OURS: Final = "tagwire"

SpeedRow = dict[str, Any]
"""`message`, `version`, `size`, `operation`; by library `versions`, `microseconds` and, for the peers, `ratios`."""


def measure_speed(
    libraries: Iterable[Library], *, rounds: int, seconds: float, progress: Callable[[str], None]
) -> list[SpeedRow]:
    """A row for each message and operation."""
    by_library = {library.name: library.contenders() for library in libraries}
    check_bytes(by_library)
    rows = []
    for message in VERSIONS:
        contenders = {name: known[message] for name, known in by_library.items() if message in known}
        for operation in OPERATIONS:
            if operation != "decode views=True" or message in _WITH_VIEWS:
                progress(f"{message}: {operation}")
                rows.append(_row(message, operation, contenders, rounds, seconds))
    return rows


def check_bytes(by_library: dict[str, Any]) -> None:
    """Libraries of the same version write the same bytes, and all write back what they read: else there is no race."""
    for message, version in VERSIONS.items():
        ours = by_library[_OURS][message]
        expected = ours.encode(ours.make())
        for name, known in by_library.items():
            if message not in known:
                continue
            contender = known[message]
            data = contender.encode(contender.make())
            if contender.version == version and data != expected:
                raise SystemExit(f"{name} writes other bytes for {message} v{version} than {_OURS}")
            for decode in (contender.decode, contender.untracked, contender.views):
                if decode is not None and contender.encode(decode(data)) != data:
                    raise SystemExit(f"{name} does not write back the {message} v{contender.version} that it read")


def _row(message: str, operation: str, contenders: dict[str, Contender], rounds: int, seconds: float) -> SpeedRow:
    work = {name: _work(contender, operation) for name, contender in contenders.items()}
    times = interleaved(work, rounds=rounds, seconds=seconds)
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


def _work(contender: Contender, operation: str) -> Callable[[], object]:
    make, encode, decode = contender.make, contender.encode, contender.decode
    message = make()
    if operation.startswith("decode"):
        data = encode(message)
        ways = {"decode gc=False": contender.untracked, "decode views=True": contender.views}
        chosen = ways.get(operation) or decode
        return lambda: chosen(data)
    if operation == "encode":
        return lambda: encode(message)
    return lambda: encode(make())
