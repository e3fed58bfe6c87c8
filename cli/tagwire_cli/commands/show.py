"""`tagwire show`: show the fields of a message, in all versions or in a single version."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from tagwire.text_format import count
from tagwire_cli.arguments import completion
from tagwire_cli.arguments.options import package_option, version_number
from tagwire_cli.arguments.packages import find_class, find_message, find_registry, require_version
from tagwire_cli.commands.messages import message_facts
from tagwire_cli.output.echo import say
from tagwire_cli.output.tables import TableColumn, print_table, table_columns, write_json

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.layout import Bits, Condition, Item, StructLayout
    from tagwire.message import Message, Struct
    from tagwire.message.field_table import FieldRow
    from tagwire.versions import StructVersions, Versions


_BY_VERSIONS = table_columns("field", "type", "versions", "nullable", "tag", "default", "ignorable")
_HISTORY = table_columns("version", "releases", "change", numbers=("version",))
_IN_WIRE_ORDER = table_columns("field", "type", "tag", "default")
_INDENT = "  "


@click.command("show")
@click.argument("name", metavar="MESSAGE", shell_complete=completion.messages)
@click.argument("number", metavar="[VERSION]", required=False, type=version_number, shell_complete=completion.versions)
@click.option(
    "--version",
    type=version_number,
    metavar="N",
    shell_complete=completion.versions,
    help="Show the layout of one version, in wire order.",
)
@click.option("--wide", is_flag=True, help="Add a column with the meaning of each field.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@package_option
def command(name: str, version: int | None, number: int | None, wide: bool, as_json: bool, package: str | None) -> None:
    """Show the fields of MESSAGE by version.

    Fields of a struct are indented below it. If a message is encoded in a version
    that does not have one of its fields, the value of an ignorable field is dropped
    without an error. A field that is not ignorable must then have its default value;
    any other value is rejected. The history below the fields lists the releases that
    have each version, and what changed in it (`tagwire diff` shows all changes).

    With VERSION, the layout on the wire is shown: types with their length
    encoding (compact, nullable), and tagged fields in their section. A record
    format has no versions and is always shown this way.

    \b
    Examples:
      tagwire show OffsetCommitRequest
      tagwire show OffsetCommitRequest --version 9 --wide
      tagwire show MetadataResponse --json
    """
    from tagwire.message.field_table import layout_of

    if None not in (version, number):
        raise click.UsageError("give VERSION or --version, not both.")
    version = number if version is None else version
    registry = find_registry(package)
    found: type[Any] = find_class(registry, name)
    if found.KIND == "format":
        if version is not None:
            raise click.BadParameter(f"{name} is a record format; it has no versions", param_hint="--version")
        facts = {"name": found.NAME, "format": found.FORMAT}
        title = f"{found.NAME}: record format {found.FORMAT},"
        _show_layout(found, found.layout().root, facts, title, wide=wide, as_json=as_json)
        return
    message = find_message(registry, name)
    if version is None:
        _show_versions(registry, message, wide=wide, as_json=as_json)
        return
    require_version(message, version)
    facts, title = {"name": message.NAME, "version": version}, f"{message.NAME} v{version}:"
    _show_layout(message, layout_of(message, version).root, facts, title, wide=wide, as_json=as_json)


def _show_versions(registry: "Registry", message: "type[Message]", *, wide: bool, as_json: bool) -> None:
    from tagwire.explain.names import abouts
    from tagwire_cli.version_diff import history

    steps = history(registry, message)
    if as_json:
        fields = [_field(row, None) for row in message.FIELDS]
        write_json({**_message_facts(message), "fields": fields, "history": [step.as_dict() for step in steps]})
        return
    for line in _title(message):
        say(line)
    descriptions = abouts(message)
    if descriptions[""]:
        say(descriptions[""])
    rows = {path: _cells(row, around, path.count(".")) for path, row, around in _walk(message, None, "")}
    _print_fields(_BY_VERSIONS, list(rows.items()), descriptions if wide else None)
    say()
    has_releases = any(step.releases for step in steps)
    columns = _HISTORY if has_releases else (_HISTORY[0], _HISTORY[2])
    cells = ((step.version, step.spans(), step.change) for step in steps)
    print_table(columns, [row if has_releases else (row[0], row[2]) for row in cells])


def _message_facts(message: "type[Message]") -> dict[str, Any]:
    from tagwire.explain.names import abouts

    headers = [{"versions": str(versions), "header": number} for versions, number in message.HEADER_VERSIONS]
    return {
        "name": message.NAME,
        **({"about": text} if (text := abouts(message)[""]) else {}),
        **message_facts(message),
        "headerVersions": headers,
        "optionalFieldVersions": str(message.OPTIONAL_FIELDS.versions if message.OPTIONAL_FIELDS else "none"),
    }


def _title(message: "type[Message]") -> Iterator[str]:
    key = "" if message.API_KEY is None else f", API key {message.API_KEY}"
    where = f" of {message.COMPONENT}" if message.COMPONENT else ""
    yield f"{message.NAME}: {message.KIND}{where}{key}"
    facts = [f"versions {message.VERSIONS}", f"flexible {message.FLEXIBLE_VERSIONS}"]
    if message.OPTIONAL_FIELDS is not None:
        facts.append(f"optional fields {message.OPTIONAL_FIELDS.versions}")
    if message.VERSIONS.highest != message.LATEST_STABLE:
        facts.append(f"latest stable {message.LATEST_STABLE}")
    facts += [f"header {number} in {versions}" for versions, number in message.HEADER_VERSIONS]
    yield ", ".join(facts)


def _walk(
    struct: "type[Struct]", around: "StructVersions | None", prefix: str
) -> Iterator[tuple[str, "FieldRow", "StructVersions | None"]]:
    """Yield (path, row, struct versions) for each field, including the fields of inner structs.

    For a field in a shared struct, `struct versions` maps versions of the message to versions of the shared struct. For
    other fields, it is None.
    """
    for row in struct.FIELDS:
        yield prefix + row.name, row, around
        if row.struct is not None:
            yield from _walk(row.struct, _inside(row, around), f"{prefix}{row.name}.")


def _inside(row: "FieldRow", around: "StructVersions | None") -> "StructVersions | None":
    own = row.struct_versions
    return around if own is None else own if around is None else around.then(own)


def _within(around: "StructVersions | None", versions: "Versions") -> "Versions":
    return versions if around is None else around.within(versions)


def _used_versions(row: "FieldRow", around: "StructVersions | None") -> "list[tuple[Versions, int]]":
    """Return the versions of a field's shared struct, as (message versions, struct version) pairs.

    Returns [] if the field has no shared struct.
    """
    ranges = row.struct_versions.ranges if row.struct_versions else ()
    return [(within, number) for versions, number in ranges if (within := _within(around, versions))]


def _cells(row: "FieldRow", around: "StructVersions | None", depth: int) -> tuple[str, ...]:
    compact = "" if row.flexible is None else f", compact in {_within(around, row.flexible)}"
    formats = "".join(f", {format} in {_within(around, versions)}" for versions, format in row.record_formats)
    shared = "".join(f", version {number} in {versions}" for versions, number in _used_versions(row, around))
    versions, tagged, nullable = (_within(around, each) for each in (row.versions, row.tagged, row.nullable))
    tag = "" if row.tag is None else str(row.tag) if tagged == versions else f"{row.tag} in {tagged}"
    meaning = row.semantic if row.enum is None else row.enum.__name__
    return (
        _INDENT * depth + row.name,
        ", ".join([f"{row.type} {meaning}".rstrip() + compact + formats + shared, *_rules(row)]),
        str(versions),
        str(nullable) if nullable else "",
        tag,
        "" if row.required else _default_text(row.default),
        "ignorable" if row.ignorable else "",
    )


def _rules(row: "FieldRow") -> Iterator[str]:
    """Yield short notes about a field and its values, such as `required`."""
    if row.required:
        yield "required"
    if row.union:
        yield f"an alternative of {row.union}"
    if row.unique:
        yield f"unique by {' and '.join(row.unique)}"
    if row.sensitive:
        yield "sensitive"
    if row.deprecated is not None:
        yield "deprecated"


def _field(row: "FieldRow", around: "StructVersions | None") -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": row.name,
        "jsonName": row.json_name,
        "type": row.type,
        "versions": str(_within(around, row.versions)),
        "nullableVersions": str(_within(around, row.nullable)),
        "tag": row.tag,
        "taggedVersions": str(_within(around, row.tagged)),
        "default": _default(row.default),
        "ignorable": row.ignorable,
    }
    if row.flexible is not None:
        facts["flexibleVersions"] = str(_within(around, row.flexible))
    if row.record_formats:
        facts["recordFormats"] = {str(_within(around, versions)): format for versions, format in row.record_formats}
    if row.struct_versions is not None:
        facts["structVersions"] = {str(versions): number for versions, number in _used_versions(row, around)}
    if row.enum is not None:
        facts["enum"] = row.enum.__name__
    for key, value in (("semantic", row.semantic), ("union", row.union), ("unique", list(row.unique))):
        if value:
            facts[key] = value
    for key, is_so in (("required", row.required), ("sensitive", row.sensitive)):
        if is_so:
            facts[key] = True
    if row.about:
        facts["about"] = row.about
    if row.deprecated is not None:
        facts["deprecated"] = row.deprecated
    if row.struct is not None:
        facts["fields"] = [_field(inner, _inside(row, around)) for inner in row.struct.FIELDS]
    return facts


def _show_layout(
    documented: "type[Struct]", root: "StructLayout", facts: dict[str, Any], title: str, *, wide: bool, as_json: bool
) -> None:
    """Show the layout of a message version or of a record format. `facts` are added to the JSON."""
    from tagwire.explain.names import abouts

    if as_json:
        write_json({**facts, "minimumSize": root.minimum, **_struct(root)})
        return
    say(f"{title} at least {count(root.minimum, 'byte')}")
    _print_fields(_IN_WIRE_ORDER, list(_wire_rows(root, 0, "", {})), abouts(documented) if wide else None)
    if root.missing:
        missing = ", ".join(field.name + (" (ignorable)" if field.ignorable else "") for field in root.missing)
        say()
        say(f"Not in this version: {missing}")


def _wire_rows(
    struct: "StructLayout", depth: int, prefix: str, groups: "dict[tuple[str, int], Bits]"
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (path, table row) for each field, bit group and section title. Bit groups and titles have the path "-".

    Each bit group is also added to `groups`. Its key is (field name, mask).
    """
    from tagwire.layout import OptionalBuffer, nested_struct

    def rows(fields: "tuple[Item, ...]", depth: int) -> Iterator[tuple[str, tuple[str, ...]]]:
        for item in fields:
            tag = "" if item.tag is None else str(item.tag)
            path = f"{prefix}{item.name}"
            type = f"{item.type}{_condition(item.condition, groups)}"
            yield path, (_INDENT * depth + item.name, type, tag, _default_text(item.default))
            for group in item.bits:
                groups[item.name, group.mask] = group
                yield "-", (_INDENT * (depth + 1) + group.name, _bits(group), "", "")
            nested = nested_struct(item.type)
            if nested is not None:
                yield from _wire_rows(nested, depth + 1, f"{path}.", groups)

    if isinstance(struct.section, OptionalBuffer):
        yield "-", (_INDENT * depth + "(optional fields)", f"{struct.section.length.name} lengths", "", "")
        yield from rows(struct.section.fields, depth + 1)
    yield from rows(struct.items, depth)
    if struct.section is not None and not isinstance(struct.section, OptionalBuffer):
        yield "-", (_INDENT * depth + "(tagged fields)", "uvarint count", "", "")
        yield from rows(struct.section.fields, depth + 1)


