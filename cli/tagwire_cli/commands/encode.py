"""`tagwire encode`: JSON to bytes."""

import sys

import click

from tagwire_cli.input_bytes import read_json
from tagwire_cli.output import write_bytes
from tagwire_cli.packages import find_message, find_registry, package_option, require_version

__all__ = ["command"]


@click.command("encode")
@click.argument("name", metavar="MESSAGE")
@click.argument("version", type=int, metavar="VERSION")
@click.option("--hex", "as_hex", is_flag=True, help="Write hex text instead of bytes.")
@package_option
def command(name: str, version: int, as_hex: bool, package: str | None) -> None:
    """Encode JSON on standard input as a MESSAGE of a VERSION.

    The JSON is what `tagwire decode` prints: each field of the version but the
    tagged ones, bytes and records as base64, uuids as 22 characters of URL-safe
    base64, unknown tagged fields under "_unknownTags". A value that the version
    can't carry is refused; then nothing is written.

    \b
    Examples:
      echo '{"groupId": "g", "memberId": "m"}' | tagwire encode LeaveGroupRequest 0 --hex
      tagwire encode FetchRequest 17 < fetch.json > fetch.bin
      tagwire show FetchRequest --version 17        which fields it needs
    """
    message = find_message(find_registry(package), name)
    require_version(message, version)
    if not as_hex and sys.stdout.isatty():
        raise click.UsageError("bytes would garble the terminal: use --hex, or send them to a file or a pipe.")
    data = message.from_json(read_json(), version).encode(version)
    write_bytes(data.hex().encode() + b"\n" if as_hex else data)
