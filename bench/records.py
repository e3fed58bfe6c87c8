"""Batches of records beside the peers: 1000 records of 100 bytes, built and parsed, for each codec.

`python bench/records.py` prints the table. Everybody starts from the same keys
and values and ends with bytes; who parses verifies the checksum and looks at
offset, timestamp, key, value and headers of each record. For tagwire, building
is measured twice: from `Record`s that are there already, and from plain values,
as the peers do it.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from timing import interleaved, ratio

from tagwire.records import Record, build, read_batches

__all__ = ["measure_records", "table"]

_COUNT: Final = 1000
_TIME: Final = 1_700_000_000_000
_CODECS: Final = {"none": 0, "gzip": 1, "lz4": 3, "zstd": 4}
_VALUES: Final = [(b"key-%05d" % index, bytes((7 * index + at) % 251 for at in range(100))) for index in range(_COUNT)]
Work = Callable[[], object]


def measure_records(*, rounds: int, seconds: float, progress: Callable[[str], None]) -> list[dict[str, Any]]:
    """A row for each codec and way: microseconds of each library, and the peers' times in units of ours."""
    rows = []
    for codec in _CODECS:
        builders = _available(
            codec, {"tagwire": _build, "aiokafka": _aiokafka_build, "kafka-python": _kafka_python_build}
        )
        builders["tagwire, Records at hand"] = _build_at_hand(codec)
        data = build(_records(), compression=codec).encode()
        parsers = _available(codec, {"tagwire": _parse}, data)
        parsers |= _available(codec, {"aiokafka": _aiokafka_parse, "kafka-python": _kafka_python_parse}, data)
        for operation, works in (("build", builders), ("parse", parsers)):
            progress(f"records: {operation}, {codec}")
            times = interleaved(works, rounds=rounds, seconds=seconds)
            rows.append(_row(codec, operation, times))
    return rows


def _row(codec: str, operation: str, times: dict[str, list[float]]) -> dict[str, Any]:
    ours = times["tagwire, Records at hand" if operation == "build" else "tagwire"]
    return {
        "codec": codec,
        "operation": operation,
        "microseconds": {name: 1e6 * sorted(taken)[len(taken) // 2] for name, taken in times.items()},
        "ratio": {name: list(ratio(taken, ours)) for name, taken in times.items()},
    }


def _available(codec: str, makers: dict[str, Callable[..., Work]], *more: Any) -> dict[str, Work]:
    """The work of each library that is installed and has the codec."""
    found: dict[str, Work] = {}
    for name, make in makers.items():
        try:
            work = make(codec, *more)
            work()
        except (ImportError, NotImplementedError, RuntimeError, AssertionError) as reason:
            print(f"{name} has no {codec}: {reason}", file=sys.stderr)
            continue
        found[name] = work
    return found


# ---------------------------------------------------------------- ours


def _records() -> list[Record]:
    return [Record(index, _TIME + index, key, value) for index, (key, value) in enumerate(_VALUES)]


def _build(codec: str) -> Work:
    return lambda: build(_records(), compression=codec).encode()


def _build_at_hand(codec: str) -> Work:
    records = _records()
    return lambda: build(records, compression=codec).encode()


def _parse(codec: str, data: bytes) -> Work:
    def work() -> None:
        for batch in read_batches(data):
            _touch(batch)

    return work


def _touch(records: Any) -> None:
    for record in records:
        _ = record.offset, record.timestamp, record.key, record.value, record.headers


# ---------------------------------------------------------------- the peers


def _appended(builder: Any, finish: Callable[[Any], bytes]) -> bytes:
    for index, (key, value) in enumerate(_VALUES):
        builder.append(index, timestamp=_TIME + index, key=key, value=value, headers=[])
    return finish(builder)


def _peer_build(module: str, codec: str, **more: Any) -> Work:
    cls = import_module(module).DefaultRecordBatchBuilder
    settings = {"is_transactional": False, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1} | more

    def work() -> bytes:
        builder = cls(magic=2, compression_type=_CODECS[codec], batch_size=1 << 22, **settings)
        return _appended(builder, lambda each: bytes(each.build()))

    return work


def _peer_parse(module: str, data: bytes) -> Work:
    cls = import_module(module).DefaultRecordBatch

    def work() -> None:
        batch = cls(data)
        assert batch.validate_crc()
        _touch(batch)

    return work


def _aiokafka_build(codec: str) -> Work:
    return _peer_build("aiokafka.record.default_records", codec)


def _aiokafka_parse(codec: str, data: bytes) -> Work:
    return _peer_parse("aiokafka.record.default_records", data)


def _kafka_python_build(codec: str) -> Work:
    return _peer_build("kafka.record.default_records", codec)


def _kafka_python_parse(codec: str, data: bytes) -> Work:
    return _peer_parse("kafka.record.default_records", data)


# ---------------------------------------------------------------- text


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown: microseconds, and in brackets the time in units of ours."""
    names = list(dict.fromkeys(name for row in rows for name in row["microseconds"]))
    lines = ["| 1000 records of 100 bytes | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for row in rows:
        cells = [
            f"{row['microseconds'][name]:.0f} us ({row['ratio'][name][0]:.2f}x)" if name in row["microseconds"] else "-"
            for name in names
        ]
        lines.append(f"| {row['operation']}, {row['codec']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(measure_records(rounds=9, seconds=0.02, progress=lambda step: print(step, file=sys.stderr))))
