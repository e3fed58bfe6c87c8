"""Edits of specs at the user's request: renaming, quick fixes, formatting.

A change that would break a rule is rejected or not offered.

Shared structs and registers (tables of named numbers, such as error codes) are renamed in their whole spec set. The
spec of the same name declares them. Other specs import the struct, or use the register as an `enum`.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from tagwire.errors import SpecError
from tagwire_generator.problems import Problem, quoted
from tagwire_generator.reading.spec import ReadResult
from tagwire_generator.syntax.parse import parse
from tagwire_workbench.language.spec_names import Name, SpecNames
from tagwire_workbench.language.text_positions import Span, TextPositions
from tagwire_workbench.language.text_tree import TextTree
from tagwire_workbench.language.workspace import Workspace

_MEANT: Final = re.compile(r"did you mean (?:'[^']*', )*(?:'[^']*' or )?'[^']*'\?")
_QUOTED: Final = re.compile(r"'([^']*)'")
_TRAILING_COMMA: Final = "TW105"


Read: TypeAlias = Callable[[str], ReadResult]
"""A function that parses new text of the edited spec, with the options of its spec set."""


class Edit(NamedTuple):
    """A span of the source and its replacement."""

    span: Span
    text: str


class Fix(NamedTuple):
    """A quick fix: its title, and the edit that fixes the problem."""

    title: str
    edit: Edit


def applied(text: str, edits: Sequence[Edit]) -> str:
    """Return the source text after applying the edits, which must not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def renamable(text: str, offset: int) -> Name | None:
    """Return the struct or field name at an offset, or None if there is none."""
    names = SpecNames(TextTree(text))
    return names.struct_at(offset) or names.field_at(offset)


def rename_edits(text: str, offset: int, name: str, read: Read, *, file: str) -> list[Edit]:
    """Return the edits that rename the struct or field at an offset everywhere in the spec.

    Raises SpecError if there is no renamable name at the offset, if the source is not a JSON object, or if the new name
    would break a rule.
    """
    _require_object(text, file)
    names = SpecNames(TextTree(text))
    struct, found = names.struct_at(offset), names.positions(offset)
    if struct is not None and struct.text in names.imports:
        raise SpecError(
            f"{struct.text} can't be renamed, because it is defined in a spec outside this project's spec sets",
            file=file,
        )
    if not found:
        raise SpecError(
            "only structs and fields can be renamed; put the cursor on the name of a struct or field", file=file
        )
    edits = _replaced(found, name)
    broken = _newly_broken(read(text).problems, read(applied(text, edits)).problems)
    if broken is not None:
        raise _rejected(found[0].text, name, broken, file)
    return edits


def _require_object(text: str, file: str) -> None:
    if parse(text, file=file).root is None:
        raise SpecError(f"{file} is not a JSON object, so its names can't be changed; correct the file", file=file)


def _replaced(names: Iterable[Name], new: str) -> list[Edit]:
    written = json.dumps(new, ensure_ascii=False)[1:-1]
    return [Edit(name.span, written) for name in names]


def _rejected(old: str, new: str, broken: Problem, file: str, where: str = "") -> SpecError:
    text = f"{old} can't be renamed to {quoted(new)}: {where}{broken.message} ({broken.rule})"
    return SpecError(text, file=file)


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
    for file in specs.files(declared):
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

    Raises SpecError if a file is not a JSON object, or if the new name would break a rule in any file of its sets.
    """
    edits: dict[Path, list[Edit]] = {}
    for file, uses in found.files.items():
        _require_object(specs.text(file), str(file))
        edits[file] = _replaced(uses, name)
    renamed = specs.with_texts({file: applied(specs.text(file), each) for file, each in edits.items()})
    declared = next(iter(found.files))
    broken = _newly_broken(_problems(specs, declared), _problems(renamed, declared))
    if broken is not None:
        where = f"{Path(broken.file).name}: " if broken.file else ""
        raise _rejected(found.here.text, name, broken, str(declared), where)
    return edits


def _problems(specs: Workspace, path: Path) -> list[Problem]:
    found: list[Problem] = []
    checked = [specs.problems_of(each) for each in specs.settings(path).sets_of(path)]
    for of_files, of_set in checked or [specs.set_problems(path)]:
        files = sorted({*of_files, *of_set}, key=lambda file: (file != path, file))
        found += (problem for file in files for problem in (*of_files.get(file, ()), *of_set.get(file, ())))
    return found


def _newly_broken(before: Iterable[Problem], after: Iterable[Problem]) -> Problem | None:
    """Return an error that an edit has caused, or None. Its rule has more errors `after` the edit than `before`."""
    old = Counter(problem.rule for problem in _errors(before))
    for problem in _errors(after):
        old[problem.rule] -= 1
        if old[problem.rule] < 0:
            return problem
    return None


def _errors(problems: Iterable[Problem]) -> Iterator[Problem]:
    return (problem for problem in problems if problem.severity == "error")


def fixes(text: str, problem: Problem, read: Read) -> list[Fix]:
    """Return quick fixes for a problem, likeliest first: for example, correct a name, or remove a trailing comma."""
    token = TextTree(text).token_at(TextPositions(text).of_problem(problem.line, problem.column))
    written = text[token.start : token.end]
    tried: list[Fix] = []
    if problem.rule == _TRAILING_COMMA and written == ",":
        tried.append(Fix("Remove the comma", Edit(token, "")))
    for meant in _QUOTED.findall("".join(_MEANT.findall(problem.message))) if written.startswith('"') else ():
        array = "[]" if written.startswith('"[]') and not meant.startswith("[]") else ""
        tried.append(Fix(f"Change to {meant}", Edit(token, json.dumps(array + meant))))
    return [fix for fix in tried if _mends(text, fix, problem, read)]


def _mends(text: str, fix: Fix, problem: Problem, read: Read) -> bool:
    before, after = (
        sum(each.rule == problem.rule for each in read(version).problems)
        for version in (text, applied(text, [fix.edit]))
    )
    return after < before


def changed(text: str, formatted: str) -> list[Edit]:
    """Return a list with the smallest edit that turns `text` into `formatted`. It is empty if they are equal."""
    if formatted == text:
        return []
    start = _common(text, formatted)
    end = _common(text[start:][::-1], formatted[start:][::-1])
    return [Edit(Span(start, len(text) - end), formatted[start : len(formatted) - end])]


def _common(one: str, other: str) -> int:
    """Return the length of the common prefix of two strings. A final CR is not counted, so that no CR LF is split."""
    number = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    while number and one[number - 1 : number] == "\r":
        number -= 1
    return number
