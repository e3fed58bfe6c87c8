"""Fixtures that tests in several folders use."""

import gc
import gzip
import json
import os
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
import spark_session
from hypothesis import HealthCheck, settings
from native_engine import forget_engine
from spec_projects import make_project

from tagwire import engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Hypothesis's deadlines are off, because tests would fail when other processes slow them down.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
signal.signal(signal.SIGINT, signal.default_int_handler)  # processes in the background ignore it, and so do theirs

TESTS = Path(__file__).parent
LOGS = TESTS / "data" / "logs"
_SPARK = frozenset(("spark", "spark_end"))
_LONG = ("spark", "package", "slow")
_ENGINE = os.environ.get("TAGWIRE_ENGINE")


@pytest.fixture(scope="session")
def spark_end() -> Iterator[None]:
    """Stop the local Spark session after the last test, if one was started."""
    yield
    spark_session.stop()


@pytest.fixture(scope="session")
def can_start_spark() -> None:
    """Skip the test if Spark or Java is missing."""
    if spark_session.missing():
        pytest.skip(spark_session.missing())


@pytest.fixture(scope="session")
def spark(can_start_spark: None, spark_end: None) -> "SparkSession":
    """Return the local Spark session shared by all tests of a process."""
    return spark_session.session()


@pytest.fixture
def store() -> Iterator[Any]:
    """Return a file system that counts its requests. Its URLs begin with `counted://`."""
    from object_storage import counted  # needs fsspec

    yield counted()
    counted()


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of logs written by real brokers, with a subfolder per broker. Tests must not change it."""
    folder = tmp_path_factory.mktemp("logs")
    shutil.unpack_archive(LOGS / "logs.tar.gz", folder)
    return folder


@pytest.fixture(scope="session")
def truth() -> dict[str, list[dict[str, Any]]]:
    """Return the batches that Kafka's reader found in each partition, in order, keyed by `broker/topic-partition`."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for line in gzip.decompress((LOGS / "kafka_reader.jsonl.gz").read_bytes()).splitlines():
        row = json.loads(line)
        if row["file"].endswith(".log"):
            rows.setdefault(row["file"].rpartition("/")[0], []).append(row)
    return rows


@pytest.fixture(params=("python", "native") if engine() == "native" else ("python",))
def each_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test once with each engine. First, make messages and formats forget the engine of earlier tests."""
    monkeypatch.setenv("TAGWIRE_ENGINE", request.param)
    forget_engine()
    return str(request.param)


@pytest.fixture
def native_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the native engine, even if the Python engine was selected for this test run."""
    monkeypatch.setenv("TAGWIRE_ENGINE", "native")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project with two specs, and make its folder the current folder."""
    monkeypatch.chdir(tmp_path)
    return make_project(tmp_path)


@pytest.fixture
def own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After the test, unload the packages that it generated, so that other tests can use the same package names."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


class NeedsSpark(pytest.Module):
    """A module that is skipped, because it can't be imported without pyspark."""

    def collect(self) -> NoReturn:
        pytest.skip("pyspark is not installed: pip install 'tagwire[spark]'", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Skip the tests in folders called `spark` if pyspark is not installed."""
    if "spark" not in module_path.parent.parts[len(TESTS.parts) :] or find_spec("pyspark"):
        return None
    return NeedsSpark.from_parent(parent, path=module_path)


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Add the marker `thorough` to tests with a Spark session. In `make test`, only the README starts one."""
    if "spark" in getattr(item, "fixturenames", ()):
        item.add_marker("thorough")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start the slowest files first if pytest runs several processes.

    `--dist loadfile` keeps the tests of a file in one process, and `--no-loadscope-reorder` keeps the order of files.
    Several processes can start Spark. The Spark files can't be grouped in one process, because pytest-xdist 3.8 ignores
    `xdist_group` under pytest 9.2.
    """
    if not hasattr(config, "workerinput"):
        return  # without xdist workers, the order of the files doesn't affect the duration
    order: dict[Path, int] = {}
    for item in items:
        order[item.path] = min(order.get(item.path, len(_LONG)), _order(item))
    items.sort(key=lambda item: order[item.path])


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop() -> Generator[None, object, object]:
    """Keep the collected tests out of garbage collections, which would otherwise take a sixth of the time."""
    gc.freeze()
    try:
        return (yield)
    finally:
        gc.unfreeze()


def _order(item: pytest.Item) -> int:
    if _SPARK.intersection(getattr(item, "fixturenames", ())):
        return 0
    return next((index for index, mark in enumerate(_LONG) if item.get_closest_marker(mark)), len(_LONG))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None]:
    """Go back to the engine of this test run if a test has selected another one."""
    was_another = os.environ.get("TAGWIRE_ENGINE") != _ENGINE
    yield
    if was_another:
        forget_engine()
