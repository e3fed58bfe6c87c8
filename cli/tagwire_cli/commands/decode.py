"""`tagwire decode`: bytes to JSON."""

from collections.abc import Sequence

import click

from tagwire.errors import DecodeError
from tagwire_cli.input_bytes import limit_option, limits_of, read_bytes
from tagwire_cli.output import write_json
from tagwire_cli.packages import find_message, find_registry, package_option, require_version

__all__ = ["command"]


@click.command("decode")
@click.argument("name", metavar="MESSAGE")
@click.argument("version", type=int, metavar="VERSION")
@click.option("--hex", "is_hex", is_flag=True, help="The input is hex text; white space in it does not count.")
@click.option(
    "--lenient", is_flag=True, help="Take what Kafka's own reader takes; docs/decoding.md lists what that is."
)
@click.option(
    "--style",
    type=click.Choice(["lossless", "kafka"]),
    default="lossless",
    show_default=True,
    help="lossless can be encoded again; kafka is what Kafka's own tools print.",
)
@limit_option
@package_option
def command(
    name: str, version: int, is_hex: bool, lenient: bool, style: str, limits: Sequence[str], package: str | None
) -> None:
    """Decode bytes on standard input, a MESSAGE of a VERSION, to JSON.

    The input is the message alone, without size and header (`tagwire explain`
    takes whole frames). All of it must be the message: bytes that are missing,
    left over or not as the version has them are refused with their place; then
    nothing is printed on standard output.

    \b
    Examples:
      echo 00 01 67 00 01 6d | tagwire decode LeaveGroupRequest 0 --hex
      tagwire decode FetchResponse 17 < body.bin | jq .responses
      tagwire decode MetadataRequest 12 --limit elements=1000 < untrusted.bin
    """
    message = find_message(find_registry(package), name)
    require_version(message, version)
    bounds = limits_of(limits)
    data = read_bytes("-", is_hex=is_hex)
    try:
        value = message.decode(data, version, strict=not lenient, limits=bounds).to_json(version, style=style)
    except DecodeError as error:
        click.echo(f"tagwire: {error}", err=True)
        click.echo(f"`tagwire explain {name} {version}` shows every byte up to there", err=True)
        raise click.exceptions.Exit(1) from None
    write_json(value)
