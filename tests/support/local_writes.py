"""Begin writes to a local log without committing them, and look at what is in its folder."""

from pathlib import Path

from written_logs import columns, job, table

from tagwire_spark.log_write.driver import LogWriter, Staged
from tagwire_spark.log_write.target import log_target

COLUMNS = columns("topic string, partition int, value binary")
BEFORE = {"t-0": [b"old"]}
AFTER = {"t-0": [b"old", b"new"], "u-0": [b"new"]}


def staged(
    root: Path, value: bytes = b"new", topics: str = "tu", *, overwrite: bool = False
) -> tuple[LogWriter, list[Staged]]:
    """Write rows, but don't commit them. By default, append to partition t-0, and create partition u-0."""
    writer = LogWriter(log_target({"path": str(root)}), overwrite=overwrite)
    return writer, [writer.write(iter(table(*((topic, 0, value) for topic in topics), schema=COLUMNS)))]


def begun(
    root: Path, value: bytes = b"new", topics: str = "tu", *, overwrite: bool = False
) -> tuple[LogWriter, list[Staged]]:
    """Write partition t-0 with one row, and then begin another write."""
    job(root, table(("t", 0, b"old"), schema=COLUMNS))
    return staged(root, value, topics, overwrite=overwrite)


def is_clean(root: Path, *names: str) -> bool:
    """Return whether a folder has no hidden files but these."""
    return sorted(each.name for each in root.glob(".*")) == sorted(names)
