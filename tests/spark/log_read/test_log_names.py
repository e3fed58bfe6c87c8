import os
from pathlib import Path

import pytest
from streamed_logs import batch, rows, segment, stream
from written_logs import arrow_rows, read_rows

from tagwire_spark import PipelineError
from tagwire_spark.log_read import rows as log_rows
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.splits import plan

OPTIONS = [{}, {"mode": "PERMISSIVE"}, {"level": "batch"}]


def odd(folder: Path, name: bytes) -> Path:
    path = Path(os.fsdecode(os.fsencode(folder) + b"/" + name))
    path.mkdir()
    return path


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.usefixtures("each_engine")
def test_invalid_bytes_of_names_are_shown_as_question_marks(tmp_path: Path, options: dict[str, str]) -> None:
    path = segment(odd(tmp_path, b"caf\xe9") / "t-0", 0, batch(0, 1), batch(1, 1)[:-1] + b"!")
    file = f"{tmp_path}/caf?/t-0/{path.name}"
    if options.get("mode") != "PERMISSIVE":
        with pytest.raises(PipelineError) as rejected:
            list(arrow_rows(tmp_path, **options))
        assert str(rejected.value).startswith(f"[MALFORMED_KAFKA_LOG] {file}: ")
        path.write_bytes(batch(0, 1))
    found = read_rows(tmp_path, **options)
    assert {row["file"] for row in found} == {file} and len(found) == 1 + (options.get("mode") == "PERMISSIVE")
    assert {row["file"] for row in rows(stream(tmp_path, **options), {}, {"t": {"0": 1}})} == {file}
    segment(odd(tmp_path, b"\xe9-7"), 0, batch(0, 1))
    found = read_rows(tmp_path, **options)
    assert {(row["topic"], row["partition"]) for row in found} == {("t", 0), ("?", 7)}


def test_a_stream_has_topics_in_its_offsets(tmp_path: Path) -> None:
    segment(odd(tmp_path, b"caf\xe9-0"), 0, batch(0))
    with pytest.raises(PipelineError, match=r"^\[MALFORMED_KAFKA_LOG\] .*/caf\?-0: the topic name is not valid"):
        stream(tmp_path).initialOffset()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_deleted_segment_fails_the_read(tmp_path: Path, options: dict[str, str]) -> None:
    path = segment(tmp_path / "t-0", 0, batch(0))
    query = log_query({"path": str(tmp_path), **options})
    splits = plan(query)
    path.unlink()
    with pytest.raises(PipelineError, match=r"^\[KAFKA_LOG_CHANGED\] .*0\.log can't be read: No such.*; call load"):
        list(log_rows.rows_of(splits[0], query, log_rows.full_schema(query)))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_partition_that_no_topic_has(tmp_path: Path, options: dict[str, str]) -> None:
    (tmp_path / "t-20240101000000").mkdir()
    assert stream(tmp_path, **options).initialOffset() == {}
    with pytest.raises(PipelineError, match=r"^\[KAFKA_LOG_NOT_FOUND\] .*no log segment found, only t-2024"):
        list(arrow_rows(tmp_path, **options))
    segment(tmp_path / "t-2147483647", 0, batch(0))
    segment(tmp_path / "t-2147483648", 0, batch(0))
    only = {"assign": '{"t": [2147483647]}'}
    assert [row["partition"] for row in read_rows(tmp_path, **options, **only)]
    assert stream(tmp_path, **options, **only).initialOffset() == {"t": {"2147483647": 0}}
    for call in (lambda: list(arrow_rows(tmp_path, **options)), stream(tmp_path, **options).initialOffset):
        with pytest.raises(
            PipelineError, match=r"^\[MALFORMED_KAFKA_LOG\] .*partition number 2147483648 is greater than"
        ):
            call()
