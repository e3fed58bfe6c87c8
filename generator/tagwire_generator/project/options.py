"""The options of a spec set.

Some of them choose between two interpretations of KIP-482's first draft.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_origin

from tagwire.errors import SpecError
from tagwire.text_format import suggestion


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecOptions:
    """Options for reading the specs of a set. The defaults follow Kafka's rules.

    Raises SpecError for an invalid value.
    """

    dialect: Literal["kafka", "tagwire"] = "kafka"
    """Whether specs without a `dialect` key may use extensions of Kafka's language."""
    tag_gaps: bool = False
    """Whether a struct's tags may have gaps."""
    length_varint: Literal["zigzag", "unsigned"] = "zigzag"
    """In the draft dialect, the kind of varint for the length before an optional field."""
    length_counts_tag: bool = False
    """In the draft dialect, whether the length before an optional field also counts the field's two-byte tag."""
    allow_struct_arrays: bool = False
    """In the draft dialect, whether an optional field may be an array of structs."""
    unanswered_versions: bool = False
    """Whether a request may have versions that its response does not have, as in some releases of Kafka."""
    header_key_order: Literal["unsigned", "signed"] = "unsigned"
    """Whether integer header keys are compared as signed or as unsigned numbers.

    In the record format of KIP-82's first draft, header keys are integers in ascending order.
    """
    entity_types: tuple[tuple[str, str], ...] = ()
    """Additional entity types, each with its wire type; "" allows any wire type.

    In settings, this is a table of names and wire types, or a list of names. A list allows any wire types.
    """

    def __post_init__(self) -> None:
        for each in fields(self):
            value, words = getattr(self, each.name), get_args(each.type)
            if each.type is bool and not isinstance(value, bool):
                raise SpecError(f"option `{each.name}` is {value!r}; it must be true or false")
            if get_origin(each.type) is Literal and value not in words:
                raise SpecError(f"option `{each.name}` is {value!r}; it must be {' or '.join(map(repr, words))}")

    @classmethod
    def from_mapping(cls, settings: Mapping[str, object]) -> "SpecOptions":
        """Parse the options from a settings table, whose keys are the attributes of this class.

        Raises SpecError for an unknown key or an invalid value.
        """
        known = [field.name for field in fields(cls)]
        for key in settings:
            if key not in known:
                raise SpecError(f"a spec set has no option {key!r}; {suggestion(key, known)}")
        values: dict[str, Any] = dict(settings)
        values["entity_types"] = _entity_types(values.get("entity_types", {}))
        return cls(**values)


def _entity_types(value: object) -> tuple[tuple[str, str], ...]:
    types = dict.fromkeys(value, "") if isinstance(value, list) and all(isinstance(n, str) for n in value) else value
    if not isinstance(types, dict) or not all(isinstance(type, str) for type in types.values()):
        raise SpecError(f'option `entity_types` is {value!r}; it must be a table such as {{ nodeId = "int32" }}')
    return tuple(sorted(types.items()))


def shown(value: object) -> str:
    """Format a value of the settings for an error message."""
    return "missing" if value is None else repr(value)
