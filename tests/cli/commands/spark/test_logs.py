import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command import tagwire_result
from written_logs import files

pytestmark = pytest.mark.spark
DATA = Path(__file__).parents[3] / "data"
SAMPLE = DATA / "sample_log"


def test_convert_as_a_command(spark_command: Any, tmp_path: Path) -> None:
    code, out, err = spark_command("convert", SAMPLE, "--codec", "zstd", "--output", tmp_path / "out", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, err, [row["records"] for row in rows]) == (0, "", [30, 30])
    code, out, err = spark_command("convert", SAMPLE, "--to", "v1", "--output", tmp_path / "old")
    assert code == 1 and "headers" in err and out.startswith("file")


def test_export_and_import_as_commands(spark_command: Any, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(SAMPLE, logs)
    code, out, err = spark_command("export", logs, "--output", tmp_path / "parquet", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, err, [row["records"] for row in rows]) == (0, "", [30, 30])
    code, out, err = spark_command("import", tmp_path / "parquet", "--output", tmp_path / "back")
    assert (code, err, len(out.splitlines())) == (0, "", 1 + len(files(SAMPLE))) and out.startswith("file")
    code, out, err = spark_command("import", tmp_path / "parquet", "--output", tmp_path / "again", "--json")
    schema = json.loads(tagwire_result("json-schema", "spark", "import").stdout)
    for line in out.splitlines():
        jsonschema.Draft202012Validator(schema).validate(json.loads(line))
    assert (code, err, len(out.splitlines())) == (0, "", len(files(SAMPLE)))
    assert files(tmp_path / "back") == files(SAMPLE)
    with next((logs / "orders-1").glob("*.log")).open("ab") as file:
        file.write(b"no batch")
    code, out, err = spark_command("export", logs, "--output", tmp_path / "no")
    assert (code, out) == (1, "") and err.startswith("tagwire: [MALFORMED_KAFKA_LOG]")
    code, out, err = spark_command(
        "export", logs, "--output", tmp_path / "all", "--permissive", "--columns", "value, offset"
    )
    assert code == 1 and "orders-1" in err and "1 invalid part exported without" in err and out.startswith("file")
    code, out, err = spark_command("import", logs, "--output", tmp_path / "no")
    assert (code, out) == (1, "") and err.startswith("tagwire: [MALFORMED_LOG_EXPORT]")
    assert {path.name for path in tmp_path.iterdir()} == {"logs", "parquet", "back", "again", "all"}


def test_compact_as_a_command(spark_command: Any, tmp_path: Path) -> None:
    code, out, err = spark_command("compact", SAMPLE, "--output", tmp_path / "out", "--drop-keyless", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    # `compactedTo` is 0, because each log has only an active segment, which is not compacted.
    assert (code, err, [row["compactedTo"] for row in rows]) == (0, "", [0, 0])


def test_whatif_as_a_command(spark_command: Any, tmp_path: Path) -> None:
    code, out, _ = spark_command("whatif", SAMPLE, "--to", "v3", "--json", "--html", tmp_path / "page.html")
    assert code == 0 and json.loads(out)["total"]["records"] == 60
    assert "orders" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_script_for_spark_submit(spark_command: Any) -> None:
    code, out, _ = spark_command("--script")
    assert code == 0 and Path(out.strip()).name == "spark_submit.py" and Path(out.strip()).is_file()
