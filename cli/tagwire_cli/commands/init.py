"""`tagwire init`: start a protocol, with specs, generated code and tests."""

from importlib.util import find_spec
from pathlib import Path
from shlex import quote

import click

from tagwire.text_format import count
from tagwire_cli.output.echo import say
from tagwire_cli.paths import AnyPath


@click.command("init")
@click.argument("name")
@click.argument("folder", required=False, default=".", type=AnyPath(files=False))
@click.option("--no-headers", is_flag=True, help="Create messages without RequestHeader and ResponseHeader.")
def command(name: str, folder: Path, no_headers: bool) -> None:
    """Create a project for your own protocol in the current folder, or in FOLDER.

    NAME is the package to create, such as `pings`. The command writes specs of a
    sample request, its response and their headers; the generated package; golden
    bytes and a test of them; [tool.tagwire] in pyproject.toml; commit hooks; a CI
    workflow; and a README, .gitignore and .gitattributes. Existing files are not
    changed, except that missing settings are added to pyproject.toml.

    \b
    Examples:
      tagwire init pings                    write the files into the current folder
      tagwire init pings protocols/pings    write them into protocols/pings
      tagwire init pings --no-headers
    """
    from tagwire_generator.editing.new_project import HOOKS, SETTINGS, NewProjectError, new_project
    from tagwire_generator.pipeline import generate
    from tagwire_generator.project.output import contents_of, plan, write_all
    from tagwire_generator.project.settings import load

    before = contents_of([folder / SETTINGS])
    try:
        project = new_project(name, folder, headers=not no_headers)
    except NewProjectError as error:
        raise click.UsageError(str(error)) from None
    contents = {folder / path: text for path, text in sorted(project.files.items())}
    verbs = {target: "added to" if target.exists() else "wrote" for target in contents}
    write_all(contents, dict.fromkeys(contents) | before)  # all other files are new
    [spec_set] = load(folder).sets
    package = generate(spec_set, jobs=1)
    plan(package.files, spec_set.directory).apply()
    for target, verb in verbs.items():  # at the end, because printing ends the command if a pipe is closed
        say(f"{verb} {target}", err=True)
    modules = sum(path.endswith(".py") for path in package.files)
    say(f"wrote {folder / 'src' / name}: {count(modules, 'module')}", err=True)
    if project.hooks:
        say(f"{folder / HOOKS} already exists; add the hooks that you need:\n\n{project.hooks}", err=True, lines=True)
    where = "" if folder == Path() else f"cd {quote(str(folder))}; "
    tests = "pytest" if find_spec("pytest") else "python -m pip install pytest; pytest"
    say(f"next: run `{where}{tests}`, then edit message_specs and run `tagwire generate`", err=True)
