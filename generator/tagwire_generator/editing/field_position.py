"""Find where to insert a new field in a spec, and create the field's entry."""

from dataclasses import dataclass
from typing import Any

from tagwire.errors import SpecError
from tagwire.text_format import suggestion
from tagwire_generator.syntax.parse import Items, Object

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewField:
    """A field to add to a message that gets a new version."""

    name: str
    type: str
    parent: str = ""
    """The struct that gets the field, as a path of field names (`Topics.Partitions`) or the name of a common struct."""
    before: str = ""
    """The existing field that will follow the new field. If this and `after` are empty, the new field is last."""
    after: str = ""
    nullable: bool = False
    default: str | None = None
    tag: int | None = None
    next_tag: bool = False
    """Whether the field gets the lowest tag that is higher than all used and reserved tags."""
    ignorable: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True)
class FieldPosition:
    """A position at which to insert a field into a struct's list of fields."""

    node: Object
    """The struct to insert into, as a parsed object with its position in the text."""
    struct: Tree
    """The content of `node` as plain data, without positions."""
    key: str
    items: Items | None
    """The struct's field list, or None if the struct has none yet."""
    index: int
    """The index that the new field will have in the list."""


def field_list(root: Object, tree: Tree, field: NewField, key: str, file: str) -> FieldPosition:
    """Return where to insert a new field. `key` is the key of the struct's list of fields, such as "fields".

    Raises SpecError for an unknown field name.
    """
    node, struct = _parent(root, tree, field.parent, file)
    items = node.get(key)
    if items is not None and not isinstance(items, Items):
        raise SpecError(
            f"{file}: `{key}` is not a list; to convert the spec, run `tagwire fmt`", file=file, line=items.line
        )
    names = [str(each["name"]) for each in struct.get(key) or ()]
    neighbour = field.before or field.after
    index = len(names)
    if neighbour:
        if neighbour not in names:
            raise _unknown(file, f"{_called(field.parent)} has no field {neighbour!r} in `{key}`", neighbour, names)
        index = names.index(neighbour) + (not field.before)
    return FieldPosition(node, struct, key, items, index)


def _parent(root: Object, tree: Tree, path: str, file: str) -> tuple[Object, Tree]:
    """Return the struct at a dotted path of field names. The path may also begin with the name of a common struct."""
    node, struct, walked = root, tree, ""
    for name in filter(None, path.split(".")):
        children = _members(node, struct, ("fields", "optionalFields"))
        if not walked and name not in children:
            children = _members(root, tree, ("commonStructs",)) | children
        if name not in children:
            raise _unknown(file, f"{_called(walked)} has no field {name!r}", name, list(children))
        node, struct = children[name]
        walked = f"{walked}.{name}".lstrip(".")
        type = str(struct.get("type", ""))
        if "fields" not in struct:
            common = _members(root, tree, ("commonStructs",))
            type = type.removeprefix("[]").strip()
            if type not in common:
                raise SpecError(
                    f"{file}: {walked} has type {type}, but a field can only be added to a struct", file=file
                )
            node, struct = common[type]
    return node, struct


def _members(node: Object, struct: Tree, keys: tuple[str, ...]) -> dict[str, tuple[Object, Tree]]:
    found: dict[str, tuple[Object, Tree]] = {}
    for key in keys:
        items = node.get(key)
        if isinstance(items, Items):
            for inner, data in zip(items.items, struct[key], strict=True):
                if isinstance(inner, Object):
                    found[str(data["name"])] = inner, data
    return found


def _called(path: str) -> str:
    return path or "the message"


def _unknown(file: str, text: str, name: str, known: list[str]) -> SpecError:
    return SpecError(f"{file}: {text}; {suggestion(name, known)}", file=file)


def new_entry(field: NewField, struct: Tree, version: int, *, is_draft: bool) -> Tree:
    """Return the new field's entry in the spec, with its keys in canonical order."""
    tag = _next_tag(struct) if field.next_tag else field.tag
    since = f"{version}+"
    is_optional = is_draft and tag is not None
    entry: Tree = {
        "name": field.name,
        "type": field.type,
        "versions": None if is_optional else since,
        "nullableVersions": since if field.nullable and not is_optional else None,
        "nullable": True if field.nullable and is_optional else None,
        "tag": f"0x{tag:04x}" if tag is not None and is_optional else tag,
        "taggedVersions": since if tag is not None and not is_optional else None,
        "default": field.default,
        "ignorable": True if field.ignorable else None,
        "about": field.about or None,
    }
    return {key: value for key, value in entry.items() if value is not None}


def _next_tag(struct: Tree) -> int:
    fields = (*(struct.get("fields") or ()), *(struct.get("optionalFields") or ()))
    reserved = struct.get("reservedTags") or []
    used = [str(each["tag"]) for each in fields if each.get("tag") is not None]
    used += map(str, reserved if isinstance(reserved, list) else [reserved])
    return max((int(tag, 16 if tag.startswith("0x") else 10) for tag in used), default=-1) + 1
