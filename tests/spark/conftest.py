import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tagwire.errors import TagwireError


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the units of jobs in this process, one after another, instead of on workers.

    Units and results still pass through JSON, as they do with workers.
    """

    def run(_: Any, units: Sequence[Any], sizes: Sequence[int], work: Callable[[Any], Any]) -> list[Any]:
        assert len(units) == len(sizes)
        try:
            return [json.loads(json.dumps(work(json.loads(json.dumps(unit))))) for unit in units]
        except TagwireError as error:
            raise rejection(error, "MALFORMED_KAFKA_LOG") from None

    from tagwire_spark.errors import rejection

    for name in ("export", "restore"):
        monkeypatch.setattr(f"tagwire_spark.jobs.{name}.run_units", run)
