import json
import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import jsonschema
import pytest
from command import tagwire_result

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")

import fsspec
from written_logs import files

from tagwire.errors import TagwireError
from tagwire.limits import DEFAULT_LIMITS
from tagwire.log import LogError, LogPathError, Partition, find_partitions
from tagwire.log.compact import compact_partition
from tagwire.log.compaction import Compaction
from tagwire.log.convert import Conversion, ConvertReport, convert_partition, copy_directory_files
from tagwire.log.rebatching import BatchSize
from tagwire.log.whatif import Kind, WhatIf
from tagwire.records import BatchBuilder
from tagwire_spark import PipelineError, session
from tagwire_spark.jobs import audit_captures, compact_logs, convert_logs, export_logs, import_logs, whatif_logs
from tagwire_spark.jobs.convert import _convert
from tagwire_spark.jobs.exported import Export
from tagwire_spark.jobs.outputs import JobOutput, staging
from tagwire_spark.jobs.tasks import _tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DATA = Path(__file__).parents[2] / "data"
SAMPLE = DATA / "sample_log"
CAPTURES = DATA / "captures" / "captures.jsonl.gz"
NOTHING = (None, None, None, None, "auto", DEFAULT_LIMITS)


def on_one_machine(logs: Path, output: Path, conversion: Conversion) -> list[ConvertReport]:
    found = list(find_partitions(logs))
    reports = [
        report for each in found for report in convert_partition(each, output / each.path.relative_to(logs), conversion)
    ]
    folders = sorted({each.path.parent for each in found})
    targets = [(folder, output / folder.relative_to(logs)) for folder in folders]
    copy_directory_files(targets, keeps_producers=conversion.is_one_to_one)
    return reports


@pytest.mark.parametrize(
    ("to", "codec", "records"), [("v2", None, None), ("v1", "gzip", None), (None, "zstd", 100)], ids=str
)
def test_converted_as_on_one_machine(
    spark: "SparkSession", logs: Path, tmp_path: Path, to: str | None, codec: str | None, records: int | None
) -> None:
    conversion = Conversion(to, codec, BatchSize(None, records))
    expected = on_one_machine(logs, tmp_path / "one", conversion)
    got = convert_logs(spark, logs, tmp_path / "many", to=to, codec=codec, batch_records=records)
    assert files(tmp_path / "many") == files(tmp_path / "one")
    assert [each.to_json() for each in got] == [each.to_json() for each in expected]
    assert {path.name for path in tmp_path.iterdir()} == {"one", "many"}


def transactional(folder: Path) -> Path:
    """Write three segments. Producer 7's aborted transaction spans all three; producer 8's is in the second only."""
    folder.mkdir(parents=True)

    def batch(offset: int, producer: int, marker: int | None = None) -> bytes:
        key = None if marker is None else b"\0\0" + marker.to_bytes(2, "big")
        value = b"v" if marker is None else bytes(6)
        builder = BatchBuilder(
            "v2", producer_id=producer, producer_epoch=0, is_transactional=True, is_control=marker is not None
        )
        return builder.append(key, value, timestamp=1, offset=offset).build().encode()

    for base, data in {
        0: batch(0, 7),
        1: batch(1, 8) + batch(2, 8, 0) + batch(3, 9),
        4: batch(4, 7, 0) + batch(5, 9, 1) + batch(6, 8) + batch(7, 8, 0),
    }.items():
        (folder / f"{base:020}.log").write_bytes(data)
    return folder


def units_here(spark: Any, units: Sequence[Any], sizes: Sequence[int], work: Callable[[Any], Any]) -> list[Any]:
    assert len(units) == len(sizes)
    return [json.loads(json.dumps(work(json.loads(json.dumps(unit))))) for unit in units]


@pytest.mark.parametrize(
    ("to", "codec", "source"),
    [
        (None, "gzip", "auto"),
        ("v3", None, "auto"),
        ("v3-zigzag", None, "auto"),
        ("kip82-str", None, "auto"),
        ("kip82-str", "gzip", "v3-zigzag"),
        (None, "gzip", "v3-zigzag"),
    ],
)
def test_transactions_across_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str | None, codec: str | None, source: str
) -> None:
    monkeypatch.setattr("tagwire_spark.jobs.convert.run_units", units_here)
    log = transactional(tmp_path / "from" / "t-0")
    if source != "auto":
        convert_partition(Partition(log), tmp_path / "t-0", Conversion(source))
        log = tmp_path / "t-0"
    convert_partition(Partition(log), tmp_path / "one", Conversion(to, codec, source=source))
    convert_logs(cast("SparkSession", None), log, tmp_path / "many", to=to, codec=codec, format=source)
    assert files(tmp_path / "many" / "t-0") == files(tmp_path / "one")
    aborted = [each for segment in Partition(tmp_path / "one").segments for each in segment.aborted_transactions]
    assert [(each.producer_id, each.first_offset) for each in aborted] == [(8, 1), (7, 0), (8, 6)]


