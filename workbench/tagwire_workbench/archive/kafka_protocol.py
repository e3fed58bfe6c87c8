"""Add the parts of Kafka's protocol that are missing from the specs in its releases.

Kafka has these parts only in code: the header of each version, a broker's answer to an unsupported ApiVersions
version, and the format of records.

Sources: KIP-482 (headers of flexible versions), KIP-511 (header and fallback version of ApiVersions responses), Kafka's
protocol guide (ControlledShutdown), KIP-32 and KIP-98 (record formats of Produce and Fetch).
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from tagwire.versions import NONE, Versions
from tagwire_generator.syntax.canonical import ranges_from

CONTROLLED_SHUTDOWN: Final = "ControlledShutdownRequest"
"""The request whose header has no client ID in version 0."""
NEGOTIATION: Final = "ApiVersionsResponse"
"""The response in which a broker lists its supported versions. Clients must be able to read any version of it."""
UNSUPPORTED_VERSION: Final = 35

FORMATS_BY_VERSION: Final[Mapping[str, Mapping[int, str]]] = {
    "ProduceRequest": {0: "v0", 2: "v1", 3: "v2"},
    "FetchResponse": {0: "v0", 2: "v1", 4: "v2"},
    "ShareFetchResponse": {0: "v2"},
}
"""For each message with records, the record formats by the first version that uses them.

FetchSnapshot isn't listed, because its bytes may begin or end inside a record.
"""
_RECORD_FIELDS: Final = ("Records", "RecordSet")
"""Names of the records field in various releases."""

_TOKEN: Final = {"Hmac": "anyone who knows it can log in with the token"}
_CONFIGURATION: Final = {"Value": "it can be a password, such as the one of a key store"}
SENSITIVE: Final[Mapping[str, Mapping[str, str]]] = {
    "SaslAuthenticateRequest": {"AuthBytes": "for PLAIN, it contains the password; for OAUTHBEARER, the token"},
    "SaslAuthenticateResponse": {"AuthBytes": "for SCRAM, it helps to guess the password"},
    **dict.fromkeys(("CreateDelegationTokenResponse", "DescribeDelegationTokenResponse"), _TOKEN),
    **dict.fromkeys(("RenewDelegationTokenRequest", "ExpireDelegationTokenRequest"), _TOKEN),
    "AlterUserScramCredentialsRequest": {
        "Salt": "together with the salted password, it is the credential",
        "SaltedPassword": "anyone who knows it can log in without the password",
    },
    "UserScramCredentialRecord": {
        "Salt": "together with the stored key, it helps to guess the password",
        "StoredKey": "it helps to guess the password",
        "ServerKey": "anyone who knows it can impersonate the broker",
    },
    **dict.fromkeys(("AlterConfigsRequest", "IncrementalAlterConfigsRequest", "ConfigRecord"), _CONFIGURATION),
    "EnvelopeRequest": {"RequestData": "it can be a request with secrets"},
    "EnvelopeResponse": {"ResponseData": "it can be a response with secrets"},
}
"""Fields that contain secrets, with the reason. Kafka's specs mark none. Sources: RFC 5802, KIP-48, KIP-84, KIP-554."""

# Maps each kind of message to two header versions: one for its non-flexible versions, one for its flexible versions.
_HEADERS: Final = {"request": (1, 2), "response": (0, 1)}


def with_protocol_rules(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec in normal form with `headerVersions`, `fallback`, `recordFormats` and `sensitive` added."""
    added: dict[str, Any] = {}
    if spec["type"] in _HEADERS and spec["validVersions"] != "none":
        added["headerVersions"] = _header_versions(spec)
        if _negotiates(spec) and _can_fall_back(spec):
            added["fallback"] = {"version": 0, "errorCode": UNSUPPORTED_VERSION}
    if "fields" not in spec:
        return {**added, **spec}
    fields = [_with_marks(field, SENSITIVE.get(spec["name"], {})) for field in spec["fields"]]
    formats = FORMATS_BY_VERSION.get(spec["name"])
    if formats is not None:
        highest = Versions.parse(spec["validVersions"]).highest
        ranges = ranges_from({start: name for start, name in formats.items() if start <= highest})
        fields = [_with_record_formats(field, ranges) for field in fields]
    return {**added, **spec, "fields": fields}


def _with_marks(field: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return a copy of the field. Mark it and its subfields as `sensitive` if their names are in `names`."""
    marked = {**field, "sensitive": True} if field["name"] in names else dict(field)
    return {**marked, "fields": [_with_marks(each, names) for each in field["fields"]]} if "fields" in field else marked


def _with_record_formats(field: Mapping[str, Any], formats: Mapping[str, str]) -> dict[str, Any]:
    """Return a copy of the field, with `recordFormats` added wherever it or one of its subfields contains records."""
    if field["name"] in _RECORD_FIELDS and field["type"] in ("records", "bytes"):
        return {**field, "recordFormats": field.get("recordFormats", formats)}
    inner = [_with_record_formats(each, formats) for each in field.get("fields", ())]
    return {**field, "fields": inner} if "fields" in field else dict(field)


def _header_versions(spec: Mapping[str, Any]) -> dict[str, str]:
    """Map ranges of message versions to header versions. The ranges include versions that Kafka has dropped."""
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
    return ranges_from({start: str(header) for start, header in starts.items() if start <= valid.highest})


def _negotiates(spec: Mapping[str, Any]) -> bool:
    return (spec["type"], spec["name"]) == ("response", NEGOTIATION)


def _can_fall_back(spec: Mapping[str, Any]) -> bool:
    """Return whether version 0 exists and begins with an error code, as KIP-511 requires."""
    has_error_code = [(field["name"], field["type"]) for field in spec["fields"][:1]] == [("ErrorCode", "int16")]
    return has_error_code and 0 in Versions.parse(spec["validVersions"])
