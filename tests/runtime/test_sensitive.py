import pickle
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from build_package import build_package

import tagwire
import tagwire_messages as messages
from tagwire import DecodeError, EncodeError
from tagwire.frames.redaction import Redaction, sensitive_paths
from tagwire.message.engines import python_serializer
from tagwire.message.json import hidden_json
from tagwire.sensitive import HIDDEN, showing_sensitive
from tagwire_messages import SaslAuthenticateRequest, registry
from tagwire_messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from tagwire_messages.describe_delegation_token_response import DescribedDelegationToken

SECRET = b"s3cret-value"
LOGIN = SaslAuthenticateRequest(auth_bytes=SECRET)
CREDENTIALS = AlterUserScramCredentialsRequest(
    upsertions=[ScramCredentialUpsertion(name="alice", salt=b"salt-salt", salted_password=SECRET)]
)


def shown(text: str) -> bool:
    return "s3cret" in text or SECRET.hex() in text or SECRET.hex(" ") in text


def pure_repr(struct: Any) -> str:
    fields = ", ".join(f"{name}={value!r}" for name, value in struct.__rich_repr__())
    return f"{type(struct).__name__}({fields})"


@pytest.mark.parametrize("struct_repr", [repr, pure_repr])
def test_repr(struct_repr: Callable[[Any], str]) -> None:
    assert struct_repr(LOGIN) == "SaslAuthenticateRequest(auth_bytes=<hidden>)"
    assert struct_repr(CREDENTIALS) == (
        "AlterUserScramCredentialsRequest(upsertions=(ScramCredentialUpsertion(name='alice', salt=<hidden>, "
        "salted_password=<hidden>),))"
    )
    assert struct_repr(SaslAuthenticateRequest()) == "SaslAuthenticateRequest()"
    with showing_sensitive():
        assert struct_repr(LOGIN) == f"SaslAuthenticateRequest(auth_bytes={SECRET!r})"
    assert not shown(struct_repr(LOGIN))


def test_tables() -> None:
    assert HIDDEN.replace("<", "&lt;").replace(">", "&gt;") in LOGIN._repr_html_()
    assert not shown(LOGIN._repr_html_() + CREDENTIALS._repr_html_())
    with showing_sensitive():
        assert shown(LOGIN._repr_html_())


def test_output_for_programs_is_not_redacted() -> None:
    assert LOGIN.auth_bytes == SECRET
    assert LOGIN.replace().auth_bytes == SECRET
    assert SaslAuthenticateRequest.from_json(LOGIN.to_json(2), 2) == LOGIN
    assert pickle.loads(pickle.dumps(LOGIN)) == LOGIN


@pytest.mark.parametrize("message", [LOGIN, CREDENTIALS], ids=lambda message: message.NAME)
def test_traces(message: Any) -> None:
    version = message.VERSIONS.highest
    data = message.encode(version)
    trace = tagwire.trace(type(message), data, version)
    frame = tagwire.trace_request(registry, registry.encode_request(message, version, correlation_id=1))
    for each in (trace, frame):
        assert not shown(tagwire.annotate(each))
        assert "** **" in tagwire.annotate(each)
        assert not shown(str(each.to_json()))
        assert not shown(each._repr_html_())
        with showing_sensitive():
            assert shown(tagwire.annotate(each))
            assert shown(each._repr_html_())
    cut = tagwire.trace(type(message), data[:-2], version)
    assert not shown(tagwire.annotate(cut))
    with showing_sensitive():
        assert tagwire.parse_annotated(tagwire.annotate(trace)) == data


def test_other_fields_are_shown() -> None:
    text = tagwire.annotate(tagwire.trace(type(CREDENTIALS), CREDENTIALS.encode(0), 0))
    assert "'alice'" in text
    assert "61 6c 69 63 65" in text
    expected = {"name": "alice", "mechanism": 0, "iterations": 0, "salt": HIDDEN, "saltedPassword": HIDDEN}
    assert hidden_json(CREDENTIALS, CREDENTIALS.to_json(0))["upsertions"][0] == expected


