import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import fsspec
import pytest
from command import tagwire_result
from pyspark.sql import SparkSession
from small_logs import transactional
from written_logs import SAMPLE, at_once, files

from tagwire.log import LogPathError
from tagwire.log.convert import Conversion
from tagwire_spark.jobs import compact_logs, convert_logs, export_logs, import_logs
from tagwire_spark.jobs.convert import _convert
from tagwire_spark.jobs.exported import Export
from tagwire_spark.jobs.outputs import JobOutput, staging
from tagwire_spark.jobs.units import SegmentUnit

pytestmark = pytest.mark.spark

NO_SPARK = cast(SparkSession, None)


def test_second_job_on_one_output_is_rejected_while_the_first_works(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with staging(JobOutput(output), NO_SPARK) as staged:
        (staged.output / "first").write_bytes(b"1")
        with (
            pytest.raises(LogPathError, match=f"process {os.getpid()} on .* is writing this folder"),
            staging(JobOutput(output), NO_SPARK),
        ):
            pass
    assert [each.name for each in output.iterdir()] == ["first"]
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_one_of_many_jobs_writes_an_output(tmp_path: Path) -> None:
    def job(number: int) -> None:
        with staging(JobOutput(tmp_path / "out"), NO_SPARK) as staged:
            (staged.output / str(number)).write_bytes(b"")

    assert at_once(*(partial(job, number) for number in range(6))) == 5 * ["LogPathError"]
    assert len(list((tmp_path / "out").iterdir())) == 1


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("job", "command", "options"),
    [(convert_logs, "convert", {}), (compact_logs, "compact", {"drop_keyless": True, "now": 5})],
)
def test_several_disks_of_one_broker(
    tmp_path: Path, job: Callable[..., Any], command: str, options: dict[str, Any]
) -> None:
    """Check that the checkpoints of all disks are merged, and that the first path's `meta.properties` is copied."""
    disks = [tmp_path / name for name in ("b", "a", "c")]
    for number, disk in enumerate(disks):
        transactional(disk / f"t-{number}")
        (disk / "meta.properties").write_text(f"directory.id={disk.name}\n")
        for name in ("log-start", "recovery-point", "replication", "cleaner")[: number + 2]:
            (disk / f"{name}-offset-checkpoint").write_text(f"0\n1\nt {number} 3\n")
    switches = ["--drop-keyless", "--now", "5"] if options else []
    one = tagwire_result("log", command, *disks, *switches, "--output", str(tmp_path / "one"))
    assert one.exit_code == 0, one.output
    job(None, disks, tmp_path / "many", **options)
    found = files(tmp_path / "many")
    assert found == files(tmp_path / "one")
    assert found["replication-offset-checkpoint"] == b"0\n2\nt 1 3\nt 2 3\n"
    assert found["recovery-point-offset-checkpoint"] == b"0\n3\nt 0 3\nt 1 3\nt 2 3\n"
    assert found["meta.properties"] == b"directory.id=b\n"


@pytest.mark.parametrize("job", [convert_logs, compact_logs, export_logs, import_logs])
def test_output_inside_a_source(tmp_path: Path, job: Callable[..., Any]) -> None:
    log = transactional(tmp_path / "l" / "t-0")
    Export((), ()).write(log)
    (tmp_path / "link").symlink_to(log)
    fsspec.filesystem("memory").put(str(tmp_path / "l"), f"/{tmp_path.name}/l", recursive=True)
    before = sorted(tmp_path.rglob("*"))
    url = f"memory://{tmp_path.name}/l/t-0"
    above = [(log.parent, log.parent / "new"), (url.removesuffix("/t-0"), url.replace("/t-0", "/new"))]
    for source, output in (
        (log, log / "new"),
        (log, f"{log}/../../link/new"),
        (str(log), str(log)),
        (url, f"{url}/new"),
        *(above if job is not import_logs else ()),
    ):
        with pytest.raises(LogPathError, match=r"is inside .*, which is being read; choose an output outside of "):
            job(None, source, output)
    assert sorted(tmp_path.rglob("*")) == before


def test_abandoned_attempt_leaves_no_files(tmp_path: Path) -> None:
    segment = next((SAMPLE / "orders-0").glob("*.log"))
    unit = SegmentUnit(str(segment), "orders", "orders-0", segment.stat().st_ino)
    with staging(JobOutput(tmp_path / "out"), NO_SPARK) as staged:
        first, second = (_convert(unit, str(staged.attempts), Conversion()) for _ in range(2))
        assert first[0] != second[0]
        staged.take(second[0], "orders-0")
        assert not (tmp_path / "out").exists()
    assert files(tmp_path / "out")[f"orders-0/{segment.name}"] == segment.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    with pytest.raises(LogPathError, match="all workers must mount"):
        _convert(unit, str(staged.attempts), Conversion())  # an attempt after the end of the job
