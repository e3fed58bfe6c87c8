from xml.etree import ElementTree

import tagwire
from tagwire.explain.text import rows_of
from tagwire_messages import HeartbeatRequest, ListGroupsRequest, SaslAuthenticateRequest


def shown(trace: tagwire.Trace) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{trace._repr_html_()}</div>")


def test_html_contains_every_line() -> None:
    trace = tagwire.trace(HeartbeatRequest, HeartbeatRequest(group_id="</td><b>&").encode(4), 4)
    rows = shown(trace).findall("./table/tbody/tr")
    expected = ["0", "0a 3c 2f 74 64 3e 3c 62 3e 26", "group_id", "compact string", "'</td><b>&'"]
    assert ["".join(cell.itertext()) for cell in rows[0]] == expected
    assert len(rows) == len(list(rows_of(trace)))


def test_errors_have_a_line() -> None:
    trace = tagwire.trace(HeartbeatRequest, HeartbeatRequest(group_id="g").encode(4)[:-1], 4)
    [error_row] = [row for row in shown(trace).iter("tr") if row[0].text == "!"]
    assert "found 0 bytes left" in "".join(error_row.itertext())


def test_long_values_are_truncated() -> None:
    long = tagwire.trace(SaslAuthenticateRequest, SaslAuthenticateRequest(auth_bytes=bytes(10_000)).encode(0), 0)
    assert len(long._repr_html_()) < 5_000
    many = tagwire.trace(ListGroupsRequest, ListGroupsRequest(states_filter=["s"] * 1000).encode(4), 4)
    table = shown(many)
    assert len(table.findall("./table/tbody/tr")) == 500 and table.findtext("p") == "and 502 more"
