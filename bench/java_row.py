"""Java's own generated classes beside ours, for the messages of the benchmark: bytes, and JSON text by Jackson."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from java_process import java
from library import VERSIONS, Contender

__all__ = ["measure_java"]

_OF_RECORDS: Final = ("ProduceRequest", "FetchResponse")
"""Kafka's converters to JSON leave out their records."""


def measure_java(
    ours: Mapping[str, Contender], *, rounds: int, seconds: float, progress: Callable[[str], None]
) -> list[dict[str, Any]]:
    """A row for each message and each way: microseconds of both, and Java's time in units of ours, as a ratio."""
    rows: list[dict[str, Any]] = []
    with java("KafkaMessages") as process:
        for message, version in VERSIONS.items():
            contender = ours[message]
            value = contender.make()
            data = contender.encode(value)
            if process.ask(f"load {message} {version} {data.hex()}") != "same":
                raise SystemExit(f"Java does not write back the {message} v{version} that it read")
            calls = {"decode": partial(contender.decode, data), "encode": partial(contender.encode, value)}
            if message not in _OF_RECORDS:
                calls["to_json_text"] = partial(value.to_json_text, version)
                calls["from_json_text"] = partial(type(value).from_json_text, value.to_json_text(version), version)
            for operation, work in calls.items():
                progress(f"{message}: {operation}, Java")
                figures = process.beside(f"{operation} {message}", work, rounds=rounds, seconds=seconds)
                rows.append({"message": message, "version": version, "operation": operation, **figures})
    return rows
