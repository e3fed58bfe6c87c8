"""The lock file, which contains all released specs without their descriptions."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from textwrap import indent
from typing import Any, Final

from tagwire.errors import SpecError, TagwireError
from tagwire.versions import NONE, Versions
from tagwire_generator.evolution.check import Baseline, Check, struct_pairs
from tagwire_generator.evolution.declared import tag_holder
from tagwire_generator.evolution.findings import runs
from tagwire_generator.evolution.matching import Edition, Released, Stability, pair_up
from tagwire_generator.evolution.spec_sources import SpecSources
from tagwire_generator.model import MessageSpec
from tagwire_generator.model.register_spec import RegisterSpec
from tagwire_generator.problems import Finding, Problem
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.imports import without_imports
from tagwire_generator.reading.register import registers_among
from tagwire_generator.reading.spec import ReadResult, read_spec
from tagwire_generator.syntax.canonical import canonical_text, normal_form, parsed_form, without_keys

Tree = Mapping[str, Any]
"""A spec in normal form (see `syntax.canonical`), without descriptions."""

_FORMAT: Final = 1
_NOTE: Final = "what was released; written by `tagwire lock`, never by hand"


class LockError(SpecError):
    """Raised for a lock file that can't be read."""


@dataclass(frozen=True, slots=True)
class LockedEdition:
    """Versions that were dropped from a message, and the last spec that contained them."""

    versions: Versions
    tree: Tree


@dataclass(frozen=True, slots=True)
class LockedMessage:
    """A message's entry in the lock file."""

    name: str
    component: str
    current: Tree | None
    """The spec as last released, or None if the message was removed."""
    archive: tuple[LockedEdition, ...] = ()
    retired_tags: Mapping[str, Mapping[int, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lock:
    """The content of a lock file. `str()` returns the file's text."""

    messages: tuple[LockedMessage, ...]
    options: SpecOptions = field(default_factory=SpecOptions)
    """The spec set's options at the time of the release. They affect the wire format."""
    file: str = ""
    registers: tuple[Tree, ...] = ()
    """The registers (tables of named numbers) that fields use as enums. Only their numbers and names are stored."""

    def baseline(self) -> Baseline:
        """Return the released specs, so that a check can compare new specs with them."""
        specs: dict[str, Released] = {}
        invalid: dict[str, tuple[Problem, ...]] = {}
        for message in self.messages:
            found = self._read(message)
            if isinstance(found, Released):
                specs[message.name] = found
            else:
                invalid[message.name] = found
        return Baseline(specs, invalid)

    def only(self, names: Collection[str]) -> "Lock":
        return replace(self, messages=tuple(each for each in self.messages if each.name in names))

    def _read(self, message: LockedMessage) -> Released | tuple[Problem, ...]:
        trees = [edition.tree for edition in message.archive]
        current = trees[-1] if message.current is None else message.current
        results = [self._spec(tree, message.component) for tree in (current, *trees)]
        problems = [p for result in results for p in result.problems if p.severity == "error"]
        if problems:
            return tuple(replace(p, line=1, column=1, source_line="") for p in problems)
        spec, *archived = (result.message for result in results if result.message)
        editions = tuple(Edition(old.versions, spec) for old, spec in zip(message.archive, archived, strict=True))
        return Released(spec, message.current is None, editions, message.retired_tags)

    def _spec(self, tree: Tree, component: str) -> ReadResult:
        known = registers_among(json.dumps(each).encode() for each in self.registers)
        text = canonical_text(tree)
        # Allow gaps in tags: an imported struct can use the missing tag in versions that this message doesn't use.
        options = replace(self.options, tag_gaps=True)
        return read_spec(text, file=self.file, component=component, options=options, registers=known)

    def __str__(self) -> str:
        keys = {"tagwire lock": _FORMAT, "note": _NOTE, "options": _options(self.options)}
        lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in keys.items()]
        ordered = sorted(self.messages, key=lambda each: (each.component, each.name))
        messages = ",\n".join(indent(_message_text(each), "    ") for each in ordered)
        body = f"[\n{messages}\n  ]" if messages else "[]"
        if self.registers:
            registers = ",\n".join(f"    {json.dumps(each)}" for each in self.registers)
            lines.append(f'  "registers": [\n{registers}\n  ]')
        return "{\n" + ",\n".join([*lines, f'  "messages": {body}']) + "\n}\n"


def _options(options: SpecOptions) -> dict[str, Any]:
    defaults = asdict(SpecOptions())
    given = {**asdict(options), "entity_types": dict(options.entity_types)}
    return {key: value for key, value in given.items() if value not in (defaults[key], {})}


def _message_text(message: LockedMessage) -> str:
    parts = [f'"name": {json.dumps(message.name)}', f'"component": {json.dumps(message.component)}']
    retired = {path: tags for path, tags in sorted(message.retired_tags.items()) if tags}
    if retired:
        rows = (
            f"  {json.dumps(path)}: {json.dumps({str(tag): tags[tag] for tag in sorted(tags)})}"
            for path, tags in retired.items()
        )
        parts.append('"retiredTags": {\n' + ",\n".join(rows) + "\n}")
    parts.append('"current": ' + ("null" if message.current is None else canonical_text(message.current).rstrip()))
    if message.archive:
        editions = ",\n".join(indent(_edition_text(each), "  ") for each in message.archive)
        parts.append(f'"archive": [\n{editions}\n]')
    return "{\n" + ",\n".join(indent(part, "  ") for part in parts) + "\n}"


def _edition_text(edition: LockedEdition) -> str:
    spec = indent(canonical_text(edition.tree).rstrip(), "  ").lstrip()
    return f'{{\n  "versions": "{edition.versions}",\n  "spec": {spec}\n}}'


def read_lock(path: Path) -> Lock:
    """Read a lock file. Raises LockError if the file can't be read, or is not a lock file."""
    try:
        text = path.read_text("utf-8")
        document = json.loads(text, object_pairs_hook=_once)
    except FileNotFoundError:
        raise LockError(f"{path}: there is no such lock file; run `tagwire lock` to write it", file=str(path)) from None
    except OSError as error:
        raise LockError(f"{path} can't be read: {error.strerror}", file=str(path)) from error
    except json.JSONDecodeError as error:
        reason = f"{path} is not valid JSON: {error.msg}; if a merge left conflict markers, write the lock file again"
        raise LockError(reason, file=str(path), line=error.lineno, column=error.colno) from None
    except (UnicodeDecodeError, RecursionError):
        raise LockError(f"{path} is not JSON: the file is binary or nested too deeply", file=str(path)) from None
    except ValueError as error:  # raised for a duplicate key, or for a number with thousands of digits
        raise LockError(f"{path} is not a lock file written by tagwire: {error}", file=str(path)) from None
    if not isinstance(document, dict) or document.get("tagwire lock") != _FORMAT:
        found = document.get("tagwire lock") if isinstance(document, dict) else None
        version = (
            ", got JSON without the key 'tagwire lock'" if found is None else f", got format {found!r}; update tagwire"
        )
        raise LockError(f"{path}: expected a lock file of format {_FORMAT}{version}", file=str(path))
    try:
        messages = tuple(map(_message, document["messages"]))
        _reject_twins(messages)
        options = SpecOptions.from_mapping(document["options"])
        registers = tuple(map(dict, document.get("registers", ())))
        return Lock(messages, options, str(path), registers)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError, TagwireError) as error:
        reason = str(error) if isinstance(error, TagwireError) else repr(error)
        raise LockError(f"{path} is not a lock file written by tagwire: {reason}", file=str(path)) from None


