"""`tagwire json-schema`: print JSON Schemas of command output, specs and scripts."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Final

import click

from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import write_bytes

_FILES: Final = {
    "spec": ("tagwire_generator.syntax", "spec.schema.json"),
    "mock-script": ("tagwire_workbench.mocking", "script.schema.json"),
}
"""The package and file name of the JSON Schema for each kind of file that people write by hand."""

_FOLDER: Final = files("tagwire_cli") / "json_schemas"
_SHARED: Final = {"spark convert": "log-convert", "spark compact": "log-compact", "spark whatif": "whatif"}


def schemas_by_command() -> dict[str, str]:
    """Map each command whose output has a JSON Schema to the schema's file name, without `.json`."""
    names = [each.name.removesuffix(".json") for each in _FOLDER.iterdir()]
    return dict(sorted([*((name.replace("-", " "), name) for name in names), *_SHARED.items()]))


@click.command("json-schema")
@click.argument("names", nargs=-1, metavar="[COMMAND...]")
def command(names: Sequence[str]) -> None:
    """Print the JSON Schema of a command's JSON output, of specs, or of scripts.

    Without COMMAND, the commands that have a schema are listed. For editors, `spec`
    prints the schema of specs, and `mock-script` the schema of scripts for
    `tagwire mock serve`. A schema describes
    one value: the whole output, or one line if the command prints one object per
    line. The schema of `decode` describes a frame (--frames request or response);
    `tagwire show` describes the body of each message.

    \b
    Examples:
      tagwire json-schema
      tagwire json-schema validate
      tagwire json-schema log verify > log-verify.json
      tagwire json-schema spec > spec.schema.json
    """
    name, schemas = " ".join(names), schemas_by_command()
    if not names:
        say("\n".join(schemas), lines=True)
    elif name in _FILES:
        package, file = _FILES[name]
        write_bytes((files(package) / file).read_bytes())
    elif name in schemas:
        write_bytes((_FOLDER / f"{schemas[name]}.json").read_bytes())
    else:
        raise click.BadParameter(
            f"{name!r} has no JSON Schema; commands with one: {', '.join(schemas)}; "
            "for the schema of specs or mock scripts, give 'spec' or 'mock-script'",
            param_hint="COMMAND",
        )
