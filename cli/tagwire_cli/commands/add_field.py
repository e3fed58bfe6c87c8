"""`tagwire add-field`: add an optional field to released versions, without a new version."""

from typing import Any

import click

from tagwire_cli.commands.add_version import edit, field_options, new_field


@click.command("add-field")
@click.argument("message", metavar="MESSAGE")
@field_options
def command(
    message: str, name: str | None, type_: str | None, tag: str | None, revision: str | None, dry_run: bool, **rest: Any
) -> None:
    """Add a tagged field to all flexible versions of a message.

    No version is added: readers of released versions skip tags that they do not
    know (KIP-482). MESSAGE is a message of this project's spec sets, or the file of
    a spec. The field gets the next free tag of its struct unless --tag names one.
    Peers without the field ignore it, so they must work without it.

    The spec is edited in place; comments, order and formatting stay. Nothing is
    written if a rule would be broken or a released version would change.
    `tagwire add-version` adds a field that all peers of the new version know.

    \b
    Examples:
      tagwire add-field PingRequest --field TraceId --type uuid --dry-run
      tagwire add-field PingResponse --field Rack --type string --in Hosts --nullable --default null
    """
    from tagwire_generator.editing.next_version import plan_optional_field

    if name is None:
        raise click.UsageError("name the field with --field NAME.")
    edit(plan_optional_field, message, new_field(name, type_, tag or "next", rest), revision, dry_run=dry_run)
