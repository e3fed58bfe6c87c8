"""What a change of the rules over several fields does to a version: unions, and keys of elements.

The bytes of each field stay as they are. But a reader refuses what breaks a rule that the writer does not have.
"""

from collections.abc import Iterable, Iterator

from tagwire.layout import Array, StructLayout, Union
from tagwire_generator.evolution.field_matching import Step


def union_changes(old: StructLayout, new: StructLayout, members: Iterable[Step]) -> Iterator[tuple[Step, str, str]]:
    """The fields whose union changed, each with the rule and what was and is; a change of a whole union once."""
    said = set[str]()
    for step, rule, text in _changes(old, new, members):
        if text not in said or rule == "TW931" or "the field was" in text:
            yield step, rule, text
        said.add(text)


def _changes(old: StructLayout, new: StructLayout, members: Iterable[Step]) -> Iterator[tuple[Step, str, str]]:
    olds, news = _by_field(old), _by_field(new)
    renamed = {step.old.name: step.new.name for step in members if step.old and step.new}
    for step in members:
        before = olds.get(step.old.name) if step.old else None
        now = news.get(step.new.name) if step.new else None
        if step.old is None or step.new is None:
            if now is not None:
                yield step, *_added(now, renamed.values())
        elif before is None and now is not None:
            yield step, "TW917", f"the field was on its own and is now an alternative of the union {now.name}"
        elif before is not None and now is None:
            yield step, "TW917", f"the field was an alternative of the union {before.name} and is now on its own"
        elif before is not None and now is not None and before.name != now.name:
            kept = {renamed[name] for name in before.alternatives if name in renamed}
            rule = "TW950" if kept <= set(now.alternatives) else "TW917"
            yield step, rule, f"the union was {before.name} and is now {now.name}"


def _added(union: Union, known: Iterable[str]) -> tuple[str, str]:
    """The rule about a new field with a union; `known` are the fields that the struct had."""
    if set(known) & set(union.alternatives):
        return "TW931", f"an alternative was added to the union {union.name}"
    return "TW917", f"the union {union.name} was added, of which old peers write no alternative"


def _by_field(struct: StructLayout) -> dict[str, Union]:
    return {name: union for union in struct.unions for name in union.alternatives}


def key_change(old: Array, new: Array) -> str | None:
    """What was and is unique in the elements of an array; None where that is the same."""
    if old.unique == new.unique:
        return None
    was, now = (f"unique by {' and '.join(each.unique)}" if each.unique else "not unique" for each in (old, new))
    return f"the elements were {was} and are now {now}"
