from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from bucket_writes import Bucket


@pytest.fixture(autouse=True)
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder for temporary folders. Check that none is left, even after errors and unfinished streams."""
    folder = tmp_path_factory.mktemp("scratch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(folder))
        yield folder
    assert list(folder.glob("tagwire-*")) == []


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> "Iterator[Bucket]":
    """Return object storage that is only in memory. Commits of other processes are finished without waiting."""
    from bucket_writes import Bucket  # these imports need pyspark
    from object_storage import conditional

    monkeypatch.setattr("tagwire_spark.files.commit._PATIENCE", 0.0)
    monkeypatch.setattr("tagwire_spark.files.store._PAUSE", 0)
    yield Bucket(conditional(), "kept:/", {"key": "testing-id", "secret": "very-hidden"})
    conditional()


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send the requests of each process one after another, so that the order of all requests is the same each time."""
    monkeypatch.setattr("tagwire_spark.files.store._AT_ONCE", 1)


@pytest.fixture
def neither_locks_nor_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let writers work as on a file system without locks, and not wait for each other."""
    monkeypatch.setattr("tagwire_spark.files.local_commit.file_locks", lambda: None)
    monkeypatch.setattr("tagwire_spark.files.commit._PATIENCE", 0)
