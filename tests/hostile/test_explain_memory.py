"""Check that `tagwire explain --json` streams its output: memory must not grow with the number of messages."""

import json
from pathlib import Path

import pytest
from command import tagwire_result
from growth import peak_bytes

import tagwire_messages as messages
from tagwire.explain.trace import trace
from tagwire.records import BatchBuilder
from tagwire_cli.output import tables


def frames(count: int) -> bytes:
    body = messages.LeaveGroupRequest(group_id="g" * 40, member_id="m" * 40)
    frame = messages.registry.encode_request(body, 0, correlation_id=1)
    return (len(frame).to_bytes(4, "big") + frame) * count


def batches(count: int) -> bytes:
    builder = BatchBuilder("v2")
    for _ in range(4):
        builder.append(b"k", b"v")
    return builder.build().encode() * count


INPUTS = {"--request --frames": frames, "--format v2": batches}


@pytest.mark.thorough
@pytest.mark.parametrize("words", INPUTS)
def test_memory_is_that_of_one_unit(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "write_bytes", lambda data: None)  # click's test runner keeps output in memory
    path = tmp_path / "in.bin"

    def explain() -> None:
        result = tagwire_result("explain", *words.split(), "--json", path)
        assert result.exit_code == 0, result.output

    path.write_bytes(INPUTS[words](3))
    explain()
    peaks = []
    for count in (10, 120):
        path.write_bytes(INPUTS[words](count))
        peaks.append(peak_bytes(explain))
    assert peaks[1] < 2 * peaks[0] + 10 * path.stat().st_size


@pytest.mark.parametrize("words", INPUTS)
@pytest.mark.parametrize("count", [1, 3])
def test_json_output_does_not_change(words: str, count: int, tmp_path: Path) -> None:
    (tmp_path / "in.bin").write_bytes(INPUTS[words](count))
    result = tagwire_result("explain", *words.split(), "--json", str(tmp_path / "in.bin"))
    found = json.loads(result.stdout)
    assert len(found) == count and result.stdout == json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    assert all((row["traces"][0] if "traces" in row else row)["root"]["children"] for row in found)


def test_output_for_one_message_does_not_change() -> None:
    data = bytes.fromhex("00016700016d")
    result = tagwire_result("explain", "LeaveGroupRequest", "0", "--hex", "--json", "-", stdin=data.hex())
    found = trace(messages.LeaveGroupRequest, data, 0).to_json()
    assert result.stdout == json.dumps(found, indent=2, ensure_ascii=False) + "\n"
