"""Compare the rules for values in an old and a new spec: enums, unique keys and unions."""

from collections.abc import Iterable, Iterator

from tagwire.layout import Array, StructLayout, Union
from tagwire.message.register import EnumType
from tagwire.wire.types import WireType
from tagwire_generator.evolution.matching import MatchedField


def union_changes(
    old: StructLayout, new: StructLayout, members: Iterable[MatchedField]
) -> Iterator[tuple[MatchedField, str, str]]:
    """Yield (field, violated rule, description) for changed unions. A change to several fields is reported once."""
    seen = set[str]()
    for step, rule, text in _changes(old, new, members):
        if text not in seen or rule == "TW931" or "the field was" in text:
            yield step, rule, text
        seen.add(text)


def _changes(
    old: StructLayout, new: StructLayout, members: Iterable[MatchedField]
) -> Iterator[tuple[MatchedField, str, str]]:
    olds, news = _by_field(old), _by_field(new)
    renamed = {step.old.name: step.new.name for step in members if step.old and step.new}
    for step in members:
        before = olds.get(step.old.name) if step.old else None
        now = news.get(step.new.name) if step.new else None
        if step.old is None or step.new is None:
            if now is not None:
                yield step, *_added(now, renamed.values())
            elif before is not None and not renamed.keys() & set(before.alternatives):
                yield step, "TW917", f"the union {before.name} was removed, but old peers need one of its alternatives"
        elif before is None and now is not None:
            yield step, "TW917", f"the field was in no union and is now an alternative of the union {now.name}"
        elif before is not None and now is None:
            yield step, "TW917", f"the field was an alternative of the union {before.name} and is now in no union"
        elif before is not None and now is not None and before.name != now.name:
            kept = {renamed[name] for name in before.alternatives if name in renamed}
            rule = "TW950" if kept <= set(now.alternatives) else "TW917"
            yield step, rule, f"the union was {before.name} and is now {now.name}"


def _added(union: Union, known: Iterable[str]) -> tuple[str, str]:
    """Return (violated rule, description) for a field added to a union. `known` names the fields that are not new."""
    if set(known) & set(union.alternatives):
        return "TW931", f"an alternative was added to the union {union.name}"
    return "TW917", f"the union {union.name} was added, and old peers write none of its alternatives"


def _by_field(struct: StructLayout) -> dict[str, Union]:
    return {name: union for union in struct.unions for name in union.alternatives}


def key_change(old: Array, new: Array) -> str | None:
    """Describe how the unique keys of an array changed, or None if they did not change."""
    if old.unique == new.unique:
        return None
    was, now = (f"unique by {' and '.join(each.unique)}" if each.unique else "not unique" for each in (old, new))
    return f"the elements were {was} and are now {now}"


def enum_changes(old: WireType, new: WireType) -> Iterator[tuple[str, str]]:
    """Yield the rules that a change to a field's enum violates, each with a description."""
    before, now = (each if isinstance(each, EnumType) else None for each in (old, new))
    if before is None or now is None:
        if before is not now:
            was, then = ("no enum" if each is None else f"the enum {each.enum.__name__}" for each in (before, now))
            yield "TW949", f"the field had {was} and now has {then}"
        yield from _rejections(before, now)
        return
    if before.enum.__name__ != now.enum.__name__:
        yield "TW949", f"the enum was {before.enum.__name__} and is now {now.enum.__name__}"
    renumbered = [text for text in before.numbers if text in now.numbers and before.numbers[text] != now.numbers[text]]
    for text in renumbered:
        yield "TW915", f"{text} was {int(before.numbers[text])} and is now {int(now.numbers[text])}"
    for text, member in before.numbers.items():
        if text not in now.numbers:
            other = now.members.get(int(member))
            renamed = other is not None and other.text not in before.numbers
            if renamed and other is not None:
                yield "TW947", f"{int(member)} was {text} and is now {other.text}"
            else:
                yield "TW948", f"{text} ({int(member)}) was removed"
    yield from _rejections(before, now)


def _rejections(before: EnumType | None, now: EnumType | None) -> Iterator[tuple[str, str]]:
    """Yield changes to closed enums after which one peer rejects numbers that the other writes."""
    if now is not None and now.is_closed:
        if before is None or not before.is_closed:
            yield "TW916", f"every number was accepted; now only the numbers of the closed {now.enum.__name__} are"
            return
        if lost := sorted(set(before.members) - set(now.members)):
            yield "TW916", f"the closed {now.enum.__name__} no longer accepts {_numbers(lost)}"
    if before is not None and before.is_closed:
        if now is None or not now.is_closed:
            yield "TW916", f"only the numbers of the closed {before.enum.__name__} were accepted; now every number is"
        elif more := sorted(set(now.members) - set(before.members)):
            yield "TW916", f"the closed {now.enum.__name__} now accepts {_numbers(more)}, which old peers reject"


def _numbers(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
