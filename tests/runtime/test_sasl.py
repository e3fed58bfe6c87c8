from typing import Any

import pytest

from tagwire.sasl import SaslError, login

NONCE = "rOprNGfwEbeRWgbNEkqO"
FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_logins() -> None:
    steps = login("PLAIN", "tim", "tanstaaftanstaaf")
    assert (steps.step(), steps.step(b"")) == (b"\0tim\0tanstaaftanstaaf", None)
    assert login("SCRAM-SHA-512", "a=b,c", "p", nonce="n").step() == b"n,,n=a=3Db=2Cc,r=n"
    steps = login("SCRAM-SHA-256", "user", "pencil", nonce=NONCE)
    assert steps.step() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert steps.step(FIRST) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert steps.step(FINAL) is None


@pytest.mark.parametrize(("received", "text"), [
    ([b"e=unknown-user"], "the peer rejected the login: 'unknown-user'"),
    ([FIRST.replace(b"4096", b"4095")], "got '4095'"),
    ([b"m=x," + FIRST], "the peer requires an extension, m='x'"),
    ([b"e=" + b"x" * 100_000], "xxx"),
    ([FIRST.replace(b"r=r", b"r=" + b"x" * 100_000)], "expected a nonce that begins with"),
    ([FIRST.replace(b"4096", b"9" * 100_000)], "expected an iteration count from 4096 to"),
    ([FIRST.replace(b"W22", b"W!2")], "invalid base64"),
    ([b"\xff"], "the attribute r= is missing"),
    ([FIRST, FINAL.replace(b"6rri", b"7rri")], "the peer's signature is wrong"),
    ([FIRST, b""], "the attribute v= is missing"),
])  # fmt: skip
def test_peers_that_lie(received: list[bytes], text: str) -> None:
    steps = login("SCRAM-SHA-256", "user", "pencil", nonce=NONCE)
    steps.step()
    with pytest.raises(SaslError, match=text) as raised:
        for each in received:
            steps.step(each)
    assert "pencil" not in str(raised.value) and raised.value.__context__ is None and len(str(raised.value)) < 250
    with pytest.raises(SaslError, match="this login is over"):  # and not the None of a complete login
        steps.step(FINAL)


@pytest.mark.parametrize(("arguments", "text"), [
    (("GSSAPI", "u", "p"), "unknown mechanism 'GSSAPI'"),
    (("PLAIN", "u\0", "p"), "must not contain a null character"),
    (("PLAIN", "u", None), "password: expected a string, got NoneType"),
    (("SCRAM-SHA-256", "u", "secret\udcff"), "password: the string has a lone surrogate, which UTF-8 can't encode"),
])  # fmt: skip
def test_invalid_logins_are_rejected(arguments: Any, text: str) -> None:
    with pytest.raises(SaslError, match=text) as raised:
        login(*arguments)
    assert "secret" not in str(raised.value) and raised.value.__context__ is None
