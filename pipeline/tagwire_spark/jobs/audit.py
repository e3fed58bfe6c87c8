"""`audit_captures` lists which clients send which API versions, and which broker releases reject them.

The job does not decode message bodies.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tagwire_spark.columns.packages import find_registry
from tagwire_spark.jobs.units import path_strings
from tagwire_spark.options import invalid

Release = tuple[int, ...]

_KNOWN: Final = "apiKey int, apiVersion int, sinceRelease string, lastRelease string, isServed boolean"
_COLUMNS: Final = (
    *("client", "apiKey", "api", "apiVersion", "requests", "requestBytes", "responseBytes", "unreadable"),
    *("firstTime", "lastTime", "sinceRelease", "lastRelease"),
)


def audit_captures(
    spark: SparkSession,
    paths: str | Path | Iterable[str | Path],
    *,
    package: str = "",
    port: int | None = None,
    rejected_by: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Return a row for each client, API and version, sorted in this order.

    `client` is the client ID or, for requests without one, the client's label in the capture (`clientLabel`).
    `sinceRelease` and `lastRelease` are the first and last release that have the version, according to the package's
    archive of releases; `lastRelease` is null if the newest release has it. With `rejected_by` "4.0", return only
    versions that brokers of release 4.0 reject. `paths`, `port` and `storage_options` are as for the source
    `kafka_rpc`. Raises PipelineError for invalid arguments.
    """
    options = {"body": "none", **({"package": package} if package else {}), **({"port": str(port)} if port else {})}
    if storage_options:
        try:
            options["storageOptions"] = json.dumps(dict(storage_options))
        except TypeError:
            raise invalid(
                "storage_options: expected values that JSON can represent, because they are passed to Spark as JSON."
            ) from None
    names = path_strings(paths)
    known = _known_versions(package, rejected_by)
    calls = spark.read.format("kafka_rpc").options(**options).load(names if len(names) != 1 else names[0])
    found = (
        calls.where("requestSize is not null")
        .groupBy(F.coalesce("clientId", "clientLabel").alias("client"), "apiKey", "api", "apiVersion")
        .agg(
            F.count("*").alias("requests"),
            F.sum("requestSize").alias("requestBytes"),
            F.sum("responseSize").alias("responseBytes"),
            F.count("requestError").alias("unreadable"),
            F.min("requestTime").alias("firstTime"),
            F.max("requestTime").alias("lastTime"),
        )
        .join(spark.createDataFrame(known, _KNOWN), ["apiKey", "apiVersion"], "left")
        .where("isServed is not true")
    )
    return found.select(*_COLUMNS).orderBy("client", "api", "apiVersion")


def _known_versions(package: str, rejected_by: str | None) -> list[tuple[Any, ...]]:
    """Return a tuple for each version of each request.

    The tuple contains the API key, the version, its first and last release, and whether the release `rejected_by`
    supports it (None if `rejected_by` is None).
    """
    registry = find_registry(package)
    found = []
    for cls in map(registry.__getitem__, registry):
        for version, spans in registry.releases(cls.NAME).items() if cls.KIND == "request" else ():
            found.append((cls.API_KEY, version, spans[0][0], spans[-1][1]))
    release = None if rejected_by is None else _release(rejected_by, [first for _, _, first, _ in found])
    newest = max((_number(last) for *_, last in found), default=())
    return [
        (key, version, first, None if _number(last) == newest else last, _serves(first, last, newest, release))
        for key, version, first, last in found
    ]


def _release(text: str, releases: list[str]) -> Release:
    if not releases:
        raise invalid("rejected_by: the message package does not list Kafka releases; leave out this argument.")
    oldest, number = min(releases, key=_number), _number(text)
    if not number or number < _number(oldest)[: len(number)]:
        raise invalid(f"rejected_by: expected release {oldest} or later, such as 4.0, got {text!r}.")
    return number


def _serves(first: str, last: str, newest: Release, release: Release | None) -> bool | None:
    """Return whether `release` is in the range from `first` to `last`. Releases after `newest` count as `newest`."""
    if release is None:
        return None
    begin, end = _number(first)[: len(release)], _number(last)[: len(release)]
    return begin <= min(release, newest[: len(release)]) <= end


def _number(release: str) -> Release:
    """Parse a release number into a tuple of integers. The tuple is empty if the string isn't a release number."""
    parts = release.split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() and len(part) < 10 for part in parts) else ()
