from functools import partial
from pathlib import Path

from command import tagwire_outcome, tagwire_rows

outcome = partial(tagwire_outcome, "log")
rows = partial(tagwire_rows, "log")


def test_stat(logs: Path) -> None:
    (row,) = rows("stat", logs / "kafka28" / "alpha-upgrade2-0")
    assert row["formats"] == {"v0": 23, "v1": 23, "v2": 4} and row["records"] == 240 and row["endOffset"] == 240
    found = rows("stat", logs / "kafka4")
    assert sum(row["controlBatches"] for row in found) > 10 and sum(row["emptyBatches"] for row in found) > 0
    assert any(row["file"].endswith(".checkpoint") for row in found)
    code, out, _ = outcome("stat", logs / "kafka4" / "alpha-empty-0", logs / "kafka28" / "alpha-upgrade2-0")
    assert code == 0 and "v0 23, v1 23, v2 4" in out
