import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from column_values import ENGINES
from kafka_jars import kafka_jars

from tagwire.records import format_names, format_of


@pytest.fixture
def copy_of(logs: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that copies a partition's folder (`broker/topic-partition`). Tests may damage the copy."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(logs / name, tmp_path / name))

    return copy


@pytest.fixture(scope="session")
def jars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kafka_jars(tmp_path_factory.mktemp("jars"))


@pytest.fixture(params=ENGINES)
def each_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run the test once with each engine. Cached plans are deleted, because a plan works with only one engine."""
    monkeypatch.setenv("TAGWIRE_ENGINE", request.param)
    _forget_plans()
    yield str(request.param)
    _forget_plans()


def _forget_plans() -> None:
    for name in format_names():
        format_of(name).__dict__.pop("plans", None)
