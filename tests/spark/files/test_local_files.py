import errno
import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType
from streamed_logs import batch, segment, stream
from written_logs import arrow_rows, failing_calls, read_rows

from tagwire.log import LogPathError
from tagwire.log.errors import exists
from tagwire_spark import PipelineError
from tagwire_spark.files.commit import leftovers
from tagwire_spark.files.local_files import files_below, local_path, matching_paths, temporary_folder
from tagwire_spark.jobs.outputs import job_output
from tagwire_spark.jobs.units import job_inputs
from tagwire_spark.log_write.target import log_target
from tagwire_spark.rpc_source import RpcReader, rpc_query


def fail_for(monkeypatch: pytest.MonkeyPatch, broken: Path, error: int) -> None:
    """Make `os.scandir` and `os.lstat` fail for the folder `broken`. `os.lstat` also fails for the files in it."""
    failing_calls(monkeypatch, os, "scandir", error, lambda path: path == broken)
    failing_calls(monkeypatch, os, "lstat", error, lambda path: broken in (path, path.parent))


@pytest.mark.parametrize("error", [errno.EIO, errno.EACCES, errno.ESTALE])
@pytest.mark.parametrize("pattern", ["*", "*/t-*", "*/*/*.log", "*/t-0"])
def test_query_fails_if_a_folder_of_a_pattern_can_not_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, error: int
) -> None:
    """`glob.glob` would leave out the logs in that folder, without an error."""
    for number in (0, 1):
        (tmp_path / f"disk{number}").mkdir()
        segment(tmp_path / f"disk{number}" / f"t-{number}", 0, batch(0))
    path = f"{tmp_path}/{pattern}"
    assert sum(each.num_rows for each in arrow_rows(path)) == (5 if pattern == "*/t-0" else 10)
    fail_for(monkeypatch, tmp_path / "disk1", error)
    with pytest.raises(PipelineError, match=rf"^\[KAFKA_LOG_UNREADABLE\] .*{errno.errorcode[error]}\)"):
        list(arrow_rows(path))
    if not pattern.endswith(".log"):
        with pytest.raises(PipelineError, match=rf"^\[KAFKA_LOG_UNREADABLE\] .*{errno.errorcode[error]}\)"):
            stream(path, failOnDataLoss="false").initialOffset()


def test_patterns_match_as_in_a_shell(tmp_path: Path) -> None:
    for name in ("a-0", ".a-1", "b[0]", "a"):
        (tmp_path / name / "x").mkdir(parents=True)
    (tmp_path / "a" / "file").touch()

    def found(pattern: str) -> list[str]:
        return [path.relative_to(tmp_path).as_posix() for path in matching_paths(tmp_path / pattern)]

    assert found("a*") == ["a", "a-0"] and found(".*") == [".a-1"] and found("b[[]0]") == ["b[0]"]
    assert found("*/x") == ["a/x", "a-0/x", "b[0]/x"] and found("a/file/*") == found("none/*") == found("a?") == []


def test_temporary_folders(tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for of_spark, expected in ((f"/nowhere/b,{tmp_path}", tmp_path), ("/nowhere/b", scratch), ("", scratch)):
        monkeypatch.setenv("SPARK_LOCAL_DIRS", of_spark)
        with temporary_folder("tagwire-") as folder:
            assert Path(folder).parent == expected


def test_captures_in_a_folder_that_can_not_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "day" / "one").mkdir(parents=True)
    (tmp_path / "day" / "one" / "captures.jsonl").touch()
    (tmp_path / "day" / "link").symlink_to(tmp_path)
    assert files_below(tmp_path) == [tmp_path / "day" / "one" / "captures.jsonl"]
    reader = RpcReader(rpc_query({"path": str(tmp_path)}), StructType(), [])
    assert len(reader.partitions()) == 1
    fail_for(monkeypatch, tmp_path / "day" / "one", errno.EACCES)
    with pytest.raises(PipelineError, match=r"^\[KAFKA_LOG_UNREADABLE\] .*/one can't be read: .* \(errno 13, EACCES\)"):
        reader.partitions()


def test_a_path_whose_status_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert exists(tmp_path) and not exists(tmp_path / "a") and not exists(tmp_path / "a\0")
    failing_calls(monkeypatch, os, "stat", errno.EIO, lambda _: True)
    with pytest.raises(PipelineError, match=r"^\[KAFKA_LOG_UNREADABLE\] .*\(errno 5, EIO\)"):
        list(arrow_rows(tmp_path))


def test_files_of_a_running_job_that_vanish_while_they_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / f".out.{'3f' * 16}"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / name).write_bytes(b"half")
    status = Path.stat

    def vanishing(path: Path, **options: bool) -> os.stat_result:
        if path.name == "a":
            path.unlink(missing_ok=True)
        return status(path, **options)

    monkeypatch.setattr(Path, "stat", vanishing)
    assert [(each.files, each.bytes) for each in leftovers(str(tmp_path))] == [(1, 4)]


@pytest.mark.parametrize(
    "url", ["/a b/c", "file:/a b/c", "file:///a b/c", "file://localhost/a b/c", "file:///x/../a b/c"]
)
def test_urls_of_a_local_path(url: str) -> None:
    assert local_path(url) == Path("/a b/c")


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("file://server/logs", "file://server/logs: a file URL can't name another host; .* give file:///PATH"),
        ("file://logs", "can't name another host"),
        ("file://localhost", "the path is empty"),
        ("file:", "the path is empty; give a file or a directory"),
        ("", "(the|The) path is (empty; give a file or a directory|missing; pass it to)"),
    ],
)
@pytest.mark.parametrize(
    "use",
    [
        local_path,
        lambda path: job_inputs(path, ExitStack()),
        job_output,
        lambda path: job_output("s3://bucket/logs", path),
        leftovers,
        lambda path: read_rows("", paths=json.dumps([path])),
        lambda path: log_target({"path": path}),
        lambda path: RpcReader(rpc_query({"paths": json.dumps([path])}), StructType(), []).partitions(),
    ],
)
def test_paths_that_are_not_local(path: str, error: str, use: Callable[[str], Any]) -> None:
    with pytest.raises((LogPathError, PipelineError), match=error):
        use(path)