def _message(row: Mapping[str, Any]) -> LockedMessage:
    archive = tuple(
        LockedEdition(Versions.parse(edition["versions"]), normal_form(edition["spec"]))
        for edition in row.get("archive", ())
    )
    retired = {
        str(path): {int(tag): str(holder) for tag, holder in tags.items()}
        for path, tags in row.get("retiredTags", {}).items()
    }
    current = None if row["current"] is None else normal_form(row["current"])
    if current is None and not archive:
        raise ValueError(f"{row['name']} has no current spec and no archived spec")
    last = archive[-1].tree if current is None else current
    if last["name"] != row["name"]:
        raise ValueError(f"the message {row['name']!r} contains the spec of {last['name']!r}")
    for tree in (last, *(each.tree for each in archive)):
        f"{tree['name']} {tree['type']}".encode()  # raises an error unless both keys exist and can be encoded
    return LockedMessage(str(row["name"]), str(row["component"]), current, archive, retired)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object. Raises ValueError for duplicate keys, which a git merge may leave behind."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"duplicate key {key!r} in an object")
        found[key] = value
    return found


def _reject_twins(messages: Iterable[LockedMessage]) -> None:
    seen: set[str] = set()
    for message in messages:
        if message.name in seen:
            raise ValueError(f"duplicate message {message.name!r}")
        seen.add(message.name)


