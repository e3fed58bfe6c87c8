import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka_jars import kafka_jars


@pytest.fixture
def copy_of(logs: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that copies a partition's folder (`broker/topic-partition`). Tests may damage the copy."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(logs / name, tmp_path / name))

    return copy


@pytest.fixture(scope="session")
def jars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kafka_jars(tmp_path_factory.mktemp("jars"))
