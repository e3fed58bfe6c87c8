import gc
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from native_engine import native, traces

import tagwire_messages as messages
from tagwire import arrow, log
from tagwire.arrow import ColumnOptions
from tagwire.limits import DEFAULT_LIMITS
from tagwire.log import column_stream
from tagwire.log.column_table import root_column
from tagwire.records import Record, build
from tagwire.records.format_set import AUTO, format_set

pytestmark = [native, pytest.mark.thorough]
METADATA: Any = messages.metadata_response
MESSAGE: Any = METADATA.MetadataResponse
VERSION = 12
ROWS = 2000


def metadata(random: Random) -> bytes:
    """Return a message with random nulls, booleans, lengths and tags, to detect values left over in a reused buffer."""
    topics = [
        METADATA.MetadataResponseTopic(
            name=None if random.random() < 0.3 else "t" * random.randrange(20),
            is_internal=random.random() < 0.5,
            unknown_tags={7: b"tag"} if random.random() < 0.2 else {},
        )
        for _ in range(random.randrange(4))
    ]
    cluster = None if random.random() < 0.5 else "cluster"
    return bytes(MESSAGE(cluster_id=cluster, controller_id=random.randrange(9), topics=topics).encode(VERSION))


def rows(random: Random, count: int, damaged: float = 0.0) -> Any:
    """Return random rows. A row is invalid with probability `damaged`, and null with half that probability."""
    good = [metadata(random) for _ in range(50)]
    values = [b"?" if random.random() < damaged else random.choice(good) for _ in range(count)]
    return pa.array([None if random.random() < damaged / 2 else row for row in values], pa.binary())


def decoder_with(most: int, errors: str = "raise", **how: Any) -> Any:
    spares = import_module("tagwire._columns").Spares(most)
    options = ColumnOptions(MESSAGE, (VERSION,), errors, **how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow, "spare_frames", lambda: spares)
        return arrow._decoder.__wrapped__("native", options)


def decoded(decoder: Any, data: Any, errors: str = "raise") -> Any:
    return pa.array(decoder.decode(data, None, errors, True, DEFAULT_LIMITS))


def addresses(array: Any) -> list[int]:
    return [buffer.address for buffer in array.buffers() if buffer is not None and buffer.size]


@pytest.mark.parametrize("held", ["array", "child", "capsule"])
def test_frames_in_use_are_not_reused(held: str) -> None:
    data, decoder = rows(Random(2), ROWS), decoder_with(1 << 24)
    result = decoder.decode(data, None, "raise", True, DEFAULT_LIMITS)
    expected = pa.array(result).to_pylist()
    kept = {"array": pa.array, "child": lambda each: pa.array(each).field("topics"), "capsule": ArrayCapsule}[held](
        result
    )
    del result
    gc.collect()
    for seed in range(3):
        decoded(decoder, rows(Random(seed), ROWS))
    found = pa.array(kept).to_pylist()
    assert found == ([row["topics"] for row in expected] if held == "child" else expected)


class ArrayCapsule:
    """Exports the capsules of an array, but doesn't keep a reference to the array itself."""

    def __init__(self, array: Any) -> None:
        self.capsules = array.__arrow_c_array__()

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self.capsules


@pytest.mark.parametrize("errors", ["null", "column"])
def test_no_content_of_earlier_rows_remains(errors: str) -> None:
    random = Random(3)
    decoder, fresh = decoder_with(1 << 24, errors), decoder_with(0, errors)
    filled_again, before = 0, set[int]()
    for _ in range(30):
        data = rows(random, ROWS + random.randrange(-300, 300), random.choice([0, 0.1, 0.9]))
        found = decoded(decoder, data, errors)
        found.validate(full=True)
        assert found.equals(decoded(fresh, data, errors))
        filled_again += bool(before & set(addresses(found)))
        before = set(addresses(found))
        del found
    assert filled_again > 10


def test_frames_are_not_reused_for_another_schema() -> None:
    data = rows(Random(4), 10 * ROWS)
    paths = [None, ("cluster_id",), ("controller_id",), ("topics.name",), ("topics.is_internal",)]
    spares = import_module("tagwire._columns").Spares(1 << 24)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow, "spare_frames", lambda: spares)
        decoders = [
            arrow._decoder.__wrapped__("native", ColumnOptions(MESSAGE, (VERSION,), "raise", each)) for each in paths
        ]
    expected = [decoded(decoder_with(0, paths=each), data) for each in paths]
    for _ in range(3):
        for decoder, column in zip(decoders, expected, strict=True):
            assert decoded(decoder, data).equals(column)


