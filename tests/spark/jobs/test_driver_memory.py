import pickle
import subprocess
import sys
import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from tagwire.records import Record, build
from tagwire_spark.jobs import convert_logs

MOST = 2000
"""The number of bytes that the driver may use per segment."""


def segments(folder: Path, count: int) -> Path:
    folder.mkdir(parents=True)
    data = build([Record(0, 1_700_000_000_000, b"k", b"v")], "v2").encode()
    for number in range(count):
        (folder / f"{number:020}.log").write_bytes(number.to_bytes(8, "big") + data[8:])
    return folder


def answers(_: Any, units: list[Any], sizes: list[int], work: "partial[Any]") -> list[Any]:
    """Convert only the first segment, and return its result for every unit. This function replaces `run_units`."""
    if not units:
        return []
    pickled, attempts = pickle.dumps(work(units[0])), Path(work.keywords["attempts"])
    found = [pickle.loads(pickled)._replace(attempt=f"{number:032}") for number in range(len(units))]
    for answer in found:
        (attempts / answer.attempt).mkdir()
    return found


def bytes_for_each(folder: Path) -> float:
    pytest.MonkeyPatch().setattr("tagwire_spark.jobs.convert.run_units", answers)
    peaks = []
    for turn, count in enumerate((1010, 10, 1010)):  # the first run imports modules and fills caches
        source = segments(folder / f"from-{turn}" / "t-0", count).parent
        tracemalloc.start()
        reports = convert_logs(cast("Any", None), source, folder / f"to-{turn}")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(reports) == count
    return (peaks[2] - peaks[1]) / 1000


@pytest.mark.thorough
def test_the_driver_of_convert(tmp_path: Path) -> None:
    # Measure in a new process, because tracemalloc would also count what other threads of this process allocate.
    measured = subprocess.run([sys.executable, __file__, tmp_path], capture_output=True, text=True, check=True)
    assert float(measured.stdout) < MOST


if __name__ == "__main__":
    print(bytes_for_each(Path(sys.argv[1])))
