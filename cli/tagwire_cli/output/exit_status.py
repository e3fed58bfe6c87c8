"""What exit statuses mean, in one place: `--help` prints it, and a table of docs/cli.md is held to it.

0 and 2 mean the same for all commands, so that a script can tell a finding from
a mistake in how it calls; only what 1 says differs.
"""

from typing import Final

__all__ = ["FINE", "FOUND", "USAGE", "epilog"]

FINE: Final = "fine"
USAGE: Final = "wrong usage or settings"
_USUAL: Final = "a file that can't be read or written"

FOUND: Final = {
    "generate": "a spec with an error; with --check or --exit-non-zero-on-change, a change, or a file unknown to git",
    "validate": "a spec with an error; warnings never fail",
    "fmt": "a spec with an error; with --check, a change",
    "breaking": "findings as grave as --fail-on, or a spec with an error",
    "lock": "a spec with an error, or one that breaks what was released; with --check, a change",
    "import": "a source that can't be read or merged",
    "add-version": "a spec that does not keep the rules, or a change of what was released",
    "draft-version": "a spec that does not keep the rules, or a change of what was released",
    "encode": "bad data",
    "decode": "bad data",
    "get": "bad data",
    "set": "bad data, or a value that the version can't carry",
    "redact": "frames that can't be read",
    "explain": "bytes that are at fault",
    "convert": "bad data, or something that could not be carried",
    "log dump": "a fault in a log",
    "log stat": "a fault in a log",
    "log verify": "problems",
    "log state": "a fault in a log, or no topic of Kafka's own",
    "log salvage": "something that was lost",
    "log compact": "a fault in a log",
    "log convert": "a fault in a log, or something that could not be carried",
    "whatif": "a fault in a log",
    "spark convert": "a fault in a log, or something that could not be carried",
    "spark compact": "a fault in a log",
    "spark whatif": "a fault in a log",
    "spark export": "a fault in a log, also one that --permissive carries",
    "spark import": "an export that is not whole, or not as it was written",
    "spark audit": "a file that can't be read; with --refused-by, requests that are refused",
    "lint": "errors; warnings and notes never fail",
    "collide": "designs that can't live together",
    "demo": "a frame that is refused or comes out with other bytes",
}
"""What status 1 says, by command; for those that are not here, that a file is at fault."""


def epilog(command: str) -> str:
    """The end of a command's help."""
    return f"\b\nExit status:\n  0  {FINE}\n  1  {FOUND.get(command, _USUAL)}\n  2  {USAGE}"
