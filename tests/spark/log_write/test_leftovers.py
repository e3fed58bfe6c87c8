"""What killed writes have left goes with a later write, once it is old; a write that is going on stays."""

import os
import time
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")

from written_logs import job, table

from tagwire_spark import PipelineError
from tagwire_spark.files.commit import begin, left_of, staging
from tagwire_spark.log_write.target import log_target


def killed(root: Path, hours: float) -> Path:
    """The folder of a write of which nothing is younger than this."""
    left = begin(str(root)).folder
    file = staging(left_of(str(root))[0]) / "orders-0.log"
    file.write_bytes(b"half")
    then = time.time() - 3600 * hours
    for path in (*left.rglob("*"), left):
        os.utime(path, (then, then))
    return left


def write(root: Path, **options: str) -> None:
    job(root, table(("t", 0, 0, None, b"v")), overwrite=True, **options)


@pytest.mark.parametrize(("hours", "options", "stays"), [
    (167, {}, True), (169, {}, False), (3, {"leftoverHours": "4"}, True), (3, {"leftoverHours": "2"}, False),
])  # fmt: skip
def test_a_later_write_removes_what_is_old(tmp_path: Path, hours: int, options: dict[str, str], stays: bool) -> None:
    left = killed(tmp_path, hours)
    write(tmp_path, **options)
    assert left.exists() is stays
    assert (tmp_path / "t-0").is_dir()


def test_a_file_that_is_still_written_keeps_its_folder(tmp_path: Path) -> None:
    left = killed(tmp_path, 1000)
    [file] = left.rglob("*.log")
    os.utime(file)
    write(tmp_path)
    assert file.exists()


@pytest.mark.parametrize("hours", ["0", "-1", "soon"])
def test_what_is_no_age(tmp_path: Path, hours: str) -> None:
    with pytest.raises(PipelineError, match="leftoverHours"):
        log_target({"path": str(tmp_path), "leftoverHours": hours})
