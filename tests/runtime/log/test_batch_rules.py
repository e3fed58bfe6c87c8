from contextlib import nullcontext

import pytest

from tagwire.log import LogError
from tagwire.log.batch_rules import check_order
from tagwire.log.scan import LogBatch
from tagwire.records import Record, build

BATCH = build([Record(5, 1000, b"k", b"v"), Record(7, 1000, b"k", b"v")])


@pytest.mark.parametrize(("before", "is_in_order"), [(-1, True), (4, True), (5, False), (6, False), (100, False)])
def test_a_batch_begins_after_the_batch_before_it(before: int, is_in_order: bool) -> None:
    expected = f"base offset 5, expected at least {before + 1}, because offsets must increase"
    with nullcontext() if is_in_order else pytest.raises(LogError, match=expected):
        check_order(LogBatch(BATCH, "0.log", 61), before)
