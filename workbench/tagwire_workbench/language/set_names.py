"""Find and rename the shared structs and the registers (tables of named numbers, such as error codes) of a spec set.

A shared struct or register is declared by the spec with its name. Other specs import the struct, or use the register as
an `enum`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tagwire.errors import SpecError
from tagwire_generator.problems import Problem, quoted
from tagwire_generator.syntax.parse import parse
from tagwire_workbench.language.editing import Edit, applied, newly_broken
from tagwire_workbench.language.spec_names import Name, SpecNames
from tagwire_workbench.language.text_tree import TextTree
from tagwire_workbench.language.workspace import Workspace


class SetName(NamedTuple):
    """A shared name at the cursor, and its occurrences by file, starting with the file that declares it."""

    here: Name
    files: dict[Path, list[Name]]


def set_name_at(specs: Workspace, path: Path, offset: int) -> SetName | None:
    """Return the name of the shared struct or register at an offset, or None if there is no such name.

    Raises SpecError if the spec folder can't be read.
    """
    names = SpecNames(TextTree(specs.text(path)))
    own, struct, register = names.own_name, names.struct_at(offset), names.register_at(offset)
    if own is not None and own.value.span.has(offset):
        here = own
    elif struct is not None and struct.text in names.imports:
        here = struct
    elif register is not None:
        here = register
    else:
        return None
    declared = path if here is own else specs.context(path).files.get(here.text)
    if declared is None:
        return None
    is_register = SpecNames(TextTree(specs.text(declared))).is_register
    files = {declared: list(_named(specs, declared, here.text, is_register))}
    for file in specs.files(path):
        found = list(_named(specs, file, here.text, is_register)) if file != declared else []
        if found:
            files[file] = found
    return SetName(here, files)


def _named(specs: Workspace, path: Path, text: str, is_register: bool) -> Iterator[Name]:
    """Yield the occurrences of a shared struct or register in a file."""
    source = specs.text(path)
    if text not in source:
        return
    names = SpecNames(TextTree(source))
    if names.own_name is not None and names.own_name.text == text and names.is_register == is_register:
        yield names.own_name
    if is_register:
        yield from (use for use in names.register_uses if use.text == text)
    elif text in names.imports:
        yield from names.struct_positions(text)


def rename_in_set(specs: Workspace, found: SetName, name: str) -> dict[Path, list[Edit]]:
    """Return the edits, by file, that rename a shared struct or a register in its whole set.

    Raises SpecError if a file is not a JSON object, or if the new name would break a rule in any file of the set.
    """
    old = found.here.text
    written = json.dumps(name, ensure_ascii=False)[1:-1]
    edits: dict[Path, list[Edit]] = {}
    for file, uses in found.files.items():
        if parse(specs.text(file), file=str(file)).root is None:
            text = f"{file} is not a JSON object, so its names can't be changed; correct the file"
            raise SpecError(text, file=str(file))
        edits[file] = [Edit(use.span, written) for use in uses]
    renamed = specs.with_texts({file: applied(specs.text(file), each) for file, each in edits.items()})
    declared = next(iter(found.files))
    broken = newly_broken(_problems(specs, declared), _problems(renamed, declared))
    if broken is not None:
        where = f"{Path(broken.file).name}: " if broken.file else ""
        raise SpecError(
            f"{old} can't be renamed to {quoted(name)}: {where}{broken.message} ({broken.rule})", file=str(declared)
        )
    return edits


def _problems(specs: Workspace, path: Path) -> list[Problem]:
    of_files, of_set = specs.set_problems(path)
    files = sorted({*of_files, *of_set}, key=lambda file: (file != path, file))
    return [problem for file in files for problem in (*of_files.get(file, ()), *of_set.get(file, ()))]
