"""Class files as javac writes them, as far as an enum of errors needs them."""

import struct

__all__ = ["ENUM", "ERRORS", "class_file", "enum_file"]

ENUM = "org/apache/kafka/common/protocol/Errors"
ERRORS = "org/apache/kafka/common/errors/"


class _Pool:
    """The constants of a class file, each once."""

    def __init__(self) -> None:
        self.rows: list[bytes] = []

    def add(self, row: bytes) -> int:
        if row not in self.rows:
            self.rows.append(row)
        return self.rows.index(row) + 1

    def text(self, text: str) -> int:
        return self.add(struct.pack(">BH", 1, len(text)) + text.encode())

    def ref(self, tag: int, text: str) -> int:
        return self.add(struct.pack(">BH", tag, self.text(text)))

    def handle(self, cls: str, kind: int) -> int:
        signature = self.add(struct.pack(">BHH", 12, self.text("<init>"), self.text("(Ljava/lang/String;)V")))
        method = self.add(struct.pack(">BHH", 10, self.ref(7, cls), signature))
        return self.add(struct.pack(">BBH", 15, kind, method))

    def file(self, name: str, parent: str, methods: bytes = b"", count: int = 0, attributes: bytes = b"\0\0") -> bytes:
        this, base = self.ref(7, name), self.ref(7, parent)
        head = struct.pack(">IHHH", 0xCAFEBABE, 0, 52, len(self.rows) + 1) + b"".join(self.rows)
        return head + struct.pack(">HHHHHH", 0x21, this, base, 0, 0, count) + methods + attributes


def class_file(name: str, parent: str) -> bytes:
    """A class without members."""
    return _Pool().file(name, parent)


def enum_file(constants: list[tuple[str, int, str]]) -> bytes:
    """The enum: name, number and exception of each constant, "" where it makes none."""
    pool = _Pool()
    code = bytearray()
    bootstraps = bytearray()
    for ordinal, (name, number, made) in enumerate(constants):
        code += struct.pack(">BHB", 0xBB, pool.ref(7, ENUM), 0x59)  # new, dup
        code += struct.pack(">BB", 0x12, pool.ref(8, name)) + _number(pool, ordinal) + _number(pool, number)
        code += struct.pack(">BH", 0x13, pool.ref(8, f"It is {name}."))  # ldc_w
        dynamic = pool.add(struct.pack(">BHH", 18, ordinal, 1))
        code += struct.pack(">BHH", 0xBA, dynamic, 0)
        code += struct.pack(">BHBH", 0xB7, 1, 0xB3, 1)  # invokespecial, putstatic
        handle = pool.handle(ERRORS + made, 8) if made else pool.handle(ENUM, 6)
        bootstraps += struct.pack(">HHH", 1, 1, handle)
    code += struct.pack(">BBBH", 0x12, pool.ref(7, ENUM), 0xB8, 1)  # the class itself: no text of a constant
    code += struct.pack(">BHB", 0xB3, 1, 0xB1)  # the array of all, return
    body = struct.pack(">HHI", 9, 0, len(code)) + code + struct.pack(">HH", 0, 0)
    method = struct.pack(">HHHHHI", 8, pool.text("<clinit>"), pool.text("()V"), 1, pool.text("Code"), len(body)) + body
    table = struct.pack(">H", len(constants)) + bootstraps
    attributes = struct.pack(">HHI", 1, pool.text("BootstrapMethods"), len(table)) + table
    return pool.file(ENUM, "java/lang/Enum", method, 1, attributes)


def _number(pool: _Pool, value: int) -> bytes:
    if -1 <= value <= 5:
        return bytes([3 + value])
    if -128 <= value < 128:
        return struct.pack(">Bb", 0x10, value)
    if -32768 <= value < 32768:
        return struct.pack(">Bh", 0x11, value)
    return struct.pack(">BB", 0x12, pool.add(struct.pack(">Bi", 3, value)))
