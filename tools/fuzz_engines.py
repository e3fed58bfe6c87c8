"""Fuzz the native engine against the interpreter, guided by coverage of the interpreter.

`make fuzz` runs this program with atheris for a minute. It compares bytes, errors, traces, columns, JSON and objects.
The interpreter has a branch for every case that the engine must handle. The first two bytes choose a message version,
and the remaining bytes are decoded as that version. The decoded message is written as JSON, sometimes with an invalid
value, or its objects are compared, printed and copied. Input that begins with a brace is also read as JSON.
"""

import sys
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

atheris: Any = import_module("atheris")

with atheris.instrument_imports(
    include=[
        "tagwire.interpreter.reader",
        "tagwire.interpreter.cursor",
        "tagwire.interpreter.writer",
        "tagwire.message.json",
        "tagwire.message.json_text",
    ]
):
    from column_values import columns_of, expected_row
    from compared_errors import NO_LIMITS, place_differs, trace_differs
    from compared_json import json_differs, text_differs
    from compared_objects import objects_differ
    from damage import Sample, samples
    from mistaken_values import with_odd_value
    from test_engines_agree import ENGINES, reading_differs

    from tagwire import DecodeError

SAMPLES = samples()


def try_one(data: bytes) -> None:
    """Raise an error if the engines disagree about an input. Its first two bytes choose the message to decode."""
    if len(data) < 2:
        return
    sample = SAMPLES[int.from_bytes(data[:2], "big") % len(SAMPLES)]
    difference = reading_differs(sample, data[2:])
    (row,) = columns_of(sample, [data[2:]], errors="column")
    if not difference and repr(row) != repr(expected := expected_row(sample, data[2:])):
        difference = f"{row} in columns, {expected} alone"
    difference = difference or place_differs(sample, data[2:], NO_LIMITS, offset=data[0] % 2)
    if not difference and trace_differs(sample, data[2:], strict=data[1] % 2 == 0, limits=NO_LIMITS):
        difference = "another trace"
    difference = difference or around_differs(sample, data[2:])
    if difference:
        raise AssertionError(f"{sample.cls.NAME} v{sample.version} {data[2:].hex()}: {difference}")


def around_differs(sample: Sample, data: bytes) -> str | None:
    """Decode a message, and compare either the engines' object methods or their JSON, at random.

    If the data begins with a brace, also read it as JSON. Return a description of the first difference, or None.
    """
    if data[:1] == b"{" and (difference := text_differs(sample, data)):
        return difference
    try:
        message, equal = (sample.cls.decode(data, sample.version) for _ in range(2))
    except DecodeError:
        return None
    random = Random(data)
    if random.random() < 0.3:
        return objects_differ(message, equal, random)
    return json_differs(sample, random.choice((message, with_odd_value(message, random))))


def main() -> None:
    """Add valid inputs to the corpus folders. Then run atheris, which takes libFuzzer's arguments."""
    assert "native" in ENGINES, "this installation has no native engine"
    for argument in sys.argv[1:]:
        if not argument.startswith("-"):
            folder = Path(argument)
            folder.mkdir(parents=True, exist_ok=True)
            for number, sample in enumerate(SAMPLES):
                (folder / f"sample-{number}").write_bytes(number.to_bytes(2, "big") + sample.data)
                message = sample.cls.decode(sample.data, sample.version)
                text = message.to_json_text(sample.version).encode()
                (folder / f"text-{sample.cls.NAME}").write_bytes(number.to_bytes(2, "big") + text)
    atheris.Setup(sys.argv, try_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
