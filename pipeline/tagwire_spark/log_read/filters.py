"""What the filters of a query exclude from reading.

Only filters of partitions and times are used. All others change nothing, because Spark applies
every filter to the rows again.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from math import floor
from typing import Any, Final

from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

from tagwire_spark.log_read.query import LogQuery

__all__ = ["narrowed"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def narrowed(query: LogQuery, filters: Iterable[Filter]) -> LogQuery:
    """The query, asking for no more than rows that may pass all filters."""
    for each in filters:
        column: tuple[str, ...] = getattr(each, "attribute", ())
        if len(column) == 1 and column[0] in _NARROW:
            query = _NARROW[column[0]](query, each)
    return query


def _values(each: Filter) -> list[Any] | None:
    """The values that a column may have, where a filter lists them."""
    if isinstance(each, EqualTo):
        return [each.value]
    return list(each.value) if isinstance(each, In) else None


def _range(each: Filter) -> tuple[Any, Any]:
    """The least and the greatest value that a column may have; None for no bound."""
    if isinstance(each, EqualTo):
        return each.value, each.value
    if isinstance(each, GreaterThan | GreaterThanOrEqual):
        return each.value, None
    return (None, each.value) if isinstance(each, LessThan | LessThanOrEqual) else (None, None)


def _topic(query: LogQuery, each: Filter) -> LogQuery:
    values = _values(each)
    if values is None:
        return query
    return query._replace(topics=tuple(v for v in values if query.topics is None or v in query.topics))


def _number(query: LogQuery, each: Filter) -> LogQuery:
    values = _values(each)
    if values is None:
        return query
    return query._replace(numbers=tuple(v for v in values if query.numbers is None or v in query.numbers))


def _offset(query: LogQuery, each: Filter) -> LogQuery:
    low, high = _range(each)
    first = query.first_offset if low is None else max(query.first_offset, int(low))
    end = query.end_offset if high is None else min(query.end_offset, int(high) + 1)
    return query._replace(first_offset=first, end_offset=end)


def _timestamp(query: LogQuery, each: Filter) -> LogQuery:
    low, high = (None if v is None else floor((v - _EPOCH) / timedelta(milliseconds=1)) for v in _range(each))
    first, end = query.first_timestamp, query.end_timestamp
    if low is not None:
        first = low if first is None else max(first, low)
    if high is not None:
        end = high + 1 if end is None else min(end, high + 1)
    return query._replace(first_timestamp=first, end_timestamp=end)


_NARROW: Final = {"topic": _topic, "partition": _number, "offset": _offset, "timestamp": _timestamp}
