from pathlib import Path
from typing import Any

import pytest
from streamed_logs import rows, stream
from tiered_logs import tiered
from written_logs import arrow_rows

from tagwire.log.scan import Scan
from tagwire_spark.log_read import uncommitted
from tagwire_spark.log_read.query import log_query
from tagwire_spark.log_read.splits import plan

NAMES = ("kafka4/alpha-txn-many-0", "kafka28/alpha-m0-segs-0")
COLUMNS = ("topic", "partition", "offset", "key", "value", "position", "baseOffset", "lastOffset")


def found(path: Path | str, **options: str) -> list[tuple[Any, ...]]:
    batches = arrow_rows(path, **options)
    return [tuple(row.get(name) for name in COLUMNS) for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"level": "batch"},
        {"isolation.level": "read_committed"},
        {"mode": "PERMISSIVE", "maxSplitBytes": "500"},
        {"startingOffsets": '{"alpha-txn-many": {"0": 60}}', "failOnDataLoss": "false"},
    ],
    ids=str,
)
def test_tiered_rows_equal_those_of_the_broker(logs: Path, tmp_path: Path, name: str, options: dict[str, str]) -> None:
    folder = tiered(logs / name, tmp_path)
    expected = found(logs / name, **options)
    assert expected or "subscribePattern" in options
    for path in (tmp_path, folder, f"local://{tmp_path}"):
        assert found(path, **options) == expected


def test_one_segment_and_a_pattern(logs: Path, tmp_path: Path) -> None:
    folder = tiered(logs / NAMES[0], tmp_path)
    expected = [row for row in found(logs / NAMES[0]) if 14 <= row[2] < 38]
    assert found(next(folder.glob("14-*.log"))) == found(folder / "14-*.log") == expected


def test_committed_reads_begin_after_a_snapshot(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the last segment must be scanned, because its producer snapshot lists the open transactions."""
    tiered(logs / NAMES[0], tmp_path)
    opened: list[str] = []

    def noted(file: str, *rest: Any) -> Any:
        opened.append(Path(file).name)
        return Scan(file, *rest)

    monkeypatch.setattr(uncommitted, "Scan", noted)
    assert plan(log_query({"path": str(tmp_path), "isolation.level": "read_committed"}))
    assert [name.partition("-")[0] for name in opened] == ["155"]


def test_a_stream(logs: Path, tmp_path: Path) -> None:
    tiered(logs / NAMES[1], tmp_path)
    read = [row["offset"] for row in rows(stream(tmp_path), {}, {"alpha-m0-segs": {"0": 400}})]
    assert read == [row[2] for row in found(logs / NAMES[1])]
