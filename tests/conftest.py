"""Fixtures of several folders."""

import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import spark_session
from native_engine import forget_pure_engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SPARK = frozenset(("spark", "spark_end"))
_ENGINE = os.environ.get("TAGWIRE_ENGINE")


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


@pytest.fixture
def own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package that a test makes and imports is forgotten with the test: others make one of that name."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several processes (`--dist loadgroup`) a file stays in one, and so does all that needs the one Spark."""
    for item in items:
        group = "spark" if _SPARK.intersection(getattr(item, "fixturenames", ())) else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None]:
    """A test with an engine of its own leaves the next ones theirs."""
    was_another = os.environ.get("TAGWIRE_ENGINE") != _ENGINE
    yield
    if was_another:
        forget_pure_engine()