def segment(path: Path, random: Random) -> Path:
    path.mkdir()
    file = path / f"{0:020}.log"
    records = [
        Record(
            number,
            1_700_000_000_000,
            None if random.random() < 0.5 else b"k",
            None if random.random() < 0.1 else b"v" * random.randrange(60),
            [("h", b"1")] * random.randrange(3),
        )
        for number in range(ROWS + random.randrange(ROWS))
    ]
    file.write_bytes(build(records, "v2", compression=random.choice(["none", "gzip"])).encode())
    return file


def test_next_reader_reuses_the_memory_of_a_log(tmp_path: Path) -> None:
    files = [segment(tmp_path / f"t-{seed}", Random(seed)) for seed in range(8)]
    for file in files:
        [rows] = map(pa.array, log.columns(file))
        found = pa.record_batch(rows)
        found.validate(full=True)
        assert found.column("offset").to_pylist() == list(range(len(found)))
        records = [record for batch in log.read(file) for record in batch]
        for name in ("key", "value"):
            assert found.column(name).to_pylist() == [getattr(record, name) for record in records]
        assert set(found.column("file").to_pylist()) == {str(file)}
        headers = [[(each["key"], each["value"]) for each in row] for row in found.column("headers").to_pylist()]
        assert headers == [list(record.headers) for record in records]
        del found, rows


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced")
@traces
def test_spare_memory_is_bounded() -> None:
    data, most = rows(Random(5), ROWS), 1 << 20
    decoder = decoder_with(most)
    decoded(decoder, data[:10])
    before = tracemalloc.get_traced_memory()[0]

    def more() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before

    held = [decoded(decoder, data) for _ in range(30)]
    assert more() > 4 * most
    held.clear()
    assert most / 2 < more() < most + 20_000
    del decoder
    assert more() < 20_000


@pytest.mark.usefixtures("traced")
@traces
def test_memory_of_a_finished_log_is_reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = segment(tmp_path / "t-0", Random(6))
    assert len(list(log.columns(file))) == 1
    spares = import_module("tagwire._columns").Spares(1 << 24)
    monkeypatch.setattr("tagwire.log.column_stream.spare_frames", lambda: spares)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    kept = []
    for _ in range(3):
        assert len(list(log.columns(file))) == 1
        gc.collect()
        kept.append(tracemalloc.get_traced_memory()[0] - before)
    assert kept[0] > 1 << 17
    assert max(kept) < kept[0] + 20_000


@pytest.mark.usefixtures("traced")
@traces
def test_only_transient_arrays_keep_unused_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a small array reuses large buffers, the buffers must be shrunk, unless `transient` is set."""
    large = log.Segment(segment(tmp_path / "t-0", Random(6)))
    path = tmp_path / "t-1" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(build([Record(0, 0, b"k", b"v")], "v2").encode())
    small = log.Segment(path)
    held = {}
    for transient in (False, True):
        spares = import_module("tagwire._columns").Spares(1 << 24)
        monkeypatch.setattr("tagwire.log.column_stream.spare_frames", lambda spares=spares: spares)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        columns = column_stream.Pass(
            root_column("record", None, format_set(AUTO)), column_stream.ReadOptions(transient=transient)
        )
        arrays = columns.with_rest(columns.full_arrays([(large, None, True)]))
        assert [len(pa.array(rows)) for rows in arrays] > [ROWS - 1]
        [rows] = map(pa.array, columns.with_rest(columns.full_arrays([(small, None, True)])))
        assert rows.field("value").to_pylist() == [b"v"]
        del columns
        gc.collect()
        held[transient] = tracemalloc.get_traced_memory()[0] - before
    assert held[True] > 1 << 17
    assert held[True] - held[False] > 1 << 18


def test_threads_release_and_reuse_frames_concurrently() -> None:
    decoder, fresh = decoder_with(1 << 22), decoder_with(0)
    batches = [rows(Random(seed), ROWS) for seed in range(6)]
    expected = [decoded(fresh, data) for data in batches]

    def work(seed: int) -> bool:
        random = Random(seed)
        held: list[tuple[int, Any]] = []
        for _ in range(60):
            number = random.randrange(6)
            held.append((number, decoded(decoder, batches[number])))
            if len(held) > 3:
                other, array = held.pop(random.randrange(3))
                if not array.equals(expected[other]):
                    return False
        return all(array.equals(expected[number]) for number, array in held)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
