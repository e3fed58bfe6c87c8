"""Fixtures of several folders."""

import gzip
import json
import os
import sys
import tarfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import spark_session
from hypothesis import HealthCheck, settings
from native_engine import forget_engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No test asks a clock: others run beside it.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

LOGS = Path(__file__).parent / "data" / "logs"
_SPARK = frozenset(("spark", "spark_end"))
_LONG = ("spark", "package", "slow")
_SMOKE = ("test_all_records_are_those_that_kafka_sees", "test_headers_and_facts_of_batches", "test_offsets_and_filters")
"""The tests of a Spark session that `make test` has time for."""
_ENGINE = os.environ.get("TAGWIRE_ENGINE")


@pytest.fixture(scope="session")
def spark_end() -> Iterator[None]:
    """Behind the last test, the local Spark is stopped, if one was started."""
    yield
    spark_session.stop()


@pytest.fixture(scope="session")
def spark(spark_end: None) -> "SparkSession":
    """The local Spark of all tests of a process."""
    if spark_session.missing():
        pytest.skip(spark_session.missing())
    return spark_session.session()


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of real brokers, a folder for each broker; not to be changed."""
    folder = tmp_path_factory.mktemp("logs")
    with tarfile.open(LOGS / "logs.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="session")
def truth() -> dict[str, list[dict[str, Any]]]:
    """The batches of each partition (`broker/topic-partition`) in order, as Kafka's own reader sees them."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for line in gzip.decompress((LOGS / "kafka_reader.jsonl.gz").read_bytes()).splitlines():
        row = json.loads(line)
        if row["file"].endswith(".log"):
            rows.setdefault(row["file"].rpartition("/")[0], []).append(row)
    return rows


@pytest.fixture
def own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package that a test makes and imports is forgotten with the test: others make one of that name."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Tests of a Spark session are thorough, but for a few."""
    if "spark" in getattr(item, "fixturenames", ()) and getattr(item, "originalname", "") not in _SMOKE:
        item.add_marker("thorough")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With several processes, files that take minutes begin first.

    Begun last, one of them would keep its process busy while the others have nothing left. `--dist loadfile` goes by
    this order with `--no-loadscope-reorder`, and makes what the tests of a file share once. So Spark may be started in
    each process: groups of files are not to be had, for pytest 9.2 has pytest-xdist 3.8 ignore `xdist_group`.
    """
    if not hasattr(config, "workerinput"):
        return  # in the order of the files, as everybody expects
    places: dict[Path, int] = {}
    for item in items:
        places[item.path] = min(places.get(item.path, len(_LONG)), _place(item))
    items.sort(key=lambda item: places[item.path])


def _place(item: pytest.Item) -> int:
    """Which of the marks of long tests it has; their number where it has none."""
    if _SPARK.intersection(getattr(item, "fixturenames", ())):
        return 0
    return next((place for place, mark in enumerate(_LONG) if item.get_closest_marker(mark)), len(_LONG))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None]:
    """A test with an engine of its own leaves the next ones theirs."""
    was_another = os.environ.get("TAGWIRE_ENGINE") != _ENGINE
    yield
    if was_another:
        forget_engine()
