"""`tagwire log state`: print the current state that Kafka's internal topics store, such as committed offsets."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tagwire_cli.arguments.logs import (
    Skipped,
    byte_progress,
    format_option,
    lenient_option,
    partitions_below,
    paths_argument,
)
from tagwire_cli.arguments.options import limit_option, limits_of, package_option, show_sensitive_option
from tagwire_cli.arguments.packages import find_registry
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import print_table, table_columns, write_json_text

if TYPE_CHECKING:
    from tagwire.records import FormatSet


_NUMBERS = ("partition", "offset", "producer", "epoch", "start offset", "batches", "leader")
_GROUPS = table_columns("group", "kind", "topic", "partition", "offset", "metadata", numbers=_NUMBERS)
_TRANSACTIONS = table_columns("transactional id", "producer", "epoch", "status", numbers=_NUMBERS)
_SHARES = table_columns("share group", "topic id", "partition", "start offset", "batches", numbers=_NUMBERS)
_TOPICS = table_columns("topic", "id", "partition", "leader", "replicas", "in sync", numbers=_NUMBERS)


@click.command("state")
@paths_argument
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object: groups, transactions, sharePartitions, cluster."
)
@lenient_option
@format_option
@show_sensitive_option
@limit_option
@package_option
def command(
    paths: Sequence[Path],
    as_json: bool,
    is_lenient: bool,
    format: "FormatSet",
    limits: Sequence[str],
    package: str | None,
) -> None:
    """Print the current state in Kafka's internal topics.

    __consumer_offsets: groups with their members and offsets. __transaction_state:
    transactional IDs. __share_group_state: the delivery state of share groups.
    __cluster_metadata: topics, brokers, configurations, users, quotas, ACLs.
    Records of a transaction count once it commits. --json prints all fields.
    Records of unknown types or versions are left out and reported, and the exit
    status is 1.

    \b
    Examples:
      tagwire log state /var/lib/kafka/data
      tagwire log state /var/lib/kafka/data --json | jq '.groups["billing"].offsets'
    """
    from tagwire.log.state import state, state_json_text

    found, skipped = [each for path in paths for each in partitions_below(path, "summarized")], Skipped()
    read = state_json_text if as_json else state
    with byte_progress("state", found) as progress:
        states = read(
            found,
            find_registry(package),
            format=format,
            limits=limits_of(limits),
            progress=progress,
            skip=skipped if is_lenient else None,
            unknown=skipped,
        )
    if states in ({}, "{}"):
        say("tagwire: no partition of Kafka's internal topics found", err=True)
        raise click.exceptions.Exit(1)
    if isinstance(states, str):
        write_json_text(states)
    else:
        _print(states)
    skipped.end()


def _print(states: dict[str, Any]) -> None:
    tables = (
        ("groups", _GROUPS, _group_rows),
        ("transactions", _TRANSACTIONS, _transaction_rows),
        ("sharePartitions", _SHARES, _share_rows),
        ("cluster", _TOPICS, _topic_rows),
    )
    for number, (name, columns, rows) in enumerate(each for each in tables if each[0] in states):
        if number:
            say()
        print_table(columns, rows(states[name]))


def _group_rows(groups: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    for name, group in groups.items():
        kinds = ", ".join(each.removesuffix("Metadata") for each in group if each.endswith("GroupMetadata"))
        kind = kinds.replace("Group", " group").strip() or "offsets only"
        for commit in group["offsets"]:
            yield name, kind, *(commit[key] for key in ("topic", "partition", "offset", "metadata"))
        if not group["offsets"]:
            yield name, kind, "", "", "", ""


def _transaction_rows(transactions: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    from tagwire.frames.known_packages import kafka_messages

    status = kafka_messages().attribute("TransactionStatus")
    for name, each in transactions.items():
        yield name, each["producerId"], each["producerEpoch"], status.of(each["transactionStatus"])


def _share_rows(partitions: list[dict[str, Any]]) -> Iterator[tuple[object, ...]]:
    for each in partitions:
        yield *(each[key] for key in ("groupId", "topicId", "partition", "startOffset")), len(each["stateBatches"])


def _topic_rows(cluster: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    for name, topic in cluster["topics"].items():
        for each in topic["partitions"]:
            replicas = (", ".join(map(str, each[key])) for key in ("replicas", "isr"))
            yield name, topic["topicId"], each["partitionId"], each["leader"], *replicas
