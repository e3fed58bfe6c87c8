import errno
import os
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'tagwire[spark]'")

from tagwire_spark import PipelineError
from tagwire_spark.jobs.tasks import run_units

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_cause_and_the_place_are_reported(spark: "SparkSession") -> None:
    def work(unit: Any, attempts: str) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(PipelineError, match=r"WRITE_FAILED.*out/attempts can't be written by a worker: No space left"):
        run_units(spark, [1], [1], partial(work, attempts="out/attempts"))
