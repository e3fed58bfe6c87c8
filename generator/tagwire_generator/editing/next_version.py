"""Add a version or an optional field to a message, for `tagwire add-version` and `tagwire add-field`.

Specs are edited as text, so the rest of a file does not change. Before anything is written, the new specs are checked
against all rules and against the released versions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tagwire.errors import SpecError
from tagwire.text_format import suggestion
from tagwire.versions import Versions
from tagwire_generator.editing.spec_edit import SpecEdit, format_spec
from tagwire_generator.evolution.check import Baseline
from tagwire_generator.evolution.lock import reject_lost
from tagwire_generator.evolution.spec_sources import SpecData, SpecReader, SpecSources
from tagwire_generator.model.message_spec import MessageSpec
from tagwire_generator.model.spec_set_rules import check_set
from tagwire_generator.problems import spec_error
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.syntax.canonical import plain_tree
from tagwire_generator.syntax.parse import Items, Object

_Tree = dict[str, Any]
_PARTNERS: Final = {"request": "response", "response": "request"}


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
class SpecChange:
    """A change to one spec file: a new version, or a new optional field."""

    name: str
    version: int
    """The new version, or the first existing version that gets the new field."""
    path: Path
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class NextVersion:
    """The edits that add a version to a message and, if necessary, also to its response or request."""

    changes: tuple[SpecChange, ...]
    notes: tuple[str, ...]
    """Remarks for the user, as sentences."""
    is_version: bool = True
    """Whether the edits add a version. If not, they add a field to existing versions."""

    @property
    def contents(self) -> dict[Path, str]:
        return {change.path: change.after for change in self.changes}

    @property
    def before(self) -> dict[Path, bytes | None]:
        """The content of each changed file when it was read."""
        return {change.path: change.before.encode() for change in self.changes}


def plan_next_version(
    path: Path,
    files: Sequence[SpecData],
    field: NewField | None,
    *,
    options: SpecOptions,
    released: Iterable[Baseline] = (),
) -> NextVersion:
    """Plan a new version of the message in a spec. Nothing is written.

    `files` are all specs of the message's set, by path. If necessary, the plan also adds the version to the matching
    response or request. `released` lists releases that the change must not break, in addition to the current specs.

    Raises SpecError if no version can be added to the message, if the field's parent or neighbor doesn't exist, or if
    the change violates a rule (`problems` lists all violations) or breaks a released version.
    """
    reader = SpecReader()
    sources = reader.read(files, options)
    spec = _message(path, sources)
    version = spec.valid_versions.highest + 1
    changes = [_changed(spec, files, version, field, options, is_new=True)]
    partner = _partner(spec, sources)
    if partner is not None and partner.valid_versions.highest < version:
        if partner.valid_versions.highest < version - 1:
            raise SpecError(
                f"{partner.file}: {partner.name} has versions {partner.valid_versions}, but {spec.name} has "
                f"{spec.valid_versions}; give both the same versions first",
                file=partner.file,
            )
        changes.append(_changed(partner, files, version, None, options, is_new=True))
    _check(changes, files, sources, options, released)
    return NextVersion(tuple(changes), tuple(_notes(spec, version, partner)))


def plan_optional_field(
    path: Path, files: Sequence[SpecData], field: NewField, *, options: SpecOptions, released: Iterable[Baseline] = ()
) -> NextVersion:
    """Plan to add a tagged field to all flexible versions of a message, without a new version (KIP-482).

    Nothing is written. Raises SpecError for the same reasons as `plan_next_version`, and if the message has no flexible
    versions.
    """
    sources = SpecReader().read(files, options)
    spec = _message(path, sources)
    flexible = spec.valid_versions & (spec.flexible_versions or spec.optional_versions)
    if not flexible:
        text = f"{spec.name} has no flexible versions; `tagwire add-version` adds the field in a new version"
        raise SpecError(f"{path}: {text}", file=str(path))
    changes = [_changed(spec, files, flexible.lowest, field, options, is_new=False)]
    _check(changes, files, sources, options, released)
    return NextVersion(tuple(changes), (), is_version=False)


def _message(path: Path, sources: SpecSources) -> MessageSpec:
    """Return the message in a file. Raises SpecError if no version can be added to the message."""
    problems = sources.invalid.get(path.stem, ())
    if any(problem.file == str(path) for problem in problems):
        raise spec_error(problems)
    spec = next((each for each in sources.specs.values() if each.file == str(path)), None)
    if spec is None:
        shared = any(each.file == str(path) for each in sources.shared.values())
        if not shared:
            raise SpecError(f"{path}: expected the spec of a message, got the spec of a register", file=str(path))
        raise SpecError(
            f"{path} is a shared struct, but versions can only be added to messages; edit the file by hand, and "
            "then edit `structVersions` in the specs that import the struct",
            file=str(path),
        )
    reason = ""
    if spec.format is not None:
        reason = "a record format has no versions; write a new spec instead"
    elif not spec.valid_versions:
        reason = f"{spec.name} has no versions, because its API was removed"
    elif spec.kind == "coordinator-key":
        reason = f"{spec.name} is a coordinator key, which has only version 0"
    if reason:
        raise SpecError(f"{path}: {reason}", file=str(path))
    return spec


def _partner(spec: MessageSpec, sources: SpecSources) -> MessageSpec | None:
    kind = _PARTNERS.get(spec.kind)
    identity = (kind, spec.api_key, spec.component)
    if kind is None or spec.api_key is None:
        return None
    found = (each for each in sources.specs.values() if (each.kind, each.api_key, each.component) == identity)
    return next((each for each in found if each.valid_versions), None)


def _changed(
    spec: MessageSpec,
    files: Sequence[SpecData],
    version: int,
    field: NewField | None,
    options: SpecOptions,
    *,
    is_new: bool,
) -> SpecChange:
    """Return a change that adds `version` to a message's spec if `is_new`, and adds `field` if it isn't None."""
    data = next(each for each in files if each.file == spec.file)
    text = data.data.decode()
    edit = SpecEdit(text, file=data.file)
    if is_new:
        edit.replace(edit.root, "validVersions", str(Versions(spec.valid_versions.lowest, version)))
    if field is not None:
        _add_field(edit, field, version, data.file)
    after = edit.result()
    new = SpecData(data.file, data.component, after.encode())
    edited = SpecReader().read([new], options, others=_others(files, [new])).specs.get(spec.name)
    if edited is not None and field is not None:
        _reject_unwritten(edited, field)
    # Format the new text if the old text was in canonical form.
    if edited is not None and format_spec(text, file=data.file, options=options) == text:
        after = format_spec(after, file=data.file, options=options)
    return SpecChange(spec.name, version, Path(data.file), text, after)


def _reject_unwritten(edited: MessageSpec, field: NewField) -> None:
    """Raise SpecError if the struct with the new field is in none of the field's versions."""
    for each in edited.warnings:
        owner = edited.root if each.struct is None else edited.structs[each.struct]
        if each.rule == "TW420" and each.field is not None and owner.fields[each.field].name == field.name:
            raise SpecError(f"{edited.file}: {each.message}", file=edited.file, rule=each.rule)


