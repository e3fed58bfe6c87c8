"""Write the docstrings of generated classes, including the history of their fields."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from tagwire.layout import Array, Nested, OptionalBuffer, Sized, StructLayout, innermost, nested_struct
from tagwire.message import Message
from tagwire.message.field_table import layout_of
from tagwire.versions import HIGHEST, Versions
from tagwire_generator.model import FieldSpec, MessageSpec, StructSpec
from tagwire_generator.model.record_format_spec import record_format_of
from tagwire_generator.model.register_spec import RegisterEntry
from tagwire_generator.model.spec_names import attribute_name, snake_case

_WIDTH = 110


def in_versions(versions: Versions) -> str:
    """Return a version range as words, such as "versions 1-3"."""
    if versions.highest == HIGHEST and not versions.lowest:
        return "all versions"
    return f"version{'s' * (len(versions) > 1)} {versions}"


def message_doc(spec: MessageSpec) -> str:
    """Return the docstring of a message's module, in one line."""
    return f"{spec.name} ({', '.join(_message_facts(spec))})."


def class_doc(spec: MessageSpec, history: Sequence[str] = ()) -> str:
    """Return the docstring of a message class: purpose, deprecated versions, and the changes in each version."""
    paragraphs = [documented(spec.about, _message_facts(spec)) if spec.about else prose(message_doc(spec))]
    if spec.deprecated is not None:
        paragraphs.append(prose(deprecated_versions(spec)))
    if history:
        paragraphs.append("\n    ".join(map(prose, history)))
    return "\n\n    ".join(paragraphs) + ("\n    " if len(paragraphs) > 1 else "")


def _message_facts(spec: MessageSpec) -> list[str]:
    kind = "shared struct" if spec.kind == "struct" else spec.kind
    key = [] if spec.api_key is None else [f"API key {spec.api_key}"]
    return [kind, *key, in_versions(spec.valid_versions)]


def struct_doc(spec: MessageSpec, struct: StructSpec) -> str:
    """Return a struct class's docstring, which lists the fields that use the struct.

    A field of another struct is listed with that struct's name, and a field of the message without a prefix.
    """
    paths = []
    for owner in (spec.root, *spec.structs):
        prefix = "" if owner is spec.root else f"{owner.name}."
        for field in owner.fields:
            if field.struct == struct.name:
                paths.append(f"`{prefix}{attribute_name(field.name)}{'[]' * field.type.dimensions}`")
    where = f"{' and '.join(paths) or 'unused'} of {spec.name}"
    return documented(spec.about_of_struct(struct), [where, in_versions(struct.versions)], deprecated_part(struct))


def field_doc(field: FieldSpec, about: str) -> str:
    """Return a field's docstring: the meaning, the wire type, the versions, and notes."""
    facts = [named_type(field), in_versions(field.versions)]
    if field.nullable_versions:
        facts.append(
            "nullable" if field.versions <= field.nullable_versions else f"nullable in {field.nullable_versions}"
        )
    if field.tag is not None:
        tagged = "" if field.tagged_versions == field.versions else f" in {field.tagged_versions}"
        facts.append(f"tag {field.tag}{tagged}")
    if field.flexible_versions is not None:
        facts.append(f"compact in {field.flexible_versions}")
    if field.ignorable:
        facts.append("ignorable")
    if field.sensitive:
        facts.append("sensitive")
    facts += value_facts(field)
    if field.record_formats:
        facts.append(f"record format {_listed([f'{format} in {each}' for each, format in field.record_formats])}")
    return documented(about, facts, deprecated_part(field))


def named_type(field: FieldSpec) -> str:
    """Return a field's type. If the field has a semantic type or an enum, its name follows after a space."""
    meaning = field.meaning or (field.enum.name if field.enum is not None else "")
    return f"{field.type} {meaning}".rstrip()


def value_facts(field: FieldSpec) -> list[str]:
    """Return notes about a field's values for its docstring, such as `required`."""
    facts = ["required"] if field.required else []
    if field.union:
        facts.append(f"an alternative of {attribute_name(field.union)}")
    return [*facts, "unique by key"] if field.unique else facts


def documented(about: str, facts: Sequence[str], *more: str) -> str:
    """Return a docstring: the description `about`, then facts such as the wire type and the versions.

    The facts are in parentheses, so that `tagwire.message.declarations` can separate them from the description. Each
    string in `more` becomes a paragraph.
    """
    text = f"{about.strip()} ({', '.join(facts)})" if about.strip() else f"{', '.join(facts)}."
    return "\n\n    ".join(map(prose, filter(None, [text, *more])))


