"""Write the canonical text of a message spec. Specs with the same content have the same canonical text.

In other specs, a value may have several forms: for example, a tag may be a string, and a default a number. In canonical
text, each value has one form, and keys have one order. `normal_form` converts the values, and `spec_text` writes them.

The rules of canonical text, for authors of specs:

- apiKey and tag are JSON numbers (a draft's tag is a string such as "0x0001"). Flags are
  JSON booleans and left out if false. Version ranges are `none`, `N`, `N+` or `N-M`.
- A default is a string: integers in decimal, booleans in lower case, null as "null". Empty
  strings and JSON null mean that there is no default, and are left out.
- A tagged field without `versions` gets its `taggedVersions`.
- `fields` of a message or struct is written even if empty; other empty keys are not.

This module omits comments; `editing.spec_edit` adds them again.
"""

import json
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from tagwire.errors import SpecError
from tagwire.versions import HIGHEST, NONE, Versions
from tagwire.wire.types import WIRE_TYPES
from tagwire_generator.syntax.parse import Items, JsonNode, Object, Scalar, parse
from tagwire_generator.syntax.spec_schema import key_kinds
from tagwire_generator.syntax.spec_text import inline, spec_text

Note = Callable[[str], None]
"""A function that is called for each value that is not in normal form, with a sentence about the value."""


def plain_tree(node: JsonNode) -> Any:
    """Convert the parsed tree of a valid spec to dicts, lists and scalars without positions.

    A number stays as it is written, as a string, if Python would write it differently, such as 1.50.
    """
    if isinstance(node, Object):
        return {member.key: plain_tree(member.value) for member in node.all_members}
    if isinstance(node, Items):
        return [plain_tree(item) for item in node.items]
    assert isinstance(node, Scalar)
    is_number = type(node.value) in (int, float)
    return node.raw if is_number and str(node.value) != node.raw else node.value


def parsed_form(text: str) -> dict[str, Any]:
    """Return the normal form of a spec that `read_spec` accepts, from the spec's text."""
    root = parse(text, file="").root
    assert root is not None
    return normal_form(plain_tree(root))


def without_keys(tree: Any, keys: Collection[str]) -> Any:
    """Return a copy of a spec's JSON tree without these keys at any depth."""
    if isinstance(tree, dict):
        return {key: without_keys(value, keys) for key, value in tree.items() if key not in keys}
    return [without_keys(item, keys) for item in tree] if isinstance(tree, list) else tree


def canonical_text(spec: Mapping[str, Any]) -> str:
    """Return the canonical text, with a final newline, of a spec that `read_spec` accepts."""
    return spec_text(normal_form(spec))


def normal_form(spec: Mapping[str, Any], note: Note = lambda text: None) -> dict[str, Any]:
    """Return a spec with values in normal form and keys in order. Raises SpecError for an unknown key."""
    scope = _Scope(note, "versionsWithOptional" in spec)
    keys = _keys("message")
    form = _ordered(spec, keys, scope, "message")
    return form if form.get("validVersions") == "none" else _completed(form, keys, fields=[])


def ranges_from(starts: Mapping[int, str]) -> dict[str, str]:
    """Convert first versions, in ascending order, to ranges: {0: "v0", 2: "v1"} becomes {"0-1": "v0", "2+": "v1"}."""
    ends = [start - 1 for start in list(starts)[1:]] + [HIGHEST]
    return {str(Versions(start, end)): name for (start, name), end in zip(starts.items(), ends, strict=True)}


class _Scope(NamedTuple):
    """What determines a value's normal form: the spec's dialect, the value's path, and the field's type."""

    note: Note
    draft: bool
    path: str = ""
    field_type: str = ""

    def inside(self, name: str, field_type: str = "") -> "_Scope":
        return self._replace(path=f"{self.path}.{name}" if self.path else name, field_type=field_type)


# A function that converts a value to its normal form. If it returns None, the key is left out.
_Form = Callable[[Any, _Scope], Any]


class _Key(NamedTuple):
    form: _Form
    expected: type


def _ordered(spec: Mapping[str, Any], keys: Mapping[str, _Key], scope: _Scope, what: str) -> dict[str, Any]:
    for name in spec:
        if name not in keys:
            raise SpecError(f"{scope.path or 'message'}: a {what} can't have the key {name!r}; remove the key")
    form: dict[str, Any] = {}
    for name, key in keys.items():
        if name not in spec:
            continue
        value = spec[name]
        result = None if value is None else key.form(value, scope)  # null means that the key is absent
        if value is None or type(value) not in (key.expected, type(result)):
            scope.note(f"{scope.path or 'message'}: {name} given as {json.dumps(value)}, {_reading(result)}")
        if result is not None:
            form[name] = result
    return form


def _reading(result: Any) -> str:
    if result is None:
        return "which is the same as leaving it out"
    return "read as a list of one item" if isinstance(result, list) else f"read as {inline(result)}"


def _completed(form: dict[str, Any], keys: Mapping[str, _Key], **missing: Any) -> dict[str, Any]:
    """Return a form with the values in `missing` for keys that it lacks. `keys` gives the order."""
    every = missing | form
    return {name: every[name] for name in keys if name in every}