def _add_field(edit: SpecEdit, field: NewField, version: int, file: str) -> None:
    """Add a field to the struct that it names. Raises SpecError for an unknown struct or neighbor."""
    is_draft = "versionsWithOptional" in edit.root.members
    key = "optionalFields" if is_draft and (field.tag is not None or field.next_tag) else "fields"
    node = _parent(edit.root, field.parent, file)
    member, items = node.members.get(key), node.get(key)
    if member is not None and not isinstance(items, Items):
        text = f"`{key}` is not a list; to convert the spec, run `tagwire fmt`"
        raise SpecError(text, file=file, line=member.line, column=member.column)
    struct: _Tree = plain_tree(node)
    names = [str(each["name"]) for each in struct.get(key) or ()]
    neighbor = field.before or field.after
    index = len(names)
    if neighbor:
        if neighbor not in names:
            raise _unknown(file, field.parent, neighbor, names, f" in `{key}`")
        index = names.index(neighbor) + (not field.before)
    entry = _new_entry(field, struct, version, is_draft=is_draft)
    if isinstance(items, Items):
        edit.insert(items, index, entry)
    else:
        edit.add_list(node, key, entry)


def _parent(root: Object, path: str, file: str) -> Object:
    """Return the struct at a dotted path of field names. The path may also begin with the name of a common struct."""
    node, walked = root, ""
    for name in filter(None, path.split(".")):
        children = _members(node, "fields", "optionalFields")
        if not walked and name not in children:
            children = _members(root, "commonStructs") | children
        if name not in children:
            raise _unknown(file, walked, name, list(children))
        node = children[name]
        walked = f"{walked}.{name}".lstrip(".")
        if "fields" not in node.members:
            common = _members(root, "commonStructs")
            type = str(plain_tree(node).get("type", "")).strip().lstrip("[] ")
            if type not in common:
                raise SpecError(
                    f"{file}: {walked} has type {type}, but a field can only be added to a struct of the spec",
                    file=file,
                )
            node = common[type]
    return node


