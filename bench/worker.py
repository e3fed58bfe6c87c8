"""Measure the installation of tagwire that `compare` put on the import path.

Each input line requests a measurement: a message, an operation and a number of seconds, separated by tabs. Each output
line is the result: seconds per call, or an error.
"""

import sys
from collections.abc import Callable

from ours import Tagwire
from speed import work
from timing import interleaved

__all__ = ["main"]


def main() -> None:
    """Read requests for measurements from standard input, and carry them out until the input ends."""
    tagwire = Tagwire()
    contenders = tagwire.contenders()
    known: dict[str, Callable[[], object]] = {}
    for line in sys.stdin:
        message, operation, seconds = line.rstrip("\n").split("\t")
        question = f"{message} {operation}"
        try:
            if question not in known:
                known[question] = work(contenders[message], operation, tagwire.fields)
            (took,) = interleaved({"": known[question]}, rounds=1, seconds=float(seconds))[""]
        except (TypeError, NotImplementedError) as error:  # an older commit may not accept one of the arguments
            print(f"not there: {error}", flush=True)
        else:
            print(took, flush=True)


if __name__ == "__main__":
    main()
