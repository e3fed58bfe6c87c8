import json
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from written_logs import SAMPLE, read_rows

import tagwire_cli
from tagwire.errors import TagwireError
from tagwire.log import LogPathError
from tagwire.records import Record, build, format_names
from tagwire.records.format_set import format_set
from tagwire.wire.checksums import checksum
from tagwire_cli.output.tables import camel_keys
from tagwire_spark import PipelineError
from tagwire_spark.jobs import export_logs, import_logs
from tagwire_spark.jobs.export import _found
from tagwire_spark.jobs.export_part import ExportOptions, export_part
from tagwire_spark.jobs.exported import EXACT, ROWS, column_names, table_folder
from tagwire_spark.jobs.units import job_inputs

pytestmark = pytest.mark.spark

SCHEMAS = Path(tagwire_cli.__file__).with_name("json_schemas")


def tree(folder: Path) -> dict[str, bytes | None]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
    }


def there_and_back(spark: Any, source: Any, folder: Path, **options: Any) -> list[Any]:
    reports = export_logs(spark, source, folder / "parquet", **options)
    import_logs(spark, folder / "parquet", folder / "back")
    assert {path.name for path in folder.iterdir()} >= {"parquet", "back"} and not list(folder.glob(".*"))
    return reports


def rows_of_log(path: Path, **options: str) -> list[dict[str, Any]]:
    return [row | {"file": Path(row["file"]).relative_to(path).as_posix()} for row in read_rows(path, **options)]


def rows_of_parquet(path: Path) -> list[dict[str, Any]]:
    folders = ds.partitioning(pa.schema([("topic", pa.string()), ("partition", pa.int32())]), flavor="hive")
    return list(ds.dataset(path, format="parquet", partitioning=folders).to_table().to_pylist())


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["file"], row["position"], row["offset"]))


def test_logs_of_brokers(spark: SparkSession, logs: Path, tmp_path: Path) -> None:
    reports = there_and_back(spark, logs, tmp_path)
    assert tree(tmp_path / "back") == tree(logs)
    brokers = sorted(logs.iterdir())
    expected = [row | {"file": f"{each.name}/{row['file']}"} for each in brokers for row in rows_of_log(each)]
    assert in_order(rows_of_parquet(tmp_path / "parquet")) == in_order(expected)
    assert sum(report.records for report in reports) == len(expected)
    kept, batches = (sum(getattr(report, name) for report in reports) for name in ("kept", "batches"))
    assert 0 < kept < batches and not any(report.damage for report in reports)


def test_a_table_for_any_reader(spark: SparkSession, tmp_path: Path) -> None:
    export_logs(spark, SAMPLE, tmp_path / "parquet")
    df = spark.read.parquet(str(tmp_path / "parquet"))
    source = spark.read.format("kafka_log").load(str(SAMPLE)).drop("file")
    assert df.drop("file").select(source.columns).exceptAll(source).count() == 0 and df.count() == 60
    assert df.where("topic = 'orders' and partition = 1").count() == 30
    [folder] = {path.parent.parent.name for path in (tmp_path / "parquet").rglob("*.parquet")}
    assert folder == "topic=orders"
    table = pq.read_table(tmp_path / "parquet")
    assert table.num_rows == 60 and {"topic", "partition"} <= set(table.column_names)
    pattern = (tmp_path / "parquet" / "**" / "*.parquet").as_posix()
    query = "select topic, partition, count(*), sum(octet_length(value)) from read_parquet(?) group by all order by 2"
    found = duckdb.execute(query, [pattern])
    lengths = [sum(len(row.value or b"") for row in source.where(f"partition = {n}").collect()) for n in (0, 1)]
    assert found.fetchall() == [("orders", n, 30, lengths[n]) for n in (0, 1)]


def segment(folder: Path, data: bytes, name: str = "t-0", base: int = 0) -> Path:
    path = folder / name / f"{base:020}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


RECORDS = [Record(n, 1_700_000_000_000 + n, b"k%d" % n, b"v" * n) for n in range(20)]


