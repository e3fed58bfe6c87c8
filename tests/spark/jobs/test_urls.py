import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import pytest
from command import tagwire_result
from object_storage import CountedFileSystem, s3_server
from pyspark.sql import SparkSession
from random_logs import RandomLog
from streamed_logs import batch
from written_logs import SAMPLE, files

from tagwire.errors import TagwireError
from tagwire_spark import PipelineError
from tagwire_spark.jobs import (
    audit_captures,
    compact,
    compact_logs,
    convert_logs,
    export_logs,
    import_logs,
    whatif_logs,
)

pytestmark = pytest.mark.spark

DATA = Path(__file__).parents[2] / "data"
CAPTURES = DATA / "captures" / "captures.jsonl.gz"
NO_SPARK = cast(SparkSession, None)
RULES: dict[str, Any] = {"now": 1 << 50, "include_active": True, "drop_keyless": True}


def put(system: Any, folder: Path, prefix: str) -> None:
    for name, data in files(folder).items():
        system.pipe(f"{prefix}/{name}", data)


def hidden(report: Any, root: str) -> Any:
    if isinstance(report, str):
        return report.removeprefix(f"{root}/")
    if isinstance(report, dict):
        return {name: hidden(value, root) for name, value in report.items()}
    return [hidden(value, root) for value in report] if isinstance(report, list | tuple) else report


def reports(found: Any, root: object) -> Any:
    every = [{**each._asdict(), "segments": [s.to_json() for s in each.segments]} if hasattr(each, "segments")
             else each.to_json() for each in found]  # fmt: skip
    return hidden(json.loads(json.dumps(every, default=str)), str(root))


def totals(found: Any) -> dict[str, Any]:
    return {str(kind): {**measure.to_json(), "seconds": 0} for kind, measure in found.measures.items()}


@pytest.mark.thorough
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("job", "options"), [
    (convert_logs, {"to": "v2", "codec": "zstd"}), (convert_logs, {"batch_records": 7}), (convert_logs, {}),
    (compact_logs, RULES), (compact_logs, RULES | {"dirty_from": 10}), (compact_logs, RULES | {"segment_bytes": 3000}),
])  # fmt: skip
def test_convert_and_compact(store: Any, broker: Path, tmp_path: Path, job: Any, options: dict[str, Any]) -> None:
    put(store, broker, "/k")
    expected = job(NO_SPARK, broker, tmp_path / "one", **options)
    got = job(NO_SPARK, "counted://k", tmp_path / "many", **options)
    assert files(tmp_path / "many") == files(tmp_path / "one")
    assert reports(got, "counted://k") == reports(expected, broker)
    if job is convert_logs:
        assert all(isinstance(each.file, str) and each.file.startswith("counted://k/") for each in got)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many", "one"]
    assert [each for each in store.requests if each.startswith("list")] == ["list /k"]


@pytest.mark.usefixtures("here")
def test_whatif(store: Any, broker: Path) -> None:
    put(store, broker, "/k")
    got, expected = (whatif_logs(NO_SPARK, path, "v3") for path in ("counted://k", broker))
    assert totals(got) == totals(expected)
    of_one = next(name for name in files(broker) if name.endswith(".log"))
    one = whatif_logs(NO_SPARK, f"counted://k/{of_one}", "v3")
    assert 0 < one.total().bytes <= len((broker / of_one).read_bytes())


