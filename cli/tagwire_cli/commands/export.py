"""`tagwire export`: convert specs for Kafka's own generator, and report specs that can't be converted."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tagwire.text_format import count, printable
from tagwire_cli.output.diagnostics import print_problems
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import write_json
from tagwire_cli.paths import AnyPath, InputPath

if TYPE_CHECKING:
    from tagwire_generator.editing.kafka_export import Exported


@click.command("export")
@click.argument("paths", nargs=-1, metavar="[DIR...]", type=InputPath(files=False))
@click.option("--kafka", is_flag=True, required=True, help="Export for the generator of Apache Kafka.")
@click.option("--output", metavar="DIR", type=AnyPath(files=False), help="Write the specs to this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(paths: Sequence[Path], kafka: bool, output: Path | None, as_json: bool) -> None:
    """Report which specs are plain Kafka, and write these specs.

    DIR is a folder of specs; without DIR, all spec sets of this project are
    exported. tagwire's keys that do not change the bytes are left out, and shared
    structs become common structs of each message that uses them. A spec is not
    written if Kafka's language can't describe its bytes: the reason is reported
    with its position, and the exit status is 1.

    \b
    Examples:
      tagwire export --kafka
      tagwire export --kafka message_specs --output plain
    """
    from tagwire.log.whole_folder import reject_inside
    from tagwire_generator.editing.kafka_export import export
    from tagwire_generator.project.output import write_all
    from tagwire_generator.project.settings import load_project
    from tagwire_generator.project.spec_files import read_specs

    settings = load_project()
    found: list[Exported] = []
    folders = paths or [spec_set.specs for spec_set in settings.project_sets()]
    if output is not None:
        reject_inside([output], folders)
    for folder in folders:
        spec_set = settings.set_of(folder)
        specs = read_specs(folder, spec_set.source_name if spec_set else str)
        exported, problems = export(specs, settings.options_of(folder))
        if problems:
            print_problems(problems, err=True)
            raise click.exceptions.Exit(1)
        found += exported
    if output is not None:
        write_all({output / each.component / f"{each.name}.json": each.text for each in found if each.text})
    if as_json:
        write_json([each.as_dict() for each in found])
    else:
        for each in found:
            say(f"{printable(each.file)}: {each.status}")
            for verb, spots in (("stopped by", each.stops), ("without", each.lost)):
                for spot in spots:
                    say(f"  {printable(spot.file)}:{spot.line}:{spot.column}: {verb} {printable(spot.what)}")
    stopped = sum(each.status == "stopped" for each in found)
    written = f", {sum(bool(each.text) for each in found)} written to {output}" if output else ""
    say(f"{count(len(found), 'spec')}: {stopped} can't be plain Kafka{written}", err=True)
    if stopped:
        raise click.exceptions.Exit(1)
