from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")

from streamed_logs import batch, segment

from tagwire.log import LogError, Partition
from tagwire_spark.log_read.ends import LogEnd, end_of

BATCHES = batch(20, size=10), batch(25, size=30), batch(30, size=60)
LAST = batch(35, size=90)
FIRST_TWO, THREE = len(b"".join(BATCHES[:2])), len(b"".join(BATCHES))


@pytest.mark.parametrize(("base", "content", "expected"), [
    (20, (), (20, 0, 0, 0)),
    (20, (LAST[:100],), (20, 0, 100, 0)),
    (0, (LAST[:100],), (0, 0, 100, 0)),
    (20, (*BATCHES, LAST), (40, THREE + len(LAST), 0, THREE)),
    (20, (*BATCHES, LAST[:100]), (35, THREE, 100, FIRST_TWO)),
    (20, (*BATCHES, LAST[:100], bytes(len(LAST) - 100)), (35, THREE, len(LAST), FIRST_TWO)),
])  # fmt: skip
def test_end_after_the_last_whole_batch(
    tmp_path: Path, base: int, content: tuple[bytes, ...], expected: tuple[int, ...]
) -> None:
    segment(tmp_path / "alpha-0", base, *content)
    assert end_of(Partition(tmp_path / "alpha-0").segments) == LogEnd(*expected)


def test_the_first_batch_after_a_damaged_start_has_any_offset(tmp_path: Path) -> None:
    damaged, whole = bytes([7]) * 80, batch(0, count=1)
    segment(tmp_path / "alpha-0", 0, damaged, whole, damaged)
    segments = Partition(tmp_path / "alpha-0").segments
    assert end_of(segments, permissive=True) == LogEnd(1, 80 + len(whole), 80, 80)
    with pytest.raises(LogError):
        end_of(segments)


def test_an_empty_folder_has_no_end(tmp_path: Path) -> None:
    (tmp_path / "alpha-0").mkdir()
    assert end_of(Partition(tmp_path / "alpha-0").segments) is None
