"""Check that `log_state` returns the same values as `tagwire log state`, for folders and for URLs."""

from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

import tagwire_messages as messages
from tagwire import log
from tagwire.log.state import state
from tagwire_spark import PipelineError
from tagwire_spark.jobs import log_state

pytestmark = pytest.mark.spark


def expected(logs: Path) -> dict[str, Any]:
    return state(log.find_partitions(logs), messages.registry)


@pytest.mark.parametrize("scheme", ["", "local://"])
def test_the_tables_have_the_state(spark: SparkSession, logs: Path, scheme: str) -> None:
    path = f"{scheme}{logs / 'kafka4'}"
    known = expected(logs / "kafka4")
    offsets = log_state(spark, path, "offsets").select("groupId", "topic", "partition", "offset", "leaderEpoch")
    assert sorted(map(tuple, offsets.collect())) == sorted(
        (group, each["topic"], each["partition"], each["offset"], each.get("leaderEpoch", -1))
        for group, found in known["groups"].items()
        for each in found["offsets"]
    )
    status = messages.registry.attribute("TransactionStatus")
    transactions = log_state(spark, path, "transactions").select("transactionalId", "producerId", "transactionStatus")
    assert sorted(map(tuple, transactions.collect())) == [
        (name, each["producerId"], str(status.of(each["transactionStatus"])))
        for name, each in sorted(known["transactions"].items())
    ]


def test_offsets_of_an_old_broker_have_no_epoch(spark: SparkSession, logs: Path) -> None:
    offsets = log_state(spark, str(logs / "kafka0.8"), "offsets").select("leaderEpoch", "expireTimestamp")
    assert [tuple(row) for row in offsets.distinct().collect()] == [(-1, -1)]


@pytest.mark.parametrize(
    ("paths", "table", "text"),
    [
        (["kafka4"], "groups", "expected offsets or transactions, got 'groups'"),
        (["kafka28"], "offsets", "found no partition of __consumer_offsets"),
        (["kafka0.8", "kafka0.9"], "offsets", "are replicas of __consumer_offsets-0"),
    ],
)
def test_input_without_state_is_rejected(logs: Path, paths: list[str], table: str, text: str) -> None:
    with pytest.raises(PipelineError, match=f"INVALID_TAGWIRE_OPTION.*{text}"):
        log_state(cast(SparkSession, None), [logs / each for each in paths], table)
