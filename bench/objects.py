"""What programs do around the codec, on the large MetadataResponse: each call beside one to compare it with.

A row names the call, what stands beside it, and how many times as long the
call takes. Both run in each round (`timing`).
"""

from collections.abc import Callable
from statistics import median
from typing import Any, Final

from library import Contender
from timing import interleaved, ratio

import tagwire

__all__ = ["measure_objects"]

_VERSION: Final = 12


def measure_objects(
    contender: Contender, *, rounds: int, seconds: float, progress: Callable[[str], None]
) -> list[dict[str, Any]]:
    """The rows, of a MetadataResponse: call, microseconds, what is beside it, and the ratio."""
    message = contender.make()
    data = message.encode(_VERSION)
    rows = []
    for name, (call, beside, other) in _pairs(message, data).items():
        progress(f"objects: {name}")
        times = interleaved({"call": call, "beside": other}, rounds=rounds, seconds=seconds)
        rows.append(
            {
                "call": name,
                "microseconds": median(times["call"]) * 1e6,
                "beside": beside,
                "ratio": ratio(times["call"], times["beside"]),
            }
        )
    return rows


def _pairs(message: Any, data: bytes) -> dict[str, tuple[Callable[[], object], str, Callable[[], object]]]:
    """By name: a call, the name of what is beside it, and that."""
    cls, cut = type(message), data[:-1]

    def refuse() -> None:
        try:
            cls.decode(cut, _VERSION)
        except tagwire.DecodeError:
            return
        raise AssertionError("bytes that lack the last one were decoded")

    def accept() -> object:
        return cls.decode(data, _VERSION)

    return {
        "refuse (the last byte cut off)": (refuse, "decode", accept),
        "trace": (lambda: tagwire.trace(cls, data, _VERSION), "decode", accept),
        "encoded_size": (lambda: message.encoded_size(_VERSION), "encode", lambda: message.encode(_VERSION)),
    }
