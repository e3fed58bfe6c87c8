"""Reduce the overhead of Spark's Python workers.

Spark runs Python's garbage collector in a worker after each task. The collector visits all imported objects, which
takes about 20 ms: a third of the time to decode half a million messages.
"""

import gc
from functools import cache

from pyspark import TaskContext


@cache
def settle_worker() -> None:
    """Exempt the objects imported so far from garbage collection in this worker. Does nothing outside of a task."""
    if TaskContext.get() is not None:
        gc.collect()
        gc.freeze()
