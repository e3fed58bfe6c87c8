"""The exit statuses of commands, as listed in their help.

Statuses 0 and 2 mean the same for all commands, so that scripts can distinguish findings from wrong usage. The meaning
of status 1 depends on the command.
"""

from typing import Final

FINE: Final = "success"
USAGE: Final = "usage error or invalid settings"

FOUND: Final = {
    "init": "a file that can't be written",
    "generate": "a spec with an error; changes with --check or --exit-non-zero-on-change",
    "validate": "a spec with an error; warnings do not count",
    "fmt": "a spec with an error; with --check, a change",
    "breaking": "findings of the --fail-on severity or higher, or a spec with an error",
    "lock": "a spec with an error or a breaking change; with --check, any change",
    "export": "a spec that can't be plain Kafka, or that has an error",
    "import": "a source that can't be read or merged",
    "add-version": "a spec that breaks a rule, or a change that breaks a released version",
    "add-field": "a spec that breaks a rule, or a change that breaks a released version",
    "draft-version": "a spec that breaks a rule, or a change that breaks a released version",
    "encode": "bad data",
    "decode": "bad data",
    "get": "bad data",
    "set": "bad data, or a value that the version can't represent",
    "redact": "frames that can't be read",
    "explain": "invalid bytes",
    "assemble": "text that can't be read as bytes",
    "browse": "an input that can't be read",
    "convert": "bad data, or data that FORMAT can't represent",
    "log dump": "an error in a log, or a record that --messages can't decode",
    "log stat": "an error in a log",
    "log verify": "problems in a log",
    "log state": "an error in a log, a record that is left out, or no internal topic of Kafka",
    "log salvage": "data that was left out",
    "log compact": "an error in a log",
    "log convert": "an error in a log, or data that the format can't represent",
    "whatif": "an error in a log",
    "fuzz corpus": "a file that can't be written",
    "fuzz minimise": "an input that does not fail",
    "mock serve": "an invalid script, requests without a matching rule, or other problems",
    "record": "bytes that aren't frames, or other problems",
    "compare": "a capture that can't be read",
    "replay": "answers that differ or are missing, or none to compare",
    "spark convert": "an error in a log, or data that the format can't represent",
    "spark compact": "an error in a log",
    "spark whatif": "an error in a log",
    "spark export": "an error in a log, even if --permissive exports it",
    "spark import": "an export that is incomplete or was changed",
    "spark audit": "a file that can't be read; with --rejected-by, rejected requests",
    "lint": "errors; warnings and notes do not count",
    "collide": "designs that conflict",
    "demo": "a frame that is rejected or encodes to different bytes",
}
"""The meaning of exit status 1, by command. Commands that are not listed never exit with 1."""


def epilog(command: str) -> str:
    """Return the end of a command's help, which lists the exit statuses."""
    found = f"  1  {FOUND[command]}\n" if command in FOUND else ""
    return f"\b\nExit status:\n  0  {FINE}\n{found}  2  {USAGE}"