def updated_lock(old: Lock | None, new: SpecSources, options: SpecOptions) -> Lock:
    """Return a lock in which all specs of `new` are released. The history in `old` is kept.

    Raises LockError for record formats. Does not check whether the new release breaks the old one.
    """
    for spec in new.specs.values():
        if spec.format is not None:
            raise LockError(
                f"{spec.file}: a lock file can't contain record formats; check them with `tagwire breaking --against "
                "REV`",
                file=spec.file,
            )
    shared = {name: parsed_form(new.texts[struct.file]) for name, struct in new.shared.items()}
    trees = {spec.name: without_imports(parsed_form(new.texts[spec.file]), spec, shared) for spec in new.specs.values()}
    baseline = old.baseline().specs if old else {}
    locked = {message.name: message for message in (old.messages if old else ())}
    stability = Stability(baseline.values())
    pairing = pair_up(list(baseline.values()), new.specs.values())
    messages: list[LockedMessage] = []
    for spec in new.specs.values():
        before = pairing.old_of(spec)
        tree = without_keys(trees[spec.name], ("about", "$schema"))
        history = locked[before.spec.name] if before else None
        last = before.spec.valid_versions - stability.unstable(before.spec) if before else NONE
        archive = tuple(_archive(history, last, spec)) if history else ()
        retired = _retired_tags(before, spec) if before else {}
        messages.append(LockedMessage(spec.name, spec.component, tree, archive, retired))
    for removed in pairing.removed:
        last = removed.spec.valid_versions - stability.unstable(removed.spec)
        messages.append(_given_up(locked[removed.spec.name], last))
    registers = {str(each["name"]): each for each in (old.registers if old else ())}
    registers |= {enum.name: _register_facts(enum) for spec in new.specs.values() for enum in spec.enums}
    return Lock(tuple(messages), options, old.file if old else "", tuple(registers[name] for name in sorted(registers)))


def _register_facts(enum: RegisterSpec) -> Tree:
    entries = [
        {"key": entry.key, "name": entry.name} | ({"constant": entry.constant} if entry.constant else {})
        for entry in enum.entries
    ]
    suffix = {"suffix": enum.suffix} if enum.suffix else {}
    closed = {"closed": True} if enum.closed else {}
    return {"name": enum.name, "type": "register", "keys": enum.keys, **suffix, **closed, "entries": entries}


def _archive(history: LockedMessage, last: Versions, new: MessageSpec) -> Iterator[LockedEdition]:
    """Yield the locked versions that `new` no longer has, each with the last spec that contained it."""
    editions = [*history.archive]
    if history.current is not None:
        editions.append(LockedEdition(last, history.current))
    yield from _sorted(
        LockedEdition(run, edition.tree)
        for edition in editions
        for run in runs(version for version in edition.versions if version not in new.valid_versions)
    )


def _given_up(history: LockedMessage, last: Versions) -> LockedMessage:
    if history.current is None:
        return history
    archive = (*_sorted(history.archive), LockedEdition(last, history.current))
    return replace(history, current=None, archive=archive)


def _sorted(editions: Iterable[LockedEdition]) -> list[LockedEdition]:
    return sorted(editions, key=lambda edition: edition.versions.lowest)


def _retired_tags(before: Released, new: MessageSpec) -> dict[str, dict[int, str]]:
    pairs = struct_pairs(before.spec, new)
    paths = {pair.old_path: pair.new_path for pair in pairs}
    retired = {paths.get(path, path): dict(tags) for path, tags in before.retired_tags.items()}
    for pair in pairs:
        now = {f.tag: tag_holder(f) for f in pair.new.fields if f.tag is not None}
        was = dict.fromkeys(set(pair.old.reserved_tags) - set(pair.new.reserved_tags), "")
        was |= {f.tag: tag_holder(f) for f in pair.old.fields if f.tag is not None}
        lost = {tag: holder for tag, holder in was.items() if now.get(tag) != holder}
        if lost:
            retired.setdefault(pair.new_path, {}).update(lost)
    return retired


_DROPPED = ("TW960", "TW961")
"""Rules about dropped versions and messages.

The severity of these rules is low, but `reject_lost` reports violations anyway, because an edit that adds a version or
a field must not drop any version or message.
"""


def reject_lost(
    released: Iterable[Baseline], before: SpecSources, after: SpecSources, edit: str, remedy: Sequence[str] = ()
) -> None:
    """Raise SpecError if an edit of specs breaks released versions. `edit` is what the user did, such as "the draft".

    `after` is compared with `before` and with each release in `released`. Breaking changes that `before` already had
    are left out. Released messages that neither `before` nor `after` contains are also left out.
    """
    names = {*before.specs, *after.specs, *(alias for spec in after.specs.values() for alias in spec.aliases)}
    reported: list[Finding] = []
    for baseline in (Baseline.of(before), *(each.only(names) for each in released)):
        known = Check(baseline, before).findings()
        for finding in Check(baseline, after).findings():
            is_grave = finding.severity in ("error", "wire", "semantic") or finding.rule in _DROPPED
            if is_grave and not any(_covers(other, finding) for other in (*known, *reported)):
                reported.append(finding)
    if reported:
        lines = [f"{each.file}: {each.message_name} {each.versions}: {each.message} ({each.rule})" for each in reported]
        text = "\n".join([f"{edit} would change released versions:", *lines, *remedy])
        raise SpecError(text, file=reported[0].file)


def _covers(known: Finding, finding: Finding) -> bool:
    """Return whether `known` is about the same rule and field as `finding`, and includes all versions of `finding`."""
    if (known.rule, known.message_name, known.path) != (finding.rule, finding.message_name, finding.path):
        return False
    return Versions.parse(finding.versions or "none") <= Versions.parse(known.versions or "none")
