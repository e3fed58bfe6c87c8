"""Just enough of Java's class files to read what an enum's static initializer passes to its constants.

Not a disassembler: opcodes that such an initializer does not have are refused,
since their length is not known here. No library for class files is kept up
well enough to lean on. Source: The Java Virtual Machine Specification, chapter 4.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tagwire.errors import SpecError

__all__ = ["ClassFile", "Step"]

_UTF8, _INT, _LONG, _DOUBLE, _CLASS, _STRING, _HANDLE = 1, 3, 5, 6, 7, 8, 15
_SIZES: Final = {
    3: 4,
    4: 4,
    5: 8,
    6: 8,
    7: 2,
    8: 2,
    9: 4,
    10: 4,
    11: 4,
    12: 4,
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}
"""The bytes behind the tag of each kind of constant but text."""
_FAULTS: Final = (struct.error, IndexError, KeyError, TypeError, UnicodeDecodeError)

_OPERANDS: Final = {
    **dict.fromkeys((*range(0x09), 0x57, 0x59, 0xB0, 0xB1), 0),  # null, numbers, pop, dup, return
    **dict.fromkeys((*range(0x1A, 0x36), *range(0x3B, 0x57), 0xBE, 0xBF), 0),  # locals by number, elements of arrays
    **dict.fromkeys((0x10, 0x12, *range(0x15, 0x1A), *range(0x36, 0x3B)), 1),  # bipush, ldc, locals
    **dict.fromkeys((0x11, 0x13, 0x14, 0x84, *range(0x99, 0xA8), 0xC6, 0xC7), 2),  # sipush, ldc_w, iinc, jumps
    **dict.fromkeys((*range(0xB2, 0xB9), 0xBB, 0xBD, 0xC0, 0xC1), 2),  # fields, calls, new, arrays, casts
    **dict.fromkeys((0xB9, 0xBA), 4),  # invokeinterface, invokedynamic
}


@dataclass(frozen=True, slots=True)
class Step:
    """A thing that the initializer does, as far as it matters: `what` is new, text, number, lambda or field."""

    what: str
    value: Any


@dataclass(slots=True)
class ClassFile:
    """A class. Raises SpecError for bytes that are none."""

    data: bytes
    origin: str
    name: str = ""
    parent: str = ""
    constants: dict[int, Any] = field(default_factory=dict)
    _code: bytes = b""
    _handles: list[str] = field(default_factory=list)
    """For each bootstrap method, the class whose constructor it hands out, or ""."""

    def __post_init__(self) -> None:
        try:
            self._read()
        except _FAULTS as fault:
            raise SpecError(f"{self.origin}: no class file that can be read: {fault!r}", file=self.origin) from None

    def initializer(self) -> Iterator[Step]:
        """What the static initializer does, in its order. Raises SpecError for code that no enum has."""
        at = 0
        try:
            while at < len(self._code):
                op = self._code[at]
                step = self._step(op, at)
                if step is not None:
                    yield step
                at += 1 + _OPERANDS[op]
        except _FAULTS:
            text = f"{self.origin}: byte {at} of its static initializer is not what an enum has"
            raise SpecError(text, file=self.origin) from None

    def _step(self, op: int, at: int) -> Step | None:
        if 0x02 <= op <= 0x08:
            return Step("number", op - 0x03)
        if op in (0x10, 0x11):
            return Step("number", int.from_bytes(self._code[at + 1 : at + op - 0x0E], "big", signed=True))
        if op == 0x12 or op == 0x13:
            value = self.constants[int.from_bytes(self._code[at + 1 : at + op - 0x10], "big")]
            if isinstance(value, int):
                return Step("number", value)
            return Step("text", self._text(value[1])) if value[0] == _STRING else None
        index = int.from_bytes(self._code[at + 1 : at + 3], "big")
        if op == 0xBB:
            return Step("new", self._class(index))
        if op == 0xBA:
            return Step("lambda", self._handles[self.constants[index][1] >> 16])
        return Step("field", "") if op == 0xB3 else None

    # ------------------------------------------------------------ the file

    def _read(self) -> None:
        magic, _, _, count = struct.unpack_from(">IHHH", self.data)
        if magic != 0xCAFEBABE:
            raise TypeError("it does not begin with CAFEBABE")
        at = self._constants(count)
        _, this, parent, interfaces = struct.unpack_from(">HHHH", self.data, at)
        self.name = self._class(this)
        self.parent = self._class(parent) if parent else ""
        at += 8 + 2 * interfaces
        for is_method in (False, True):
            (members,) = struct.unpack_from(">H", self.data, at)
            at += 2
            for _ in range(members):
                (name,) = struct.unpack_from(">H", self.data, at + 2)
                is_initializer = is_method and self._text(name) == "<clinit>"
                at = self._attributes(at + 6, in_initializer=is_initializer)
        self._attributes(at)

    def _constants(self, count: int) -> int:
        at, index = 10, 1
        while index < count:
            tag = self.data[at]
            size = 2 + struct.unpack_from(">H", self.data, at + 1)[0] if tag == _UTF8 else _SIZES[tag]
            body = self.data[at + 1 : at + 1 + size]
            if tag == _UTF8:
                self.constants[index] = body[2:]
            elif tag == _INT:
                self.constants[index] = int.from_bytes(body, "big", signed=True)
            else:
                self.constants[index] = (tag, int.from_bytes(body, "big"))
            at += 1 + size
            index += 2 if tag in (_LONG, _DOUBLE) else 1
        return at

    def _attributes(self, at: int, *, in_initializer: bool = False) -> int:
        (count,) = struct.unpack_from(">H", self.data, at)
        at += 2
        for _ in range(count):
            name, size = struct.unpack_from(">HI", self.data, at)
            at += 6
            kind = self._text(name)
            if kind == "Code" and in_initializer:
                (length,) = struct.unpack_from(">I", self.data, at + 4)
                self._code = self.data[at + 8 : at + 8 + length]
            elif kind == "BootstrapMethods":
                self._bootstrap_methods(at)
            at += size
        return at

    def _bootstrap_methods(self, at: int) -> None:
        (count,) = struct.unpack_from(">H", self.data, at)
        at += 2
        for _ in range(count):
            _, arguments = struct.unpack_from(">HH", self.data, at)
            made = [self._constructed(each) for each in struct.unpack_from(f">{arguments}H", self.data, at + 4)]
            self._handles.append(next(filter(None, made), ""))
            at += 4 + 2 * arguments

    def _constructed(self, index: int) -> str:
        """The class that a method handle makes an object of; "" where it does something else."""
        tag, value = self.constants[index]
        if tag != _HANDLE or value >> 16 != 8:  # REF_newInvokeSpecial
            return ""
        return self._class(self.constants[value & 0xFFFF][1] >> 16)

    def _class(self, index: int) -> str:
        tag, name = self.constants[index]
        if tag != _CLASS:
            raise TypeError(f"constant {index} is no class")
        return self._text(name)

    def _text(self, index: int) -> str:
        text: bytes = self.constants[index]
        return text.decode()
