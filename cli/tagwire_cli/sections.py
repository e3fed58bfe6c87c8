"""The commands of `tagwire`, grouped by section, in the order of `tagwire --help`."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Section(NamedTuple):
    """A section of the help: its title, and a dict from the names of its commands to their modules."""

    title: str
    commands: Mapping[str, str]


SECTIONS: Final = (
    Section(
        "Write specs",
        {
            "init": "tagwire_cli.commands.init",
            "validate": "tagwire_cli.commands.validate",
            "fmt": "tagwire_cli.commands.fmt",
            "rule": "tagwire_cli.commands.rule",
            "lint": "tagwire_workbench.commands.lint",
            "collide": "tagwire_workbench.commands.collide",
            "import": "tagwire_workbench.commands.import_specs",
            "export": "tagwire_cli.commands.export",
        },
    ),
    Section("Write specs in an editor", {"lsp": "tagwire_workbench.commands.lsp"}),
    Section("Generate classes", {"generate": "tagwire_cli.commands.generate"}),
    Section(
        "Messages and their bytes",
        {
            "messages": "tagwire_cli.commands.messages",
            "show": "tagwire_cli.commands.show",
            "diff": "tagwire_cli.commands.diff",
            "encode": "tagwire_cli.commands.encode",
            "decode": "tagwire_cli.commands.decode",
            "get": "tagwire_cli.commands.get",
            "set": "tagwire_cli.commands.set",
            "redact": "tagwire_cli.commands.redact",
            "explain": "tagwire_cli.commands.explain",
            "assemble": "tagwire_cli.commands.assemble",
            "demo": "tagwire_cli.commands.demo",
        },
    ),
    Section("Captures and logs in a terminal", {"browse": "tagwire_workbench.commands.browse"}),
    Section(
        "Record batches and logs",
        {
            "convert": "tagwire_cli.commands.convert",
            "log": "tagwire_cli.commands.log",
            "whatif": "tagwire_workbench.commands.whatif",
        },
    ),
    Section(
        "Change what is released",
        {
            "breaking": "tagwire_cli.commands.breaking",
            "lock": "tagwire_cli.commands.lock",
            "add-version": "tagwire_cli.commands.add_version",
            "add-field": "tagwire_cli.commands.add_field",
            "draft-version": "tagwire_workbench.commands.draft_version",
        },
    ),
    Section("Test clients", {"mock": "tagwire_workbench.commands.mock"}),
    Section(
        "Record and replay traffic",
        {
            "record": "tagwire_workbench.commands.record",
            "replay": "tagwire_workbench.commands.replay",
            "compare": "tagwire_workbench.commands.compare",
        },
    ),
    Section("Fuzz decoders", {"fuzz": "tagwire_workbench.commands.fuzz"}),
    Section("Spark", {"spark": "tagwire_cli.commands.spark"}),
    Section(
        "This command",
        {
            "engine": "tagwire_cli.commands.engine",
            "completion": "tagwire_cli.commands.completion",
            "help": "tagwire_cli.commands.help",
            "json-schema": "tagwire_cli.commands.json_schema",
        },
    ),
)
