"""Find design flaws in record formats and messages, and inconsistencies between the messages of a set.

All rules run on every spec. `chosen` drops the findings of disabled rules. Each function with rules about messages
checks a field, a message, or the messages of a set. A common struct is checked only once. The rules about record
formats are in `format_lint`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tagwire.versions import Versions
from tagwire_generator.model import FieldSpec, MessageSpec, StructSpec
from tagwire_generator.model.spec_names import attribute_name, snake_case
from tagwire_generator.problems import DESIGN_RULES, Finding
from tagwire_generator.project.settings import LintSettings
from tagwire_workbench.designs.findings import design_finding
from tagwire_workbench.designs.format_lint import lint_format

_Found = Iterator[Finding]


def lint(spec: MessageSpec) -> list[Finding]:
    """Return the findings about a record format or message. A removed message has no findings."""
    if spec.format is not None:
        return list(lint_format(spec))
    return list(_lint_message(spec)) if spec.valid_versions else []


def lint_set(specs: Sequence[MessageSpec]) -> list[Finding]:
    """Return the findings about each spec and about pairs of specs, in the order of the specs."""
    found: defaultdict[str, list[Finding]] = defaultdict(list)
    for each in [*(finding for spec in specs for finding in lint(spec)), *lint_pairs(specs)]:
        found[each.file].append(each)
    return [finding for findings in found.values() for finding in findings]


def chosen(findings: Iterable[Finding], specs: Iterable[MessageSpec], settings: LintSettings) -> list[Finding]:
    """Return the findings of enabled rules, with the severities from the settings."""
    extended = {spec.file for spec in specs if spec.is_extended}
    kept = []
    for finding in findings:
        is_default = not DESIGN_RULES[finding.rule].dialect or finding.file in extended
        if settings.enables(finding.rule, is_default=is_default):
            kept.append(replace(finding, severity=settings.severity_of(finding.rule, finding.severity)))
    return kept


@dataclass(frozen=True, slots=True)
class _FieldInContext:
    """A field and its struct. `around` lists the message versions in which the struct can occur."""

    spec: MessageSpec
    struct: StructSpec
    field: FieldSpec
    path: str
    around: Versions

    @property
    def versions(self) -> Versions:
        return self.field.versions & self.around

    @property
    def is_later(self) -> bool:
        return bool(self.versions) and self.versions.lowest > self.around.lowest

    def finding(self, rule: str, key: str, message: str) -> Finding:
        return design_finding(rule, self.spec, self.path, message, key)


def _lint_message(spec: MessageSpec) -> _Found:
    """Yield the findings about a message that has at least one version."""
    uses = list(_fields_in_context(spec, spec.root, "", spec.valid_versions, set()))
    yield from _message(spec)
    for use in uses:
        for rule in _FIELD_RULES:
            yield from rule(use)
    for struct in (spec.root, *spec.own_structs):
        yield from _tags([use for use in uses if use.struct is struct])
    yield from _one_name(uses)


def _fields_in_context(
    spec: MessageSpec, struct: StructSpec, prefix: str, around: Versions, seen: set[str]
) -> Iterator[_FieldInContext]:
    """Yield the fields of a struct and of nested structs, except for structs shared by several specs."""
    for field in struct.fields:
        path = f"{prefix}{attribute_name(field.name)}"
        yield _FieldInContext(spec, struct, field, path, around)
        if field.struct is not None and field.struct not in seen and not spec.struct(field.struct).owner:
            seen.add(field.struct)
            inner = f"{path}{'[]' if field.type.is_array else ''}."
            yield from _fields_in_context(spec, spec.struct(field.struct), inner, around & field.versions, seen)


# ---------------------------------------------------------------- rules about a message


def _message(spec: MessageSpec) -> _Found:
    if not spec.about:
        yield design_finding("TL41", spec, "", f"{spec.name} has no about")
    if spec.flexible_versions and not spec.flexible_versions & spec.valid_versions:
        first, newest = spec.flexible_versions.lowest, spec.valid_versions.highest
        text = f"{spec.name} is flexible from version {first} on, but its newest version is {newest}"
        yield design_finding("TL56", spec, "", text, "flexibleVersions")
    if spec.discouraged and not spec.deprecated:
        yield design_finding(
            "TL91", spec, "", f"{spec.name} does not explain why versions are deprecated", "deprecatedVersions"
        )
    if spec.deprecated is None and spec.valid_versions.highest in spec.discouraged:
        text = f"the newest version {spec.valid_versions.highest} is deprecated without naming a replacement"
        yield design_finding("TL93", spec, "", text, "deprecatedVersions")
    for struct in spec.own_structs:
        if struct.deprecated == "":
            yield design_finding("TL91", spec, "", f"{struct.name} is deprecated without a reason", "commonStructs")


# ---------------------------------------------------------------- rules about a field


def _name_and_docs(use: _FieldInContext) -> _Found:
    name, struct = use.field.name, use.field.struct
    if not name[0].isupper():
        yield use.finding("TL31", "name", f"{name} begins with a lower-case letter; write {name[0].upper()}{name[1:]}")
    if attribute_name(name) != snake_case(name):
        text = f"{name} becomes {attribute_name(name)}, because the name is reserved by Python or the class"
        yield use.finding("TL32", "name", text)
    if use.field.about:
        return
    if struct is None:
        yield use.finding("TL43", "name", f"{name} has no about")
    elif not use.spec.struct(struct).about:
        yield use.finding("TL42", "type", f"neither {struct} nor {name} has an about")


def _stiff_length(use: _FieldInContext) -> _Found:
    own = use.field.flexible_versions
    if own is None:
        return
    flexible = use.spec.flexible_versions & use.versions
    stiff = [version for version in flexible if version not in own]
    if stiff:
        run = Versions(stiff[0], stiff[-1])
        text = f"the length of {use.field.name} is not compact in {run}, where {use.spec.name} is flexible"
        yield use.finding("TL54", "flexibleVersions", text)


def _implied_default(use: _FieldInContext) -> _Found:
    """Find IDs, offsets and similar fields without an explicit default. The implied default 0 is a valid value."""
    field = use.field
    if not use.is_later or not field.is_default_implied or field.type.is_array or field.type.primitive is None:
        return
    is_identity = field.entity_type != "unknown" or snake_case(field.name).rpartition("_")[2] in _IDENTITIES
    if field.type.primitive.family == "integer" and is_identity:
        since = use.versions.lowest
        text = f"{field.name} reads as 0 before version {since}, where it is absent; write a default, such as -1"
        yield use.finding("TL61", "name", text)


_IDENTITIES: Final = frozenset({"id", "index", "epoch", "offset", "timestamp", "sequence", "partition", "leader"})
"""The last words in the names of IDs and positions, for which 0 can't mean "none"."""


