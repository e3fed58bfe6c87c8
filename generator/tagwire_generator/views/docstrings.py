"""Texts about messages, structs and fields: the docstrings of data classes, and sentences for other targets."""

import textwrap
from collections.abc import Sequence

from tagwire.versions import HIGHEST, Versions
from tagwire_generator.model import FieldSpec, MessageSpec, StructSpec
from tagwire_generator.model.python_names import attribute_name
from tagwire_generator.model.register_spec import RegisterEntry
from tagwire_generator.views.struct_calls import named_type, value_facts

_WIDTH = 110


def in_versions(versions: Versions) -> str:
    """The versions of something, in words."""
    if versions.highest == HIGHEST and not versions.lowest:
        return "all versions"
    return f"version{'s' * (len(versions) > 1)} {versions}"


def message_doc(spec: MessageSpec) -> str:
    """What a message is, in one line."""
    return f"{spec.name} ({', '.join(_message_facts(spec))})."


def class_doc(spec: MessageSpec, history: Sequence[str] = ()) -> str:
    """What the message is for, which versions will go, and what each version changes."""
    texts = [documented(spec.about, _message_facts(spec)) if spec.about else prose(message_doc(spec))]
    if spec.deprecated is not None:
        texts.append(prose(deprecated_versions(spec)))
    if history:
        texts.append("\n    ".join(map(prose, history)))
    return "\n\n    ".join(texts) + ("\n    " if len(texts) > 1 else "")


def _message_facts(spec: MessageSpec) -> list[str]:
    kind = "shared struct" if spec.kind == "struct" else spec.kind
    key = [] if spec.api_key is None else [f"API key {spec.api_key}"]
    return [kind, *key, in_versions(spec.valid_versions)]


def struct_doc(spec: MessageSpec, struct: StructSpec) -> str:
    """What a struct is, and which fields have it: by path, or by struct if that struct is used several times."""
    places = []
    for owner in (spec.root, *spec.structs):
        prefix = "" if owner is spec.root else f"{owner.name}."
        for field in owner.fields:
            if field.struct == struct.name:
                places.append(f"`{prefix}{attribute_name(field.name)}{'[]' * field.type.dimensions}`")
    where = f"{' and '.join(places) or 'unused'} of {spec.name}"
    return documented(spec.about_of_struct(struct), [where, in_versions(struct.versions)], deprecated_part(struct))


def field_doc(field: FieldSpec, about: str) -> str:
    """What a field means, its wire type, its versions, and notes."""
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
    return documented(about, facts, deprecated_part(field))


def documented(about: str, facts: Sequence[str], *more: str) -> str:
    """A docstring: the text of the spec, then facts in parentheses, so that `message.field_docs` finds the text.

    Without a text, the facts are the sentence. Other sentences are paragraphs of their own.
    """
    text = f"{about.strip()} ({', '.join(facts)})" if about.strip() else f"{', '.join(facts)}."
    return "\n\n    ".join(map(prose, filter(None, [text, *more])))


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
