import copy
import inspect
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest
from native_engine import in_use

from tagwire import engine
from tagwire.errors import TagwireError
from tagwire.records import BatchBuilder, Record, build, format_names, read_batches

FIRST: dict[str, Any] = {"key": b"k", "value": b"v", "timestamp": 1_700_000_000_000}


class Number:
    """An object that can be converted to an integer, but only through `__index__`."""

    def __index__(self) -> int:
        return 5


HEADERS = (
    *((("a", b"1"), ("a", None)), [("a", b"1")], [["a", b"1"]], (("a", "text"),), (("\ud800", b""),), ((1, b"1"),)),
    *((("a",),), iter((("a", b"1"),))),
)
ODD: list[dict[str, Any]] = [
    {},
    {"key": b"k" * 70, "value": b"v" * 20_000},
    {"key": 5},
    *({"value": value} for value in (b"", bytearray(b"v"), memoryview(b"v"), "text")),
    *({"timestamp": time} for time in (True, 1.5, Number(), 2**63 - 1, 2**63, -(2**63))),
    *({"headers": headers} for headers in HEADERS),
    *({"offset": offset} for offset in (100, -5, 2**31 + 7, 2**63 - 1, 2**63)),
    *({"tombstone": flag} for flag in (True, False)),
    *({"attributes": bits} for bits in (3, 200, "x")),
]


def outcome(make: Callable[[], BatchBuilder]) -> Any:
    try:
        batch = make().build()
        return batch.encode(), batch.last_offset, batch.max_timestamp, len(batch)
    except (TagwireError, TypeError, ValueError, OverflowError, AttributeError) as error:
        return type(error), str(error)


def appended(calls: list[dict[str, Any]], *args: Any, **settings: Any) -> BatchBuilder:
    builder = BatchBuilder(*args, **settings)
    for call in calls:
        assert builder.append(**call) is builder
    return builder


def listed(calls: list[dict[str, Any]], *args: Any, **settings: Any) -> BatchBuilder:
    """Build the batch with `extend` instead of `append`. Choose the same offsets as `append`."""
    builder = BatchBuilder(*args, **settings)
    records: list[Record] = []
    for call in calls:
        next_offset = records[-1].offset + 1 if records else settings.get("base_offset") or 0
        values: dict[str, Any] = {"timestamp": -1, "key": None, "value": None, **call}
        values["offset"] = next_offset if call.get("offset") is None else call["offset"]
        records.append(Record(**values))
    return builder.extend(records)


def fresh(call: dict[str, Any]) -> dict[str, Any]:
    return {name: iter((("a", b"1"),)) if hasattr(value, "__next__") else value for name, value in call.items()}


@pytest.mark.parametrize("name", format_names())
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_appending_equals_building_from_a_list(name: str, codec: str) -> None:
    failed = 0
    for odd, changed in product(ODD, range(3)):
        calls = [{**FIRST, "timestamp": FIRST["timestamp"] + index} for index in range(3)]
        if name == "v0":
            calls = [{**call, "timestamp": -1} for call in calls]
        calls[changed] = {**calls[changed], **odd}
        one, other = ([fresh(call) for call in calls] for _ in range(2))
        found = outcome(partial(appended, one, name, compression=codec))
        assert found == outcome(partial(listed, other, name, compression=codec)), (odd, changed)
        failed += isinstance(found[0], type)
    assert 20 < failed < 75


@pytest.mark.parametrize("name", format_names())
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_the_size_is_exact_before_compression(name: str, codec: str) -> None:
    builder = BatchBuilder(name, compression=codec)
    for length in (0, 70, 20_000):
        builder.append(b"k" * length, b"v" * length, timestamp=-1 if name == "v0" else 1_700_000_000_000 + length)
        assert builder.size == build(builder.records, name).size
    if name != "v0":
        builder = appended([FIRST, FIRST], name)
        builder.base_timestamp = None if builder.format.records is None else 5
        assert builder.size == builder.build().size


