"""Prove that a change breaks the wire format, by finding a value that one side encodes and the other side misreads.

Each layout encodes the value, and the other layout decodes the bytes. An error or a wrong value is the proof. The
old reader is tried first, with the new bytes. If it reads them correctly, the new reader is tried with the old bytes,
because some changes break only one direction.

The value is a sample message that contains the changed field. So arrays on the path to the field have an element,
structs on the path are present, and the field itself differs from its default. Everything else keeps its default. The
layouts have no classes, so structs are dicts.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from tagwire.errors import DecodeError, EncodeError
from tagwire.explain.text import annotate
from tagwire.explain.trace import trace
from tagwire.interpreter.reader import decode
from tagwire.interpreter.writer import encode
from tagwire.layout import (
    DEFAULT_STRUCT,
    Array,
    Fixed,
    Item,
    Layout,
    Nested,
    NullableFixed,
    Sized,
    StructLayout,
    Type,
    innermost,
)
from tagwire.limits import DEFAULT_LIMITS
from tagwire.message.json import UNKNOWN_TAGS, json_value
from tagwire.message.register import EnumType
from tagwire.sensitive import showing_sensitive
from tagwire.wire.types import WireType
from tagwire_generator.evolution.compare import Steps, wrapped
from tagwire_generator.evolution.matching import matched

Side = Literal["old", "new"]

_INDEX: Final = re.compile(r"\[[0-9]+\]")


@dataclass(frozen=True, slots=True)
class Proof:
    """A value that one side encodes and the other side can't decode correctly.

    `old_bytes` and `new_bytes` are the value as encoded by each layout, or None if a layout can't represent the value.
    """

    version: int
    value: Any
    """The message as JSON, before it is encoded."""
    old_bytes: bytes | None
    new_bytes: bytes | None
    reader: Side
    """The side that decodes. If it is "old", the old layout reads bytes of the new layout; if "new", the reverse."""
    error: str
    """The error with which the reader rejects the bytes, or "" if it accepts them."""
    reads: Any
    """The value that the reader decodes, as JSON, or None if decoding fails."""
    trace: str
    """An annotated trace that shows how the reader decodes the bytes."""

    def as_dict(self) -> dict[str, Any]:
        """Return the proof as a JSON-compatible dict, with bytes in hex."""
        return {
            "version": self.version,
            "value": self.value,
            "old": None if self.old_bytes is None else self.old_bytes.hex(),
            "new": None if self.new_bytes is None else self.new_bytes.hex(),
            "reader": self.reader,
            "error": self.error or None,
            "reads": self.reads,
        }


def prove(old: Layout, new: Layout, steps: Steps) -> Proof | None:
    """Find a value that one layout encodes and the other can't decode correctly. Return None if none is found.

    Both layouts describe the same version. `steps` is the path to the field in which they differ. The path can come
    from a different version, because only its names are used.
    """
    # If another field hides the difference, a sample of its siblings shows it: fields that swap places, for example,
    # have the same bytes around a field that moved between them. Whole messages have the root's fields as siblings.
    ours, theirs = old.root, new.root
    for step in steps[:-1]:
        assert step.old and step.new, "both layouts have the structs on the path to a difference"
        ours, theirs = _inner(ours, step.old.name).struct, _inner(theirs, step.new.name).struct
    paths = (steps, *((*steps[:-1], field) for field in matched(ours, theirs)))
    return next(filter(None, (_proof_at(old, new, path) for path in paths)), None)


def _proof_at(old: Layout, new: Layout, steps: Steps) -> Proof | None:
    readers: tuple[Side, Side] = ("old", "new")
    paths = {".".join(item.name for item in side if item) for side in zip(*steps, strict=True)}
    found = [
        (readers.index(reader), outcome.rank(paths), number, trial, outcome)
        for number, trial in enumerate(_trials(without_classes(old), without_classes(new), steps))
        for reader in readers
        if (outcome := trial.outcome(reader)) is not None
    ]
    if not found:
        return None
    *_, trial, outcome = min(found, key=lambda row: row[:3])
    return trial.proof(outcome)


def _trials(old: Layout, new: Layout, steps: Steps) -> Iterator["_Trial"]:
    ours = [step.old.name for step in steps if step.old]
    theirs = [step.new.name for step in steps if step.new]
    is_old, is_new = len(ours) == len(steps), len(theirs) == len(steps)
    ends = [
        field_at(layout, names)
        for layout, names, there in ((old, ours, is_old), (new, theirs, is_new))
        if there and names
    ]
    defaults = [item.default for item in ends if item.default is not DEFAULT_STRUCT]
    if is_new:
        for value in samples(new, theirs, defaults):
            yield _Trial(old, new, converted(value, new.root, old.root, is_forward=False), value, "new")
    if is_old:
        for value in samples(old, ours, defaults):
            yield _Trial(old, new, value, converted(value, old.root, new.root, is_forward=True), "old")


class _Trial:
    """Encodes a sample value with both layouts."""

    def __init__(self, old: Layout, new: Layout, old_value: Any, new_value: Any, home: Side) -> None:
        self.layouts: dict[Side, Layout] = {"old": old, "new": new}
        self.values: dict[Side, Any] = {"old": old_value, "new": new_value}
        self.home: Side = home
        """The side whose layout the value was created for."""
        self.bytes: dict[Side, bytes | None] = {
            side: _encoded(layout, self.values[side]) for side, layout in self.layouts.items()
        }

    def outcome(self, reader: Side) -> "_Outcome | None":
        """Decode the other side's bytes. Return the error or the wrong value, or None if there is neither."""
        data = self.bytes[_other(reader)]
        if data is None:
            return None
        can_represent = self.bytes[reader] is not None
        try:
            value, _ = decode(self.layouts[reader], data, whole=True, strict=True, limits=DEFAULT_LIMITS)
        except DecodeError as error:
            return _Outcome(reader, data, error, None, can_represent)
        read = as_json(value, Nested(self.layouts[reader].root))
        return (
            None if can_represent and read == self._json(reader) else _Outcome(reader, data, None, read, can_represent)
        )

    def proof(self, outcome: "_Outcome") -> Proof:
        layout = self.layouts[outcome.reader]
        assert layout.version is not None
        with showing_sensitive():  # sample values contain no secrets
            shown = annotate(trace(layout, outcome.data))
        return Proof(
            version=layout.version,
            value=self._json(self.home if self.bytes[self.home] is not None else _other(outcome.reader)),
            old_bytes=self.bytes["old"],
            new_bytes=self.bytes["new"],
            reader=outcome.reader,
            error=str(outcome.error or ""),
            reads=outcome.read,
            trace=shown,
        )

    def _json(self, side: Side) -> Any:
        return as_json(self.values[side], Nested(self.layouts[side].root))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The error or wrong value that results when one side decodes the other side's bytes."""

    reader: Side
    data: bytes
    error: DecodeError | None
    read: Any
    can_represent: bool
    """Whether the reader's layout can represent the value that the other side encoded."""

    def rank(self, paths: Collection[str]) -> int:
        """Return how clearly the outcome proves a change. The lowest number is the clearest proof.

        An error outside the changed field is the least clear proof.
        """
        if self.error is None:
            return 0 if self.can_represent else 1
        error_path = _INDEX.sub("", self.error.path)
        return 0 if any(f"{error_path}.".startswith(f"{path}.") for path in paths) else 2


