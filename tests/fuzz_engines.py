"""Fuzz the native engine, its faults and traces, and the native columns against the interpreter, guided by coverage.

`make fuzz` runs this with atheris, for a minute. Atheris watches the branches that the interpreter takes. It takes one
for everything that the engine must tell apart, so bytes that lead it somewhere new are new to the engine as well. The
first two bytes choose a version of a message.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

atheris: Any = import_module("atheris")

with atheris.instrument_imports(
    include=["tagwire.interpreter.reader", "tagwire.interpreter.cursor", "tagwire.interpreter.writer"]
):
    from column_values import columns_of, expected_row
    from compared_faults import NO_LIMITS, place_differs, trace_differs
    from damage import samples
    from test_engines_agree import ENGINES, reading_differs

SAMPLES = samples()


def try_one(data: bytes) -> None:
    """Raises where the engines, or columns, differ on what follows the first two bytes."""
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
    if difference:
        raise AssertionError(f"{sample.cls.NAME} v{sample.version} {data[2:].hex()}: {difference}")


def main() -> None:
    """Arguments are those of libFuzzer; a folder among them keeps what was found, and is filled with valid bytes."""
    assert "native" in ENGINES, "this installation has no native engine"
    for argument in sys.argv[1:]:
        if not argument.startswith("-"):
            folder = Path(argument)
            folder.mkdir(parents=True, exist_ok=True)
            for number, sample in enumerate(SAMPLES):
                (folder / f"sample-{number}").write_bytes(number.to_bytes(2, "big") + sample.data)
    atheris.Setup(sys.argv, try_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