USUAL = ("v0", "v1", "v2", "v3")


@pytest.mark.parametrize(("format", "codec"), [
    *product(USUAL, ("none", "gzip", "snappy", "lz4")), ("v2", "zstd"), ("v3", "zstd"),
    *((name, "none") for name in sorted({*format_names()} - {*USUAL})),
])  # fmt: skip
def test_formats_and_codecs(here: Any, tmp_path: Path, format: str, codec: str) -> None:
    headers = [(7 if format.startswith("kip82-int") else "h", b"x")] if "kip82" in format or "v3" in format else []
    records = [each.replace(headers=headers, timestamp=-1 if format == "v0" else each.timestamp) for each in RECORDS]
    segment(tmp_path / "logs", build(records, format, compression=codec).encode())
    options = {} if format in USUAL else {"format": format}
    [report] = there_and_back(here, tmp_path / "logs", tmp_path, **options)
    assert tree(tmp_path / "back") == tree(tmp_path / "logs") and report.records == len(RECORDS)
    assert format not in USUAL or report.kept == (0 if format in USUAL[2:] and codec == "none" else report.batches)


def test_properties_that_rows_can_not_represent(here: Any, tmp_path: Path) -> None:
    """Check that an export and an import preserve properties that rows can't represent.

    Examples are markers, empty batches, delete horizons, append times, huge timestamps, and zeros at the end of a file.
    """
    batches = [
        build(RECORDS[:2], "v2", last_offset=7, max_timestamp=1 << 41, producer_id=5, producer_epoch=1),
        build([], "v2", base_offset=8, last_offset=9),
        build([RECORDS[0].replace(offset=10)], "v2", delete_horizon_ms=1 << 40),
        build([r.replace(offset=r.offset + 11) for r in RECORDS[:3]], "v2", timestamp_type="append", append_time=9),
        build([Record(20, 1 << 61, None, None), Record(21, -(1 << 61), b"", b"")], "v2"),
        build([Record(22, 5, b"k", b"v", [("", None), ("a", b"")], attributes=3)], "v2"),
        build([Record(23, 5, bytes(4), bytes(6))], "v2", is_control=True, is_transactional=True, producer_id=5),
    ]
    path = segment(tmp_path / "logs", b"".join(batch.encode() for batch in batches) + bytes(100_000))
    path.with_suffix(".index").write_bytes(bytes(10 << 20))
    [report] = there_and_back(here, tmp_path / "logs", tmp_path)
    assert tree(tmp_path / "back") == tree(tmp_path / "logs")
    assert (report.batches, report.kept, report.records) == (7, 2, 9)
    assert report.exact_bytes < 10_000
    rows = rows_of_parquet(tmp_path / "parquet")
    assert [row["timestamp"] for row in rows if row["offset"] in (20, 21)] == [None, None]


