"""What each version of a message changed, in the words of its class's docstring."""

from collections.abc import Iterator
from itertools import groupby, pairwise

from tagwire.layout import Array, Nested, OptionalBuffer, StructLayout
from tagwire.message import Message
from tagwire.message.field_table import layout_of
from tagwire.versions import Versions
from tagwire_generator.model import MessageSpec
from tagwire_generator.model.carried_formats import record_format_of
from tagwire_generator.model.python_names import attribute_name


def version_history(spec: MessageSpec, cls: type[Message]) -> list[str]:
    """A sentence for each version after the first, and one for versions in a row that change nothing."""
    roots = [(version, layout_of(cls, version).root) for version in spec.valid_versions]
    changes = [
        (version, [*_changes(before, now), *_new_formats(spec, version)])
        for (_, before), (version, now) in pairwise(roots)
    ]
    lines = []
    for is_changed, group in groupby(changes, key=lambda change: bool(change[1])):
        some = list(group)
        if is_changed:
            lines += [f"Version {version} {_sentence(done)}." for version, done in some]
        elif len(some) == 1:
            lines.append(f"Version {some[0][0]} has the same fields.")
        else:
            lines.append(f"Versions {Versions(some[0][0], some[-1][0])} have the same fields.")
    return lines


def _changes(earlier: StructLayout, now: StructLayout) -> Iterator[str]:
    """What a version does, as verbs with their objects."""
    if _shape(now) != _shape(earlier) and _shape(now):
        yield _shape(now)
    old, new = dict(_paths(earlier, "")), dict(_paths(now, ""))
    added, dropped = _outermost(new, old), _outermost(old, new)
    if added:
        yield f"adds {_quoted(added)}"
    if dropped:
        yield f"drops {_quoted(dropped)}"
    both = {path: (old[path], new[path]) for path in new if path in old}
    for verb, found in (
        ("allows null in", [path for path, ((was, _), (null, _)) in both.items() if null > was]),
        ("no longer allows null in", [path for path, ((was, _), (null, _)) in both.items() if null < was]),
        ("tags", [path for path, ((_, was), (_, tag)) in both.items() if was is None is not tag]),
        ("no longer tags", [path for path, ((_, was), (_, tag)) in both.items() if tag is None is not was]),
    ):
        if found:
            yield f"{verb} {_quoted(found)}"


def _outermost(some: dict[str, tuple[bool, int | None]], others: dict[str, tuple[bool, int | None]]) -> list[str]:
    """The paths of one version that another lacks, without those inside a field that it lacks, too."""
    found = [path for path in some if path not in others]
    return [path for path in found if path.rpartition(".")[0] not in found]


def _sentence(changes: list[str]) -> str:
    return "; ".join(changes) if any(" and " in change for change in changes) else _listed(changes)


def _quoted(paths: list[str]) -> str:
    return _listed([f"`{path.rstrip('[]')}`" for path in paths])


def _listed(parts: list[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def _shape(root: StructLayout) -> str:
    if root.section is None:
        return ""
    return "has optional fields" if isinstance(root.section, OptionalBuffer) else "is flexible"


def _new_formats(spec: MessageSpec, version: int) -> Iterator[str]:
    """The fields whose records are of another format than in the version before."""
    for field in (field for struct in (spec.root, *spec.structs) for field in struct.fields):
        before, now = (record_format_of(field.record_formats, each) for each in (version - 1, version))
        if now and now != before:
            yield f"carries records of format {now} in `{attribute_name(field.name)}`"


def _paths(struct: StructLayout, prefix: str) -> Iterator[tuple[str, tuple[bool, int | None]]]:
    """Field paths, each with whether it may be null, and its tag."""
    for field in struct.fields:
        nested, dimensions = field.type, 0
        while isinstance(nested, Array):
            nested, dimensions = nested.element, dimensions + 1
        path = f"{prefix}{field.name}{'[]' * dimensions}"
        yield path, (bool(getattr(field.type, "nullable", False)), field.tag)
        if isinstance(nested, Nested):
            yield from _paths(nested.struct, f"{path}.")
