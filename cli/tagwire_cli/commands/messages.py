"""`tagwire messages`: list the messages of a package."""

from typing import Any

import click

from tagwire_cli.arguments import completion
from tagwire_cli.arguments.options import package_option
from tagwire_cli.arguments.packages import find_registry
from tagwire_cli.output.tables import print_table, table_columns, write_json

_COLUMNS = table_columns("name", "kind", "key", "component", "versions", "flexible", numbers=("key",))


@click.command("messages")
@click.option(
    "--kind",
    metavar="KIND",
    shell_complete=completion.kinds,
    help="List only this kind: request, response, header, metadata ...",
)
@click.option(
    "--component",
    metavar="NAME",
    shell_complete=completion.components,
    help="List only this component: clients, group, cluster ...",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list instead of a table.")
@package_option
def command(kind: str | None, component: str | None, as_json: bool, package: str | None) -> None:
    """List the messages of a package.

    The column `flexible` shows the versions with tagged fields and compact
    lengths. Records in different components may have the same API key.

    \b
    Examples:
      tagwire messages
      tagwire messages --kind request --component clients
      tagwire messages --json | jq -r '.[].name'
      tagwire messages --package inventory_messages
    """
    registry = find_registry(package)
    messages: list[type[Any]] = [registry[name] for name in registry.names()]
    _require("kind", kind, {message.KIND for message in messages})
    _require("component", component, set(map(_component, messages)))
    chosen = [each for each in messages if kind in (None, each.KIND) and component in (None, _component(each))]
    if as_json:
        write_json([message_facts(message) for message in chosen])
        return
    print_table(_COLUMNS, map(_row, chosen))


def _require(name: str, value: str | None, known: set[str]) -> None:
    if value is not None and value not in known:
        raise click.BadParameter(
            f"no message has the {name} {value!r}; the {name}s are {', '.join(sorted(known))}", param_hint=f"--{name}"
        )


def _component(message: "type[Any]") -> str:
    found: str = getattr(message, "COMPONENT", "")
    return found


def _row(message: "type[Any]") -> tuple[object, ...]:
    if message.KIND == "format":
        return message.NAME, message.KIND, "", "", "", ""
    key = "" if message.API_KEY is None else message.API_KEY
    return message.NAME, message.KIND, key, message.COMPONENT, message.VERSIONS, message.FLEXIBLE_VERSIONS


def message_facts(message: "type[Any]") -> dict[str, Any]:
    """Return the properties of a message or record format as JSON."""
    if message.KIND == "format":
        return {"name": message.NAME, "kind": message.KIND, "format": message.FORMAT}
    return {
        "name": message.NAME,
        "kind": message.KIND,
        "apiKey": message.API_KEY,
        "component": message.COMPONENT,
        "versions": str(message.VERSIONS),
        "flexibleVersions": str(message.FLEXIBLE_VERSIONS),
        "latestStable": message.LATEST_STABLE,
    }
