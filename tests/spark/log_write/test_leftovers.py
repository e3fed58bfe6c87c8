import json
import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from command import tagwire_result
from written_logs import job, table

from tagwire_spark import PipelineError
from tagwire_spark.files.commit import Leftover, begin, left_of, leftovers, staging
from tagwire_spark.jobs.outputs import _renamed
from tagwire_spark.log_write.target import log_target


def killed(root: Path, hours: float) -> Path:
    left = begin(str(root)).folder
    file = staging(left_of(str(root))[0]).folder / "orders-0.log"
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
def test_later_write_removes_old_leftovers(tmp_path: Path, hours: int, options: dict[str, str], stays: bool) -> None:
    left = killed(tmp_path, hours)
    write(tmp_path, **options)
    assert left.exists() is stays
    assert (tmp_path / "t-0").is_dir()


def test_folder_with_a_recently_changed_file_is_kept(tmp_path: Path) -> None:
    left = killed(tmp_path, 1000)
    [file] = left.rglob("*.log")
    os.utime(file)
    write(tmp_path)
    assert file.exists()


def test_listed(tmp_path: Path) -> None:
    left = killed(tmp_path, 5)
    for url in ("", "file:", "file://", "file://localhost"):
        assert leftovers(f"{url}{tmp_path}") == [Leftover(str(left), 3, 4, left.stat().st_mtime)]
    shutil.rmtree(left)
    assert leftovers(str(tmp_path)) == []


def test_the_command(tmp_path: Path) -> None:
    left = killed(tmp_path, 5)
    done = tagwire_result("spark", "audit", "--leftovers", "--json", tmp_path)
    at = datetime.fromtimestamp(left.stat().st_mtime, UTC).isoformat(timespec="milliseconds")
    assert json.loads(done.stdout) == {"path": str(left), "files": 3, "bytes": 4, "lastWritten": at}
    done = tagwire_result("spark", "audit", "--leftovers", str(tmp_path / "k"))
    assert done.exit_code == 1 and f"{tmp_path / 'k'}: there is no such folder" in done.stderr
    done = tagwire_result("spark", "audit", "--leftovers", "--port", "9092", tmp_path)
    assert done.exit_code == 2 and "can't be combined with --rejected-by" in done.stderr


def test_next_run_of_a_job_removes_its_leftovers(tmp_path: Path) -> None:
    output, digits = tmp_path / "out", "3f" * 16
    mine, other = tmp_path / f".out.{digits}", tmp_path / f".out.b.{digits}"
    for each in (mine, other):
        (each / "attempts").mkdir(parents=True)
        (each / "attempts" / "a").write_bytes(b"half")
    assert [(each.path, each.bytes) for each in leftovers(str(tmp_path))] == [(str(mine), 4), (str(other), 4)]
    assert [each.path for each in leftovers(str(output))] == [str(mine)]  # the output itself does not exist yet
    with _renamed(output) as folder:
        (folder / "output").mkdir(parents=True)
    assert output.is_dir() and not mine.exists() and other.exists()
    assert leftovers(str(output)) == []


@pytest.mark.parametrize("hours", ["0", "-1", "soon"])
def test_invalid_ages(tmp_path: Path, hours: str) -> None:
    with pytest.raises(PipelineError, match="leftoverHours"):
        log_target({"path": str(tmp_path), "leftoverHours": hours})
