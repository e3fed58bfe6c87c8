"""What the protocol has and the specs of Kafka's releases do not say.

Kafka's broker and clients hold it in code: which header goes before which
version, and how a broker answers ApiVersions in a version that it lacks. The
importer writes it into the specs, so that nothing else has to know API keys.
Sources: KIP-482 (headers of flexible versions), KIP-511 (the two rules about
ApiVersions), Kafka's protocol guide (ControlledShutdown).
"""

from collections.abc import Mapping
from typing import Any, Final

from tagwire.versions import HIGHEST, NONE, Versions

__all__ = ["with_protocol_rules"]

CONTROLLED_SHUTDOWN: Final = "ControlledShutdownRequest"
"""Its version 0 is older than client ids, and has a header of its own."""
NEGOTIATION: Final = "ApiVersionsResponse"
"""Its reader does not know yet what the broker speaks, so that it must be readable without knowing."""
UNSUPPORTED_VERSION: Final = 35
"""The error code of a broker that lacks the version that it was asked for."""

# The header of a version that is not flexible, and of one that is.
_HEADERS: Final = {"request": (1, 2), "response": (0, 1)}


def with_protocol_rules(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec, in normal form, with `headerVersions` and `fallback` where they apply and are not there yet."""
    added: dict[str, Any] = {}
    if spec["type"] in _HEADERS and spec["validVersions"] != "none":
        added["headerVersions"] = _header_versions(spec)
        if _negotiates(spec) and _can_fall_back(spec):
            added["fallback"] = {"version": 0, "errorCode": UNSUPPORTED_VERSION}
    return {**added, **spec}


def _header_versions(spec: Mapping[str, Any]) -> dict[str, str]:
    """Ranges from 0 on without end, so that a reader of an unsupported version still finds the header."""
    plain, flexible = _HEADERS[spec["type"]]
    valid = Versions.parse(spec["validVersions"])
    flexible_versions = Versions.parse(spec.get("flexibleVersions", "none"))
    if _negotiates(spec):
        flexible_versions = NONE
    starts = {0: plain}
    if spec["name"] == CONTROLLED_SHUTDOWN:
        starts = {0: 0, 1: plain}
    if flexible_versions:
        start = flexible_versions.lowest
        starts = {**{version: header for version, header in starts.items() if version < start}, start: flexible}
    starts = {start: header for start, header in starts.items() if start <= valid.highest}
    ends = [start - 1 for start in list(starts)[1:]] + [HIGHEST]
    return {str(Versions(start, end)): str(header) for (start, header), end in zip(starts.items(), ends, strict=True)}


def _negotiates(spec: Mapping[str, Any]) -> bool:
    return (spec["type"], spec["name"]) == ("response", NEGOTIATION)


def _can_fall_back(spec: Mapping[str, Any]) -> bool:
    """Whether version 0 can be told by its error code, as KIP-511 needs it."""
    has_error_code = [(field["name"], field["type"]) for field in spec["fields"][:1]] == [("ErrorCode", "int16")]
    return has_error_code and 0 in Versions.parse(spec["validVersions"])