@pytest.mark.parametrize(
    ("job", "command", "options"),
    [(convert_logs, "convert", {}), (compact_logs, "compact", {"drop_keyless": True, "now": 5})],
)
def test_several_disks_of_one_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: Callable[..., Any], command: str, options: dict[str, Any]
) -> None:
    """Check that the checkpoints of all disks are merged, and that the first path's `meta.properties` is copied."""
    monkeypatch.setattr(f"tagwire_spark.jobs.{command}.run_units", units_here)
    disks = [tmp_path / name for name in ("b", "a", "c")]
    for number, disk in enumerate(disks):
        transactional(disk / f"t-{number}")
        (disk / "meta.properties").write_text(f"directory.id={disk.name}\n")
        for name in ("log-start", "recovery-point", "replication", "cleaner")[: number + 2]:
            (disk / f"{name}-offset-checkpoint").write_text(f"0\n1\nt {number} 3\n")
    switches = ["--drop-keyless", "--now", "5"] if options else []
    one = tagwire_result("log", command, *disks, *switches, "--output", str(tmp_path / "one"))
    assert one.exit_code == 0, one.output
    job(None, disks, tmp_path / "many", **options)
    found = files(tmp_path / "many")
    assert found == files(tmp_path / "one")
    assert found["replication-offset-checkpoint"] == b"0\n2\nt 1 3\nt 2 3\n"
    assert found["recovery-point-offset-checkpoint"] == b"0\n3\nt 0 3\nt 1 3\nt 2 3\n"
    assert found["meta.properties"] == b"directory.id=b\n"


@pytest.mark.parametrize("job", [convert_logs, compact_logs, export_logs, import_logs])
def test_output_inside_a_source(tmp_path: Path, job: Callable[..., Any]) -> None:
    log = transactional(tmp_path / "l" / "t-0")
    Export((), ()).write(log)
    (tmp_path / "link").symlink_to(log)
    fsspec.filesystem("memory").put(str(tmp_path / "l"), f"/{tmp_path.name}/l", recursive=True)
    before = sorted(tmp_path.rglob("*"))
    url = f"memory://{tmp_path.name}/l/t-0"
    for source, output in (
        (log, log / "new"),
        (log, f"{log}/../../link/new"),
        (str(log), str(log)),
        (url, f"{url}/new"),
    ):
        with pytest.raises(LogPathError, match=r"is inside the \w+ that is being read; choose another output"):
            job(None, source, output)
    assert sorted(tmp_path.rglob("*")) == before


def test_abandoned_attempt_leaves_no_files(tmp_path: Path) -> None:
    segment = next((SAMPLE / "orders-0").glob("*.log"))
    unit = [str(segment), "orders", "orders-0", segment.stat().st_ino]
    with staging(JobOutput(tmp_path / "out"), cast("SparkSession", None)) as staged:
        first, second = (_convert(unit, str(staged.attempts), NOTHING) for _ in range(2))
        assert first[0] != second[0]
        staged.take(second[0], "orders-0")
        assert not (tmp_path / "out").exists()
    assert files(tmp_path / "out")[f"orders-0/{segment.name}"] == segment.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with pytest.raises(LogPathError, match="all workers must mount"):
        _convert(unit, str(staged.attempts), NOTHING)  # an attempt after the end of the job


def test_a_job_that_fails_leaves_nothing(spark: "SparkSession", tmp_path: Path) -> None:
    log = transactional(tmp_path / "t-0")
    data = bytearray((log / f"{1:020}.log").read_bytes())
    data[-1] ^= 1
    (log / f"{1:020}.log").write_bytes(data)
    with pytest.raises(PipelineError, match=r"^\[MALFORMED_KAFKA_LOG\].*crc.*SQLSTATE: 22023$") as rejected:
        convert_logs(spark, log, tmp_path / "out", codec="gzip")
    assert f"{1:020}.log" in str(rejected.value)
    with pytest.raises(LogError, match="crc"):
        convert_partition(Partition(log), tmp_path / "one", Conversion(codec="gzip"))
    assert [path.name for path in tmp_path.iterdir()] == ["t-0"]


