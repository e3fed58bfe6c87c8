"""Jobs on Spark: ours beside those of the study.

The study's are functions in what its module `kds2` does as a program. They are
taken out of there and called with our log, so that what is measured is its own
code; where they write is a folder below the one that all of this runs in.
"""

import ast
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

__all__ = ["job_contenders"]

_STUDY_WRITES_TO: Final = Path("research", "sparklab")
_WANTED: Final = ("pr", "omap", "two", "conv")
_NOW: Final = 1_700_000_000_000
_BATCH_BYTES: Final = 65536
"""What the study converts to."""

Contenders = dict[str, Callable[[], object]]


def job_contenders(spark: Any, log: Path, study: Path | None, _: dict[str, Path]) -> Contenders:
    """What is measured on the log."""
    from tagwire_spark.jobs import compact_logs, convert_logs

    output = log.with_name("output")

    def anew(job: Callable[..., object], **options: Any) -> object:
        shutil.rmtree(output, ignore_errors=True)
        return job(spark, log, output, **options)

    rules = {"now": _NOW, "include_active": True, "drop_keyless": True}
    found: Contenders = {
        "compact_logs": lambda: anew(compact_logs, **rules),
        "convert_logs, 64 KiB batches": lambda: anew(convert_logs, batch_bytes=_BATCH_BYTES),
    }
    return found | (_study(spark, log) if study else {})


def _study(spark: Any, log: Path) -> Contenders:
    """The study's jobs; its workers find its modules by PYTHONPATH."""
    import kds2  # type: ignore[import-not-found]

    _STUDY_WRITES_TO.mkdir(parents=True, exist_ok=True)
    spark.dataSource.register(kds2.KDS2)
    names: dict[str, Any] = {**vars(kds2), "__name__": "__main__", "spark": spark, "path": str(log)}
    assert kds2.__file__
    program = next(part for part in ast.parse(Path(kds2.__file__).read_text()).body if isinstance(part, ast.If))
    parts = [part for part in program.body if _defines(part) in _WANTED]
    exec(compile(ast.Module(parts, []), kds2.__file__, "exec"), names)
    return {"the study, compaction": names["two"], "the study, conversion": lambda: _converted(names["conv"])}


def _defines(part: ast.stmt) -> str:
    """The name that a statement gives to something."""
    if isinstance(part, ast.FunctionDef):
        return part.name
    target = part.targets[0] if isinstance(part, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else ""


def _converted(job: Callable[[], object]) -> None:
    """Run the study's conversion, which overwrites what it wrote before."""
    job()
    for path in _STUDY_WRITES_TO.glob("conv.*"):
        path.unlink()
