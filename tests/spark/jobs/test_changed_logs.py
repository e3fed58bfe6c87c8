import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from streamed_logs import batch, segment

from tagwire_spark import PipelineError
from tagwire_spark.jobs import compact_logs, convert_logs, export_logs, whatif_logs

SPARK = cast("Any", None)
JOBS: dict[str, Callable[[Path, Path], Any]] = {
    "convert": lambda logs, out: convert_logs(SPARK, [logs], out, codec="zstd"),
    "compact": lambda logs, out: compact_logs(SPARK, iter([logs]), out, include_active=True),
    "export": lambda logs, out: export_logs(SPARK, logs, out, columns=iter(["offset", "value"])),
    "whatif": lambda logs, out: whatif_logs(SPARK, logs, "v3"),
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "always"])
@pytest.mark.parametrize("is_swap", [False, True], ids=["retention", "swap"])
def test_segments_swapped_after_the_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_lasting: bool, is_swap: bool
) -> None:
    """If segments that a job listed are deleted or merged, the job must be repeated. It fails after three tries."""
    folder = tmp_path / "logs" / "t-0"
    folder.parent.mkdir()
    first, second, _ = (segment(folder, base, batch(base)) for base in (0, 5, 10))
    module = importlib.import_module(f"tagwire_spark.jobs.{'convert' if name == 'whatif' else name}")
    run_units, runs = module.run_units, []

    def changing(*arguments: Any) -> Any:
        runs.append(arguments)
        if second.exists():
            second.unlink()
            first.unlink() if not is_swap else segment(tmp_path, 0, batch(0), batch(5)).replace(first)
        try:
            return run_units(*arguments)
        finally:
            if is_lasting:
                segment(folder, 0, batch(0))
                segment(folder, 5, batch(5))

    monkeypatch.setattr(module, "run_units", changing)
    if is_lasting:
        monkeypatch.setattr("tagwire_spark.jobs.compact.TASK_BYTES", -1)  # one task per segment
        with pytest.raises(PipelineError, match=r"KAFKA_LOG_CHANGED.*/t-0/0.*; .* run the job again"):
            JOBS[name](tmp_path / "logs", tmp_path / "out")
        assert len(runs) == 3 and not (tmp_path / "out").exists()
    else:
        assert JOBS[name](tmp_path / "logs", tmp_path / "out")
        assert name == "whatif" or (tmp_path / "out").exists()