def test_records_come_back_as_they_were_given() -> None:
    calls = [FIRST, {"headers": [("a", b"1")], "attributes": 3}, {"offset": 9, "value": b""}]
    builder = appended(calls)
    assert builder.records == listed(calls).records
    builder.records[1].value = b"changed"
    builder.append(b"more")
    assert [record.value for record in builder.build()] == [b"v", b"changed", b"", None]
    assert builder.records[-1] == Record(10, -1, b"more", None)


def test_builder_can_be_used_after_building() -> None:
    builder = appended([FIRST])
    batches = [builder.append(value=b"x" * size).build().encode() for size in (5, 5_000, 50_000)]
    assert [len(next(read_batches(data))) for data in batches] == [2, 3, 4]
    assert builder.build().encode() == batches[-1] == build(builder.records).encode()


def test_bases_may_change_before_building() -> None:
    builder, other = appended([FIRST, FIRST]), listed([FIRST, FIRST])
    for each in (builder, other):
        each.base_timestamp = 5
        each.base_offset = -3
    assert outcome(lambda: builder) == outcome(lambda: other)


def test_extending_and_appending() -> None:
    builder = appended([FIRST]).extend([Record(5, 1, None, b"x")]).append(b"y")
    assert [record.offset for record in builder.build()] == [0, 5, 6]


def test_a_copy() -> None:
    builder = appended([FIRST, FIRST])
    assert outcome(lambda: copy.copy(builder)) == outcome(lambda: builder)


@pytest.mark.parametrize(
    ("args", "named"), [((b"k", b"v", 3), {}), ((b"k",), {"key": b"k"}), ((), {"keys": b"k"}), ((), {"append_time": 3})]
)
def test_wrong_arguments(args: tuple[Any, ...], named: dict[str, Any]) -> None:
    builder = appended([FIRST])
    with pytest.raises(TypeError, match=r"append\(\)"):
        builder.append(*args, **named)
    assert len(builder.build()) == 1


def test_keyword_names_created_at_run_time() -> None:
    name = "".join(["ti", "mestamp"])
    by_name: dict[str, Any] = {name: 3}
    apart = outcome(lambda: appended([FIRST]).append(b"k", **by_name))
    assert apart == outcome(lambda: appended([FIRST, {"key": b"k", **by_name}]))


def test_a_subclass_has_its_own_append() -> None:
    class Shouting(BatchBuilder):
        def append(self, key: bytes | None = None, value: bytes | None = None, **more: Any) -> BatchBuilder:
            return super().append(key, value and value.upper(), **more)

    batch = Shouting().append(value=b"a").append(value=b"b").build()
    assert [record.value for record in batch] == [b"A", b"B"]


def test_native_engine_writes_appended_records() -> None:
    builder = appended([FIRST, FIRST])
    assert (builder._gathering is not None) == (engine() == "native")
    assert list(inspect.signature(BatchBuilder.append).parameters)[1:] == [
        "key", "value", "timestamp", "headers", "offset", "tombstone", "attributes",
    ]  # fmt: skip


def test_builders_do_not_affect_each_other() -> None:
    def make(number: int) -> BatchBuilder:
        return appended([{**FIRST, "key": b"k%d" % number, "timestamp": number, "offset": number}])

    expected = [make(number).append(b"end").build().encode() for number in range(6)]
    builders = [make(number) for number in range(6)]
    assert [builder.append(b"end").build().encode() for builder in builders] == expected
    assert [make(number).append(b"end").build().encode() for number in range(6)] == expected


@pytest.mark.parametrize("name", ["delete_horizon_ms", "ignore_message_attributes", "max_timestamp"])
def test_a_deleted_property_is_an_error(name: str) -> None:
    builder = appended([FIRST])
    delattr(builder, name)
    with pytest.raises(AttributeError, match=name):
        builder.build()


@in_use
@pytest.mark.parametrize("call", [BatchBuilder.build, BatchBuilder.append, lambda builder: list(builder.records)])
def test_an_object_without_a_plan_does_no_harm(call: Callable[[BatchBuilder], object]) -> None:
    builder = appended([FIRST])
    made: Any = type(builder._gathering)
    builder._gathering = made.__new__(made)
    with pytest.raises(MemoryError):
        call(builder)
