"""Texts about messages, structs and fields: the docstrings of data classes, and sentences for other targets."""

import textwrap

from tagwire.versions import HIGHEST, Versions
from tagwire_generator.model import FieldSpec, MessageSpec, StructSpec
from tagwire_generator.model.python_names import attribute_name
from tagwire_generator.model.register_spec import RegisterEntry
from tagwire_generator.views.struct_calls import named_type, value_facts

__all__ = [
    "class_doc",
    "deprecated_part",
    "deprecated_versions",
    "field_doc",
    "message_doc",
    "prose",
    "sentences",
    "struct_doc",
]

_WIDTH = 76


def in_versions(versions: Versions) -> str:
    if versions.highest == HIGHEST:
        return f"version {versions.lowest} on" if versions.lowest else "all versions"
    return f"version{'s' * (len(versions) > 1)} {versions}"


def message_doc(spec: MessageSpec) -> str:
    """What a message is, in one line."""
    key = "" if spec.api_key is None else f", API key {spec.api_key}"
    kind = "shared struct" if spec.kind == "struct" else spec.kind
    return f"{spec.name} ({kind}{key}), {in_versions(spec.valid_versions)}."


def class_doc(spec: MessageSpec) -> str:
    """What the message is, what it is for, and which versions will go."""
    texts = [message_doc(spec)]
    if spec.about:
        texts.append(prose(spec.about))
    if spec.deprecated is not None:
        texts.append(prose(deprecated_versions(spec)))
    return "\n\n    ".join(texts)


def struct_doc(spec: MessageSpec, struct: StructSpec) -> str:
    """Where a struct stands: its fields by path, or by struct where that struct stands in several places."""
    places = []
    for owner in (spec.root, *spec.structs):
        prefix = "" if owner is spec.root else f"{owner.name}."
        for field in owner.fields:
            if field.struct == struct.name:
                places.append(f"`{prefix}{attribute_name(field.name)}{'[]' * field.type.dimensions}`")
    where = f"{' and '.join(places) or 'Unused'} of {spec.name}, {in_versions(struct.versions)}."
    return prose(sentences(where, spec.about_of_struct(struct), deprecated_part(struct)))


def field_doc(field: FieldSpec) -> str:
    """The wire type of a field, its versions, what else is to know, and what the spec says about it."""
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
        facts.append(" and ".join(f"records of {format} in {each}" for each, format in field.record_formats))
    return prose(sentences(f"{', '.join(facts)}.", field.about, deprecated_part(field)))


def deprecated_part(part: FieldSpec | StructSpec | RegisterEntry) -> str:
    """Why a field, a struct or a member of an enum will go, as a sentence; "" if it will not."""
    return "" if part.deprecated is None else _reason("Deprecated", part.deprecated)


def deprecated_versions(spec: MessageSpec) -> str:
    """Which versions of a message will go and why; "" where its spec gives no reason."""
    if spec.deprecated is None:
        return ""
    is_all = spec.discouraged == spec.valid_versions
    return _reason("Deprecated" if is_all else f"Deprecated in {in_versions(spec.discouraged)}", spec.deprecated)


def _reason(what: str, why: str) -> str:
    return f"{what}: {why}" if why else f"{what}."


def sentences(*texts: str) -> str:
    """Texts behind each other; each but the last ends as a sentence does."""
    *before, last = [text.strip() for text in texts if text] or [""]
    return " ".join([*(text if text.endswith((".", "!", "?")) else f"{text}." for text in before), last])


def prose(text: str) -> str:
    """Spec-derived text for a docstring: escaped, wrapped, on lines indented by four."""
    plain = " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')
    plain = "".join(char if char.isprintable() else f"\\\\u{ord(char):04x}" for char in plain)
    return textwrap.fill(plain, _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