def deprecated_part(part: FieldSpec | StructSpec | RegisterEntry) -> str:
    """Return a sentence that says why a field, struct or enum member is deprecated, or "" if it is not."""
    return "" if part.deprecated is None else _reason("Deprecated", part.deprecated)


def deprecated_versions(spec: MessageSpec) -> str:
    """Return a sentence that names the deprecated versions of a message and the reason, or "" if none is deprecated."""
    if spec.deprecated is None:
        return ""
    is_all = spec.discouraged == spec.valid_versions
    return _reason("Deprecated" if is_all else f"Deprecated in {in_versions(spec.discouraged)}", spec.deprecated)


def _reason(what: str, why: str) -> str:
    return f"{what}: {why}" if why else f"{what}."


def sentences(*parts: str) -> str:
    """Join sentences with spaces. Add a missing period to each sentence except the last."""
    *before, last = [text.strip() for text in parts if text] or [""]
    return " ".join([*(text if text.endswith((".", "!", "?")) else f"{text}." for text in before), last])


def prose(text: str) -> str:
    """Return a description formatted for a docstring: escaped, wrapped, and indented by four spaces."""
    plain = " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')
    plain = "".join(char if char.isprintable() else f"\\\\u{ord(char):04x}" for char in plain)
    return textwrap.fill(plain, _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def version_history(spec: MessageSpec, cls: type[Message]) -> list[str]:
    """Return a sentence for each version after the first. Consecutive versions without changes share one sentence."""
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
    """Describe how a version's layout differs from the previous one, in phrases such as "adds `name`"."""
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
    """Return the paths in `some` that are not in `others`. Fields inside a returned struct are left out."""
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
    for field in (field for struct in (spec.root, *spec.structs) for field in struct.fields):
        before, now = (record_format_of(field.record_formats, each) for each in (version - 1, version))
        if now and now != before:
            yield f"uses record format {now} in `{attribute_name(field.name)}`"


def _paths(struct: StructLayout, prefix: str) -> Iterator[tuple[str, tuple[bool, int | None]]]:
    for field in struct.fields:
        nested, dimensions = field.type, 0
        while isinstance(nested, Array):
            nested, dimensions = nested.element, dimensions + 1
        path = f"{prefix}{field.name}{'[]' * dimensions}"
        yield path, (bool(getattr(field.type, "nullable", False)), field.tag)
        if isinstance(nested, Nested):
            yield from _paths(nested.struct, f"{path}.")


class StructNames:
    """Chooses the function names in a serializer module. Versions of a struct with equal layouts share a function.

    The function is named after the struct and the first of these versions, as in `_read_topic_v0`. The message's name
    is removed from the start of the struct's name, unless another struct already has the shorter name.
    """

    def __init__(
        self, message: str, module: str, serializers: frozenset[str], shared: Mapping[str, str] | None = None
    ) -> None:
        self.message = message
        self.module = module
        """The module of the data classes."""
        self.shared = shared or {}
        """The modules of shared structs, by the name of the struct."""
        self.serializers = serializers
        """The names of the serializer classes."""
        self.functions: list[tuple[StructLayout, int]] = []
        """Struct layouts with their first version. Each comes after the layouts of the structs in it."""

    def module_of(self, name: str) -> str:
        return self.shared.get(name, self.module)

    def add(self, struct: StructLayout, version: int) -> None:
        for field in struct.fields:
            nested = nested_struct(field.type)
            if nested is not None:
                self.add(nested, version)
        if not any(known == struct for known, _ in self.functions):
            self.functions.append((struct, version))

    def name(self, struct: StructLayout) -> str:
        version = next(version for known, version in self.functions if known == struct)
        return f"{snake_case(self._short(struct.name))}_v{version}"

    def _short(self, name: str) -> str:
        short = name.removeprefix(self.message)
        others = {known.name.removeprefix(self.message) for known, _ in self.functions if known.name != name}
        return short if short and short not in others else name


def has_binary(struct: StructLayout) -> bool:
    """Return whether a struct contains bytes values, which are slices of the input (`raw`)."""
    for field in struct.fields:
        inner = innermost(field.type)
        if isinstance(inner, Sized) and inner.wire.is_slice:
            return True
        if isinstance(inner, Nested) and has_binary(inner.struct):
            return True
    return False
