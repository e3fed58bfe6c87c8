import gc
import sys
import tracemalloc
from array import array
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib import import_module
from random import Random
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pytest
from amplification import peak_memory, worst_baits
from arrow_producer import HandMade
from damage import damaged, samples
from growth import leaked_bytes
from native_engine import native, traces

import tagwire
import tagwire_messages as messages
from tagwire import arrow
from tagwire.arrow import ColumnOptions
from tagwire_messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

pytestmark = [native, pytest.mark.usefixtures("native_in_use"), pytest.mark.thorough]
C: Any = OffsetCommitRequest
HEARTBEAT = messages.HeartbeatResponse(error_code=5).encode(4)


def offsets(*numbers: int) -> bytes:
    return array("i", numbers).tobytes()


def commits(count: int) -> Any:
    partitions = [OffsetCommitRequestPartition(partition_index=index) for index in range(3)]
    topics = [OffsetCommitRequestTopic(name="t", partitions=partitions)]
    rows = [C(group_id=f"group {number}", topics=topics, unknown_tags={9: b"tag"}).encode(8) for number in range(count)]
    return pa.array(rows, pa.binary())


def test_an_array_that_is_taken_is_released_once() -> None:
    producer = HandMade("z", [None, offsets(0, 7, 14), HEARTBEAT * 2], 2)
    decoded = arrow.decode_column(producer, messages.HeartbeatResponse, 4)
    gc.collect()
    assert sorted(producer.released) == ["array", "schema"]
    assert len(decoded) == 2
    with pytest.raises(arrow.ColumnError, match="returned an array that was already released"):
        arrow.decode_column(producer, messages.HeartbeatResponse, 4)
    assert sorted(producer.released) == ["array", "schema"]


@pytest.mark.parametrize("how", ["rejected row", "wrong type", "wrong versions"])
def test_array_that_is_rejected_is_released_once(how: str) -> None:
    producer = HandMade("i" if how == "wrong type" else "z", [None, offsets(0, 3), HEARTBEAT], 1)
    version = pa.array([4, 4]) if how == "wrong versions" else 4
    with pytest.raises(tagwire.TagwireError):
        arrow.decode_column(producer, messages.HeartbeatResponse, version)
    gc.collect()
    assert sorted(producer.released) == ["array", "schema"]


def test_exported_arrays_live_as_long_as_any_part() -> None:
    def parts() -> None:
        decoded = arrow.decode_column(commits(50), C, 8)
        capsules = [decoded.__arrow_c_array__() for _ in range(3)]
        array = pa.array(decoded)
        names = array.field("topics").flatten().field("name")
        tags = array.field("unknown_tags")
        batches = pa.RecordBatchReader.from_stream(decoded)
        del decoded, capsules, array
        gc.collect()
        assert names.to_pylist() == ["t"] * 50
        assert tags.to_pylist() == [[(9, b"tag")]] * 50
        assert batches.read_all().num_rows == 50
        stream = arrow.decode_column(pa.chunked_array([commits(5), commits(6)]), C, 8).__arrow_c_stream__()
        del stream

    assert leaked_bytes(parts) < 20_000


def test_nothing_leaks() -> None:
    random = Random(3)
    calls: list[Callable[[], object]] = []
    for sample in random.sample(samples(), 12):  # so few that all plans fit in the plan cache and none is created twice
        rows = pa.array([sample.data, None, *(damaged(sample, random) for _ in range(4))], pa.binary())
        for errors in ("raise", "null", "column"):
            calls.append(partial(arrow.decode_column, rows, sample.cls, sample.version, errors=errors))
        calls.append(partial(arrow.decode_column, rows, sample.cls, sample.version, strict=False, errors="null"))
        good = pa.array(arrow.decode_column(rows[:2], sample.cls, sample.version))
        calls.append(partial(arrow.encode_column, good, sample.cls, sample.version))
        other = min(sample.cls.VERSIONS)
        calls.append(partial(arrow.encode_column, good, sample.cls, other, errors="column"))

    def run() -> None:
        for call in calls:
            with suppress(tagwire.TagwireError):
                call()

    assert leaked_bytes(run) < 40_000


@traces
def test_detects_a_leak() -> None:
    kept: list[Any] = []
    assert leaked_bytes(lambda: kept.append(arrow.decode_column(commits(50), C, 8))) > 40_000


def test_plans_are_freed() -> None:
    def plan() -> None:
        arrow._decoder.cache_clear()
        arrow._encoder.cache_clear()
        arrow.decode_column(commits(1), C, 8)
        arrow.encode_column(pa.array([{"group_id": "g"}]), C, 8)

    assert leaked_bytes(plan) < 20_000


@pytest.mark.parametrize(
    ("producer", "message"),
    [
        (lambda: HandMade("z", [None, offsets(0, 7, 3), HEARTBEAT], 2), "row 1: the Arrow array is invalid"),
        (lambda: HandMade("z", [None, offsets(-7, 0), HEARTBEAT], 1), "row 0: the Arrow array is invalid"),
        (lambda: HandMade("z", [None, None, None], 1), "an array of length 1 has no data buffer"),
        (lambda: HandMade("z", [None, offsets(0, 7)], 1), "expected 3 buffers for the Arrow format 'z', got 2"),
        (lambda: HandMade("z", [], -1), "length and offset are 0 or more, got length -1"),
        (lambda: HandMade("vz", [None, offsets(13, 0, 5, 0), HEARTBEAT, bytes(8)], 1), "offsets point outside"),
        (lambda: HandMade("vz", [None, offsets(13, 0, 0, 0), HEARTBEAT, offsets(7, 0)], 1), "offsets point outside"),
        (lambda: HandMade("vz", [None, offsets(-1, 0, 0, 0), bytes(8)], 1), "offsets point outside"),
        (lambda: HandMade("w:-5", [None, HEARTBEAT], 1), "type 'w:-5'"),
        (lambda: HandMade("w:x", [None, HEARTBEAT], 1), "type 'w:x'"),
        (lambda: HandMade("???", [None, HEARTBEAT], 1), "type '\\?\\?\\?'"),
    ],
)
def test_damaged_arrays(producer: Callable[[], Any], message: str) -> None:
    for errors in ("raise", "null", "column"):
        with pytest.raises(arrow.ColumnError, match=message):
            arrow.decode_column(producer(), messages.HeartbeatResponse, 4, errors=errors)


