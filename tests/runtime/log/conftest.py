import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kafka_jars import kafka_jars


@pytest.fixture
def copy_of(logs: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that copies a partition's folder (`broker/topic-partition`). Tests may damage the copy."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(logs / name, tmp_path / name))

    return copy


@pytest.fixture
def broken_status(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Return a function that makes the system report a disk error if the status of a path is read."""
    stat = os.stat

    def break_status(broken: Path) -> None:
        def status(path: Any, *args: Any, **named: Any) -> os.stat_result:
            if not isinstance(path, int) and Path(os.fsdecode(path)) == broken:
                raise OSError(errno.EIO, os.strerror(errno.EIO), os.fspath(path))
            return stat(path, *args, **named)

        monkeypatch.setattr(os, "stat", status)

    return break_status


@pytest.fixture(scope="session")
def jars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kafka_jars(tmp_path_factory.mktemp("jars"))
