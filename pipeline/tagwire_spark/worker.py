"""What a Python worker of Spark is spared.

Spark has a worker collect its garbage after each task. That goes over all that
was ever imported, for some 20 ms: a third of what a worker takes to decode half
a million messages.
"""

import gc
from functools import cache

from pyspark import TaskContext

__all__ = ["settle_worker"]


@cache
def settle_worker() -> None:
    """Exempt what this worker has imported from garbage collection. Does nothing outside of a task."""
    if TaskContext.get() is not None:
        gc.collect()
        gc.freeze()
