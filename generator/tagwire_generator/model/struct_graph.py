"""Which struct holds which, and in which versions each can be on the wire at all.

Made once for a message and used by all rules that look beyond one struct. It
takes any structs, also undeclared, doubled or circular ones, since it serves
the rules that find these.
"""

import graphlib
from collections.abc import Iterator

from tagwire.versions import NONE, Versions
from tagwire_generator.model.field_spec import FieldSpec
from tagwire_generator.model.struct_spec import StructSpec


class StructGraph:
    """The structs of a message. A position is that in `MessageSpec.structs`; None is the message itself."""

    def __init__(self, root: StructSpec, structs: tuple[StructSpec, ...]) -> None:
        self.root = root
        self.positions: dict[str, int] = {}
        """The first struct of each name."""
        for position, struct in enumerate(structs):
            self.positions.setdefault(struct.name, position)
        self._structs = structs
        self.cycle: tuple[str, ...] = ()
        """Names of structs that contain each other, the first one again at the end; or empty."""
        self.order: tuple[int, ...] = self._sorted()
        """Each struct after those that it refers to; empty if there is a cycle."""
        self.present: dict[int | None, Versions] = self._present()
        """Where each struct can be on the wire, as one range around all its uses."""

    def owners(self) -> Iterator[tuple[int | None, StructSpec]]:
        """The message and its structs with their positions."""
        yield None, self.root
        yield from enumerate(self._structs)

    def members(self) -> Iterator[tuple[int | None, StructSpec, int, FieldSpec]]:
        """All fields, with the position of their struct, the struct, and their own position."""
        for position, struct in self.owners():
            for index, spec in enumerate(struct.fields):
                yield position, struct, index, spec

    def target(self, spec: FieldSpec) -> int | None:
        """The position of the struct that a field holds; None for primitives and undeclared structs."""
        return self.positions.get(spec.struct) if spec.struct is not None else None

    def _sorted(self) -> tuple[int, ...]:
        held = {
            position: [target for spec in struct.fields if (target := self.target(spec)) is not None]
            for position, struct in enumerate(self._structs)
        }
        try:
            return tuple(graphlib.TopologicalSorter(held).static_order())
        except graphlib.CycleError as error:
            # the sorter lists each struct before the one that holds it
            circle: list[int] = error.args[1]
            self.cycle = tuple(self._structs[position].name for position in reversed(circle))
            return ()

    def _present(self) -> dict[int | None, Versions]:
        """From the message down: the union of all uses, within the struct's own versions."""
        valid = self.root.versions
        present: dict[int | None, Versions] = {p: s.versions & valid for p, s in enumerate(self._structs)}
        uses: dict[int, list[Versions]] = {}
        for position in (None, *reversed(self.order)):
            if position is not None and position in uses:
                present[position] = present[position] & _around(uses[position])
            struct = self.root if position is None else self._structs[position]
            for spec in struct.fields:
                target = self.target(spec)
                if target is not None:
                    uses.setdefault(target, []).append(
                        spec.versions & (valid if position is None else present[position])
                    )
        return {None: valid, **present}


def _around(ranges: list[Versions]) -> Versions:
    """The smallest range that has all of these."""
    full = [versions for versions in ranges if versions]
    if not full:
        return NONE
    return Versions(min(versions.lowest for versions in full), max(versions.highest for versions in full))
