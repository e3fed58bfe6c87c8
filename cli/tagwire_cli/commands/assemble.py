"""`tagwire assemble`: convert annotated bytes, possibly edited by hand, back to bytes."""

from typing import Final

import click

from tagwire_cli.input.files import InputError, open_input
from tagwire_cli.output.tables import reject_terminal, write_data

_MOST_BYTES: Final = 64 << 20


@click.command("assemble")
@click.argument("file", default="-")
@click.option("--frames", "has_sizes", is_flag=True, help="Write the size before each message, as on a connection.")
@click.option("--fix", is_flag=True, help="Correct lengths, counts and checksums.")
@click.option("--hex", "is_hex", is_flag=True, help="Write hex, one message per line.")
def command(file: str, has_sizes: bool, fix: bool, is_hex: bool) -> None:
    """Turn the output of `tagwire explain` back into bytes.

    Only the column of bytes is read: offsets, fields, types and values may be
    wrong or missing. You can change, add, duplicate and delete lines to make bytes
    that no encoder would write. A line has an optional offset and then bytes,
    separated by single spaces: 00 0c, 000c, or "text". Each may be followed by *N
    to repeat it N times. Two spaces after the bytes end them, and the rest of the
    line is ignored. Lines that start with #, ! or + are also ignored. --fix corrects
    lengths, counts and checksums; it needs the paths and types of the lines.

    \b
    Examples:
      tagwire explain --request frame.bin > frame.txt
      tagwire assemble frame.txt > frame.bin
      tagwire assemble frame.txt | tagwire explain --request
      echo '00 03 "abc" ff*10' | tagwire assemble --hex
    """
    from tagwire.explain.assemble import assemble

    if not is_hex:
        reject_terminal()
    with open_input(file) as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:  # a pipe may be endless
        line = data.count(b"\n", 0, _MOST_BYTES) + 1
        raise InputError(
            f"annotated bytes: line {line}: the input is longer than the limit of {_MOST_BYTES >> 20} MiB; "
            "assemble fewer messages at a time"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"annotated bytes: byte {error.start} is not UTF-8; the input must be the output of `tagwire explain`"
        ) from None
    for each in assemble(text, fix=fix):
        write_data(each, as_hex=is_hex, sized=has_sizes)
