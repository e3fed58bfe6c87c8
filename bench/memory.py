"""Memory of decoding: what a large message holds, and what the worst input of a hostile peer costs.

Counted by tracemalloc: all that Python allocates, on every machine the same.
What an extension module allocates behind Python's back is not in it.
"""

import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from library import Library

__all__ = ["held", "worst_inputs"]

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))  # the hostile inputs are those of the tests

_MESSAGE = "MetadataResponse"


def held(libraries: Iterable[Library]) -> dict[str, dict[str, float]]:
    """By library: megabytes that one decoded MetadataResponse holds, and held at most while it was decoded."""
    found = {}
    for library in libraries:
        contender = library.contenders()[_MESSAGE]
        data = contender.encode(contender.make())
        contender.decode(data)  # the first call imports and compiles
        kept, peak = _kept_and_peak(partial(contender.decode, data))
        found[library.name] = {"held": kept / 1e6, "peak": peak / 1e6}
    return found


def _kept_and_peak(work: Callable[[], object]) -> tuple[int, int]:
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    result = work()
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del result
    return kept - before, peak - before


def worst_inputs(*, size: int, number: int, progress: Callable[[str], None]) -> list[dict[str, Any]]:
    """The inputs that cost tagwire most: bytes of memory for each byte of input, by way of reading, the worst first."""
    import amplification

    import tagwire_messages as messages

    rows = []
    for bait in amplification.worst_baits(messages.registry)[:number]:
        progress(f"memory: {bait}")
        data = bait.message(size).encode(bait.version)
        peaks = amplification.peaks(bait.cls, bait.version, data)
        rows.append(
            {
                "message": f"{bait.cls.NAME} v{bait.version}",
                "array": ".".join(bait.path),
                "size": len(data),
                "factors": {way: peak / len(data) for way, peak in peaks.items()},
            }
        )
    return sorted(rows, key=lambda row: -max(row["factors"].values()))
