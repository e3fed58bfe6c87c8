"""The canonical text of a spec with its comments: what `tagwire fmt` writes.

Canonical text says the same (`canonical`), and formatted twice it is the same.
A spec that the reader refuses is not touched: what it says is not known.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tagwire.errors import SpecError
from tagwire_generator.diagnostics.problems import render
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import read_spec
from tagwire_generator.syntax.canonical import normal_form, plain_tree
from tagwire_generator.syntax.comments import read_comments
from tagwire_generator.syntax.parse import parse
from tagwire_generator.syntax.spec_text import BLOCKS, Comments, Path, spec_text


def format_spec(text: str, *, file: str, options: SpecOptions) -> str:
    """The canonical text of a spec, with all its comments.

    Record formats and registers are given back as they are: those have no canonical text.
    Raises SpecError, with all problems, for a spec with errors.
    """
    result = read_spec(text, file=file, options=options, shared=None)
    if result.register is not None:
        return text
    if result.has_errors:
        problems = result.problems
        raise SpecError("\n".join(map(render, problems)), file=file, problems=problems)
    if result.message is not None and result.message.format is not None:
        return text
    return with_comments(_form(text, file), text, file=file)


def with_comments(form: Mapping[str, Any], text: str, *, file: str) -> str:
    """The canonical text of a spec in normal form, with the comments of a text whose fields are at the same places.

    Raises SpecError where one would be lost.
    """
    comments = read_comments(text)
    _move_homeless(comments, form)
    formatted = spec_text(form, comments)
    if _form(formatted, file) != form or _texts(read_comments(formatted)) != _texts(comments):
        raise SpecError(f"{file}: can't be formatted without losing a comment; move the comment", file=file)
    return formatted


def _form(text: str, file: str) -> dict[str, Any]:
    root = parse(text, file=file).root
    assert root is not None  # the reader took it
    return normal_form(plain_tree(root))


def _texts(comments: Comments) -> list[str]:
    lines = [line.strip() for above in comments.above.values() for comment in above for line in comment.splitlines()]
    return sorted([*lines, *comments.behind.values()])


def _move_homeless(comments: Comments, form: Mapping[str, Any]) -> None:
    """Comments of keys that canonical text leaves out, since they say nothing, go to the top."""
    places = {(), ("end",), ("tail",), *((key,) for key in form), *_places(form, ())}
    for path in [path for path in comments.above if path not in places]:
        comments.above.setdefault((), []).extend(comments.above.pop(path))
    for path in [path for path in comments.behind if path not in places]:
        comments.above.setdefault((), []).append(comments.behind.pop(path))


def _places(entry: Mapping[str, Any], path: Path) -> Iterator[Path]:
    for key in BLOCKS:
        members: Sequence[Mapping[str, Any]] = entry.get(key) or ()
        if members:
            yield (*path, key, "end")
        for index, member in enumerate(members):
            yield (*path, key, index)
            yield from _places(member, (*path, key, index))