def _not_empty(value: Any, scope: _Scope) -> str | None:
    text = str(value)
    return (text.lower() if isinstance(value, bool) else text) or None


def _type(value: Any, scope: _Scope) -> str:
    return "".join(str(value).split())


def _tag(value: Any, scope: _Scope) -> int | str:
    number = int(str(value), 0 if str(value).startswith("0x") else 10)
    return f"0x{number:04x}" if scope.draft else number


def _versions(value: Any, scope: _Scope) -> str | None:
    text = str(value).strip()
    return str(Versions.parse(text)) if text else None


def _flexible_versions(value: Any, scope: _Scope) -> str:
    return _versions(value, scope) or str(NONE)


def _some_versions(value: Any, scope: _Scope) -> str | None:
    text = _versions(value, scope)
    return None if text == "none" else text


def _list(value: Any, scope: _Scope) -> list[Any]:
    items: list[Any] = value if isinstance(value, list) else [value]
    return items


def _by_version(value: Any, scope: _Scope) -> dict[str, str]:
    ranges = {Versions.parse(versions): str(name) for versions, name in value.items()}
    return {str(versions): ranges[versions] for versions in sorted(ranges, key=lambda versions: versions.lowest)}


def _default(value: Any, scope: _Scope) -> str | None:
    """Return a default as text, or None for an empty string. Hexadecimal numbers are converted to decimal."""
    text = _not_empty(value, scope)
    if text is None:
        return None
    primitive = WIRE_TYPES.get(scope.field_type)
    if primitive is None or text == "null":
        return text
    try:
        return primitive.canonical_text(text)
    except ValueError:
        return text  # the name of an enum member


def _field(field: Mapping[str, Any], outer: _Scope, owner: str) -> dict[str, Any]:
    keys = _keys(owner)
    scope = outer.inside(str(field.get("name", "?")), _type(field.get("type", ""), outer))
    form = _ordered(field, keys, scope, "field" if owner == "field" else "field of optionalFields")
    if "versions" not in form and "taggedVersions" in form:
        scope.note(f"{scope.path} has no versions; using its taggedVersions {form['taggedVersions']}")
        return _completed(form, keys, versions=form["taggedVersions"])
    return form


def _struct(struct: Mapping[str, Any], outer: _Scope) -> dict[str, Any]:
    keys = _keys("struct")
    form = _ordered(struct, keys, outer.inside(str(struct.get("name", "?"))), "struct")
    return _completed(form, keys, fields=[])


def _imports(value: Any, scope: _Scope) -> list[dict[str, Any]] | None:
    keys = _keys("import")
    inside = scope.inside
    return [_ordered(each, keys, inside(str(each.get("name", "?"))), "import") for each in _list(value, scope)] or None


def _struct_versions(value: Any, scope: _Scope) -> dict[str, int] | None:
    return {versions: int(number) for versions, number in _by_version(value, scope).items()} or None


_TEXTS: Final = ("dialect", "messageType", "name", "registerName", "schemaReference", "structName", "text", "word")
_BY_KIND: Final[Mapping[str, _Key]] = {
    **dict.fromkeys(_TEXTS, _Key(_not_empty, str)),
    "entityType": _Key(lambda value, _: None if value == "unknown" else str(value), str),
    "fallback": _Key(lambda value, _: {key: int(value[key]) for key in ("version", "errorCode")}, dict),
    "fields": _Key(lambda value, scope: [_field(field, scope, "field") for field in _list(value, scope)], list),
    "fieldType": _Key(_type, str),
    "flag": _Key(lambda value, _: str(value).lower() in ("true", "1") or None, bool),
    "headerVersions": _Key(_by_version, dict),
    "imports": _Key(_imports, list),
    "listeners": _Key(_list, list),
    "optionalFields": _Key(
        lambda value, scope: [_field(field, scope, "optionalField") for field in _list(value, scope)], list
    ),
    "range": _Key(_some_versions, str),
    "recordFormats": _Key(lambda value, scope: _by_version(value, scope) or None, dict),
    "reservedTags": _Key(lambda value, scope: [_tag(tag, scope) for tag in _list(value, scope)] or None, list),
    "structVersions": _Key(_struct_versions, dict),
    "structs": _Key(lambda value, scope: [_struct(each, scope) for each in _list(value, scope)] or None, list),
    "tag": _Key(_tag, int),
    "texts": _Key(lambda value, scope: [str(item) for item in _list(value, scope)] or None, list),
    "versions": _Key(_versions, str),
    "whole": _Key(lambda value, _: int(value), int),
}
"""The normal form for each kind of value in the schema."""

_OWN: Final[Mapping[str, _Key]] = {
    "default": _Key(_default, str),
    "flexibleVersions": _Key(_flexible_versions, str),
    "versions": _Key(_versions, str),
    "versionsWithOptional": _Key(_flexible_versions, str),
}
"""The keys with a special normal form."""


@cache
def _keys(owner: str) -> Mapping[str, _Key]:
    return {key: _OWN.get(key) or _BY_KIND[kind] for key, kind in key_kinds(owner).items()}
