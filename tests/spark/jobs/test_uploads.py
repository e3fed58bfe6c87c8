import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from object_storage import ConditionalFileSystem, conditional
from pyspark.sql import SparkSession
from written_logs import files

from tagwire.log import LogPathError
from tagwire_spark import PipelineError
from tagwire_spark.files import commit
from tagwire_spark.files.commit_folder import DONE
from tagwire_spark.jobs import compact_logs, convert_logs, export_logs, import_logs

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("here")]

URL = "kept://bucket/out"
HERE = cast(SparkSession, SimpleNamespace(conf={"spark.master": "local[2]"}))
CLUSTER = cast(SparkSession, SimpleNamespace(conf={"spark.master": "spark://host:7077"}))
RULES: dict[str, Any] = {"now": 1 << 50, "include_active": True, "drop_keyless": True}
JOBS: dict[str, Callable[..., Any]] = {
    "convert": lambda logs, out, **given: convert_logs(HERE, logs, out, codec="gzip", **given),
    "compact": lambda logs, out, **given: compact_logs(HERE, logs, out, **RULES, **given),
    "export": lambda logs, out, **given: export_logs(HERE, logs, out, **given),
}


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(commit, "_PATIENCE", 0.0)
    yield conditional()
    conditional()


def stored(store: Any, url: str = URL) -> dict[str, bytes]:
    """Return all objects below a prefix, except the commit's manifest."""
    root = store._strip_protocol(url)
    found = {name.removeprefix(f"{root}/"): store.store[name].data for name in store.find(root)}
    found.pop(DONE, None)
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("job", JOBS)
def test_the_same_as_in_a_folder(store: Any, broker: Path, tmp_path: Path, job: str) -> None:
    expected = JOBS[job](broker, tmp_path / "one")
    (tmp_path / "work").mkdir()
    got = JOBS[job](broker, URL, work_folder=tmp_path / "work")
    assert stored(store) == files(tmp_path / "one") != {}
    assert len(got) == len(expected)
    assert [*(tmp_path / "work").iterdir()] == []


@pytest.mark.thorough
def test_exported_and_back(store: Any, broker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ConditionalFileSystem.fails.append(lambda *_: any(each.stat().st_mode & 0o77 for each in tmp_path.glob(".tag*")))
    export_logs(HERE, broker, URL)
    back = import_logs(HERE, URL, "kept://bucket/back")
    assert stored(store, "kept://bucket/back") == files(broker)
    assert all(str(each.file).startswith("kept://bucket/back/") for each in back)
    assert json.dumps([each.to_json() for each in back])


@pytest.mark.parametrize("job", JOBS)
def test_nothing_is_overwritten(store: Any, broker: Path, tmp_path: Path, job: str) -> None:
    store.pipe_file("kept://bucket/out/orders-0/x", b"there")
    with pytest.raises(LogPathError, match=f"{URL} already exists"):
        JOBS[job](broker, f"{URL}/", work_folder=tmp_path)
    assert stored(store) == {"orders-0/x": b"there"} and [*tmp_path.iterdir()] == []


@pytest.mark.thorough
def test_objects_created_during_an_upload(
    store: Any, broker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = commit.carry_out

    def carry_out(*arguments: Any) -> None:
        store.pipe_file("kept://bucket/out/orders-0/x", b"there")
        original(*arguments)

    monkeypatch.setattr(commit, "carry_out", carry_out)
    with pytest.raises(LogPathError, match="already exists"):
        export_logs(HERE, broker, URL, work_folder=tmp_path)
    assert stored(store) == {"orders-0/x": b"there"} and [*tmp_path.iterdir()] == []


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["put", "copy"])
def test_no_partial_output_after_a_failed_request(store: Any, broker: Path, tmp_path: Path, kind: str) -> None:
    prompts: list[str] = []

    def fails(_: int, text: str) -> bool:
        if not (text.startswith(kind) and ".log" in text):
            return False
        prompts.append(text)
        return len(prompts) == 2

    ConditionalFileSystem.fails.append(fails)
    with pytest.raises(PipelineError, match="the connection is lost"):
        convert_logs(HERE, broker, URL, work_folder=tmp_path)
    ConditionalFileSystem.fails.clear()
    assert stored(store) == {} and [*tmp_path.iterdir()] == []
    convert_logs(HERE, broker, URL, work_folder=tmp_path)
    assert {*stored(store)} >= {name for name in files(broker) if name.endswith(".log")}


def test_upload_of_a_killed_driver(store: Any, broker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the next job completes the upload of a driver that was killed while it copied objects."""
    monkeypatch.setattr("tagwire_spark.files.store._AT_ONCE", 1)
    convert_logs(HERE, broker, tmp_path / "one")
    ConditionalFileSystem.fails.append(
        lambda *_: sum(each.startswith("copy") for each in ConditionalFileSystem.requests) > 1
    )
    with pytest.raises(PipelineError, match="the connection is lost"):
        convert_logs(HERE, broker, URL, work_folder=tmp_path)
    ConditionalFileSystem.fails.clear()
    assert 0 < len([name for name in stored(store) if not name.startswith(".tagwire-")]) < len(files(tmp_path / "one"))
    with pytest.raises(LogPathError, match=f"{URL} already exists"):
        convert_logs(HERE, broker, URL, work_folder=tmp_path)
    assert stored(store) == files(tmp_path / "one")


def test_rejected_input(store: Any, broker: Path, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=f"{URL}: .*argument `work_folder`"):
        convert_logs(CLUSTER, broker, URL)
    with pytest.raises(PipelineError, match="memory://out: commits need conditional puts, but fsspec does not support"):
        convert_logs(HERE, broker, "memory://out", work_folder=tmp_path)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(LogPathError, match=r"can't be written: Not a directory"):
        convert_logs(HERE, broker, URL, work_folder=tmp_path / "file")
    assert stored(store) == {}