def _members(node: Object, *keys: str) -> dict[str, Object]:
    lists = [items for key in keys if isinstance(items := node.get(key), Items)]
    objects = [inner for items in lists for inner in items.items if isinstance(inner, Object)]
    return {str(plain_tree(inner)["name"]): inner for inner in objects}


def _unknown(file: str, struct: str, name: str, known: list[str], where: str = "") -> SpecError:
    text = f"{struct or 'the message'} has no field {name!r}{where}; {suggestion(name, known)}"
    return SpecError(f"{file}: {text}", file=file)


def _new_entry(field: NewField, struct: _Tree, version: int, *, is_draft: bool) -> _Tree:
    """Return the new field's entry in the spec, with its keys in canonical order."""
    tag = _next_tag(struct) if field.next_tag else field.tag
    since = f"{version}+"
    is_optional = is_draft and tag is not None
    entry: _Tree = {
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


def _next_tag(struct: _Tree) -> int:
    fields = (*(struct.get("fields") or ()), *(struct.get("optionalFields") or ()))
    reserved = struct.get("reservedTags") or []
    used = [str(each["tag"]) for each in fields if each.get("tag") is not None]
    used += map(str, reserved if isinstance(reserved, list) else [reserved])
    return max((int(tag, 16 if tag.startswith("0x") else 10) for tag in used), default=-1) + 1


def _others(files: Iterable[SpecData], changed: Sequence[SpecData]) -> list[SpecData]:
    names = {each.file for each in changed}
    return [each for each in files if each.file not in names]


def _check(
    changes: Sequence[SpecChange],
    files: Sequence[SpecData],
    before: SpecSources,
    options: SpecOptions,
    released: Iterable[Baseline],
) -> None:
    """Raise SpecError if the changed specs violate a rule, individually or as a set, or break a released version."""
    new = {str(change.path): change.after.encode() for change in changes}
    changed = [SpecData(each.file, each.component, new[each.file]) for each in files if each.file in new]
    after = SpecReader().read(changed, options, others=_others(files, changed))
    broken = [problem for problems in after.invalid.values() for problem in problems]
    if broken:
        raise spec_error(broken)
    known = {(each.rule, each.message) for each in check_set([s.summary() for s in before.specs.values()], options)}
    summaries = [spec.summary() for spec in (before.specs | after.specs).values()]
    broken = [each for each in check_set(summaries, options) if each.severity == "error"]
    broken = [each for each in broken if (each.rule, each.message) not in known]
    if broken:
        raise spec_error(broken)
    own = SpecSources({name: before.specs[name] for name in after.specs}, texts=before.texts)
    reject_lost(released, own, after, "the new version")


def _notes(spec: MessageSpec, version: int, partner: MessageSpec | None) -> Iterable[str]:
    old = version - 1
    ending = [
        field.name for struct in (spec.root, *spec.structs) for field in struct.fields if field.versions.highest == old
    ]
    if ending:
        yield f"version {version} does not have {', '.join(ending)}, which ended with version {old}"
    unstable = next((each for each in (spec, partner) if each is not None and each.latest_version_unstable), None)
    if unstable is not None:
        yield f"latestVersionUnstable of {unstable.name} now means version {version}; version {old} counts as released"
