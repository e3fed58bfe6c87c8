"""Narrow a query with the filters that Spark pushes down, to read less data.

Topic and partition filters select files, and offset filters select records. Spark does not apply these filters again,
and EXPLAIN shows them as pushed. Spark applies timestamp filters again, because record timestamps are coarser than
Spark's. All other filters are left to Spark.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from math import floor
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from tagwire_spark.log_read.query import LogQuery

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_VALUES: Final = (EqualTo, In)
_RANGES: Final = (EqualTo, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual)


def narrowed(query: LogQuery, filters: Iterable[Filter]) -> tuple[LogQuery, list[Filter]]:
    """Return the query narrowed by the filters, and the filters that Spark must still apply."""
    left = []
    for each in filters:
        column: tuple[str, ...] = getattr(each, "attribute", ())
        name = column[0] if len(column) == 1 else ""
        if name in _NARROW and isinstance(each, _VALUES if name in _OF_PARTITIONS else _RANGES):
            query = _NARROW[name](query, each)
        elif name not in _NARROW or not isinstance(each, IsNotNull):
            left.append(each)
            continue
        if name not in _OF_PARTITIONS and (name == "timestamp" or (query.permissive and not query.drops)):
            left.append(each)  # so that Spark also filters error rows
    return query, left


def _topic(query: LogQuery, each: Any) -> LogQuery:
    known = query.filtered_topics
    return query._replace(filtered_topics=tuple(v for v in _values(each) if known is None or v in known))


def _number(query: LogQuery, each: Any) -> LogQuery:
    return query._replace(numbers=tuple(v for v in _values(each) if query.numbers is None or v in query.numbers))


def _values(each: Any) -> Iterable[Any]:
    return (each.value,) if isinstance(each, EqualTo) else tuple(each.value)


def _range(each: Any) -> tuple[Any, Any]:
    """Return the (lower, upper) bounds of a filter, such as (5, None) for `> 5` and for `>= 5`."""
    if isinstance(each, EqualTo):
        return each.value, each.value
    return (each.value, None) if isinstance(each, GreaterThan | GreaterThanOrEqual) else (None, each.value)


def _offset(query: LogQuery, each: Any) -> LogQuery:
    low, high = _range(each)
    first, end = query.first_offset, query.end_offset
    if low is not None:
        first = max(first, low + isinstance(each, GreaterThan))
    if high is not None:
        end = min(end, high + (not isinstance(each, LessThan)))
    return query._replace(first_offset=first, end_offset=end)


def _timestamp(query: LogQuery, each: Any) -> LogQuery:
    low, high = (None if v is None else floor((v - _EPOCH) / timedelta(milliseconds=1)) for v in _range(each))
    first, end = query.first_timestamp, query.end_timestamp
    if low is not None:
        first = low if first is None else max(first, low)
    if high is not None:
        end = high + 1 if end is None else min(end, high + 1)
    return query._replace(first_timestamp=first, end_timestamp=end)


_NARROW: Final = {"topic": _topic, "partition": _number, "offset": _offset, "timestamp": _timestamp}
_OF_PARTITIONS: Final = ("topic", "partition")