def test_errors() -> None:
    with pytest.raises(EncodeError) as rejected:
        SaslAuthenticateRequest(auth_bytes="s3cret-value").encode(2)  # type: ignore[arg-type]
    assert str(rejected.value).endswith("v2: auth_bytes: expected bytes, got <hidden>; call its method encode()")
    wrong = ScramCredentialUpsertion(name="alice", salted_password="s3cret-value")  # type: ignore[arg-type]
    with pytest.raises(EncodeError) as rejected:
        AlterUserScramCredentialsRequest(upsertions=[wrong]).encode(0)
    assert not shown(str(rejected.value))
    with pytest.raises(EncodeError) as rejected:
        SaslAuthenticateRequest.from_json({"authBytes": "s3cret-value!"}, 2)
    assert not shown(str(rejected.value))
    with showing_sensitive(), pytest.raises(EncodeError) as rejected:
        SaslAuthenticateRequest(auth_bytes="s3cret-value").encode(2)  # type: ignore[arg-type]
    assert shown(str(rejected.value))


def held(error: BaseException) -> str:
    """Return as text what an exception holds: its contexts and causes, and local variables in tagwire's frames.

    Function arguments are left out, because the caller already has them.
    """
    found, chain = [], [error]
    while chain:
        each = chain.pop()
        found += [f"{each!r} {vars(each)}"]
        chain += [other for other in (each.__context__, each.__cause__) if other is not None]
        for frame, _ in traceback.walk_tb(each.__traceback__):
            if frame.f_globals["__name__"].startswith("tagwire."):
                given = frame.f_code.co_varnames[: frame.f_code.co_argcount]
                found += [repr(value) for name, value in frame.f_locals.items() if name not in given]
    return "\n".join(found)


LOGIN_SHAPE = tagwire.select(SaslAuthenticateRequest, "auth_bytes")
REJECTED_SECRETS: dict[str, Callable[[Any], object]] = {
    "encode": lambda secret: python_serializer(SaslAuthenticateRequest, 2).encode(LOGIN.replace(auth_bytes=secret)),
    "encode natively": lambda secret: LOGIN.replace(auth_bytes=secret).encode(2),
    "size": lambda secret: python_serializer(SaslAuthenticateRequest, 2).encoded_size(LOGIN.replace(auth_bytes=secret)),
    "from_json": lambda secret: SaslAuthenticateRequest.from_json({"authBytes": secret}, 2),
    "from_json_text": lambda secret: SaslAuthenticateRequest.from_json_text(f'{{"authBytes": "{secret}"}}', 2),
    "no JSON": lambda secret: SaslAuthenticateRequest.from_json_text(f'{{"authBytes": "{secret}}}', 2),
    "no UTF-8": lambda secret: SaslAuthenticateRequest.from_json_text(secret.encode() + b"\xff", 2),
    "rewrite": lambda secret: LOGIN_SHAPE.rewrite(LOGIN.replace(auth_bytes=b"").encode(2), 2, lambda _: secret),
    "request": lambda secret: registry.encode_request(LOGIN.replace(auth_bytes=secret), 2, correlation_id=1),
    "token": lambda secret: messages.CreateDelegationTokenResponse(hmac=secret).encode(2),
    "in place of a struct": lambda secret: CREDENTIALS.replace(upsertions=[secret]).encode(0),
    "JSON in place of an array": lambda secret: type(CREDENTIALS).from_json({"deletions": [], "upsertions": secret}, 0),
    "JSON in place of a message": lambda secret: type(CREDENTIALS).from_json(secret, 0),
}


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("call", REJECTED_SECRETS)
def test_no_exception_holds_a_secret(call: str) -> None:
    with pytest.raises(EncodeError) as rejected:
        REJECTED_SECRETS[call]("s3cret-value!")
    assert not shown(held(rejected.value))


