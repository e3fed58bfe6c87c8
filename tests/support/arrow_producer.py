"""A producer of Arrow arrays, written with ctypes. It counts releases and can export invalid arrays."""

import ctypes
from typing import Any


class Schema(ctypes.Structure):
    """The struct ArrowSchema of Arrow's C data interface."""


class Array(ctypes.Structure):
    """The struct ArrowArray of Arrow's C data interface."""


RELEASE_SCHEMA = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
RELEASE_ARRAY = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.c_void_p), ("release", RELEASE_SCHEMA), ("private_data", ctypes.c_void_p),
]  # fmt: skip
Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))), ("dictionary", ctypes.c_void_p), ("release", RELEASE_ARRAY),
    ("private_data", ctypes.c_void_p),
]  # fmt: skip

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class HandMade:
    """An object that exports an Arrow array with any format string and any buffers (None for a missing buffer)."""

    def __init__(
        self,
        format: str,
        buffers: list[bytes | None],
        length: int,
        *,
        name: str = "",
        offset: int = 0,
        null_count: int = -1,
        children: "tuple[HandMade, ...]" = (),
    ) -> None:
        self.released: list[str] = []
        self.kept: list[Any] = [
            None if each is None else ctypes.create_string_buffer(each, len(each)) for each in buffers
        ]
        addresses = [None if each is None else ctypes.addressof(each) for each in self.kept]
        self.buffers = (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
        self.array = Array(
            length=length, null_count=null_count, offset=offset, n_buffers=len(buffers), buffers=self.buffers
        )
        self.schema = Schema(format=format.encode(), name=name.encode(), flags=2)
        self.array.n_children = self.schema.n_children = len(children)
        self.children = (
            (ctypes.POINTER(Array) * len(children))(*(ctypes.pointer(child.array) for child in children)),
            (ctypes.POINTER(Schema) * len(children))(*(ctypes.pointer(child.schema) for child in children)),
            children,
        )
        self.array.children, self.schema.children = self.children[:2]

        def release_schema(schema: Any) -> None:
            self.released.append("schema")
            schema.contents.release = RELEASE_SCHEMA()

        def release_array(array: Any) -> None:
            self.released.append("array")
            array.contents.release = RELEASE_ARRAY()

        self.schema.release = RELEASE_SCHEMA(release_schema)
        self.array.release = RELEASE_ARRAY(release_array)

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        names = (b"arrow_schema", b"arrow_array")
        structs = (self.schema, self.array)
        one, other = (
            _new_capsule(ctypes.addressof(struct), name, None) for struct, name in zip(structs, names, strict=True)
        )
        return one, other
