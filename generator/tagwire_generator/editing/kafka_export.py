"""Rewrite specs for Kafka's own generator, and report specs that can't be rewritten.

The `kafka` property of a key in `spec.schema.json` determines how the key is exported. Keys with `"kafka": "left out"`
are tagwire extensions that do not affect the wire format, and are removed. Keys with `"kafka": "inlined"` are
rewritten. A spec can't be exported if it has a key with `"kafka": "rejected"`, an extension without a `kafka` property,
or a type that only tagwire has.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from tagwire_generator.model.field_type import FieldType
from tagwire_generator.model.message_rules import implied_headers
from tagwire_generator.model.message_spec import MessageSpec
from tagwire_generator.problems import Problem, without_repeats
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.project.spec_files import SpecData
from tagwire_generator.reading.imports import SharedStructs, without_imports
from tagwire_generator.reading.keys import items, text
from tagwire_generator.reading.register import Registers, registers_among
from tagwire_generator.reading.spec import ReadResult, read_spec
from tagwire_generator.syntax.canonical import canonical_text, parsed_form
from tagwire_generator.syntax.parse import Object, parse
from tagwire_generator.syntax.spec_schema import key_kinds, schema

Status = Literal["plain", "writable", "stopped", "inlined", "skipped"]

_NESTED_KINDS: Final = {"fields": "field", "optionalFields": "optionalField", "structs": "struct", "imports": "import"}
"""Maps each kind of list in the schema to the schema definition of the objects in such a list."""


@dataclass(frozen=True, slots=True)
class Inexpressible:
    """A property of a spec that Kafka's spec language can't express, with its position."""

    what: str
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of exporting one spec.

    The values of `status`:

    - "plain": Kafka's generator accepts the spec unchanged
    - "writable": Kafka's generator accepts the rewritten spec
    - "stopped": the spec can't be exported, because an extension affects the wire format
    - "inlined": the spec is a shared struct, which is copied into the specs that import it
    - "skipped": the spec is an enum or a record format; Kafka has no such specs
    """

    file: str
    component: str
    name: str
    status: Status
    lost: tuple[Inexpressible, ...] = ()
    """The tagwire extensions that the export removes or rewrites."""
    stops: tuple[Inexpressible, ...] = ()
    text: str = ""
    """The spec for Kafka's generator if `status` is "plain" or "writable"; otherwise ""."""

    def as_dict(self) -> dict[str, Any]:
        """Return the export result as a JSON-compatible dict, without the spec's text."""
        return {
            "file": self.file,
            "status": self.status,
            "lost": [asdict(each) for each in self.lost],
            "stops": [asdict(each) for each in self.stops],
        }


def export(specs: Iterable[SpecData], options: SpecOptions) -> tuple[list[Exported], list[Problem]]:
    """Export the specs of a set. Return the exported specs and all problems. A spec with errors is not exported."""
    specs = list(specs)
    registers = registers_among(specs)
    shared = SharedStructs(specs, options, registers)
    exported: list[Exported] = []
    problems: list[Problem] = []
    for spec in specs:
        result = shared.read_spec(spec)
        problems += [each for each in result.problems if each.severity == "error"]
        if not result.has_errors:
            exported.append(_exported(spec, result, shared, registers))
    return exported, without_repeats(problems)


def _exported(spec: SpecData, result: ReadResult, shared: SharedStructs, registers: Registers) -> Exported:
    text, message = spec.data.decode(), result.message
    if message is None or message.format is not None:
        return Exported(spec.file, spec.component, spec.name, "skipped")
    if message.kind == "struct":
        return Exported(spec.file, spec.component, message.name, "inlined")
    root = _root(spec)
    used = [known.spec for each in message.imports if (known := shared.get(each.name)) is not None]
    uses = [use for each in (spec, *used) for use in _uses_of(each)]
    lost = tuple(spot for spot, verdict in uses if verdict != "rejected")
    stops = [spot for spot, verdict in uses if verdict == "rejected"]
    trees = {each.name: parsed_form(each.data.decode()) for each in used}
    tree = _plain(without_imports(parsed_form(text), message, trees), "message", registers)
    written = canonical_text(tree) if lost else text
    if not stops:
        stops += _other_stops(message, root, written, lost)
    status: Status = "stopped" if stops else "writable" if lost else "plain"
    return Exported(spec.file, spec.component, message.name, status, lost, tuple(stops), "" if stops else written)