@pytest.mark.parametrize("bad", [[0, 5], [1, 0], [-1, 1], [2, 3]], ids=str)
@pytest.mark.parametrize("errors", ["raise", "null", "column"])
def test_invalid_list_offsets_are_rejected(bad: list[int], errors: Any) -> None:
    names = HandMade("u", [None, offsets(0, 1, 2), b"ab"], 2, name="name")
    topics = HandMade(
        "+l", [None, offsets(*bad)], 1, name="topics", children=(HandMade("+s", [None], 2, children=(names,)),)
    )
    request = HandMade("+s", [None], 1, children=(topics,))
    with pytest.raises(arrow.ColumnError, match="row 0: the Arrow array is invalid, because"):
        arrow.encode_column(request, messages.MetadataRequest, 9, errors=errors)
    assert sorted(request.released) == ["array", "schema"]


def test_an_array_without_the_children_of_its_type() -> None:
    request = HandMade("+s", [None], 1, children=(HandMade("u", [None, offsets(0, 0), b""], 1, name="group_id"),))
    request.array.n_children = 0
    with pytest.raises(arrow.ColumnError, match="the array: expected 1 child arrays as in the Arrow schema, got 0"):
        arrow.encode_column(request, C, 8)


def test_strings_that_are_not_utf8() -> None:
    texts = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(offsets(0, 1)), pa.py_buffer(b"\xff")])
    with pytest.raises(tagwire.EncodeError, match=r"row 0: .*group_id: character 0 is the lone surrogate"):
        arrow.encode_column(pa.StructArray.from_arrays([texts], ["group_id"]), C, 8)


def test_limit_of_int32_offsets() -> None:
    decoder = new_decoder()
    decoder.most = 20
    assert len(decoder.decode(commits(2), None, "raise", True, tagwire.Limits())) == 2
    for errors in ("raise", "null", "column"):
        with pytest.raises(arrow.ColumnError, match="rows 0 to 2 have more than 20 elements or bytes"):
            new_decoder(20).decode(commits(5), None, errors, True, tagwire.Limits())
    decoder.most = 5
    with pytest.raises(arrow.ColumnError, match="rows 0 to 0"):
        decoder.decode(commits(1), None, "raise", True, tagwire.Limits())
    encoder: Any = arrow._encoder.__wrapped__("native", ColumnOptions(C, (8,), "raise"))
    encoder.most = 100
    with pytest.raises(arrow.ColumnError, match="rows 0 to 1 have more than 100 elements or bytes"):
        encoder.encode(arrow.decode_column(commits(3), C, 8), None, "null")


def new_decoder(most: int = 0x7FFFFFFF) -> Any:
    decoded: Any = arrow._decoder.__wrapped__("native", ColumnOptions(C, (8,), "raise"))
    decoded.most = most
    return decoded


def test_counts_that_lie_cost_nothing() -> None:
    data = pa.array([b"\x02g" + bytes(4) + b"\x01\x00" + bytes.fromhex("ffffffff07") + bytes(20)] * 100)
    tracemalloc.start()
    try:
        columns = arrow.decode_column(data, C, 8, errors="null")
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert pa.array(columns).null_count == 100


def test_memory_of_the_worst_arrays() -> None:
    for bait in worst_baits(messages.registry)[:25]:
        size = 50_000
        rows = pa.array([bait.message(size).encode(bait.version)])
        peak = peak_memory(partial(arrow.decode_column, rows, bait.cls, bait.version))
        assert peak < 150 * size + 300_000, bait


def test_gil_is_released() -> None:
    data = commits(20_000)
    decoded = arrow.decode_column(data, C, 8)
    counted, stop = [0], Event()

    def count() -> None:
        while not stop.wait(0.001):
            counted[0] += 1

    def is_released(work: Any, values: Any) -> bool:
        before = counted[0]
        # Try again, because a busy machine may not run the other thread during the first calls.
        return any(work(values, C, 8) and counted[0] > before for _ in range(1000))

    switching = sys.getswitchinterval()
    thread = Thread(target=count)
    thread.start()
    try:
        # The interval is so long that the other thread runs only if decoding and encoding release the GIL.
        sys.setswitchinterval(60)
        assert is_released(arrow.decode_column, data) and is_released(arrow.encode_column, decoded)
    finally:
        sys.setswitchinterval(switching)
        stop.set()
        thread.join()


def test_threads_share_plans() -> None:
    data = commits(200)
    expected = pa.array(arrow.decode_column(data, C, 8))

    def work(_: int) -> bool:
        decoded = pa.array(arrow.decode_column(data, C, 8))
        return bool(decoded.equals(expected)) and bool(pa.array(arrow.encode_column(decoded, C, 8)).equals(data))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(100)))


def test_the_native_module_is_the_one_in_use() -> None:
    assert type(arrow.decode_column(commits(1), C, 8)) is import_module("tagwire._columns").ArrowArray
