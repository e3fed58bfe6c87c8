"""Find where a name is declared, and where it is used."""

from tagwire_workbench.language.spec_names import SpecNames
from tagwire_workbench.language.text_positions import Span
from tagwire_workbench.language.text_tree import TextTree


def definition(text: str, offset: int) -> Span | None:
    """Return the declaration of the struct or field at the cursor; None for anything else."""
    found = references(text, offset)
    return found[0] if found else None


def references(text: str, offset: int) -> list[Span]:
    """Return all uses of the struct or field at the cursor, its declaration first if there is one."""
    names = SpecNames(TextTree(text))
    struct, field = names.struct_at(offset), names.field_at(offset)
    if struct is not None:
        return [name.span for name in names.struct_positions(struct.text)]
    return [name.span for name in names.field_positions(field)] if field is not None else []
