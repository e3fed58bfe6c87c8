"""Make random selections: paths of fields, and new values for them. `with_rows` also changes decoded messages."""

from random import Random
from typing import Any
from uuid import UUID

from tagwire import DROP, EncodeError, Message, Struct


class Rejected(Exception):
    """Raised if a new value does not fit into the message."""


def random_paths(cls: type[Message], random: Random) -> tuple[str, ...]:
    """Return one to four random paths that do not overlap, often in the same array."""
    first = _random_path(cls, random)
    paths = [first]
    owner, _, _ = first.rpartition(".")
    for _ in range(random.choice((0, 0, 1, 2, 3))):
        path = _random_path(cls, random)
        if owner and random.random() < 0.6:
            path = f"{owner}.{_random_path(_class_at(cls, owner), random)}"
        if not any(_overlap(path, other) for other in paths):
            paths.append(path)
    return tuple(paths)


def _random_path(cls: Any, random: Random) -> str:
    row = random.choice(cls.FIELDS)
    text: str = row.name
    if row.type.startswith("[]") and random.random() < 0.8:
        text += "[]"
    elif row.type.startswith("[]"):
        return text
    if row.struct is not None and random.random() < 0.85:
        return f"{text}.{_random_path(row.struct, random)}"
    return text


def _class_at(cls: Any, path: str) -> Any:
    for step in path.split("."):
        cls = next(row.struct for row in cls.FIELDS if row.name == step.removesuffix("[]"))
    return cls


def _overlap(one: str, other: str) -> bool:
    steps = [path.replace("[]", "").split(".") for path in (one, other)]
    shortest = min(map(len, steps))
    return steps[0][:shortest] == steps[1][:shortest]


def changed(value: Any, random: Random) -> Any:
    """Return a random replacement for a value. It is usually valid, and sometimes equal to the old value."""
    if type(value) is list:
        return [changed(each, random) for each in value]
    return value if random.random() < 0.3 else random.choice(_others(value, random))


def _others(value: Any, random: Random) -> list[Any]:
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int):
        return [0, -1, 1, value ^ 1, 70_000, 2**40, 0.0, None, "x"]
    if isinstance(value, str):
        return ["", value + "x", "\u00e9" * 100, "x" * 140, None, "\ud800", 5]
    if isinstance(value, bytes):
        return [b"", value + b"x", bytes(200), bytearray(b"ab"), None, "x"]
    if isinstance(value, float):
        return [0.0, value + 1, 3, None, "x"]
    if isinstance(value, UUID):
        return [UUID(int=5), UUID(int=0), None, "x"]
    if isinstance(value, tuple):
        return [(), value[:-1], value + value[:1], list(value), None, 5]
    if isinstance(value, Struct):
        other, name = _copied(value) if random.random() < 0.5 else value, random.choice(value.__slots__)
        setattr(other, name, changed(getattr(value, name), random))
        return [other, other, type(value)(), None]
    return [None, "", "x", 0, (), b""]


def _copied(value: Struct) -> Struct:
    """Copy a struct, including invalid values. `replace` would convert arrays to tuples."""
    other = type(value)()
    for name in value.__slots__:
        setattr(other, name, getattr(value, name))
    return other


def with_rows(message: Any, paths: tuple[str, ...], rows: list[Any], appended: tuple[Any, ...] = ()) -> Any:
    """Set the fields at `paths` to the values in `rows`, and return the message. Raises `Rejected` for a bad value."""
    lines = [[(step.removesuffix("[]"), step.endswith("[]")) for step in path.split(".")] for path in paths]
    row_path = _shared(lines)
    suffixes = [line[len(row_path) :] for line in lines]
    if not row_path:
        _put_row(message, suffixes, rows[0])
        return message
    rows = [*rows]
    _put_elements([message], row_path, suffixes, rows, appended)
    assert not rows
    return message


def _shared(lines: list[list[tuple[str, bool]]]) -> list[tuple[str, bool]]:
    shared = 0
    for count in range(1, min(map(len, lines)) + 1):
        if any(line[:count] != lines[0][:count] for line in lines):
            break
        if lines[0][count - 1][1]:
            shared = count
    return lines[0][:shared]


def _put_elements(owners: list[Any], row_path: list[Any], suffixes: list[Any], rows: list[Any], appended: Any) -> None:
    (name, each), *rest = row_path
    for owner in owners:
        value = getattr(owner, name)
        if rest:
            _put_elements([] if value is None else list(value) if each else [value], rest, suffixes, rows, appended)
            continue
        elements = []
        for element in value or ():
            row = rows.pop(0)
            if row is not DROP:
                elements.append(row[0] if suffixes == [[]] else _put_row(element, suffixes, row))
        if value is not None or appended:
            setattr(owner, name, (*elements, *appended))


def _put_row(owner: Any, suffixes: list[Any], row: Any) -> Any:
    for line, value in zip(suffixes, row, strict=True):
        _put(owner, line, value)
    return owner


def _put(owner: Any, line: list[tuple[str, bool]], new: Any) -> None:
    (name, each), *rest = line
    if owner is None:
        if new is not None:
            raise Rejected
        return
    if not rest and not each:
        setattr(owner, name, new)
        return
    value = getattr(owner, name)
    if not each:
        _put(value, rest, new)
        return
    if value is None and new is None:
        return
    if value is None or not isinstance(new, tuple | list) or len(new) != len(value):
        raise Rejected
    if not rest:
        setattr(owner, name, tuple(new))
    for element, one in zip(value, new, strict=True) if rest else ():
        _put(element, rest, one)


def encoded(message: Any, version: int) -> bytes | EncodeError:
    try:
        data: bytes = message.encode(version)
    except EncodeError as error:
        return error
    return data