MARKED = {
    **{key: ["auth_bytes"] for key in ("SaslAuthenticateRequest", "SaslAuthenticateResponse")},
    **{key: ["hmac"] for key in ("RenewDelegationTokenRequest", "ExpireDelegationTokenRequest")},
    "CreateDelegationTokenResponse": ["hmac"],
    "DescribeDelegationTokenResponse": ["tokens[].hmac"],
    "AlterUserScramCredentialsRequest": ["upsertions[].salt", "upsertions[].salted_password"],
    "UserScramCredentialRecord": ["salt", "stored_key", "server_key"],
    **{key: ["resources[].configs[].value"] for key in ("AlterConfigsRequest", "IncrementalAlterConfigsRequest")},
    "ConfigRecord": ["value"],
    "EnvelopeRequest": ["request_data"],
    "EnvelopeResponse": ["response_data"],
}


def test_which_fields_of_kafka_are_marked() -> None:
    found = {name: list(sensitive_paths(registry[name])) for name in registry}
    assert {name: paths for name, paths in found.items() if paths} == MARKED


@pytest.mark.parametrize("same_length", [False, True])
def test_redacted_frames(same_length: bool) -> None:
    redaction = Redaction(registry, same_length=same_length)
    frame = registry.encode_request(LOGIN, 2, correlation_id=1, client_id="c")
    redacted = redaction.request(frame)
    assert not shown(repr(redacted))
    want = bytes(len(SECRET)) if same_length else b""
    assert redacted == registry.encode_request(LOGIN.replace(auth_bytes=want), 2, correlation_id=1, client_id="c")
    assert (len(redacted) == len(frame)) is same_length
    answer = messages.DescribeDelegationTokenResponse(tokens=[DescribedDelegationToken(hmac=SECRET, token_id="t")])
    frame = registry.encode_response(answer, 3, correlation_id=1)
    seen = registry.decode_response(redaction.response(frame, 41, 3), 41, 3).message
    assert (seen.tokens[0].hmac, seen.tokens[0].token_id) == (want, "t")


def test_frames_without_secrets_stay_and_errors_are_rejected() -> None:
    redaction = Redaction(registry)
    frame = registry.encode_request(messages.HeartbeatRequest(group_id="g"), 4, correlation_id=1)
    assert redaction.request(frame) == frame
    frame = registry.encode_response(messages.ApiVersionsResponse(error_code=35), 0, correlation_id=1)
    assert redaction.response(frame, 18, 3) == frame
    with pytest.raises(DecodeError):
        redaction.request(registry.encode_request(LOGIN, 2)[:-1])
    with pytest.raises(DecodeError):
        redaction.request(registry.encode_request(messages.HeartbeatRequest(), 4) + b"\0")


HEAD = {"dialect": "tagwire", "type": "data", "name": "GuestsMessage", "validVersions": "0", "flexibleVersions": "0+"}
GUESTS: dict[str, Any] = HEAD | {
    "fields": [
        {"name": "Guests", "type": "[]Guest", "versions": "0+", "unique": True, "fields": [
            {"name": "Mail", "type": "string", "versions": "0+", "mapKey": True, "sensitive": True},
            {"name": "Room", "type": "int32", "versions": "0+"},
        ]},
        {"name": "Bill", "type": "Bill", "versions": "0+", "sensitive": True, "fields": [
            {"name": "Total", "type": "int32", "versions": "0+"},
            {"name": "Card", "type": "string", "versions": "0+", "nullableVersions": "0+", "default": "null",
             "tag": 0, "taggedVersions": "0+", "union": "means"},
            {"name": "Cash", "type": "bool", "versions": "0+", "nullableVersions": "0+", "default": "null",
             "tag": 1, "taggedVersions": "0+", "union": "means"},
        ]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("same_length", [False, True])
def test_redaction_keeps_the_rules_of_several_values(tmp_path: Path, same_length: bool) -> None:
    hotel = build_package(tmp_path, f"hotel_{same_length}".lower(), [GUESTS])
    module = import_module(f"{hotel.__name__}.guests_message")
    guests = [module.Guest(mail=mail, room=7) for mail in ("a@x", "b@x")]
    stay = hotel.GuestsMessage(guests=guests, bill=module.Bill(total=5, card="4111"))
    data = Redaction(hotel.registry, same_length=same_length).message(hotel.GuestsMessage, stay.encode(0), 0)
    found = hotel.GuestsMessage.decode(data, 0)
    assert found == hotel.GuestsMessage(bill=module.Bill(total=0, card="xxxx" if same_length else ""))