def _null_and_absence(use: _FieldInContext) -> _Found:
    field, nullable = use.field, use.field.nullable_versions
    if use.is_later and field.tag is None and field.versions <= nullable and field.default is not None:
        text = f"{field.name} may be null, but reads as empty before version {use.versions.lowest}, where it is absent"
        yield use.finding("TL63", "nullableVersions", text)
    if field.sensitive and field.ignorable:
        yield use.finding("TL64", "ignorable", f"{field.name} is a secret that some versions drop silently")
    if field.map_key and nullable:
        yield use.finding("TL81", "nullableVersions", f"{field.name} is a map key and may be null")
    if nullable and field.default is not None and "null" not in field.about.lower():
        text = f"{field.name} may be null, but neither its default nor its about explains null"
        yield use.finding("TL82", "nullableVersions", text)
    some = use.versions & nullable
    if some and some != use.versions and field.tag is None:
        text = f"{field.name} exists in {use.versions}, but is nullable only in {some}"
        yield use.finding("TL83", "nullableVersions", text)


def _deprecation(use: _FieldInContext) -> _Found:
    field, spec = use.field, use.spec
    if field.deprecated == "":
        yield use.finding("TL91", "deprecated", f"{field.name} is deprecated without a reason")
    if field.deprecated is not None and field.map_key:
        yield use.finding("TL92", "deprecated", f"{field.name} is deprecated, but it is a map key")
    # Find fields that are not deprecated, but whose struct or default enum member is deprecated.
    if field.deprecated is not None or spec.valid_versions.highest not in field.versions:
        return
    if field.struct is not None and spec.struct(field.struct).deprecated is not None:
        yield use.finding("TL94", "type", f"{field.name} is a {field.struct}, which is deprecated")
    for entry in field.enum.entries if field.enum is not None else ():
        if entry.key == field.default and entry.deprecated is not None:
            yield use.finding("TL94", "default", f"{field.name} is {entry.name} by default, which is deprecated")