def _bits(group: "Bits") -> str:
    """Describe a bit group, such as `bits 0-2: none, gzip`."""
    first, last = group.shift, group.mask.bit_length() - 1
    values = f": {', '.join(group.values)}" if group.values else ""
    return (f"bit {first}" if first == last else f"bits {first}-{last}") + values


def _condition(condition: "Condition | None", groups: "dict[tuple[str, int], Bits]") -> str:
    """Describe the condition under which a field is present, such as `, only if attributes.has_headers is 1`."""
    if condition is None:
        return ""
    group = groups.get((condition.field, condition.mask))
    if group is None:
        return f", only if {condition.field} & {condition.mask:#x} is {condition.equals:#x}"
    return f", only if {condition.field}.{group.name} is {group.of(condition.equals)}"


def _struct(struct: "StructLayout") -> dict[str, Any]:
    """Return a struct as JSON, with its fields and tagged fields in wire order."""
    return {
        "items": [_item(item) for item in struct.items],
        "section": None if struct.section is None else type(struct.section).__name__,
        "taggedFields": [_item(item) for item in struct.section.fields] if struct.section else [],
        "missing": [{"name": field.name, "ignorable": field.ignorable} for field in struct.missing],
    }


def _item(item: "Item") -> dict[str, Any]:
    from tagwire.layout import nested_struct

    nested = nested_struct(item.type)
    facts: dict[str, Any] = {
        "name": item.name,
        "jsonName": item.json_name,
        "type": str(item.type),
        "tag": item.tag,
        "default": _default(item.default),
    }
    if item.bits:
        facts["bits"] = [{"name": bits.name, "mask": bits.mask, "values": list(bits.values)} for bits in item.bits]
    if item.condition is not None:
        facts["condition"] = dict(item.condition.given())
    return facts if nested is None else {**facts, "struct": _struct(nested)}


def _print_fields(
    columns: tuple[TableColumn, ...], rows: list[tuple[str, tuple[str, ...]]], abouts: Mapping[str, str] | None
) -> None:
    """Print a table of fields. If `abouts` is given, the last column has the documentation of each field."""
    if rows:
        about = () if abouts is None else table_columns("about")
        say()
        print_table(
            (*columns, *about),
            [cells if abouts is None else (*cells, abouts.get(path, "")) for path, cells in rows],
        )


def _default(value: Any) -> Any:
    """Return a field's default value as JSON. An enum member becomes its name, and a struct becomes {}."""
    from tagwire.layout import DEFAULT_STRUCT
    from tagwire.message.json import json_value
    from tagwire.message.register import Register

    if value is DEFAULT_STRUCT:
        return {}
    if isinstance(value, Register):
        return value.text
    return list(value) if isinstance(value, tuple) else json_value(value)


def _default_text(value: Any) -> str:
    return json.dumps(_default(value), ensure_ascii=False)
