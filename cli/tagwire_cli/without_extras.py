"""What `tagwire` can do where click is missing: say what is installed, and which extra brings which commands.

`pip install tagwire` installs the script with packages that need nothing, so
help, version and the name of the engine must come from the standard library.
"""

import sys
import textwrap
from collections.abc import Sequence
from typing import Final

import tagwire
from tagwire_cli.sections import SECTIONS

__all__ = ["run"]

_WIDTH: Final = 80
_OTHERS: Final = (
    ("all", "everything above but Spark"),
    ("arrow", "messages as Arrow columns, where there is no native engine"),
    ("pcap", "network captures as input"),
)
"""Extras that no section names, and what they bring."""


def run(words: Sequence[str]) -> int:
    """Answer the words after `tagwire`; gives the exit status."""
    first = words[0] if words else "--help"
    if first in ("-h", "--help", "help"):
        sys.stdout.write(_help())
    elif first == "--version":
        sys.stdout.write(f"tagwire, version {tagwire.__version__}\n")
    elif [*words] == ["engine"]:
        sys.stdout.write(f"{tagwire.engine()}\n")
    else:
        extras = next((section.extras for section in SECTIONS if first in section.commands), "cli")
        sys.stderr.write(f"tagwire: click is missing; install it with: pip install 'tagwire[{extras}]'\n")
        return 2
    return 0


def _help() -> str:
    lines = [
        f"tagwire {tagwire.__version__}: versioned serializer classes from JSON message specs.",
        "",
        "The Python packages are installed: tagwire, tagwire_messages, tagwire_records",
        "and tagwire_drafts need nothing else. Most commands need an extra:",
    ]
    for section in SECTIONS:
        names = textwrap.wrap(", ".join(section.commands), _WIDTH - 4, break_on_hyphens=False)
        lines += ["", f"{section.title}: pip install 'tagwire[{section.extras}]'", *(f"  {line}" for line in names)]
    lines += ["", "Other extras:", *(f"  {name:<6} {what}" for name, what in _OTHERS)]
    lines += ["", "Without an extra:", "  tagwire --help, --version, engine", ""]
    return "\n".join(lines)