def test_arguments_that_convert_rejects_immediately(tmp_path: Path) -> None:
    spark: Any = None  # not used
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "orders-0").symlink_to(SAMPLE / "orders-0")
    segment = next((SAMPLE / "orders-0").glob("*.log"))
    rejected: list[tuple[Any, Path, dict[str, Any], str]] = [
        (SAMPLE, tmp_path / "full", {}, "already exists"),
        (SAMPLE, tmp_path / "full" / "file" / "x", {}, "can't be written"),
        (tmp_path / "nowhere", tmp_path / "out", {}, "no such file or folder"),
        (tmp_path / "full", tmp_path / "out", {}, "no partition found in"),
        (segment, tmp_path / "out", {}, "not a partition"),
        (Path("s3://bucket/logs"), tmp_path / "out", {}, "a Path can't represent a URL"),
        ([SAMPLE, tmp_path / "orders-0"], tmp_path / "out", {}, "the same folder"),
        (SAMPLE, tmp_path / "out", {"to": "v9"}, "v9"),
        (SAMPLE, tmp_path / "out", {"codec": "rar"}, "rar"),
    ]
    for paths, output, options, text in rejected:
        with pytest.raises(TagwireError, match=text):
            convert_logs(spark, paths, output, **options)


def test_folders_without_segments(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "logs" / "t-0").mkdir(parents=True)
    (tmp_path / "logs" / "t-0" / "partition.metadata").write_text("version: 0\n")
    (tmp_path / "out").mkdir()
    assert convert_logs(spark, tmp_path / "logs", tmp_path / "out") == []
    assert list(files(tmp_path / "out")) == ["t-0/partition.metadata"]


def test_large_units_go_first_and_small_ones_together() -> None:
    mebibyte = 1 << 20
    assert _tasks([3 * mebibyte, 100 * mebibyte, 5, 90 * mebibyte]) == [[1], [3], [0, 2]]
    assert [len(task) for task in _tasks([0] * 70)] == [64, 6]


def test_compacted_as_on_one_machine(spark: "SparkSession", logs: Path, tmp_path: Path) -> None:
    rules: dict[str, Any] = {"now": 1 << 50, "include_active": True, "drop_keyless": True}
    found = list(find_partitions(logs / "kafka28"))
    expected = [
        compact_partition(each, tmp_path / "one" / each.path.relative_to(logs / "kafka28"), Compaction(**rules))
        for each in found
    ]
    copy_directory_files([(logs / "kafka28", tmp_path / "one")], keeps_producers=True)
    got = compact_logs(spark, logs / "kafka28", tmp_path / "many", **rules)
    assert files(tmp_path / "many") == files(tmp_path / "one")
    assert got == expected and sum(segment.removed != {} for each in got for segment in each.segments)
    assert {path.name for path in tmp_path.iterdir()} == {"one", "many"}


def facts(found: WhatIf) -> tuple[dict[Kind, Any], Any]:
    counts = {kind: measure.counts() | {"seconds": 0} for kind, measure in found.measures.items()}
    return counts, found.losses.to_json()


def test_measured_as_on_one_machine(spark: "SparkSession", logs: Path) -> None:
    expected = WhatIf(Conversion("v1"), "v3")
    for partition in find_partitions(logs):
        for segment in (*partition.metadata_snapshots, *partition.segments):
            expected.add(segment, partition.topic or "")
    got = whatif_logs(spark, logs, "v1", against="v3")
    assert facts(got) == facts(expected) and got.total().left_out and got.total().header_saved
    one = next((SAMPLE / "orders-1").glob("*.log"))
    assert whatif_logs(spark, one, "v3").by(lambda kind: kind.topic)["orders"].records == 30


def test_requests_by_client_api_and_version(spark: "SparkSession") -> None:
    rows = audit_captures(spark, CAPTURES).collect()
    calls = spark.read.format("kafka_rpc").option("body", "none").load(str(CAPTURES)).where("requestSize is not null")
    assert sum(row.requests for row in rows) == calls.count() > len(rows)
    [old] = [row for row in rows if (row.client, row.api, row.apiVersion) == ("kmsg28-probe", "Fetch", 0)]
    assert (old.sinceRelease, old.lastRelease) == ("2.4.1", "3.9.2")


@pytest.mark.parametrize(
    ("release", "rejected", "served"),
    [("4.0", ("Fetch", 0), ("Fetch", 12)), ("3.9.2", ("BrokerHeartbeat", 2), ("Fetch", 0)), ("99", ("Fetch", 0), None)],
)
def test_what_a_release_rejects(
    spark: "SparkSession", release: str, rejected: tuple[str, int], served: tuple[str, int] | None
) -> None:
    found = {(row.api, row.apiVersion) for row in audit_captures(spark, CAPTURES, rejected_by=release).collect()}
    assert rejected in found and served not in found


@pytest.mark.parametrize("release", ["old", "", "1.0", "4.", "9" * 5000])
def test_releases_that_the_archive_does_not_reach(release: str) -> None:
    spark: Any = None
    with pytest.raises(PipelineError, match=r"expected release .* or later, such as 4\.0"):
        audit_captures(spark, CAPTURES, rejected_by=release)


