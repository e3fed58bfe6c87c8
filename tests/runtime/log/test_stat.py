from pathlib import Path

import pytest
from small_logs import write_segment

from tagwire.log import Segment
from tagwire.log.stat import stat
from tagwire.records import Record, build


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("format", ["v0", "v1", "v2"])
def test_the_range_of_timestamps(tmp_path: Path, format: str, compression: str) -> None:
    times = (7, -1, 5, 2**63 - 1) if format != "v0" else (-1, -1, -1, -1)
    batches = [build([Record(n, time, b"k", b"v")], format, compression=compression) for n, time in enumerate(times)]
    found = stat(Segment(write_segment(tmp_path, *batches)))
    known = (None, None) if format == "v0" else (5, 2**63 - 1)
    assert (found.first_timestamp, found.last_timestamp, found.records) == (*known, 4)
