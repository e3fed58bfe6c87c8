import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tagwire.errors import TagwireError


@pytest.fixture
def broker(logs: Path) -> Path:
    """Return the small logs of a Kafka 2.8 broker."""
    return logs / "kafka28"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make jobs run their tasks in this process, one after another, instead of on Spark."""
    from tagwire_spark.errors import rejection  # this import needs pyspark

    def run(_: Any, units: Sequence[Any], sizes: Sequence[int], work: Callable[[Any], Any]) -> list[Any]:
        assert len(units) == len(sizes)
        try:
            return [pickle.loads(pickle.dumps(work(pickle.loads(pickle.dumps(unit))))) for unit in units]
        except TagwireError as error:
            raise rejection(error, "MALFORMED_KAFKA_LOG") from None

    for name in ("convert", "compact", "export", "restore", "outputs"):
        monkeypatch.setattr(f"tagwire_spark.jobs.{name}.run_units", run)
