import errno
import os
from functools import partial
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tagwire_spark import PipelineError
from tagwire_spark.jobs.tasks import _tasks, run_units

pytestmark = pytest.mark.spark


def test_cause_and_the_place_are_reported(spark: SparkSession) -> None:
    def work(unit: Any, attempts: str) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(PipelineError, match=r"WRITE_FAILED.*out/attempts can't be written by a worker: No space left"):
        run_units(spark, [1], [1], partial(work, attempts="out/attempts"))


def test_large_units_go_first_and_small_ones_together() -> None:
    mebibyte = 1 << 20
    assert _tasks([3 * mebibyte, 100 * mebibyte, 5, 90 * mebibyte]) == [[1], [3], [0, 2]]
    assert [len(task) for task in _tasks([0] * 70)] == [64, 6]
