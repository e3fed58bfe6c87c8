from pathlib import Path

import pytest

from tagwire.log import Segment
from tagwire.log.writing import index_kinds


@pytest.mark.parametrize(
    ("indexes", "has_times"), [((), True), (("index",), False), (("timeindex",), True), (("index", "timeindex"), True)]
)
def test_kinds_of_indexes_of_a_copied_segment(tmp_path: Path, indexes: tuple[str, ...], has_times: bool) -> None:
    path = tmp_path / f"{0:020}.log"
    for each in (path, *(path.with_suffix(f".{kind}") for kind in indexes)):
        each.touch()
    assert index_kinds(Segment(path)) == {"index", "txnindex", *(["timeindex"] if has_times else [])}
