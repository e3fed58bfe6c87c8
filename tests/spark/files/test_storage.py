import json
import shutil
import tempfile
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from typing import Any, cast
from zipfile import ZipFile

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.utils import infer_storage_options
from pyspark.sql.streaming.datasource import ReadAllAvailable
from streamed_logs import batch, segment, stream, triggers
from written_logs import job, read_rows, table

from tagwire.log import LogPathError
from tagwire.log.file_bytes import file_status
from tagwire_spark import PipelineError
from tagwire_spark.files.commit import settled
from tagwire_spark.files.storage import Location, locations
from tagwire_spark.jobs import convert_logs, export_logs, whatif_logs
from tagwire_spark.jobs.read import _units
from tagwire_spark.jobs.units import found_partitions, job_inputs
from tagwire_spark.log_read import listing
from tagwire_spark.log_read import splits as log_plan
from tagwire_spark.log_read.query import log_query

pytestmark = pytest.mark.spark


@pytest.fixture
def kafka(tmp_path: Path) -> Path:
    """Create a broker's log folder with four partitions, including a future replica and a deleted partition."""
    root = tmp_path / "kafka"
    segment(root / "orders-0", 0, batch(0, 3))
    segment(root / "orders-0", 3, batch(3, 3))
    segment(root / "orders-1", 0, batch(0, 2))
    segment(root / f"orders-0.{'a' * 32}-future", 0, batch(0, 3))
    segment(root / f"orders-1.{'b' * 32}-delete", 0, batch(0, 9))
    (root / "meta.properties").write_text("node.id=1\n")
    (root / "log-start-offset-checkpoint").write_text("0\n1\norders 0 1\n")
    return root


@pytest.mark.parametrize("path", [f"orders-1.{'b' * 32}-delete", "orders-*", "*", ""])
def test_stream_reads_what_a_batch_read_reads(kafka: Path, path: str) -> None:
    [(end, found)] = triggers(stream(kafka / path), {})
    assert [(row["topic"], row["partition"], row["offset"]) for row in found] == rows(kafka / path)
    assert end["orders"]["1"] == (9 if "delete" in path else 2)


def rows(path: "str | Path", **options: Any) -> list[tuple[str, int, int]]:
    found = read_rows(path, **options)
    return [(row["topic"], row["partition"], row["offset"]) for row in found]


ZERO = [("orders", 0, offset) for offset in range(6)]
ONE = [("orders", 1, offset) for offset in range(2)]


@pytest.mark.parametrize("scheme", ["", "file://", "file://localhost", "local://"])
@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("", ZERO + ONE),
        ("orders-1", ONE),
        ("orders-*", ZERO + ONE),
        ("*", ZERO + ONE),
        ("orders-0/*", ZERO),
        ("orders-*/*.log", ZERO + ONE),
        (f"orders-0/{3:020}.log", ZERO[3:]),
        (f"orders-1.{'b' * 32}-delete", [("orders", 1, offset) for offset in range(9)]),
    ],
)
def test_paths_and_patterns(kafka: Path, scheme: str, path: str, found: Any) -> None:
    where = f"{scheme}{kafka}/{path}".rstrip("/")
    assert rows(where) == found
    assert rows(where, subscribe="orders") == found
    assert rows(where, respectLogStart="true") == [row for row in found if row != ZERO[0] or "delete" in path]


@pytest.mark.parametrize("scheme", ["", "local://"])
def test_a_pattern_without_a_segment(kafka: Path, scheme: str) -> None:
    for pattern, text in (("meta.*", "none of the matching files is a log"), ("none*", "there is no such file")):
        with pytest.raises(PipelineError, match=rf"KAFKA_LOG_NOT_FOUND.*/{pattern[:4]}.*\*: {text}"):
            rows(f"{scheme}{kafka}/{pattern}")


@pytest.mark.parametrize("scheme", ["", "local://"])
def test_cleaned_segment_replaces_others(tmp_path: Path, scheme: str) -> None:
    """A cleaned segment (`.swap`) must replace all segments that contain the offsets of its batches."""
    cleaned = segment(tmp_path / "o-0", 0, batch(0, 3), batch(3, 3))
    cleaned.rename(f"{cleaned}.swap")
    for base in (0, 3, 6):
        segment(tmp_path / "o-0", base, batch(base, 3))
    assert [offset for _, _, offset in rows(f"{scheme}{tmp_path}")] == list(range(9))