_FIELD_RULES: Final[Iterable[Callable[[_FieldInContext], _Found]]] = (
    _name_and_docs,
    _stiff_length,
    _implied_default,
    _null_and_absence,
    _deprecation,
)


# ---------------------------------------------------------------- rules about several fields


def _tags(uses: list[_FieldInContext]) -> _Found:
    """Find gaps in the tags of a struct's fields, and tags that don't ascend in field order."""
    if not uses:
        return
    struct, spec = uses[0].struct, uses[0].spec
    taken = {use.field.tag for use in uses if use.field.tag is not None} | set(struct.reserved_tags)
    highest: _FieldInContext | None = None
    for use in uses:
        tag = use.field.tag
        if tag is None:
            continue
        if highest is not None and tag < (highest.field.tag or 0):
            text = f"tag {tag} of {use.field.name} comes after tag {highest.field.tag} of {highest.field.name}"
            yield use.finding("TL72", "tag", text)
        else:
            highest = use
        if tag and tag - 1 not in taken and spec.dialect != "draft":
            below = max((each for each in taken if each < tag), default=-1)
            missing = f"{below + 1}" if below + 2 == tag else f"{below + 1} to {tag - 1}"
            text = f"{use.field.name} has tag {tag}, but {struct.name} has no tag {missing}"
            yield use.finding("TL71", "tag", f"{text}; use {below + 1}, or list retired tags in reservedTags")
    yield from _tagged_first(uses)


def _tagged_first(uses: list[_FieldInContext]) -> _Found:
    first = next((index for index, use in enumerate(uses) if use.field.tag is not None), len(uses))
    later = next((use for use in uses[first:] if use.field.tag is None), None)
    if later is not None:
        use = uses[first]
        yield use.finding("TL72", "tag", f"{use.field.name} has a tag, but comes before {later.field.name}")


def _one_name(uses: list[_FieldInContext]) -> _Found:
    """Find fields that share a name, ignoring case, but have different spellings, types or defaults."""
    by_name: defaultdict[str, list[_FieldInContext]] = defaultdict(list)
    for use in uses:
        by_name[use.field.name.lower()].append(use)
    for first, *others in by_name.values():
        for other in others:
            one, two = first.field, other.field
            if one.name != two.name:
                yield other.finding("TL33", "name", f"{two.name} is spelled {one.name} in {first.path}")
            elif one.struct is None and two.struct is None and str(one.type) != str(two.type):
                yield other.finding("TL34", "type", f"{two.name} is {two.type}, but {one.type} in {first.path}")
            elif one.struct is None and one.type == two.type and one.default != two.default:
                text = f"{two.name} is {two.default!r} by default, but {one.default!r} in {first.path}"
                yield other.finding("TL62", "default", text)


# ---------------------------------------------------------------- rules about several messages


def lint_pairs(specs: Sequence[MessageSpec]) -> _Found:
    """Yield the findings about requests and their responses, and about messages without flexible versions."""
    alive = [spec for spec in specs if spec.valid_versions]
    requests = {(spec.component, spec.api_key): spec for spec in alive if spec.kind == "request"}
    for spec in alive:
        if spec.kind == "response" and spec.api_key is not None:
            request = requests.get((spec.component, spec.api_key))
            if request is not None:
                yield from _pair(request, spec)
    flexible = {spec.kind for spec in alive if spec.flexible_versions & spec.valid_versions}
    for spec in alive:
        if spec.kind in flexible and spec.kind != "header" and spec.dialect != "draft" and not spec.flexible_versions:
            yield design_finding("TL55", spec, "", f"{spec.name} has no flexible version", "flexibleVersions")


def _pair(request: MessageSpec, response: MessageSpec) -> _Found:
    both = request.valid_versions & response.valid_versions
    for rule, key, one, other in (
        ("TL51", "validVersions", request.valid_versions, response.valid_versions),
        ("TL52", "flexibleVersions", request.flexible_versions & both, response.flexible_versions & both),
        ("TL53", "deprecatedVersions", request.deprecated_versions, response.deprecated_versions),
    ):
        if one != other:
            text = f"{key} is {other}, but {one} in {request.name}"
            yield design_finding(rule, response, "", text, key)
