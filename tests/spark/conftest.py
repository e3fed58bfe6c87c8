"""Logs of real brokers, unpacked once; what they hold, as Kafka's own reader says."""

import gzip
import json
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tagwire.errors import TagwireError

DATA = Path(__file__).parents[1] / "data" / "logs"


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a folder of logs for each broker; not to be changed."""
    folder = tmp_path_factory.mktemp("logs")
    with tarfile.open(DATA / "logs.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="session")
def truth() -> dict[str, list[dict[str, Any]]]:
    """By partition (`broker/topic-partition`) and then in order: the batches as Kafka's reader sees them."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for line in gzip.decompress((DATA / "kafka_reader.jsonl.gz").read_bytes()).splitlines():
        row = json.loads(line)
        if row["file"].endswith(".log"):
            rows.setdefault(row["file"].rpartition("/")[0], []).append(row)
    return rows


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs do their work here, one unit behind the other: for tests of what work does, and not of who does it.

    Units and results go through JSON, as they do on their way to workers.
    """

    def run(_: Any, units: Sequence[Any], sizes: Sequence[int], work: Callable[[Any], Any]) -> list[Any]:
        assert len(units) == len(sizes)
        try:
            return [json.loads(json.dumps(work(json.loads(json.dumps(unit))))) for unit in units]
        except TagwireError as error:
            raise refusal(error, "MALFORMED_KAFKA_LOG") from None

    from tagwire_spark.errors import refusal

    for name in ("export", "restore"):
        monkeypatch.setattr(f"tagwire_spark.jobs.{name}.run_units", run)
