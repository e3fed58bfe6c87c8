"""`tagwire spark audit`: count requests in captures by client, API and version."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import click

from tagwire_cli.arguments.options import json_lines_option
from tagwire_cli.arguments.spark_options import Session, spark_options
from tagwire_cli.output.tables import print_table, table_columns, write_json_line
from tagwire_cli.paths import AnyPath

_NUMBERS: Final = ("apiVersion", "requests", "requestBytes", "responseBytes", "unreadable")
_LEFT: Final = ("path", "files", "bytes", "lastWritten")
_TEXTS: Final = ("sinceRelease", "lastRelease")
_NUMBER_COLUMNS: Final = ("version", "requests", "bytes", "answered", "unreadable")
_COLUMNS: Final = table_columns("client", "api", *_NUMBER_COLUMNS, "since", "until", numbers=_NUMBER_COLUMNS)


@click.command("audit")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=AnyPath(is_text=True))
@click.option(
    "--rejected-by", metavar="RELEASE", help="Show only requests that brokers of this release reject, such as 4.0."
)
@click.option("--package", default="", metavar="NAME", help="The package of the messages; default: Kafka's.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="The port of the brokers, in network captures; default: 9092.",
)
@click.option("--leftovers", is_flag=True, help="List the hidden folders that killed writes and jobs left.")
@json_lines_option
@spark_options
def command(
    paths: Sequence[str],
    rejected_by: str | None,
    package: str,
    port: int | None,
    leftovers: bool,
    as_json: bool,
    storage_options: dict[str, Any] | None,
    session: Session,
) -> None:
    """Count requests in captured traffic by client, API and version.

    PATH is a file or folder of captures, as described in docs/capture-format.md, or a URL of
    any file system that the workers can reach. Each version is shown with the first
    and the last release that has it. The last release is empty if the newest
    release still has the version.

    With --leftovers, PATH is a folder that `kafka_log` or a job writes to. The hidden
    folders of writes and jobs that were killed or are still running are listed.

    \b
    Examples:
      tagwire spark audit captures
      tagwire spark audit captures.jsonl.gz --rejected-by 4.0 --json
      tagwire spark audit --leftovers /mnt/kafka
    """
    if leftovers:
        if rejected_by is not None or package or port is not None:
            raise click.UsageError("--leftovers can't be combined with --rejected-by, --package or --port.")
        _show_leftovers(paths, storage_options, as_json=as_json)
        return
    from tagwire_spark.jobs import audit_captures

    with session() as spark:
        df = audit_captures(
            spark, paths, package=package, port=port, rejected_by=rejected_by, storage_options=storage_options
        )
        rows = [row.asDict() for row in df.toLocalIterator()]
    if as_json:
        for row in rows:
            write_json_line({name: _in_utc(value) for name, value in row.items()})
    else:
        print_table(_COLUMNS, map(_row, rows))
    if rejected_by is not None and rows:
        raise click.exceptions.Exit(1)


def _show_leftovers(paths: Sequence[str], storage_options: dict[str, Any] | None, *, as_json: bool) -> None:
    """Print a row for each hidden folder that belongs to a write that was killed or is still running."""
    from tagwire_spark.files.commit import leftovers
    from tagwire_spark.files.store import StorageOptions

    storage = StorageOptions(storage_options or {})
    found = [each for path in paths for each in leftovers(path, storage)]
    rows = [(each.path, each.files, each.bytes, datetime.fromtimestamp(each.last_written, UTC)) for each in found]
    if as_json:
        for *facts, at in rows:
            write_json_line(dict(zip(_LEFT, (*facts, _in_utc(at)), strict=True)))
        return
    columns = table_columns(*_LEFT, numbers=_LEFT[1:3])
    print_table(columns, [(*facts, f"{at:%Y-%m-%d %H:%M}") for *facts, at in rows])


def _in_utc(value: Any) -> Any:
    """Format a time as a UTC string; return other values unchanged. Spark returns local times without a time zone."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds") if isinstance(value, datetime) else value


def _row(row: dict[str, Any]) -> tuple[object, ...]:
    names = (row["client"] or "", row["api"] or f"key {row['apiKey']}")
    return (*names, *("" if row[name] is None else row[name] for name in (*_NUMBERS, *_TEXTS)))
