"""Logs of real brokers, unpacked once; what they hold, as Kafka's own reader says."""

import gzip
import json
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from column_values import ENGINES
from kafka_jars import kafka_jars

from tagwire.records import format_names, format_of

DATA = Path(__file__).parents[2] / "data" / "logs"


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
def copy_of(logs: Path, tmp_path: Path) -> Callable[[str], Path]:
    """A partition's folder to damage, by `broker/topic-partition`."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(logs / name, tmp_path / name))

    return copy


@pytest.fixture(scope="session")
def jars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jars of Kafka's broker."""
    return kafka_jars(tmp_path_factory.mktemp("jars"))


@pytest.fixture(params=ENGINES)
def each_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Formats keep the plans of the engine that was there first: they are made anew, and again behind the test."""
    monkeypatch.setenv("TAGWIRE_ENGINE", request.param)
    _forget_plans()
    yield str(request.param)
    _forget_plans()


def _forget_plans() -> None:
    for name in format_names():
        format_of(name).__dict__.pop("plans", None)
