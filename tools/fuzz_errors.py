"""Compare the native engine with the interpreter on many damaged inputs. Both must raise equal errors.

    PYTHONPATH=tests/support python tools/fuzz_errors.py --count 20000000 --seed 20

Unlike `make fuzz`, this program is not guided by coverage and compares decoding only, so it tries about 10,000 inputs
per second. The inputs are damaged samples of all message versions of Kafka and of KIP-482's draft. One in eight inputs
has low limits, and one in eight starts after skipped bytes. `--backwards` starts with the last version, so that two
processes can share the work.

Prints each difference as a line of JSON, and exits with status 1 if there is any difference.
"""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import cycle, groupby
from random import Random
from time import process_time

from compared_errors import NO_LIMITS, any_limits, place_differs
from damage import Sample, damaged, samples

LONGEST = 4_000
"""The size limit of damaged samples in bytes."""

TRIES = 8
"""Maximum number of attempts to find an input that was not tried before."""


def main() -> int:
    """Compare the errors of all inputs. Return the exit status."""
    parser = ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=1_000_000, help="how many inputs to try")
    parser.add_argument("--seed", type=int, default=20, help="of the damage")
    parser.add_argument("--backwards", action="store_true", help="begin with the last version")
    options = parser.parse_args()
    random, started, tried, differing = Random(options.seed), process_time(), 0, 0
    versions = [list(group) for _, group in groupby(sorted(samples(LONGEST), key=_version), key=_version)]
    versions = versions[::-1] if options.backwards else versions
    for number, group in enumerate(versions):
        share = (options.count - tried) // (len(versions) - number)
        for sample, data in distinct(group, share, random):
            tried += 1
            choice = random.randrange(8)
            limits = any_limits(random) if choice == 0 else NO_LIMITS
            if difference := place_differs(sample, data, limits, random.randrange(1, 4) if choice == 1 else 0):
                differing += 1
                print(json.dumps([sample.cls.NAME, sample.version, data.hex(), str(limits), difference]), flush=True)
        if number % 50 == 0 or number == len(versions) - 1:
            so_far = f"{tried} inputs, {differing} differ, {process_time() - started:.0f} s"
            print(so_far, file=sys.stderr, flush=True)
    return differing > 0


def _version(sample: Sample) -> tuple[str, str, int]:
    return sample.cls.__module__, sample.cls.NAME, sample.version


def distinct(group: list[Sample], share: int, random: Random) -> Iterator[tuple[Sample, bytes]]:
    """Damage samples of one message version, and yield up to `share` different inputs."""
    seen: set[bytes] = set()
    for sample in cycle(group):
        data = sample.data
        for _ in range(TRIES):
            data = damaged(sample, random, data)
            if data not in seen:
                break
        else:
            return
        if len(seen) == share:
            return
        seen.add(data)
        yield sample, data


if __name__ == "__main__":
    sys.exit(main())
