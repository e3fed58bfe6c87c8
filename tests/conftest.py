"""Fixtures of several folders."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark_end() -> Iterator[None]:
    """Behind the last test, the local Spark is stopped, if one was started."""
    yield
    spark_session.stop()


@pytest.fixture(scope="session")
def spark(spark_end: None) -> "SparkSession":
    """The local Spark of all tests."""
    if spark_session.missing():
        pytest.skip(spark_session.missing())
    return spark_session.session()