@pytest.mark.thorough
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("options", [{}, {"mode": "PERMISSIVE"}, {"columns": ["key", "value"]}], ids=str)
def test_export_and_import(store: Any, broker: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    put(store, broker, "/k")
    expected = export_logs(NO_SPARK, broker, tmp_path / "one", **options)
    got = export_logs(NO_SPARK, "counted://k", tmp_path / "many", **options)
    assert files(tmp_path / "many") == files(tmp_path / "one")
    assert reports(got, "counted://k") == reports(expected, broker)
    put(store, tmp_path / "many", "/archive")
    store.requests.clear()
    imported = import_logs(NO_SPARK, "counted://archive", tmp_path / "back")
    assert files(tmp_path / "back") == files(broker) and len(imported) == len(files(broker))
    assert [each for each in store.requests if each.startswith("list")] == ["list /archive"]


@pytest.mark.usefixtures("here")
def test_driver_fetches_only_files_that_it_copies(store: Any, tmp_path: Path) -> None:
    RandomLog(3, ("v2",)).write(tmp_path / "logs" / "alpha-0", most=9)
    (tmp_path / "logs" / "meta.properties").write_text("broker.id=1\n")
    put(store, tmp_path / "logs", "/k")
    tasks: list[int] = []

    def nothing(_: Any, units: Sequence[Any], *rest: Any) -> list[Any]:
        tasks.append(len(units))
        raise PipelineError("SPARK_FAILED", "no workers")

    for job, module in ((convert_logs, "convert"), (compact_logs, "compact"), (export_logs, "export")):
        with pytest.MonkeyPatch.context() as patch, pytest.raises(PipelineError, match="no workers"):
            patch.setattr(f"tagwire_spark.jobs.{module}.run_units", nothing)
            job(NO_SPARK, "counted://k", tmp_path / "out")
    assert store.requests == 3 * ["list /k"] and len(tasks) == 3
    store.requests.clear()
    convert_logs(NO_SPARK, "counted://k", tmp_path / "out", codec="zstd")
    logs = {each.split()[1] for each in store.requests if each.startswith("get") and ".log" in each}
    beside = [each.split()[1] for each in store.requests if each.startswith("get") and ".log" not in each]
    assert len(logs) == tasks[0] and "/k/meta.properties" in beside and not any("index" in each for each in beside)


@pytest.mark.usefixtures("here")
def test_a_segment_is_read_ahead_and_not_copied(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.pipe(f"/k/t-0/{0:020}.log", b"".join(batch(n, 1, 1 << 19) for n in range(10)))
    folders: list[Path] = []
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    original = CountedFileSystem.cat_file

    def noted(self: Any, *words: Any, **options: Any) -> bytes:
        folders.extend(path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size)
        return original(self, *words, **options)

    monkeypatch.setattr(CountedFileSystem, "cat_file", noted)
    whatif_logs(NO_SPARK, "counted://k", "v3")
    gets = [each for each in store.requests if each.startswith("get")]
    assert len(gets) == 3 and not folders and not [*tmp_path.iterdir()]


JOBS: list[Callable[[Any, Path], Any]] = [
    lambda url, out: convert_logs(NO_SPARK, url, out, codec="zstd"),
    lambda url, out: compact_logs(NO_SPARK, url, out, **RULES),
    lambda url, out: export_logs(NO_SPARK, url, out),
    lambda url, out: whatif_logs(NO_SPARK, url, "v3"),
]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("job", JOBS)
def test_a_segment_that_changes_after_it_was_listed(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: Any
) -> None:
    put(store, SAMPLE, "/k")
    name = next(each for each in store.store if "orders-1" in each)
    original, data = CountedFileSystem.find, store.store[name].getvalue()
    for change, text in (
        (lambda: store.pipe(name, store.store[name].getvalue() + b"x"), "replaced or truncated.*ETag"),
        (lambda: store.rm(name), "the file no longer exists; call load.. again and repeat"),
    ):

        def find(self: Any, *words: Any, change: Any = change, **options: Any) -> Any:
            store.pipe(name, data)
            found = original(self, *words, **options)
            change()
            return found

        monkeypatch.setattr(CountedFileSystem, "find", find)
        with pytest.raises(PipelineError, match=rf"KAFKA_LOG_CHANGED.*{text}") as rejected:
            job("counted://k", tmp_path / "out")
        assert f"counted:/{name}" in str(rejected.value)
    assert not [*tmp_path.iterdir()]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("job", JOBS)
def test_damage_is_named_by_url(store: Any, tmp_path: Path, job: Any) -> None:
    put(store, SAMPLE, "/k")
    name = next(each for each in store.store if "orders-1" in each)
    data = bytearray(store.store[name].getvalue())
    data[200] ^= 1
    store.pipe(name, bytes(data))
    with pytest.raises(PipelineError, match=rf"MALFORMED_KAFKA_LOG\] counted:/{name}: v2: crc at byte 17"):
        job("counted://k", tmp_path / "out")
    assert not [*tmp_path.iterdir()]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("job", JOBS)
def test_path_without_files(store: Any, tmp_path: Path, job: Any) -> None:
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_NOT_FOUND.*counted://nowhere: there is no such file or folder"):
        job("counted://nowhere", tmp_path / "out")
    store.pipe("/k/a/b", b"")
    with pytest.raises(TagwireError, match=r"^counted://k: no partition found"):
        job("counted://k", tmp_path / "out")
    assert not [*tmp_path.iterdir()]


@pytest.mark.usefixtures("here")
def test_two_urls_of_one_partition(store: Any, tmp_path: Path) -> None:
    put(store, SAMPLE, "/k")
    for paths in (["counted://k", "counted://k"], ["counted://k", "counted://k/orders-0"]):
        for job in (convert_logs, compact_logs):
            with pytest.raises(TagwireError, match=r"^counted://k/orders-0: given twice"):
                job(NO_SPARK, paths, tmp_path / "out")
        with pytest.raises(TagwireError, match=r"^counted://k/orders-0/0{20}\.log was given 2 times"):
            whatif_logs(NO_SPARK, paths, "v3")


@pytest.mark.usefixtures("here")
def test_an_import_of_less_than_an_export(store: Any, tmp_path: Path) -> None:
    export_logs(NO_SPARK, SAMPLE, tmp_path / "archive")
    put(store, tmp_path / "archive", "/a")
    for name, text in (("_exact/part-00000", "no longer exists"), ("_export.json", "give the folder that contains")):
        data = store.store.pop(f"/a/{name}")
        with pytest.raises(PipelineError, match=rf"MALFORMED_LOG_EXPORT\] counted://a/{name} can't be read: .*{text}"):
            import_logs(NO_SPARK, "counted://a", tmp_path / "back")
        store.store[f"/a/{name}"] = data
    rows = next(name for name in store.store if name.endswith(".parquet"))
    store.pipe(rows, b"no Parquet, for sure")
    with pytest.raises(PipelineError, match=rf"MALFORMED_LOG_EXPORT\] counted:/{rows} can't be read"):
        import_logs(NO_SPARK, "counted://a", tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize("name", ["convert", "compact", "export", "import", "whatif", "audit"])
def test_the_command_passes_options_on_and_shows_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    calls: list[tuple[Any, Any]] = []

    def job(_: Any, paths: Any, *words: Any, storage_options: Any = None, **more: Any) -> Any:
        calls.append((paths, storage_options))
        raise PipelineError("SPARK_FAILED", "asked")

    function = "audit_captures" if name == "audit" else f"{name}_logs"
    monkeypatch.setattr(f"tagwire_spark.jobs.{function}", job)
    monkeypatch.setattr("tagwire_cli.arguments.spark_options._opened_session", lambda *_: nullcontext())
    rest = {"whatif": ["--to", "v3"], "audit": []}.get(name, ["--output", str(tmp_path / "out")])
    (tmp_path / "options.json").write_text('{"secret": "very-hidden"}')
    for value in ('{"secret": "very-hidden"}', f"@{tmp_path / 'options.json'}"):
        tagwire_result("spark", name, "s3://b/k", "--storage-options", value, *rest)
        paths, options = calls.pop()
        assert paths in ("s3://b/k", ("s3://b/k",)) and options == {"secret": "very-hidden"}
    (tmp_path / "options.json").write_text('["very-hidden"]')
    for value in ('{"secret": "very-hidden"', f"@{tmp_path / 'options.json'}", "@nowhere"):
        rejected = tagwire_result("spark", name, "s3://b/k", "--storage-options", value, *rest)
        assert rejected.exit_code == 2 and "--storage-options" in rejected.output
        assert "very-hidden" not in rejected.output and not calls


@pytest.mark.slow
def test_reads_of_segments_that_are_compacted_separately(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "TASK_BYTES", -1)
    for seed in range(4):
        formats = [("v2",), ("v1", "v2"), ("v0", "v1", "v2")][seed % 3]
        RandomLog(seed, formats).write(tmp_path / "logs" / f"alpha-{seed}", most=9)
    results = {}
    for name, path in (("one", tmp_path / "logs"), ("many", f"local://{tmp_path}/logs")):
        found = compact_logs(spark, path, tmp_path / name, now=1 << 50, include_active=False)
        times = {each.name: each.stat().st_mtime_ns // 10**6 for each in (tmp_path / name).rglob("*.log")}
        results[name] = files(tmp_path / name), times, reports(found, path)
    assert results["one"] == results["many"]


@pytest.fixture(scope="module")
def s3() -> Iterator[Any]:
    with s3_server() as found:
        yield found


@pytest.mark.slow
def test_all_jobs_on_s3(spark: SparkSession, s3: Any, logs: Path, tmp_path: Path) -> None:
    """Check that options reach the workers, and that workers read only the listed object versions."""
    system, options, seen = s3
    source = tmp_path / "logs"
    for name in ("__transaction_state-1", "alpha-m1-compact-lz4-0"):
        shutil.copytree(logs / "kafka28" / name, source / name)
    shutil.copy(logs / "kafka28" / "meta.properties", source)
    put(system, source, "logs/k")
    url, given = "s3://logs/k", {"storage_options": options}
    seen.clear()
    convert_logs(spark, source, tmp_path / "convert-one", codec="gzip")
    convert_logs(spark, url, tmp_path / "convert-many", codec="gzip", **given)
    assert files(tmp_path / "convert-many") == files(tmp_path / "convert-one")
    assert len([each for each in seen if "list-type" in each[1]]) == 1 and {each[0] for each in seen} == {"GET"}
    assert all(each[3] for each in seen if "list-type" not in each[1])
    compact_logs(spark, source, tmp_path / "compact-one", **RULES)
    compact_logs(spark, url, tmp_path / "compact-many", **RULES, **given)
    assert files(tmp_path / "compact-many") == files(tmp_path / "compact-one")
    export_logs(spark, url, "s3://logs/archive", **given)
    import_logs(spark, "s3://logs/archive", tmp_path / "back", **given)
    assert files(tmp_path / "back") == files(source)
    assert totals(whatif_logs(spark, url, "v3", **given)) == totals(whatif_logs(spark, source, "v3"))
    system.pipe("logs/captures.jsonl.gz", CAPTURES.read_bytes())
    rows = [audit_captures(spark, path, rejected_by="4.0", **more).collect()
            for path, more in ((CAPTURES, {}), ("s3://logs/captures.jsonl.gz", given))]  # fmt: skip
    assert rows[0] == rows[1] and rows[0]


@pytest.mark.thorough
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("job", [
    lambda url, out, **given: convert_logs(NO_SPARK, url, out, **given),
    lambda url, out, **given: import_logs(NO_SPARK, url, out, **given),
    lambda url, out, **given: whatif_logs(NO_SPARK, url, "v3", **given),
])  # fmt: skip
def test_errors_of_s3_contain_the_url_and_no_secret(s3: Any, tmp_path: Path, job: Any) -> None:
    _, options, _ = s3
    nobody = {"endpoint_url": "http://127.0.0.1:9", "config_kwargs": {"retries": {"max_attempts": 0}}}
    for url, given, text in (
        ("s3://no-such-bucket/k", options, "The specified bucket does not exist"),
        ("s3://logs/nowhere", options, "there is no such file or folder"),
        ("s3://logs/k", {**options, **nobody}, "can't be reached by fsspec"),
        ("s3://logs/k", {**options, "no_such_option": "very-hidden"}, "can't be reached by fsspec"),
    ):
        condition = "UNREADABLE" if "can't be reached" in text else "NOT_FOUND"
        with pytest.raises(PipelineError, match=rf"KAFKA_LOG_{condition}\] {url}.*{text}") as rejected:
            job(url, tmp_path / "out", storage_options=given)
        assert "very-hidden" not in str(rejected.value) and "testing-id" not in str(rejected.value)
    assert not [*tmp_path.iterdir()]


@pytest.mark.slow
def test_export_on_s3_with_truncated_replies(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    """Truncate one reply in ten: the export must be complete, and nothing else may remain in the bucket."""
    cut: list[int] = []

    def cuts(number: int) -> bool:
        cut.extend([number] if number % 10 == 3 else [])
        return number % 10 == 3

    with s3_server(cuts) as (system, options, _):
        for name in ("__transaction_state-1", "alpha-m1-compact-lz4-0"):
            shutil.copytree(logs / "kafka28" / name, tmp_path / "logs" / name)
        put(system, tmp_path / "logs", "logs/k")
        export_logs(spark, "s3://logs/k", "s3://logs/archive", storage_options=options)
        import_logs(spark, "s3://logs/archive", tmp_path / "back", storage_options=options)
        export_logs(spark, tmp_path / "logs", tmp_path / "expected")
        found = {name.removeprefix("logs/archive/") for name in system.find("logs/archive")}
    assert files(tmp_path / "back") == files(tmp_path / "logs")
    assert found == {*files(tmp_path / "expected"), "_SUCCESS"} and len(cut) > 2
