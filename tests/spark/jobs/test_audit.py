from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from tagwire_spark import PipelineError
from tagwire_spark.jobs import audit_captures

pytestmark = pytest.mark.spark
DATA = Path(__file__).parents[2] / "data"
CAPTURES = DATA / "captures" / "captures.jsonl.gz"


def test_requests_by_client_api_and_version(spark: SparkSession) -> None:
    found = audit_captures(spark, CAPTURES)
    assert len(found.columns) == len(set(found.columns))  # otherwise, the rows can't be written to Parquet
    rows = found.collect()
    calls = spark.read.format("kafka_rpc").option("body", "none").load(str(CAPTURES)).where("requestSize is not null")
    assert sum(row.requests for row in rows) == calls.count() > len(rows)
    [old] = [row for row in rows if (row.client, row.api, row.apiVersion) == ("kmsg28-probe", "Fetch", 0)]
    assert (old.sinceRelease, old.lastRelease) == ("2.4.1", "3.9.2")


@pytest.mark.parametrize(
    ("release", "rejected", "served"),
    [("4.0", ("Fetch", 0), ("Fetch", 12)), ("3.9.2", ("BrokerHeartbeat", 2), ("Fetch", 0)), ("99", ("Fetch", 0), None)],
)
def test_what_a_release_rejects(
    spark: SparkSession, release: str, rejected: tuple[str, int], served: tuple[str, int] | None
) -> None:
    found = {(row.api, row.apiVersion) for row in audit_captures(spark, CAPTURES, rejected_by=release).collect()}
    assert rejected in found and served not in found


@pytest.mark.parametrize("release", ["old", "", "1.0", "4.", "9" * 5000])
def test_rejected_arguments(release: str) -> None:
    with pytest.raises(PipelineError, match=r"expected release .* or later, such as 4\.0"):
        audit_captures(cast(SparkSession, None), CAPTURES, rejected_by=release)
    with pytest.raises(PipelineError, match="a Path can't represent a URL"):
        audit_captures(cast(SparkSession, None), Path("s3://bucket/c.jsonl"))
