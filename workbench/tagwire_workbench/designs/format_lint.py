"""Find flaws in the design of a record format that make it costly to read or write.

The rules examine the format's layout: for example, which fields vary in length, and what the checksum covers.
"""

from collections.abc import Iterator

from tagwire.interpreter.writer import encoded_size
from tagwire.layout import (
    Array,
    Checksum,
    Count,
    Extent,
    Fixed,
    Item,
    Layout,
    Nested,
    Sized,
    StructLayout,
    Type,
    Varint,
)
from tagwire_generator.message_classes import format_class
from tagwire_generator.model import MessageSpec
from tagwire_generator.model.record_format_spec import Claim
from tagwire_generator.model.spec_names import attribute_name
from tagwire_generator.problems import Finding
from tagwire_workbench.designs.findings import design_finding


def lint_format(spec: MessageSpec) -> list[Finding]:
    """Return the findings about a record format."""
    assert spec.format is not None
    layout = format_class(spec).layout()
    root = layout.root
    found = [*_discriminator(root, attribute_name(spec.format.discriminator)), *_rewritten(root)]
    for path, struct in _structs(root, ""):
        found += _lengths(struct, path)
        found += _optional_parts(struct, path)
        found += _orders(struct, path)
        found += _long_values(struct, path)
    for claim in spec.format.claims:
        found += _claim(layout, claim)
    return [design_finding(rule, spec, path, text) for rule, path, text in found]


_Found = Iterator[tuple[str, str, str]]


def _structs(struct: StructLayout, path: str) -> Iterator[tuple[str, StructLayout]]:
    yield path, struct
    for item in struct.items:
        kind = item.type.element if isinstance(item.type, Array) else item.type
        if isinstance(kind, Nested):
            suffix = "[]" if isinstance(item.type, Array) else ""
            yield from _structs(kind.struct, f"{path}{item.name}{suffix}.")


def _width(kind: Type) -> int | None:
    if isinstance(kind, Extent | Count):
        return _width(kind.code)
    if isinstance(kind, Fixed):
        return kind.wire.width
    return 4 if isinstance(kind, Checksum) else None


def _varies(item: Item) -> bool:
    return item.condition is not None or _width(item.type) is None


def _discriminator(root: StructLayout, name: str) -> _Found:
    for item in root.items:
        if item.name == name:
            return
        if name and _varies(item):
            yield "TL01", name, f"{name} has no fixed offset, because it comes after {item.name}, a {item.type}"


def _rewritten(root: StructLayout) -> _Found:
    covered: set[str] = set()
    names = [item.name for item in root.items]
    for checksum, kind in root.checks:
        covered |= {name for name in names[names.index(kind.first) :] if name != checksum}
    for item in root.items:
        if not item.rewritten:
            continue
        under = ", and the checksum covers it" if item.name in covered else ""
        if _varies(item):
            yield "TL02", item.name, f"{item.name} is rewritten in place, but the length of a {item.type} varies{under}"
        elif under:
            yield "TL03", item.name, f"{item.name} is rewritten in place, so its checksum must be computed again"


def _lengths(struct: StructLayout, path: str) -> _Found:
    for item in struct.items:
        kind = item.type
        if isinstance(kind, Sized) and kind.nullable and kind.length is not None and kind.length.null is None:
            note = f"; {item.condition.field} has a bit for it" if item.condition else ", and no bit does"
            text = f"{item.name} may be null, which its {kind.length.name} length can't express{note}"
            yield "TL04", f"{path}{item.name}", text


def _optional_parts(struct: StructLayout, path: str) -> _Found:
    for index, item in enumerate(struct.items):
        before = {other.name for other in struct.items[:index]}
        if item.condition is None or item.condition.field not in before or isinstance(item.type, Extent | Count):
            continue
        later = next((other for other in struct.items[index + 1 :] if _needs_length(other)), None)
        if later is not None:
            text = f"{item.name} depends on a bit of {item.condition.field}, but {later.name} comes after it"
            yield "TL05", f"{path}{item.name}", text


def _needs_length(item: Item) -> bool:
    return item.condition is None and isinstance(item.type, Sized) and item.type.length is not None


def _orders(struct: StructLayout, path: str) -> _Found:
    for item in struct.items:
        order = item.type.order if isinstance(item.type, Array) else None
        if order is None or not isinstance(item.type, Array) or not isinstance(item.type.element, Nested):
            continue
        key = next(each for each in item.type.element.struct.items if each.name == order.field)
        low = key.type.wire.low if isinstance(key.type, Fixed) else getattr(key.type, "low", 0)
        if low < 0:
            read = "unsigned" if order.unsigned else "signed"
            text = f"{item.name} ascend by {order.field}, a signed {key.type} that is compared as {read}"
            yield "TL07", f"{path}{item.name}", text


def _long_values(struct: StructLayout, path: str) -> _Found:
    for item in struct.items:
        kind = item.type
        if isinstance(kind, Varint) and kind.signed and not kind.zigzag:
            size = encoded_size(_alone(item), {item.name: -1})
            yield "TL08", f"{path}{item.name}", f"{item.name} takes {size} bytes if it is negative, such as -1"


def _claim(layout: Layout, claim: Claim) -> _Found:
    name = attribute_name(claim.field)
    item = next(item for item in layout.root.items if item.name == name)
    kind = item.type.code if isinstance(item.type, Extent | Count) else item.type
    taken = encoded_size(_alone(Item(name, kind)), {name: claim.value})
    if taken != claim.bytes:
        source = f" ({claim.text})" if claim.text else ""
        text = f"{claim.value} in {name} is claimed to take {claim.bytes} bytes{source}; as {kind} it takes {taken}"
        yield "TL06", name, text


def _alone(item: Item) -> Layout:
    return Layout(item.name, None, StructLayout("Alone", (Item(item.name, item.type),)))
