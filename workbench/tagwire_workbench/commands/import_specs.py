"""`tagwire import`: write the specs in release jars as canonical specs."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path

import click

from tagwire_cli.output.echo import progress_bar, say
from tagwire_cli.paths import AnyPath, InputPath


@click.command("import")
@click.argument("sources", nargs=-1, required=True, metavar="JAR...", type=InputPath())
@click.option(
    "--output",
    "--out",
    "out",
    required=True,
    metavar="DIR",
    type=AnyPath(files=False),
    help="Write the specs to DIR/<component>/<Message>.json.",
)
@click.option("--component", metavar="NAME", help="The component, for sources whose name does not contain it.")
def command(sources: Sequence[Path], out: Path, component: str | None) -> None:
    """Import message specs from the jars of Kafka releases.

    JAR is a jar of org.apache.kafka, or a folder of *.json. Only names, types,
    versions, tags, defaults and flags are imported; header versions are added. The
    release of a jar is read from its name, as in kafka-clients-4.4.0.jar. Several
    releases are merged, in any order. Each version comes from the newest release
    that has it, and DIR/history.toml records which release that is.

    Nothing is written unless all sources can be read and merged. Nothing is ever
    deleted. The report lists the files written, irregularities that were accepted,
    versions that were redefined in place, and specs in DIR that no source has.

    \b
    Examples:
      tagwire import kafka-*-4.4.0.jar --output specs
      tagwire import kafka-*.jar --output specs
      tagwire import my_specs --component orders --output message_specs
    """
    from tagwire_workbench.archive.importer import import_release

    with progress_bar("import") as progress:
        done = count()

        def count_source(source: Path) -> None:
            if progress is not None:
                progress(next(done), len(sources))

        report = import_release(sources, out, component=component, progress=count_source)
    say(report, lines=True)
