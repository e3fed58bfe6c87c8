from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from object_storage import offsets
from streamed_logs import batch, segment, stream, triggers
from written_logs import job, table

from tagwire_spark import PipelineError
from tagwire_spark.jobs import read
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.splits import plan

UNKNOWN = [
    ({"subscribe": "ordres"}, "subscribe names 'ordres', .*; found calls, orders; .*; did you mean 'orders'"),
    ({"subscribe": "orders,nothing"}, "names 'nothing'"),
    ({"assign": '{"orders": [0, 7]}'}, "Option assign names 'orders-7', .*; found calls-0, orders-0, orders-1;"),
    ({"assign": '{"nothing": [0]}'}, "names 'nothing-0'"),
]
HERE = [({"subscribe": "orders"}, 10), ({"assign": '{"orders": [0]}'}, 5), ({"subscribePattern": "nothing.*"}, 0),
        ({"subscribePattern": "order."}, 10)]  # fmt: skip


@pytest.fixture(params=["folder", "URL"])
def logs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    for name in ("orders-0", "orders-1", "calls-0"):
        segment(tmp_path / name, 0, batch(0))
    if request.param == "folder":
        yield str(tmp_path)
        return
    memory = fsspec.filesystem("memory")
    for path in tmp_path.rglob("*.log"):
        memory.pipe(f"/asked/{path.relative_to(tmp_path).as_posix()}", path.read_bytes())
    yield "memory://asked"
    memory.rm("/asked", recursive=True)


@pytest.mark.parametrize(("options", "text"), UNKNOWN)
def test_unknown_name(logs: str, options: dict[str, str], text: str) -> None:
    for rejected in (
        lambda: offsets(logs, **options),
        lambda: list(read._units(log_query({"path": logs, **options}))),
        lambda: stream(logs, **options).prepareForTriggerAvailableNow(),
    ):
        with pytest.raises(PipelineError, match=rf"^\[KAFKA_LOG_NOT_FOUND\] .*{text}"):
            rejected()
    with_less = {**options, "failOnDataLoss": "false"}
    assert len(offsets(logs, **with_less)) in (0, 5, 10)
    assert len(list(read._units(log_query({"path": logs, **with_less})))) == 3
    stream(logs, **with_less).prepareForTriggerAvailableNow()


@pytest.mark.parametrize(
    ("starts", "name"), [('{"nothing": "latest"}', "nothing"), ('{"orders": {"7": 0}}', "orders-7")]
)
def test_unknown_name_in_starting_offsets(logs: str, starts: str, name: str) -> None:
    with pytest.raises(PipelineError, match=rf"^\[KAFKA_LOG_NOT_FOUND\] .*startingOffsets names '{name}'"):
        stream(logs, startingOffsets=starts).prepareForTriggerAvailableNow()
    stream(logs, startingOffsets=starts, failOnDataLoss="false").prepareForTriggerAvailableNow()


@pytest.mark.parametrize(("options", "rows"), HERE)
def test_names_that_are_there(logs: str, options: dict[str, str], rows: int) -> None:
    assert len(offsets(logs, **options)) == rows
    assert len(list(read._units(log_query({"path": logs, **options})))) == 3
    stream(logs, **options).prepareForTriggerAvailableNow()


def test_names_in_one_of_two_paths(tmp_path: Path) -> None:
    for root, name in (("a", "orders-0"), ("b", "calls-0")):
        (tmp_path / root).mkdir()
        segment(tmp_path / root / name, 0, batch(0))
    paths = f'["{tmp_path}/a", "{tmp_path}/b/calls-0/{0:020}.log"]'
    query = log_query({"paths": paths, "subscribe": "orders,calls"})
    assert len(plan(query)) == len(list(read._units(query))) == 2


def test_a_partition_without_a_segment_is_there(tmp_path: Path) -> None:
    segment(tmp_path / "orders-0", 0, batch(0))
    (tmp_path / "calls-0").mkdir()
    assert offsets(str(tmp_path), subscribe="calls") == []


def test_reading_an_output_without_rows_is_not_an_error(tmp_path: Path) -> None:
    job(tmp_path / "written", table())
    assert offsets(str(tmp_path / "written"), subscribe="orders") == []


def test_a_stream_waits_for_its_topic(tmp_path: Path) -> None:
    segment(tmp_path / "calls-0", 0, batch(0))
    reader = stream(tmp_path, subscribe="orders")
    start = reader.initialOffset()
    assert list(triggers(reader, start)) == []
    segment(tmp_path / "orders-0", 0, batch(0))
    assert [len(rows) for _, rows in triggers(reader, start)] == [5]


@pytest.mark.parametrize("level", ["record", "batch"])
def test_starting_offset_after_the_end(logs: str, level: str) -> None:
    where: dict[str, Any] = {"assign": '{"orders": [0]}', "level": level}
    # Offsets in a remote segment without an index are not checked, because its end is unknown.
    is_checked = not logs.startswith("memory")
    for start in (5, 6, 99):
        options = {**where, "startingOffsets": f'{{"orders": {{"0": {start}}}}}'}
        if start > 5 and is_checked:
            with pytest.raises(PipelineError, match=f"LOSS.* offset {start} is greater than 5, the .* of .*orders-0;"):
                offsets(logs, **options)
            options["failOnDataLoss"] = "false"
        assert offsets(logs, **options) == []
    if not is_checked:
        fsspec.filesystem("memory").pipe(f"/asked/orders-0/{0:020}.index", (4).to_bytes(4, "big") + bytes(4))
        with pytest.raises(PipelineError, match=r"LOSS.* 99 is greater than 5, .* of memory://asked/orders-0"):
            offsets(logs, **options)
