"""`tagwire convert`: convert batches to another record format."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from tagwire.errors import DecodeError
from tagwire_cli.arguments.logs import FormatName, format_option
from tagwire_cli.arguments.options import limit_option, limits_of
from tagwire_cli.input.encodings import batches_hint
from tagwire_cli.input.files import InputError, note_empty, read_bytes
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import reject_terminal, write_data
from tagwire_cli.paths import AnyPath

if TYPE_CHECKING:
    from tagwire.records import FormatSet, RecordBatch


@click.command("convert")
@click.argument("to", metavar="FORMAT", type=FormatName())
@click.argument("file", metavar="[FILE]", default="-", type=AnyPath(allow_dash=True, is_text=True))
@format_option
@click.option("--refuse-loss", is_flag=True, help="Write nothing if anything would be lost.")
@click.option("--hex", "is_hex", is_flag=True, help="Read and write hex.")
@limit_option
def command(to: str, file: str, format: "FormatSet", refuse_loss: bool, is_hex: bool, limits: Sequence[str]) -> None:
    """Convert record batches to FORMAT.

    The input is FILE or standard input: one or more batches, such as a log
    segment. Values that FORMAT can't represent are reported on standard error.
    docs/records.md lists the formats.

    \b
    Examples:
      tagwire convert v3 00000000000000000000.log > smaller.log
      tagwire convert v1 --format kip87 --refuse-loss --hex batch.txt
    """
    from tagwire.records import convert, format_of

    if not is_hex:
        reject_terminal()
    target = format_of(to)
    out = bytearray()
    lost = 0
    data = read_bytes(file, is_hex=is_hex)
    if not data:
        note_empty(file)
    for batch in _batches(data, file, format, limits):
        converted, losses = convert(batch, target)
        out += converted.encode()
        for loss in losses:
            say(f"tagwire: batch at offset {batch.base_offset}: {loss.path}: {loss.reason}", err=True)
        lost += len(losses)
    if not (lost and refuse_loss):
        write_data(bytes(out), as_hex=is_hex)
    if lost:
        raise click.exceptions.Exit(1)


def _batches(data: bytes, file: str, formats: "FormatSet", limits: Sequence[str]) -> "Iterator[RecordBatch]":
    from tagwire.records import read_batches

    try:
        yield from read_batches(data, formats, limits_of(limits))
    except DecodeError as error:
        hint = batches_hint(data, file)
        raise InputError(f"{error}; {hint}") if hint else error from None
