"""Find conflicts: designs that claim the same discriminator, attribute bit, API version or tag.

A design is a set of specs, such as the folder of one proposal.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from tagwire_generator.model import FieldSpec, MessageSpec, StructSpec
from tagwire_generator.model.spec_names import attribute_name
from tagwire_generator.problems import Finding
from tagwire_workbench.designs.findings import design_finding


@dataclass(frozen=True, slots=True)
class Design:
    """A named set of specs that belong together."""

    name: str
    specs: tuple[MessageSpec, ...]


def conflicts(designs: Sequence[Design]) -> list[Finding]:
    """Return the conflicts between each pair of designs."""
    found: list[Finding] = []
    for one, other in combinations(designs, 2):
        for mine, theirs in product(one.specs, other.specs):
            if mine.format is not None and theirs.format is not None:
                found += _formats(one, mine, other, theirs)
            elif (mine.kind, mine.api_key) == (theirs.kind, theirs.api_key) and (
                mine.component == theirs.component or mine.name == theirs.name  # a single file has no component
            ):
                found += _messages(one, mine, other, theirs)
    return found


def _formats(one: Design, mine: MessageSpec, other: Design, theirs: MessageSpec) -> Iterator[Finding]:
    assert mine.format is not None and theirs.format is not None
    field, value = _discriminator(mine)
    if (field, value) != _discriminator(theirs) or mine.format == theirs.format:
        return
    path = attribute_name(field)
    text = f"{mine.format.name} ({one.name}) and {theirs.format.name} ({other.name}) both have {path} {value}"
    yield design_finding("TL21", theirs, path, text)
    for name, bits, mine_is, theirs_is in _bits(mine, theirs):
        text = f"bit {bits} of {name} is {mine_is} in {one.name} and {theirs_is} in {other.name}"
        yield design_finding("TL22", theirs, name, text)


def _discriminator(spec: MessageSpec) -> tuple[str, int | None]:
    assert spec.format is not None
    field = next((field for field in spec.fields if field.name == spec.format.discriminator), None)
    return spec.format.discriminator, None if field is None else field.framing.equals


def _bits(mine: MessageSpec, theirs: MessageSpec) -> Iterator[tuple[str, int, str, str]]:
    """Find bits that the two formats name differently. Yields (field, bit, name, other name)."""
    others = {field.name: field for field in theirs.fields}
    for field in mine.fields:
        known = _named_bits(others[field.name]) if field.name in others else {}
        for bit, name in _named_bits(field).items():
            if known.get(bit, name) != name:
                yield attribute_name(field.name), bit, attribute_name(name), attribute_name(known[bit])


def _named_bits(field: FieldSpec) -> dict[int, str]:
    return {bit: group.name for group in field.framing.bits for bit in range(group.low, group.high + 1)}


def _messages(one: Design, mine: MessageSpec, other: Design, theirs: MessageSpec) -> Iterator[Finding]:
    if mine.api_key is not None and mine.valid_versions and theirs.valid_versions:
        newest = mine.valid_versions.highest
        if newest == theirs.valid_versions.highest:
            text = f"{one.name} and {other.name} both have version {newest} as the newest version of {mine.name}"
            yield design_finding("TL23", theirs, "", text, "validVersions")
    for name, tag, mine_is, theirs_is in _tags(mine, theirs):
        text = f"tag {tag} of {name} is {mine_is} in {one.name} and {theirs_is} in {other.name}"
        yield design_finding("TL24", theirs, attribute_name(theirs_is), text, "tag")


def _tags(mine: MessageSpec, theirs: MessageSpec) -> Iterator[tuple[str, int, str, str]]:
    if mine.name != theirs.name:
        return
    others = {struct.name: struct for struct in (theirs.root, *theirs.structs)}
    for struct in (mine.root, *mine.structs):
        known = _tagged(others[struct.name]) if struct.name in others else {}
        for tag, field in _tagged(struct).items():
            if tag in known and (known[tag].name, known[tag].type) != (field.name, field.type):
                yield struct.name, tag, field.name, known[tag].name


def _tagged(struct: StructSpec) -> dict[int, FieldSpec]:
    return {field.tag: field for field in struct.fields if field.tag is not None}
