import errno
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamed_logs import batch, segment
from written_logs import failing_calls, files

from tagwire import log
from tagwire.errors import TagwireError
from tagwire.log.convert import Conversion, convert_partition
from tagwire_spark.errors import rejection
from tagwire_spark.jobs import convert_logs, export_logs, import_logs, whatif_logs

SMALL = "leader-epoch-checkpoint"


@pytest.fixture
def logs(here: None, tmp_path: Path) -> Path:
    """Create a log folder. Let jobs run their tasks in this process, so that `failing` has an effect on them."""
    root = tmp_path / "logs"
    root.mkdir()
    segment(root / "t-0", 0, batch(0))
    (root / "t-0" / SMALL).write_text("0\n0\n")
    (root / "cleaner-offset-checkpoint").write_text("0\n0\n")
    export_logs(None, str(root), str(tmp_path / "exported"))  # type: ignore[arg-type]
    return root


def failing(monkeypatch: pytest.MonkeyPatch, name: str, path: Path, error: int) -> None:
    """Make a function of module `os`, `io` or `shutil` raise an OSError with the number `error` for a path."""
    module = {"open": io, "copyfile": shutil}.get(name, os)
    failing_calls(monkeypatch, module, name, error, lambda each: each == path)


JOBS: dict[str, Callable[[Path, Path], Any]] = {
    "convert": lambda logs, output: convert_logs(None, str(logs), str(output), codec="gzip"),  # type: ignore[arg-type]
    "export": lambda logs, output: export_logs(None, str(logs), str(output)),  # type: ignore[arg-type]
    "whatif": lambda logs, _: whatif_logs(None, str(logs), "v3"),  # type: ignore[arg-type]
    "import": lambda logs, output: import_logs(None, f"{logs.parent}/exported", str(output)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("job", "call", "path"), [
    *((job, call, "logs") for job in ("convert", "export", "whatif") for call in ("scandir", "stat")),
    *((job, "scandir", "logs/t-0") for job in ("convert", "export", "whatif")),
    ("convert", "copyfile", f"logs/t-0/{SMALL}"), ("convert", "copyfile", "logs/cleaner-offset-checkpoint"),
    ("convert", "stat", "logs/cleaner-offset-checkpoint"),
    ("export", "stat", f"logs/t-0/{SMALL}"), ("export", "stat", "logs/cleaner-offset-checkpoint"),
    ("import", "open", "exported/_export.json"), ("import", "open", "exported/_exact/part-00000"),
    ("import", "scandir", "exported"), ("import", "stat", "exported"),
])  # fmt: skip
def test_error_names_the_input_and_the_cause(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str, call: str, path: str
) -> None:
    """If an input can't be read, the error must say so, and name the input and the cause."""
    broken = tmp_path / path
    failing(monkeypatch, call, broken, errno.EIO)
    with pytest.raises(TagwireError) as caught:
        JOBS[job](logs, tmp_path / "made")
    monkeypatch.undo()
    error = str(rejection(caught.value))
    assert error.startswith(f"[KAFKA_LOG_UNREADABLE] {broken} can't be read: "), error
    assert "(errno 5, EIO)" in error
    assert not (tmp_path / "made").exists()


def test_full_disk_is_an_error_of_the_output(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error must name the output, although `shutil.copyfile` names the source."""
    failing(monkeypatch, "copyfile", logs / "t-0" / SMALL, errno.ENOSPC)
    with pytest.raises(TagwireError, match=f"{tmp_path}/made can't be written: No space left"):
        JOBS["convert"](logs, tmp_path / "made")


def test_local_convert_names_the_input(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "copyfile", logs / "t-0" / SMALL, errno.EIO)
    with pytest.raises(TagwireError, match=f"{logs}/t-0/{SMALL} can't be read: Input/output error"):
        list(convert_partition(log.Partition(logs / "t-0"), tmp_path / "made" / "t-0", Conversion(None, "gzip")))


def test_truncated_export_is_malformed(logs: Path, tmp_path: Path) -> None:
    for name in files(tmp_path / "exported"):
        if name.endswith(".parquet"):
            os.truncate(tmp_path / "exported" / name, 20)
    with pytest.raises(TagwireError, match="MALFORMED_LOG_EXPORT"):
        JOBS["import"](logs, tmp_path / "made")