def test_roots_and_archives(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe(f"/orders-0/{0:020}.log", batch(0, 3))
    try:
        for url in ("memory://", "memory:///", "memory://orders-0", "memory:///orders-0/", "memory://ord*"):
            assert rows(url) == ZERO[:3], url
            [split] = log_plan.plan(query := log_query({"path": url}))
            assert split.file in (f"memory://orders-0/{0:020}.log", f"memory:///orders-0/{0:020}.log"), url
            assert "*" in url or split.state == log_plan.plan_alone(query, _units(query)[0][0])[0].state, url
    finally:
        memory.rm("/orders-0", recursive=True)
    archive = tmp_path / "logs.zip"
    with ZipFile(archive, "w") as packed:
        packed.writestr(f"orders-0/{0:020}.log", batch(0, 2) + batch(2, 1))
    for inside in ("", "orders-0", "ord*", f"orders-0/{0:020}.log", "*/*.log"):
        for options in ({}, {"maxSplitBytes": "80"}):
            assert rows(f"zip://{inside}::{archive}", **options) == ZERO[:3], inside
        [split] = log_plan.plan(log_query({"path": f"zip://{inside}::{archive}"}))
        assert split.file == f"zip://orders-0/{0:020}.log::{archive}"
    with ZipFile(archive, "a") as packed:
        packed.writestr(f"orders-0/{3:020}.log", batch(3, 3))
        packed.writestr(f"orders-1/{10:020}.log", batch(5, 3))
    assert rows(f"zip://orders-0::{archive}") == rows(f"zip://ord*0::{archive}") == ZERO[:6]
    units = [unit[0] for unit in _units(log_query({"path": f"zip://::{archive}"}))]
    assert units == [f"zip://orders-0::{archive}", f"zip://orders-1::{archive}"]
    with pytest.raises(PipelineError, match="found base offset 5, expected at least 10"):
        rows(f"zip://orders-1::{archive}")
    with ZipFile(archive, "w") as packed:
        packed.writestr(f"./orders-0/{0:020}.log", batch(0, 3))
    with pytest.raises(PipelineError, match=r"the part '\.' of an object name must be in the URL; give zip://\.::"):
        rows(f"zip://::{archive}")
    assert rows(f"zip://.::{archive}") == ZERO[:3]
    archive.write_bytes(b"no archive")
    with pytest.raises(PipelineError, match=r"LOG_UNREADABLE.*logs\.zip can't be reached by fsspec: File is not a zip"):
        rows(f"zip://orders-0::{archive}")


class _Hosted(LocalFileSystem):  # type: ignore[misc]
    """A file system that leaves the host out of file names, as HDFS and FTP do, and sizes out of listings, as HTTP."""

    protocol = "hosted"

    def __init__(self, host: str = "", **options: Any) -> None:
        super().__init__(**options)
        if host != "name-node":
            raise OSError(f"no host {host!r}")

    def ls(self, path: str, *args: Any, **named: Any) -> Any:
        return [each | {"size": None} for each in cast(Any, super()).ls(path, *args, **named) if each["name"] != path]

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(infer_storage_options(path)["path"])

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, str]:
        return {"host": infer_storage_options(path).get("host", "")}


def test_the_host_of_a_url_goes_to_the_workers(kafka: Path) -> None:
    fsspec.register_implementation("hosted", _Hosted, clobber=True)
    one = f"hosted://name-node{kafka}/orders-1/{0:020}.log"
    assert rows(one) == ONE and [unit[0] for unit in _units(log_query({"path": one}))] == [one]
    for path in ("", "/orders-*", "/orders-*/*.log"):
        url = f"hosted://name-node:8020{kafka}{path}"
        assert rows(url) == ZERO + ONE
        files = {split.file for split in log_plan.plan(log_query({"path": url}))}
        assert f"hosted://name-node:8020{kafka}/orders-1/{0:020}.log" in files and len(files) == 3
    with pytest.raises(PipelineError, match=r"can't be reached by fsspec: no host 'other'"):
        rows(f"hosted://other{kafka}")


