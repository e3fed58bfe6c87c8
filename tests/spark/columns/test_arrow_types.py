from typing import Any

import pyarrow as pa
import pytest

from tagwire_spark.columns import arrow_types
from tagwire_spark.columns.arrow_types import converted_rows

ROWS = 4096


@pytest.mark.parametrize(
    "wrong",
    [(), (0,), (ROWS - 1,), (5, 6, 2048), tuple(range(0, ROWS, 512)), tuple(range(ROWS))],
    ids=lambda rows: str(len(rows)),
)
def test_invalid_rows_are_found_by_bisection(wrong: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    calls, original = [0], arrow_types.converted

    def counted(*arguments: Any) -> Any:
        calls[0] += 1
        return original(*arguments)

    monkeypatch.setattr(arrow_types, "converted", counted)
    values = [-row - 1 if row in wrong else row for row in range(ROWS)]
    found, misfits = converted_rows(pa.array(values, pa.int64()), pa.uint64())
    assert found.to_pylist() == [None if row in wrong else row for row in range(ROWS)]
    assert tuple(misfits) == wrong and {each.reason for each in misfits.values()} <= {
        "has a value that does not fit the Arrow type uint64"
    }
    # Finding a wrong value in 4096 rows takes 12 steps of 2 calls each.
    assert calls[0] <= 2 + 2 * 12 * len(wrong)
