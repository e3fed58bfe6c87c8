"""Find the inputs for which a decoder uses the most memory per byte of input. The search uses only layouts.

A few bytes can create a whole object, such as a struct of empty fields, or a dict for one empty unknown tag. For each
array of each message, this module builds an input filled with such elements, and estimates the memory that decoding
takes. Tests measure only the worst inputs.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from sys import getsizeof
from typing import Any, Final, NamedTuple
from uuid import UUID

from growth import peak_bytes

import tagwire
from tagwire.layout import Array, Fixed, Item, Nested, Sized, StructLayout, TaggedSection, Type
from tagwire.message.field_table import layout_of

_TUPLE: Final = getsizeof((0,))
_DICT: Final = getsizeof({0: b""})
_VIEW: Final = getsizeof(memoryview(b""))
_POINTER: Final = 8
_WORTH: Final = 60
"""Arrays stay empty and nullable structs null if each byte of their input takes fewer bytes of memory than this."""

Path = tuple[str, ...]


class Bait(NamedTuple):
    """An array whose elements take `size` bytes of input, and about `memory` bytes of RAM."""

    cls: type[tagwire.Message]
    version: int
    path: Path
    size: int
    memory: int

    @property
    def estimate(self) -> float:
        """The estimated bytes of memory per byte of input."""
        return self.memory / self.size

    def message(self, size: int) -> Any:
        """Return a message of about `size` bytes. The elements of the array at `path` take up most of these bytes."""
        root = layout_of(self.cls, self.version).root
        return _Filler(self.path, max(1, size // self.size)).struct(root, ()).value

    def __str__(self) -> str:
        return f"{self.cls.NAME} v{self.version} {'.'.join(self.path)}"


def worst_baits(registry: tagwire.Registry) -> list[Bait]:
    """For each message, return the array that takes the most memory per input byte. The worst arrays come first."""
    found = (list(_baits(registry[name])) for name in registry.names())
    worst = (max(baits, key=lambda bait: bait.estimate) for baits in found if baits)
    return sorted(worst, key=lambda bait: -bait.estimate)


def _baits(cls: type[tagwire.Message]) -> Iterator[Bait]:
    seen: list[StructLayout] = []
    for version in cls.VERSIONS:
        root = layout_of(cls, version).root
        if root not in seen:
            seen.append(root)
            for path, element in _arrays(root, ()):
                grown = _Filler(path, 1).element(element, path)
                yield Bait(cls, version, path, grown.size, grown.memory + _POINTER)


def peak_memory(work: Callable[[], object]) -> int:
    """Return the peak of additional Python memory while `work` runs. Ignore DecodeErrors."""

    def call() -> None:
        with suppress(tagwire.DecodeError):
            work()

    return peak_bytes(call)


def peaks(cls: type[tagwire.Message], version: int, data: bytes) -> dict[str, int]:
    """Decode `data` in each mode. Return a dict from mode to peak memory in bytes."""
    with suppress(tagwire.DecodeError):
        cls.decode(data + b"x", version)  # imports modules and fills caches
    return {
        "strict": peak_memory(lambda: cls.decode(data, version)),
        "strict, rejected behind the last byte": peak_memory(lambda: cls.decode(data + b"x", version)),
        "strict, rejected at the last byte": peak_memory(lambda: cls.decode_from(data[:-1], version)),
        "views": peak_memory(lambda: cls.decode(data, version, views=True)),
        "views, rejected behind the last byte": peak_memory(lambda: cls.decode(data + b"x", version, views=True)),
        "lenient": peak_memory(lambda: cls.decode(data, version, strict=False)),
    }


def _arrays(struct: StructLayout, path: Path) -> Iterator[tuple[Path, Type]]:
    for field in struct.fields:
        here = (*path, field.name)
        inner = field.type.element if isinstance(field.type, Array) else field.type
        if isinstance(field.type, Array):
            yield here, inner
        if isinstance(inner, Nested):
            yield from _arrays(inner.struct, here)


class _Grown(NamedTuple):
    value: Any
    size: int
    memory: int


class _Filler:
    """Builds a message that needs a lot of memory: the array at the path `target` gets `number` elements."""

    def __init__(self, target: Path, number: int) -> None:
        self.target = target
        self.number = number

    def leads(self, path: Path) -> bool:
        return self.target[: len(path)] == path

    def struct(self, layout: StructLayout, path: Path) -> _Grown:
        value = layout.default_value()
        size, memory = 0, getsizeof(value)
        for field in layout.items:
            grown = self.of_type(field.type, (*path, field.name))
            setattr(value, field.name, grown.value)
            size, memory = size + grown.size, memory + grown.memory
        section = layout.section
        if isinstance(section, TaggedSection):
            grown = self.tags(value, section.fields, path)
            size, memory = size + grown.size, memory + grown.memory
        return _Grown(value, size, memory)

    def tags(self, value: Any, fields: tuple[Item, ...], path: Path) -> _Grown:
        """Set the tagged fields that contain the target array. Add an unknown tag, because its dict takes memory."""
        known = {field.tag for field in fields}
        value.unknown_tags = {next(tag for tag in count() if tag not in known): b""}
        size, memory = 3, _DICT
        for field in fields:
            if self.leads((*path, field.name)):
                grown = self.of_type(field.type, (*path, field.name))
                setattr(value, field.name, grown.value)
                size, memory = size + 2 + grown.size, memory + grown.memory
            elif isinstance(field.type, Nested) and not field.type.nullable:
                memory += getsizeof(field.default_value())  # the decoder creates this struct without input
        return _Grown(None, size, memory)

    def of_type(self, type: Type, path: Path) -> _Grown:
        if isinstance(type, Array):
            return self.array(type, path)
        grown = self.element(type, path)
        if isinstance(type, Nested) and type.nullable:
            is_small = not self.leads(path) and grown.memory < _WORTH * grown.size
            return _Grown(None, 1, 0) if is_small else grown._replace(size=grown.size + 1)
        return grown

    def array(self, type: Array, path: Path) -> _Grown:
        element = self.element(type.element, path)
        if path == self.target:
            many = self.number * element.size, self.number * (element.memory + _POINTER)
            return _Grown((element.value,) * self.number, type.minimum + many[0], _TUPLE + many[1])
        if self.leads(path) or element.memory + _TUPLE >= _WORTH * element.size:
            return _Grown((element.value,), type.minimum + element.size, _TUPLE + element.memory)
        return _Grown((), type.minimum, 0)

    def element(self, type: Type, path: Path) -> _Grown:
        if isinstance(type, Nested):
            return self.struct(type.struct, path)
        if isinstance(type, Sized):
            return _Grown("", type.minimum, 0) if type.wire.family == "text" else _Grown(b"", type.minimum, _VIEW)
        assert isinstance(type, Fixed)
        return _fixed(type)


def _fixed(type: Fixed) -> _Grown:
    """Return a value for which CPython must allocate memory. A small integer, for example, would take none."""
    wire = type.wire
    values: dict[str, Any] = {"boolean": True, "uuid": UUID(int=2**128 - 1), "floating": 1.5}
    value = values.get(wire.family, wire.low or wire.high)
    memory = 0 if value is True else getsizeof(value)
    if isinstance(value, UUID):
        memory += getsizeof(value.int)
    return _Grown(value, wire.width, memory)