@pytest.fixture
def run(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> Any:
    @contextmanager
    def shared(*_: object) -> Generator[Any]:
        with session.spark_errors_converted():
            yield spark

    monkeypatch.setattr(session, "session_of_command", shared)

    def invoke(*arguments: object) -> tuple[int, str, str]:
        result = tagwire_result("spark", *arguments)
        return result.exit_code, result.stdout, result.stderr

    return invoke


def test_convert_as_a_command(run: Any, tmp_path: Path) -> None:
    code, out, err = run("convert", SAMPLE, "--codec", "zstd", "--output", tmp_path / "out", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, err, [row["records"] for row in rows]) == (0, "", [30, 30])
    code, out, err = run("convert", SAMPLE, "--to", "v1", "--output", tmp_path / "old")
    assert code == 1 and "headers" in err and out.startswith("file")


def test_export_and_import_as_commands(run: Any, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(SAMPLE, logs)
    code, out, err = run("export", logs, "--output", tmp_path / "parquet", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, err, [row["records"] for row in rows]) == (0, "", [30, 30])
    code, out, err = run("import", tmp_path / "parquet", "--output", tmp_path / "back")
    assert (code, err, len(out.splitlines())) == (0, "", 1 + len(files(SAMPLE))) and out.startswith("file")
    code, out, err = run("import", tmp_path / "parquet", "--output", tmp_path / "again", "--json")
    schema = json.loads(tagwire_result("json-schema", "spark", "import").stdout)
    for line in out.splitlines():
        jsonschema.Draft202012Validator(schema).validate(json.loads(line))
    assert (code, err, len(out.splitlines())) == (0, "", len(files(SAMPLE)))
    assert files(tmp_path / "back") == files(SAMPLE)
    with next((logs / "orders-1").glob("*.log")).open("ab") as file:
        file.write(b"no batch")
    code, out, err = run("export", logs, "--output", tmp_path / "no")
    assert (code, out) == (1, "") and err.startswith("tagwire: [MALFORMED_KAFKA_LOG]")
    code, out, err = run("export", logs, "--output", tmp_path / "all", "--permissive", "--columns", "value, offset")
    assert code == 1 and "orders-1" in err and "1 invalid part exported without" in err and out.startswith("file")
    code, out, err = run("import", logs, "--output", tmp_path / "no")
    assert (code, out) == (1, "") and err.startswith("tagwire: [MALFORMED_LOG_EXPORT]")
    assert {path.name for path in tmp_path.iterdir()} == {"logs", "parquet", "back", "again", "all"}


def test_compact_as_a_command(run: Any, tmp_path: Path) -> None:
    code, out, err = run("compact", SAMPLE, "--output", tmp_path / "out", "--drop-keyless", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    # `compactedTo` is 0, because each log has only an active segment, which is not compacted.
    assert (code, err, [row["compactedTo"] for row in rows]) == (0, "", [0, 0])


def test_whatif_as_a_command(run: Any, tmp_path: Path) -> None:
    code, out, _ = run("whatif", SAMPLE, "--to", "v3", "--json", "--html", tmp_path / "page.html")
    assert code == 0 and json.loads(out)["total"]["records"] == 60
    assert "orders" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_audit_as_a_command(run: Any) -> None:
    code, out, _ = run("audit", CAPTURES, "--rejected-by", "4.0")
    assert code == 1 and out.splitlines()[0].split()[:3] == ["client", "api", "version"]
    code, out, _ = run("audit", CAPTURES, "--json")
    schema = json.loads(tagwire_result("json-schema", "spark", "audit").stdout)
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and len(rows) > 100 and not [*jsonschema.Draft202012Validator({"items": schema}).iter_errors(rows)]
    code, out, err = run("audit", "nowhere")
    assert (code, out) == (1, "") and err.startswith("tagwire: [KAFKA_LOG_NOT_FOUND] nowhere: ")
    code, out, err = run("audit", Path(__file__))
    assert (code, out) == (1, "") and err.startswith("tagwire: [MALFORMED_CAPTURED_FRAMES]")


@pytest.mark.parametrize(
    "options", [["--conf", "a"], ["--conf", "=b"], ["--master", "local", "--remote", "sc://host"], ["--port", "0"]]
)
def test_options_of_commands_that_are_rejected(run: Any, options: list[str]) -> None:
    assert run("audit", CAPTURES, *options)[0] == 2


def test_the_script_for_spark_submit(run: Any) -> None:
    code, out, _ = run("--script")
    assert code == 0 and Path(out.strip()).name == "spark_submit.py" and Path(out.strip()).is_file()
