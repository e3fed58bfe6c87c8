"""Times one installation of tagwire for `compare`, which has it on the path: a question a line, an answer a line.

A question is a message, an operation and seconds, by tabs; the answer is seconds for each call, or why there are none.
"""

import sys
from collections.abc import Callable

from ours import Tagwire
from speed import work
from timing import interleaved

__all__ = ["main"]


def main() -> None:
    """Answer until the questions end."""
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
        except (TypeError, NotImplementedError) as fault:  # an older commit may lack an argument
            print(f"not there: {fault}", flush=True)
        else:
            print(took, flush=True)


if __name__ == "__main__":
    main()
