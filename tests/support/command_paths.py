"""Find commands of `tagwire` by their full names, such as `decode` and `log dump`."""

import click

from tagwire_cli.app import app
from tagwire_cli.commands.log import command as log
from tagwire_cli.commands.spark import command as spark
from tagwire_workbench.commands.fuzz import command as fuzz
from tagwire_workbench.commands.mock import command as mock

GROUPS = {"fuzz": fuzz.table, "log": log.table, "mock": mock.table, "spark": spark.table}
COMMAND_PATHS = [
    *(name for name in app.table if name not in GROUPS),
    *(f"{group} {name}" for group, names in GROUPS.items() for name in names),
]


def command_of(path: str) -> click.Command:
    found: click.Command | None = app
    context = click.Context(app, info_name="tagwire")
    for word in path.split():
        assert isinstance(found, click.Group)
        found = found.get_command(context, word)
        assert found is not None
        context = click.Context(found, info_name=word, parent=context)
    return context.command
