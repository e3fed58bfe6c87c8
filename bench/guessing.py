"""How often `tagwire.guess` is right: every frame of a capture file, guessed without its size and without its pair.

    python bench/guessing.py CAPTURES [N]

Prints how many requests and responses are named (one candidate clearly ahead),
and of these how many wrongly; how many are ambiguous, and whether the right
one stands first. `N` takes every Nth frame. The likeliest message counts as right if its
API is, and the version is one of those that read the bytes alike.
"""

import sys
from collections import Counter
from pathlib import Path
from time import perf_counter

import tagwire
import tagwire_messages as messages
from tagwire_cli.input.captures import Capture, read_captures

ANSWERS = (
    "named",
    "named wrongly",
    "ambiguous, right first",
    "ambiguous, right listed",
    "right one not listed",
    "none",
)


def main() -> None:
    """Guess, count, print."""
    path, every = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    counts: dict[str, Counter[str]] = {"request": Counter(), "response": Counter()}
    times: dict[str, list[float]] = {"request": [], "response": []}
    for capture in read_captures(path)[::every]:
        kind = "request" if capture.is_request else "response"
        start = perf_counter()
        found = tagwire.guess(messages.registry, capture.data)
        times[kind].append(perf_counter() - start)
        counts[kind][answer(found, capture)] += 1
    for kind, counted in counts.items():
        total = sum(counted.values())
        seconds = sorted(times[kind])
        print(f"{kind}: {total} frames, median {1000 * seconds[total // 2]:.0f} ms, longest {seconds[-1]:.1f} s")
        for name in ANSWERS:
            print(f"  {name:25}{counted[name]:6}{100 * counted[name] / total:8.2f} %")


def answer(found: tagwire.Guess, capture: Capture) -> str:
    """Which of `ANSWERS` it is."""
    clear = found.clear
    if clear is not None:
        return "named" if is_right(clear, capture) else "named wrongly"
    whole = [each for each in found.candidates if each.whole]
    if not whole:
        return "none"
    places = [number for number, each in enumerate(whole) if is_right(each, capture)]
    if not places:
        return "right one not listed"
    return "ambiguous, right first" if places[0] == 0 else "ambiguous, right listed"


def is_right(candidate: tagwire.Candidate, capture: Capture) -> bool:
    """Whether it is this frame's message, in its version or, for a fallback, in that of the answer."""
    kind = "request" if capture.is_request else "response"
    message = candidate.message
    if candidate.kind != kind or message is None or capture.api_key != message.API_KEY:
        return False
    answered = capture.version
    if kind == "response":
        answered = messages.registry.decode_response(capture.data, capture.api_key, capture.version).version
    return answered in candidate.versions


if __name__ == "__main__":
    main()