def _other(side: Side) -> Side:
    return "new" if side == "old" else "old"


def _encoded(layout: Layout, value: Any) -> bytes | None:
    try:
        return encode(layout, value)
    except EncodeError:
        return None


def without_classes(layout: Layout) -> Layout:
    """Return a copy of the layout. Its structs are dicts, and lack the fields that only other versions have."""
    known: dict[int, StructLayout] = {}

    def struct(original: StructLayout) -> StructLayout:
        if id(original) not in known:
            section = original.section and original.section.replace(fields=tuple(map(item, original.section.fields)))
            parts: dict[str, Any] = {"items": tuple(map(item, original.items)), "section": section}
            known[id(original)] = original.replace(**parts, missing=(), cls=None)
        return known[id(original)]

    def item(original: Item) -> Item:
        return original.replace(type=type_(original.type), sensitive=False)

    def type_(original: Type) -> Type:
        if isinstance(original, Array):
            return original.replace(element=type_(original.element))
        return original.replace(struct=struct(original.struct)) if isinstance(original, Nested) else original

    return layout.replace(root=struct(layout.root))


def samples(layout: Layout, names: Sequence[str], defaults: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield messages in which the field at the path `names` differs from its default.

    The most distinctive value comes first, and the values in `defaults` come last. If `names` is empty, yield the
    default message, then a message in which every field is set.
    """
    if not names:
        yield _fresh(layout.root)
        yield next(_telling(Nested(layout.root)))
        return
    for value in (*_telling(field_at(layout, names).type), *defaults):
        yield _around(layout.root, names, value)


def field_at(layout: Layout, names: Sequence[str]) -> Item:
    """Return the field at the end of a path of one or more names. Raises KeyError if the layout doesn't have it."""
    struct = layout.root
    for name in names[:-1]:
        struct = _inner(struct, name).struct
    return _member(struct, names[-1])


def _member(struct: StructLayout, name: str) -> Item:
    return {item.name: item for item in struct.fields}[name]


def _inner(struct: StructLayout, name: str) -> Nested:
    inner = innermost(_member(struct, name).type)
    assert isinstance(inner, Nested), "the way to a field leads through structs"
    return inner


def _fresh(struct: StructLayout) -> dict[str, Any]:
    """Return a struct in which all fields have their defaults, but the first alternative of each union is set."""
    chosen = {union.alternatives[0] for union in struct.unions}
    return {
        field.name: next(_telling(field.type)) if field.name in chosen else _default(field) for field in struct.fields
    }


def _default(item: Item) -> Any:
    """Return a field's default. For records that can't be null, this is b""."""
    if item.default is DEFAULT_STRUCT and isinstance(item.type, Nested):
        return _fresh(item.type.struct)
    return b"" if item.default is None and not getattr(item.type, "nullable", False) else item.default


def _telling(type: Type) -> Iterator[Any]:
    if isinstance(type, Array):
        yield from ((value,) for value in _telling(type.element))
        yield ()
        if isinstance(type.element, Nested):
            twin = next(_telling(type.element))
            yield twin, twin
            yield from ((twin, twin | {field.name: _default(field)}) for field in type.element.struct.fields)
    elif isinstance(type, Nested):
        others = {name for union in type.struct.unions for name in union.alternatives[1:]}
        fields = [field for field in type.struct.fields if field.name not in others]
        yield _fresh(type.struct) | {field.name: _unusual(field) for field in fields}
        yield _fresh(type.struct)
    elif isinstance(type, Fixed | NullableFixed | Sized):
        yield from type.wire.samples
    if getattr(type, "nullable", False):
        yield None


def _unusual(field: Item) -> Any:
    """Return the most distinctive value of a field that is not its default."""
    default = _default(field)
    return next((value for value in _telling(field.type) if value != default), default)


def _around(struct: StructLayout, names: Sequence[str], value: Any) -> dict[str, Any]:
    value_of_struct = _fresh(struct)
    name, *rest = names
    if rest:
        value = _around(_inner(struct, name).struct, rest, value)
        around = _member(struct, name).type
        while isinstance(around, Array):
            value, around = (value,), around.element
    others = {each for union in struct.unions if name in union.alternatives for each in union.alternatives}
    return value_of_struct | dict.fromkeys(others) | {name: value}


def converted(value: dict[str, Any], source: StructLayout, target: StructLayout, *, is_forward: bool) -> dict[str, Any]:
    """Convert a value from layout `source` to layout `target`. Fields that only `target` has get their defaults.

    `is_forward` means that `source` is the layout before a spec change, and `target` the layout after it. Values that
    `target` can't represent are kept, so that encoding them fails.
    """
    result: dict[str, Any] = {}
    for step in matched(source, target) if is_forward else matched(target, source):
        ours, theirs = (step.old, step.new) if is_forward else (step.new, step.old)
        if theirs is not None and ours is None:
            result[theirs.name] = _default(theirs)
        elif theirs is not None and ours is not None:
            result[theirs.name] = _converted(value[ours.name], ours.type, theirs.type, is_forward=is_forward)
    return result


def _converted(value: Any, source: Type, target: Type, *, is_forward: bool) -> Any:
    if isinstance(value, tuple) and isinstance(source, Array) and isinstance(target, Array):
        return tuple(_converted(each, source.element, target.element, is_forward=is_forward) for each in value)
    if isinstance(value, dict) and isinstance(source, Nested) and isinstance(target, Nested):
        return converted(value, source.struct, target.struct, is_forward=is_forward)
    inner, outer = wrapped(source), wrapped(target)
    if isinstance(value, dict) and inner is not None:
        return _converted(value[inner.name], inner.type, target, is_forward=is_forward)
    if outer is not None and (value is not None or not getattr(target, "nullable", False)):
        return {outer.name: _converted(value, source, outer.type, is_forward=is_forward)}
    if isinstance(source, Fixed) and isinstance(target, Fixed):
        return _same_member(value, source.wire, target.wire)
    return value


def _same_member(value: Any, source: WireType, target: WireType) -> Any:
    """Convert an enum number to the number of the same-named member in `target`. Return other values unchanged."""
    if not isinstance(source, EnumType) or not isinstance(target, EnumType) or not isinstance(value, int):
        return value
    member = target.numbers.get(source.name_of(value))
    return value if member is None else int(member)


def as_json(value: Any, type: Type) -> Any:
    """Return a value in its JSON form, with Kafka's JSON keys."""
    if value is None:
        return None
    if isinstance(type, Array):
        return [as_json(element, type.element) for element in value]
    if isinstance(type, Nested):
        names = {field.name: field for field in type.struct.fields}
        members = {field.json_name: as_json(value[name], field.type) for name, field in names.items() if name in value}
        unknown = {str(tag): json_value(data) for tag, data in value.get("unknown_tags", {}).items()}
        return members | ({UNKNOWN_TAGS: unknown} if unknown else {})
    return type.wire.to_json(value) if isinstance(type, Fixed) and type.wire.is_enum else json_value(value)
