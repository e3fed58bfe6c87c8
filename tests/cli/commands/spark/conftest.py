from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from command import tagwire_outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def spark_command(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs `tagwire spark` commands in the Spark session of the tests."""
    from tagwire_spark import session  # this import needs pyspark

    @contextmanager
    def shared(*_: object) -> Generator[Any]:
        with session.spark_errors_converted():
            yield spark

    monkeypatch.setattr(session, "session_of_command", shared)
    return partial(tagwire_outcome, "spark")