def test_segment_deleted_during_the_listing(kafka: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagwire_spark.files.storage.file_status", lambda path: file_status(path.with_suffix(".gone")))
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_NOT_FOUND.*can't be read: No such file"):
        log_plan.plan(log_query({"path": str(kafka)}))


def test_names_that_no_file_has(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_UNREADABLE.*File name too long"):
        rows(tmp_path / ("x" * 300))
    (tmp_path / "gone-0").symlink_to("disk2")
    for name in ("gone-0", "gone-*"):
        with pytest.raises(
            PipelineError, match=r"NOT_FOUND.*gone-0 can't.*; it is a link to disk2: restore its target"
        ):
            rows(tmp_path / name)


def test_single_segment_is_read_without_its_neighbors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that reading one segment ignores other files, except for pending commits."""
    path, seen = segment(tmp_path, 0, batch(0, 3)), list[Path]()
    (tmp_path / "up").symlink_to(tmp_path / "nowhere")

    def locked(folder: Path) -> AbstractContextManager[None]:
        seen.append(folder)
        return settled(folder)

    monkeypatch.setattr(listing, "settled", locked)
    with listing.settled_location(Location(path, is_named=True)) as folders:
        assert folders == [path] and seen == [tmp_path.parent, tmp_path]


def test_parent_folder_in_a_path_is_resolved(kafka: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = kafka / "orders-1" / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert rows("..") == ONE
    [root] = job_inputs("..", ExitStack())
    [found] = found_partitions(root)
    assert found.target == "orders-1"


def test_jobs_take_a_url_of_this_machine(kafka: Path) -> None:
    found = [*job_inputs([f"file:{kafka}", f"file://{kafka}", f"file://localhost{kafka}"], ExitStack())]
    assert [each.local for each in found] == [kafka, kafka, kafka]


@pytest.mark.parametrize("job", [convert_logs, export_logs, whatif_logs])
@pytest.mark.parametrize("second", ["", "orders-0"])
def test_partitions_named_twice_are_rejected(kafka: Path, tmp_path: Path, job: Any, second: str) -> None:
    paths, output = [kafka, kafka / second], tmp_path / "out"
    arguments = (paths, "v3") if job is whatif_logs else (paths, output)
    if job is export_logs and second:
        pytest.skip("an export keeps folders of several paths apart")
    with pytest.raises((LogPathError, PipelineError), match=r"given (twice|2 times)|the same folder"):
        job(None, *arguments)
    assert not output.exists()


def test_links_in_a_circle_are_not_exported(kafka: Path, tmp_path: Path) -> None:
    (kafka / "current").symlink_to(kafka)
    with pytest.raises(LogPathError, match=r"current: this link leads back to .*, a folder above it"):
        export_logs(None, kafka, tmp_path / "out")  # type: ignore[arg-type]
    shutil.rmtree(kafka / "orders-0")
    assert rows(kafka) == ONE


@pytest.mark.parametrize("scheme", ["", "local://"])
@pytest.mark.parametrize(("names", "text"), [
    ((), "; a segment is a file such as orders-0/0{20}.log"),
    (("orders-0/leader-epoch-checkpoint",), ", only orders-0/; "),
    (("broker", f"orders-0.{'b' * 32}-delete/{0:020}.log"), r", only broker, orders-0\.b{32}-delete/; "),
    (("oAtiIQ95REujbuzNd_lkLQ/0.rsm-manifest", *map(str, range(8))), ", only 0, 1, 2, 3, 4 and 4 more; "),
])  # fmt: skip
def test_folder_without_segments_is_listed_in_the_error(
    tmp_path: Path, scheme: str, names: tuple[str, ...], text: str
) -> None:
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    with pytest.raises(PipelineError, match=rf"KAFKA_LOG_NOT_FOUND.*: no log segment found{text}"):
        rows(f"{scheme}{tmp_path}")


@pytest.mark.parametrize("url", ["simplecache::memory://k", "zip://t-0::filecache::s3://id:very-hidden@k/logs.zip"])
def test_caching_protocols_are_rejected(url: str) -> None:
    """Check that caching file systems are rejected, because a worker's copy could be outdated."""
    protocol = "filecache" if "zip" in url else "simplecache"
    for rejected in (lambda: rows(url), lambda: stream(url).initialOffset()):
        with pytest.raises(
            PipelineError, match=rf"^\[INVALID_TAGWIRE_OPTION\] .*: {protocol} may return outdated files"
        ) as error:
            rejected()
        assert "very-hidden" not in str(error.value)


def test_empty_logs(kafka: Path, tmp_path: Path) -> None:
    """A read without matching topics or records returns no rows. A stream of an empty folder has no offsets."""
    assert rows(kafka, subscribePattern="another") == []
    target = tmp_path / "written"
    job(target, table())
    assert rows(target) == []
    segment(tmp_path / "t-0", 0)
    assert rows(tmp_path / "t-0") == []
    (tmp_path / "empty").mkdir()
    assert stream(tmp_path / "empty").latestOffset({}, ReadAllAvailable()) == {}
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_NOT_FOUND.*empty: no log segment found"):
        log_plan.plan(log_query({"paths": json.dumps([str(kafka), str(tmp_path / "empty")])}))


@pytest.mark.parametrize("name", ["logs/../../new-checkpoint", "logs/t-0/../../../../new", "logs/../t-0/new"])
@pytest.mark.parametrize("url", ["logs", "logs/t-0", "logs/t-*", "logs/..", "logs/../t-0"])
def test_no_object_name_leads_out_of_the_local_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, name: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    memory = fsspec.filesystem("memory")
    memory.pipe(f"/{tmp_path.name}/logs/t-0/{0:020}.log", b"")
    memory.pipe(f"/{tmp_path.name}/{name}", b"new")
    before = sorted(tmp_path.parent.rglob("*"))
    with ExitStack() as stack, suppress(PipelineError):
        for location in locations((f"memory://{tmp_path.name}/{url}",), stack):
            location.bring(*(path for path in location.local.rglob("*") if path.is_file()))
    assert sorted(tmp_path.parent.rglob("*")) == before
