"""Batches of records beside the peers: 1000 records of 100 bytes, built and parsed, for each codec.

`python bench/records.py` prints the table. Everybody starts from the same keys
and values and ends with bytes; who parses verifies the checksum and looks at
offset, timestamp, key, value and headers of each record. For tagwire, building
is measured twice: from plain values, record by record, as the peers do it, and
from `Record`s that are there already.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from statistics import median
from typing import Any, Final

from java_process import java, missing
from report import aligned, records_table
from timing import interleaved, ratio

from tagwire.records import BatchBuilder, Record, build, read_batches

__all__ = ["measure_records"]

_COUNT: Final = 1000
_TIME: Final = 1_700_000_000_000
_CODECS: Final = {"none": 0, "gzip": 1, "lz4": 3, "zstd": 4}
_VALUES: Final = [(b"key-%05d" % index, bytes((7 * index + at) % 251 for at in range(100))) for index in range(_COUNT)]
Work = Callable[[], object]


def measure_records(*, rounds: int, seconds: float, progress: Callable[[str], None]) -> list[dict[str, Any]]:
    """A row for each codec and way: microseconds of each library, and the others' times in units of ours."""
    rows = []
    for codec in _CODECS:
        data = build(_records(), compression=codec).encode()
        builders = {"tagwire": _build, "aiokafka": _aiokafka_build, "kafka-python": _kafka_python_build}
        parsers = {"tagwire": _parse, "aiokafka": _aiokafka_parse, "kafka-python": _kafka_python_parse}
        for operation, works in (
            ("build", _available(codec, builders) | {"tagwire, from Records": _build_at_hand(codec)}),
            ("parse", _available(codec, parsers, data)),
        ):
            progress(f"records: {operation}, {codec}")
            times = interleaved(works, rounds=rounds, seconds=seconds)
            rows.append(_row(codec, operation, times))
    return rows if missing() else _with_java(rows, rounds=rounds, seconds=seconds, progress=progress)


def _row(codec: str, operation: str, times: dict[str, list[float]]) -> dict[str, Any]:
    return {
        "codec": codec,
        "operation": operation,
        "microseconds": {name: 1e6 * median(taken) for name, taken in times.items()},
        "ratio": {name: list(ratio(taken, times["tagwire"])) for name, taken in times.items() if name != "tagwire"},
    }


def _with_java(
    rows: list[dict[str, Any]], *, rounds: int, seconds: float, progress: Callable[[str], None]
) -> list[dict[str, Any]]:
    """The rows with Java's own classes; what they build and parse are the same records."""
    with java("KafkaRecords") as process:
        for row in rows:
            codec, operation = row["codec"], row["operation"]
            data = build(_records(), compression=codec).encode()
            if process.ask(f"load {codec} {data.hex()}") != str(_COUNT):
                raise SystemExit(f"Java does not read {_COUNT} records, {codec}")
            progress(f"records: {operation}, {codec}, Java")
            work = _parse(codec, data) if operation == "parse" else _build(codec)
            figures = process.beside(f"{operation} {codec}", work, rounds=rounds, seconds=seconds)
            row["microseconds"]["Java"] = figures["microseconds"]["java"]
            row["ratio"]["Java"] = figures["ratio"]
    return rows


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
    def work() -> bytes:
        builder = BatchBuilder(compression=codec)
        for index, (key, value) in enumerate(_VALUES):
            builder.append(key, value, timestamp=_TIME + index, headers=[])
        return builder.build().encode()

    return work


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


if __name__ == "__main__":
    found = measure_records(rounds=9, seconds=0.02, progress=lambda step: print(step, file=sys.stderr))
    print(aligned(records_table(found)))
