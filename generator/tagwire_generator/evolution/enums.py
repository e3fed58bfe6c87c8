"""What a change of a register does to the fields that have it as their enum.

The bytes of a number stay as they are. What breaks is what a number means to the other side, which numbers it takes,
and the names in code and JSON.
"""

from collections.abc import Iterator

from tagwire.message.enums import EnumType
from tagwire.wire.types import WireType


def enum_changes(old: WireType, new: WireType) -> Iterator[tuple[str, str]]:
    """The rules that a field's new type breaks of its old one, each with what was and what is."""
    before, now = (each if isinstance(each, EnumType) else None for each in (old, new))
    if before is None or now is None:
        if before is not now:
            was, then = ("no enum" if each is None else f"the enum {each.enum.__name__}" for each in (before, now))
            yield "TW949", f"the field had {was} and now has {then}"
        yield from _refusals(before, now)
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
                yield "TW948", f"{text} ({int(member)}) is gone"
    yield from _refusals(before, now)


def _refusals(before: EnumType | None, now: EnumType | None) -> Iterator[tuple[str, str]]:
    """Numbers that one side writes and the other refuses, of closed registers."""
    if now is not None and now.is_closed:
        if before is None or not before.is_closed:
            yield "TW916", f"every number was taken, and now only those of {now.enum.__name__}, which is closed"
            return
        if lost := sorted(set(before.members) - set(now.members)):
            yield "TW916", f"{_numbers(lost)} taken and now refused, since {now.enum.__name__} is closed"
    if before is not None and before.is_closed:
        if now is None or not now.is_closed:
            yield "TW916", f"only numbers of {before.enum.__name__} were taken, and now every number is"
        elif more := sorted(set(now.members) - set(before.members)):
            yield "TW916", f"{_numbers(more)} refused and now taken, but old peers have the closed {now.enum.__name__}"


def _numbers(numbers: list[int]) -> str:
    return f"{', '.join(map(str, numbers))} {'was' if len(numbers) == 1 else 'were'}"