def test_batches_that_stretch_over_row_groups(here: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_GROUP_ROWS": 7, "_GROUP_BYTES": 1}.items():
        monkeypatch.setattr(f"tagwire_spark.jobs.exported.{name}", value)
    monkeypatch.setattr("tagwire_spark.jobs.export_part._PIECES", 2)
    monkeypatch.setattr("tagwire.log.column_stream._ROWS", 3)
    batches = [[r.replace(offset=r.offset + 20 * n) for r in RECORDS] for n in range(7)]
    segment(tmp_path / "logs", b"".join(build(batch, "v2").encode() for batch in batches))
    there_and_back(here, tmp_path / "logs", tmp_path)
    assert tree(tmp_path / "back") == tree(tmp_path / "logs")
    [file] = (tmp_path / "parquet").rglob("*.parquet")
    assert pq.ParquetFile(file).num_row_groups > 10


@pytest.mark.parametrize("columns", [["offset"], ["file"], ["value", "key", "topic"], ["position", "offset"]], ids=str)
def test_import_is_equal_for_any_columns(here: Any, tmp_path: Path, columns: list[str]) -> None:
    reports = there_and_back(here, SAMPLE, tmp_path, columns=columns)
    assert tree(tmp_path / "back") == tree(SAMPLE)
    assert all(report.kept == report.batches for report in reports)
    rows = rows_of_parquet(tmp_path / "parquet")
    assert set(rows[0]) == {*columns, "topic", "partition"} and len(rows) == 60


def test_files_outside_of_logs_are_imported(here: Any, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(SAMPLE, logs)
    (logs / "t-0").mkdir()
    segment(logs, b"", "empty-0")
    going = logs / f"u-0.{'0' * 32}-delete"
    shutil.copytree(SAMPLE / "orders-0", going)
    (logs / "orders-0" / f"{99:020}.log.deleted").write_bytes(b"no batch")
    (logs / "orders-0" / "below" / "empty").mkdir(parents=True)
    (logs / ".kafka_cleanshutdown").write_text("")
    (logs / "..odd").mkdir()
    (logs / "meta.properties").write_bytes(b"\xff\0\n")
    reports = there_and_back(here, logs, tmp_path)
    assert tree(tmp_path / "back") == tree(logs)
    assert in_order(rows_of_parquet(tmp_path / "parquet")) == in_order(rows_of_log(logs))
    assert [report.records for report in reports] == [0, 30, 30]


def test_names_that_are_not_text(here: Any, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    folder = logs / b"orders\xff=%-1".decode("utf-8", "surrogateescape")
    try:
        shutil.copytree(SAMPLE / "orders-1", folder)
    except OSError:
        pytest.skip("this file system has no such names")
    there_and_back(here, logs, tmp_path)
    assert tree(tmp_path / "back") == tree(logs)
    assert {row["topic"] for row in rows_of_parquet(tmp_path / "parquet")} == {"orders?=%"}


def test_a_topic_as_a_folder() -> None:
    assert table_folder("a.b_c-d", 3) == "topic=a.b_c-d/partition=3"
    assert table_folder("a/b=ü%", -1) == "topic=a%2Fb%3Dü%25/partition=-1"
    assert table_folder("__HIVE_DEFAULT_PARTITION__", 0) == "topic=%5F_HIVE_DEFAULT_PARTITION__/partition=0"


def test_logs_without_records(here: Any, tmp_path: Path) -> None:
    (tmp_path / "logs" / "t-0").mkdir(parents=True)
    assert there_and_back(here, tmp_path / "logs", tmp_path) == []
    assert tree(tmp_path / "back") == {"t-0": None}
    table = pq.read_table(tmp_path / "parquet")
    assert table.num_rows == 0 and set(table.column_names) == {*ROWS, "topic", "partition"}


@pytest.mark.thorough
def test_a_partition_and_several_paths(here: Any, logs: Path, tmp_path: Path) -> None:
    there_and_back(here, SAMPLE / "orders-1", tmp_path / "one")
    assert tree(tmp_path / "one" / "back" / "orders-1") == tree(SAMPLE / "orders-1")
    brokers = [logs / "kafka28", logs / "kafka4"]
    there_and_back(here, brokers, tmp_path / "two")
    for each in brokers:
        assert tree(tmp_path / "two" / "back" / each.name) == tree(each)


@pytest.mark.parametrize("begun", [False, True], ids=["", "rows are written when the damage is met"])
def test_damage_is_rejected_or_imported_byte_for_byte(
    here: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    if begun:
        monkeypatch.setattr("tagwire_spark.jobs.exported._GROUP_BYTES", 1)
        monkeypatch.setattr("tagwire.log.column_stream._ROWS", 3)
    opened: list[Any] = []

    class Writer(pq.ParquetWriter):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            opened.append(self)

    monkeypatch.setattr(pq, "ParquetWriter", Writer)
    logs = tmp_path / "logs"
    whole = build(RECORDS, "v2").encode()
    wrong = bytearray(build([r.replace(offset=r.offset + 20) for r in RECORDS], "v2").encode())
    wrong[-1] ^= 1
    later = build([r.replace(offset=r.offset + 40) for r in RECORDS], "v2").encode()
    path = segment(logs, whole + wrong + later + whole[:30])
    with pytest.raises(PipelineError, match=r"\[MALFORMED_KAFKA_LOG\].*crc") as rejected:
        export_logs(here, logs, tmp_path / "no")
    assert path.name in str(rejected.value) and [each.name for each in tmp_path.iterdir()] == ["logs"]
    [report] = there_and_back(here, logs, tmp_path, mode="permissive")
    assert [position for position, _ in report.damage] == [len(whole), 2 * len(whole) + len(later)]
    assert "crc" not in report.damage[1][1] and report.records == 40
    validator = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "spark-export.json").read_text()))
    validator.validate(json.loads(json.dumps(camel_keys(report.to_json()))))
    assert tree(tmp_path / "back") == tree(logs)
    rows = [row for row in rows_of_log(logs, mode="PERMISSIVE") if row.pop("_error") is None]
    assert in_order(rows_of_parquet(tmp_path / "parquet")) == in_order(rows)
    # All Parquet writers must be closed, because an open one could add a footer to another attempt's file.
    assert len(opened) == (4 if begun else 2) and not any(each.is_open for each in opened)


def test_record_without_an_end_under_a_valid_checksum(here: Any, tmp_path: Path) -> None:
    data = bytearray(build(RECORDS[:3], "v2").encode())
    at = data.rindex(b"k2") - 5
    data[at] = 0x7E
    data[17:21] = checksum("crc32c", bytes(data[21:])).to_bytes(4, "big")
    segment(tmp_path / "logs", bytes(data))
    with pytest.raises(PipelineError, match="MALFORMED_KAFKA_LOG"):
        export_logs(here, tmp_path / "logs", tmp_path / "no")
    [report] = there_and_back(here, tmp_path / "logs", tmp_path, mode="PERMISSIVE")
    assert (report.records, report.kept, len(report.damage)) == (2, 1, 1)
    assert tree(tmp_path / "back") == tree(tmp_path / "logs")


def test_a_log_that_is_written_to(tmp_path: Path) -> None:
    path = segment(tmp_path / "logs", build(RECORDS, "v2").encode())
    [unit], _ = _found(job_inputs(tmp_path / "logs", ExitStack()))
    with path.open("ab") as file:
        file.write(build([RECORDS[0].replace(offset=20)], "v2").encode())
    (tmp_path / "attempts").mkdir()
    with pytest.raises(PipelineError, match=r"KAFKA_LOG_CHANGED.*are not in use"):
        export_part(unit, str(tmp_path / "attempts"), ExportOptions(column_names(None), False, format_set("auto")))


def test_arguments_that_export_rejects_immediately(tmp_path: Path) -> None:
    spark: Any = None  # not used
    (tmp_path / "full" / "a-0").mkdir(parents=True)
    (tmp_path / "odd" / "b-0").mkdir(parents=True)
    (tmp_path / "odd" / "link").symlink_to(tmp_path / "nowhere")
    output = tmp_path / "out"
    rejected: list[tuple[Any, dict[str, Any], str]] = [
        (SAMPLE, {"output": tmp_path / "full"}, "already exists"),
        (tmp_path / "nowhere", {}, "no such file or folder"),
        (tmp_path / "full" / "a-0" / "..", {"columns": ["keys"]}, "no column keys"),
        (SAMPLE, {"columns": []}, "name at least one"),
        (SAMPLE, {"columns": ["topic"]}, "name at least one"),
        (SAMPLE, {"mode": "lenient"}, "FAILFAST or PERMISSIVE"),
        (SAMPLE, {"format": "v9"}, "v9"),
        ([SAMPLE, SAMPLE], {}, "given twice"),
        (next((SAMPLE / "orders-0").glob("*.log")), {}, "partition"),
        (tmp_path / "odd", {}, "neither a file nor a folder"),
    ]
    for paths, options, text in rejected:
        with pytest.raises(TagwireError, match=text):
            export_logs(spark, paths, options.pop("output", output), **options)
    assert not output.exists()


@pytest.fixture
def exported(here: Any, tmp_path: Path) -> Path:
    segment(tmp_path / "logs", build(RECORDS, "v2").encode() * 1)
    (tmp_path / "logs" / "t-0" / "partition.metadata").write_text("version: 0\n")
    export_logs(here, tmp_path / "logs", tmp_path / "parquet")
    return tmp_path / "parquet"


def change_rows(change: Callable[[Any], Any], pattern: str) -> Callable[[Path], None]:
    def rewrite(folder: Path) -> None:
        [file] = folder.rglob(pattern)
        pq.write_table(change(pq.ParquetFile(file).read()), file)

    return rewrite


def with_value(table: Any) -> Any:
    return table.set_column(table.column_names.index("value"), "value", pa.array([b"x"] * table.num_rows, pa.binary()))


def change_manifest(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def rewrite(folder: Path) -> None:
        facts = json.loads((folder / "_export.json").read_text())
        change(facts)
        (folder / "_export.json").write_text(json.dumps(facts))

    return rewrite


DAMAGES: list[tuple[Callable[[Path], Any], str]] = [
    (lambda folder: (folder / "_export.json").unlink(), "give the folder that contains"),
    (lambda folder: (folder / "_export.json").write_text("{"), "not a list of exported files"),
    (lambda folder: (folder / "_export.json").write_text("[]"), "not a list of exported files"),
    (change_manifest(lambda facts: facts.update(level=2)), "with the tagwire version that wrote it"),
    (change_manifest(lambda facts: facts["folders"].append("../x")), "points outside the folder"),
    (change_manifest(lambda facts: facts["parts"][0].update(folder="/x")), "points outside the folder"),
    (change_manifest(lambda facts: facts["parts"][0].update(files=[["a/b", 1]])), "not a file name"),
    (change_manifest(lambda facts: facts["parts"][0].pop("files")), "not a list of exported files"),
    (change_manifest(lambda facts: facts["parts"][0].update(rows=None)), "differ from the exported ones"),
    (change_manifest(lambda facts: facts["parts"][0]["files"][0].__setitem__(1, 7)), ", or the rows are out of order"),
    (change_manifest(lambda facts: facts["parts"][1]["files"].pop()), "a part of the export lists no files"),
    (lambda folder: next(folder.rglob("*.parquet")).unlink(), "can't be read"),
    (lambda folder: next(folder.rglob("*.parquet")).write_bytes(b"PAR1"), "can't be read"),
    (lambda folder: (folder / EXACT / "part-00000").unlink(), "can't be read"),
    (change_rows(lambda table: table.slice(1), "*.parquet"), "differ from the exported ones"),
    (change_rows(with_value, "*.parquet"), "differ from the exported ones"),
    (change_rows(lambda table: table.drop_columns(["key"]), "*.parquet"), "key"),
    (change_rows(lambda table: table.slice(1), "part-00000"), ", or the rows are out of order"),
    (change_rows(lambda table: pa.concat_tables([table, table]), "part-00000"), "rows after the end of the last"),
]


@pytest.mark.parametrize(("damage", "text"), DAMAGES, ids=[f"{n}-{text}" for n, (_, text) in enumerate(DAMAGES)])
def test_exports_that_are_rejected(
    here: Any, exported: Path, tmp_path: Path, damage: Callable[[Path], Any], text: str
) -> None:
    damage(exported)
    with pytest.raises(PipelineError, match=r"^\[MALFORMED_LOG_EXPORT\]") as rejected:
        import_logs(here, exported, tmp_path / "back")
    assert text in str(rejected.value)
    assert {path.name for path in tmp_path.iterdir()} == {"logs", "parquet"}


def test_folders_that_import_rejects(exported: Path, tmp_path: Path) -> None:
    spark: Any = None
    with pytest.raises(LogPathError, match="already exists"):
        import_logs(spark, exported, tmp_path / "logs")
    with pytest.raises(LogPathError, match="no such file or folder"):
        import_logs(spark, tmp_path / "nowhere", tmp_path / "back")
