"""The headers before the requests and responses of a set: what a proof about a changed header shows.

A set has headers of its own if it has messages of the names by which a registry
finds them. Else the headers are Kafka's, as its protocol guide and KIP-482 have
them: requests 0 to 2, responses 0 and 1.
"""

from collections.abc import Iterable
from typing import Any, Final

from tagwire.layout import DEFAULT_STRUCT, INT16, Fixed, Item, Layout, Nested, Sized, StructLayout, TaggedSection
from tagwire.message.field_table import layout_of
from tagwire.wire.types import WIRE_TYPES
from tagwire_generator.expansion.message_classes import message_class
from tagwire_generator.model import MessageSpec
from tagwire_generator.project.spec_files import HEADER_NAMES

_INT16_ITEM: Final = Fixed(WIRE_TYPES["int16"])
_CLIENT_ID: Final = Sized(WIRE_TYPES["string"], INT16, nullable=True)


class Headers:
    """The headers of one set of specs."""

    def __init__(self, specs: Iterable[MessageSpec] = ()) -> None:
        names = HEADER_NAMES.values()
        self._own = {spec.name: spec for spec in specs if spec.kind == "header" and spec.name in names}

    def or_those_of(self, other: "Headers") -> "Headers":
        """These, with the other set's where this one has none: half a set is compared with half a set, too."""
        return Headers((other._own | self._own).values())

    def framed(self, spec: MessageSpec, version: int, header_version: int) -> Layout | None:
        """A version of a request or response with its header before it, as one layout.

        None if the set's own header has no such version.
        """
        body = layout_of(message_class(spec, spec.options), version)
        own = self._own.get(HEADER_NAMES[spec.kind])
        if own is None:
            header = _kafka_header(spec.kind, header_version)
        elif header_version in own.valid_versions:
            header = layout_of(message_class(own, own.options), header_version).root
        else:
            return None
        header = _filled(header, {"request_api_key": spec.api_key or 0, "request_api_version": version})
        members = (
            Item("header", Nested(header), default=DEFAULT_STRUCT),
            Item("body", Nested(body.root), default=DEFAULT_STRUCT),
        )
        return Layout(body.name, version, StructLayout(body.name, members))


def _filled(header: StructLayout, values: dict[str, Any]) -> StructLayout:
    """The header with values that a real one would have, where it has such fields."""
    values = values | {"correlation_id": 7, "client_id": "a"}

    def filled(item: Item) -> Item:
        value = values.get(item.name)
        fits = isinstance(item.type, Sized if isinstance(value, str) else Fixed)
        return item.replace(default=value) if value is not None and fits else item

    return StructLayout(header.name, tuple(map(filled, header.items)), section=header.section)


def _kafka_header(kind: str, header_version: int) -> StructLayout:
    correlation = Item("correlation_id", Fixed(WIRE_TYPES["int32"]), json_name="correlationId", default=0)
    version = Item("request_api_version", _INT16_ITEM, json_name="requestApiVersion", default=0)
    key = Item("request_api_key", _INT16_ITEM, json_name="requestApiKey", default=0)
    client_id = Item("client_id", _CLIENT_ID, json_name="clientId", default="")
    is_request = kind == "request"
    is_flexible = header_version == (2 if is_request else 1)
    items = (key, version, correlation, client_id) if is_request else (correlation,)
    return StructLayout(
        HEADER_NAMES[kind],
        items[:3] if header_version == 0 else items,
        section=TaggedSection() if is_flexible else None,
    )
