"""Check that jobs reject a batch that exceeds the default limits, unless they are called with higher limits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from command import tagwire_result
from pyspark.sql import SparkSession
from streamed_logs import segment

from tagwire import Limits, log
from tagwire.records import Record, build
from tagwire_spark import PipelineError
from tagwire_spark.jobs import compact, compact_logs, convert_logs, export_logs, import_logs, log_state, whatif_logs

pytestmark = pytest.mark.spark

HIGHER = Limits(decompression_ratio=1_000_000)
REJECTED = r"MALFORMED_KAFKA_LOG.*decompress to more than .*Limits\.decompression_ratio"
JOBS: dict[str, Callable[..., Any]] = {
    "convert": lambda *where, **more: convert_logs(*where, codec="none", **more)[0].records,
    "compact": lambda *where, **more: compact_logs(*where, include_active=True, **more)[0].keys,
    "export": lambda *where, **more: export_logs(*where, **more)[0].records,
    "whatif": lambda spark, path, _, **more: whatif_logs(spark, path, "v3", **more).total().records,
}


@pytest.fixture
def zeros(tmp_path: Path) -> Path:
    records = [Record(n, 1_700_000_000_000, b"%d" % n, bytes(100_000)) for n in range(100)]
    (tmp_path / "logs").mkdir()
    segment(tmp_path / "logs" / "t-0", 0, build(records, "v2", compression="zstd").encode())
    return tmp_path / "logs"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("job", JOBS)
def test_limits_of_a_job(zeros: Path, tmp_path: Path, job: str) -> None:
    with pytest.raises(PipelineError, match=REJECTED):
        JOBS[job](None, zeros, tmp_path / "out")
    assert JOBS[job](None, zeros, tmp_path / "out", limits=HIGHER) == 100


@pytest.mark.usefixtures("here")
def test_an_export_of_a_batch_above_the_default_limits_is_restored(zeros: Path, tmp_path: Path) -> None:
    none = cast(SparkSession, None)
    export_logs(none, zeros, tmp_path / "out", limits=HIGHER)
    [restored] = import_logs(none, tmp_path / "out", tmp_path / "back")
    [original] = zeros.rglob("*.log")
    assert Path(restored.file).read_bytes() == original.read_bytes()


def test_limits_of_a_compaction_in_several_tasks(
    spark: SparkSession, zeros: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "TASK_BYTES", -1)
    [report] = compact_logs(spark, zeros, tmp_path / "out", include_active=True, limits=HIGHER)
    assert report.keys == 100 == sum(len(batch) for batch in log.read(tmp_path / "out" / "t-0", limits=HIGHER))


def test_limits_of_the_state(spark: SparkSession, zeros: Path) -> None:
    (zeros / "t-0").rename(zeros / "__consumer_offsets-0")
    with pytest.raises(Exception, match=r"Limits\.decompression_ratio"):
        log_state(spark, zeros, "offsets").count()
    with pytest.raises(Exception, match="MALFORMED_KAFKA_LOG") as rejected:  # the zeros are not valid consumer offsets
        log_state(spark, zeros, "offsets", limits=HIGHER).count()
    assert "Limits" not in str(rejected.value)


@pytest.mark.parametrize("command", ["convert", "compact", "export", "whatif"])
def test_commands_have_the_option(command: str) -> None:
    result = tagwire_result("spark", command, "logs", "--limit", "depth=x", *(["--to", "v3"] * (command == "whatif")))
    assert result.exit_code == 2 and "--limit" in tagwire_result("spark", command, "--help").output