def _root(spec: SpecData) -> Object:
    root = parse(spec.data.decode(), file=spec.file).root
    assert root is not None, "the reader took it"
    return root


def _verdict(owner: str, key: str) -> str:
    """Return a key's `kafka` property in the schema, such as "inlined", or "" if Kafka's specs also have this key."""
    key_schema = schema()["$defs"][owner]["properties"].get(key, {})
    return str(key_schema.get("kafka", "rejected" if "dialect" in key_schema else ""))


def _uses_of(spec: SpecData) -> Iterator[tuple[Inexpressible, str]]:
    """Yield each key and type that Kafka's spec language doesn't have, and how to export it, such as "inlined"."""
    root = _root(spec)
    is_shared = root.text_of("type") == "struct"
    keys = list(_keys(root, "sharedStruct" if is_shared else "message"))
    for node, key, owner in keys:
        verdict = _verdict(owner, key)
        if verdict and not (is_shared and key in ("type", "dialect")):
            member = node.members[key]
            spot = Inexpressible(f"the key {key}", spec.file, member.line, member.column)
            yield spot, "left out" if node.get(key) is None else verdict
    types = [node.members[key].value for node, key, _ in keys if key == "type" and node is not root]
    for type in sorted(types, key=lambda each: (each.line, each.column)):
        if FieldType.parse(text(type)).is_extension:
            yield Inexpressible(f"the type {text(type)}", spec.file, type.line, type.column), "rejected"


def _keys(node: Object, owner: str) -> Iterator[tuple[Object, str, str]]:
    """Yield each key of an object and of the objects nested in it, as (object, key, name of the object's schema)."""
    for key, kind in key_kinds(owner).items():
        if key not in node.members:
            continue
        yield node, key, owner
        inner = _NESTED_KINDS.get(kind)
        for each in items(node.get(key)) if inner else ():
            if isinstance(each, Object):
                yield from _keys(each, inner or "")


def _plain(tree: dict[str, Any], owner: str, registers: Registers) -> dict[str, Any]:
    """Remove tagwire's own keys from a spec tree, and replace enum names in defaults with numbers."""
    result: dict[str, Any] = {}
    for key, value in tree.items():
        inner = _NESTED_KINDS.get(key_kinds(owner)[key])
        if not _verdict(owner, key):
            result[key] = [_plain(each, inner, registers) for each in value] if inner else value
    register = registers.get(tree.get("enum", ""))
    entry = register.entry(str(result.get("default", ""))) if register is not None else None
    if entry is not None:
        result["default"] = str(entry.key)
    if owner == "field" and result.get("versions") == "none":
        return {}
    if "fields" in result:
        result["fields"] = [each for each in result["fields"] if each]
    return result


def _other_stops(
    message: MessageSpec, root: Object, written: str, lost: tuple[Inexpressible, ...]
) -> Iterator[Inexpressible]:
    """Yield reasons why Kafka's generator can't use the rewritten spec: unusual header versions, or spec errors."""
    if message.headers != implied_headers(replace(message, header_versions=(), fallback=None)):
        member = root.members.get("headerVersions") or root.members.get("fallback") or root
        yield Inexpressible("headers other than those that Kafka implies", message.file, member.line, member.column)
    for problem in read_spec(written, file=message.file, options=SpecOptions()).problems:
        if problem.severity == "error":
            retired = next((each for each in lost if each.what == "the key reservedTags"), None)
            located = retired or Inexpressible("", message.file, message.line, message.column)
            yield replace(located, what=problem.message)
            return
