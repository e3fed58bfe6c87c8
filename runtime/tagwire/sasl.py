"""SASL without I/O: the bytes that a client sends to log in with PLAIN (RFC 4616) or SCRAM (RFC 5802, RFC 7677).

login = tagwire.sasl.login("SCRAM-SHA-256", "alice", password)
broker.ask(SaslHandshakeRequest(mechanism=login.mechanism), check=True)
data = login.step()
while data is not None:
    data = login.step(broker.ask(SaslAuthenticateRequest(auth_bytes=data), check=True).auth_bytes)
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Generator
from contextlib import suppress
from inspect import GEN_CLOSED, GEN_CREATED, getgeneratorstate
from secrets import token_urlsafe
from typing import Final

from tagwire.errors import TagwireError
from tagwire.text_format import encodable, shown, whole_number
from tagwire.wire.buffers import as_bytes

__all__ = ["MECHANISMS", "Login", "SaslError", "login"]

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_ITERATIONS: Final = range(4096, 1_000_001)
"""The numbers of hash iterations that a SCRAM server may ask for, as in Kafka's clients.

With fewer, an impostor could guess the password from the client's proof. More would take seconds.
"""


class SaslError(TagwireError):
    """Raised if a login failed, or if the peer's message is invalid."""


class Login:
    """A single login, made by the function `login`. It can't be used a second time."""

    def __init__(self, mechanism: str, steps: Generator[bytes, bytes]) -> None:
        self.mechanism = mechanism
        self._steps = steps

    def step(self, received: bytes = b"") -> bytes | None:
        """Return the next bytes to send, given the peer's last response, or None when the login is complete.

        Raises SaslError if the login fails, if it is already over, or if the peer does not prove that it knows the
        password.
        """
        data = as_bytes(received)
        state = getgeneratorstate(self._steps)
        if state == GEN_CLOSED:
            raise SaslError(f"{self.mechanism}: this login is over; begin another one")
        try:
            return next(self._steps) if state == GEN_CREATED else self._steps.send(data)
        except StopIteration:
            return None

    def __repr__(self) -> str:
        return f"<login with {self.mechanism}>"


def login(mechanism: str, user: str, password: str, *, nonce: str | None = None) -> Login:
    """Begin a login with one of `MECHANISMS`. Pass a `nonce` only in tests.

    Raises SaslError for an unknown mechanism, and for a user name or password that the mechanism does not allow.
    """
    for name, value in (("user", user), ("password", password)):
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SaslError(f"{name}: expected a string, got {type(value).__name__}")
        if encodable(value) != value:
            raise SaslError(f"{name}: the string has a lone surrogate, which UTF-8 can't encode")
    if mechanism == "PLAIN":
        if "\0" in user + password:
            raise SaslError("PLAIN: the user name and password must not contain a null character")
        return Login(mechanism, _plain(user, password))
    if mechanism not in MECHANISMS:
        raise SaslError(f"unknown mechanism {mechanism!r}; known mechanisms are {', '.join(MECHANISMS)}")
    name = mechanism.removeprefix("SCRAM-").replace("-", "").lower()
    return Login(mechanism, _scram(mechanism, name, user, password, nonce or token_urlsafe(24)))


def _plain(user: str, password: str) -> Generator[bytes, bytes]:
    yield f"\0{user}\0{password}".encode()


def _scram(mechanism: str, digest: str, user: str, password: str, nonce: str) -> Generator[bytes, bytes]:
    first = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
    server_first = yield f"n,,{first}".encode()
    found = _attributes(mechanism, server_first, "r", "s", "i")
    if not found["r"].startswith(nonce) or found["r"] == nonce:
        wanted = f"a nonce that begins with {shown(nonce)} and is longer"
        raise SaslError(f"{mechanism}: expected {wanted}, got {shown(found['r'])}")
    iterations = whole_number(found["i"]) or 0
    if iterations not in _ITERATIONS:
        wanted = f"an iteration count from {_ITERATIONS[0]} to {_ITERATIONS[-1]}"
        raise SaslError(f"{mechanism}: expected {wanted}, got {shown(found['i'])}")
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), _from_base64(mechanism, found["s"]), iterations)
    final = f"c=biws,r={found['r']}"
    text = b",".join((first.encode(), server_first, final.encode()))
    client_key = hmac.digest(salted, b"Client Key", digest)
    signature = hmac.digest(hashlib.new(digest, client_key).digest(), text, digest)
    proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    server_final = yield f"{final},p={b64encode(proof).decode()}".encode()
    expected = hmac.digest(hmac.digest(salted, b"Server Key", digest), text, digest)
    verifier = _from_base64(mechanism, _attributes(mechanism, server_final, "v")["v"])
    if not hmac.compare_digest(verifier, expected):
        raise SaslError(f"{mechanism}: the peer's signature is wrong, so the peer does not know the password")


def _attributes(mechanism: str, data: bytes, *names: str) -> dict[str, str]:
    parts = data.decode(errors="replace").split(",")
    found = {name: value for name, _, value in (part.partition("=") for part in parts)}
    if "e" in found:
        raise SaslError(f"{mechanism}: the peer rejected the login: {shown(found['e'])}")
    if "m" in found:  # RFC 5802 reserves this attribute for extensions that a client must not ignore
        raise SaslError(f"{mechanism}: the peer requires an extension, m={shown(found['m'])}; choose another mechanism")
    for name in names:
        if name not in found:
            raise SaslError(f"{mechanism}: the attribute {name}= is missing from the peer's message")
    return found


def _from_base64(mechanism: str, text: str) -> bytes:
    with suppress(ValueError):
        return b64decode(text, validate=True)
    raise SaslError(f"{mechanism}: the peer's message has invalid base64")
