"""Fixtures of several folders."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark_machine() -> Iterator[None]:
    """Where Spark can run; what has started is stopped at the end."""
    if spark_session.missing():
        pytest.skip(spark_session.missing())
    yield
    spark_session.stop()


@pytest.fixture(scope="session")
def spark(spark_machine: None) -> "SparkSession":
    """The local Spark of all tests."""
    return spark_session.session()
