import base64
from collections.abc import Callable
from pathlib import Path

import pytest
from command import tagwire_result

import tagwire_messages as messages
from tagwire_cli.input.encodings import ENCODINGS, bytes_of, encoding_of
from tagwire_cli.input.files import InputError

DATA = bytes.fromhex("0003 000c 00000007 0003 646f63 00 01 01 00 00")
LONG = bytes(range(256)) * 2 + b"tail of it"


def rows(data: bytes) -> list[tuple[int, bytes]]:
    return [(at, data[at : at + 16]) for at in range(0, len(data), 16)]


def xxd(data: bytes) -> str:
    return "\n".join(f"{at:08x}: {part.hex(' ', -2):<40} {ascii_of(part)}" for at, part in rows(data))


def hexdump(data: bytes) -> str:
    lines = [
        f"{at:08x}  {part[:8].hex(' '):<23}  {part[8:].hex(' '):<23}  |{ascii_of(part)}|" for at, part in rows(data)
    ]
    return "\n".join([*lines, f"{len(data):08x}"])


def wireshark(data: bytes) -> str:
    return "\n".join(f"{at:04x}   {part.hex(' '):<47}   {ascii_of(part)}" for at, part in rows(data))


def ascii_of(data: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)


WRITERS: dict[str, list[Callable[[bytes], str]]] = {
    "hex": [bytes.hex, lambda data: data.hex(" ").upper(), lambda data: data.hex(":"), lambda data: data.hex("\n", 4)],
    "dump": [xxd, hexdump, wireshark],
    "escaped": [
        repr,
        lambda data: "".join(f"\\x{byte:02x}" for byte in data),
        lambda data: ", ".join(f"0x{byte:02X}" for byte in data),
        lambda data: f"char peer0_0[] = {{ /* Packet 4 */\n{', '.join(f'0x{byte:02x}' for byte in data)} }};",
    ],
    "list": [
        lambda data: str(list(data)),
        lambda data: f"{{{', '.join(str(byte - 256 if byte > 127 else byte) for byte in data)}}}",
    ],
    "base64": [lambda data: base64.b64encode(data).decode(), lambda data: base64.urlsafe_b64encode(data).decode()],
}


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, len(LONG)])
@pytest.mark.parametrize("form", WRITERS)
def test_encodings_are_detected(form: str, size: int) -> None:
    data = LONG[-size:]
    for write in WRITERS[form]:
        text = f"{write(data)}\n".encode()
        assert bytes_of(text, form) == data, text
        if form != "base64" or size > 2:  # one or two letters may be valid in several encodings
            assert (encoding_of(text), bytes_of(text, "auto")) == (form, data), text


@pytest.mark.parametrize("data", [b"", b" \n", DATA, b"\xff\xfe"])
def test_other_input_is_bytes(data: bytes) -> None:
    assert (encoding_of(data), bytes_of(data, "auto")) == ("binary", data)


def test_hex_that_begins_with_zeros_is_not_taken_for_a_dump() -> None:
    assert encoding_of(b"0000 0009 00000001 0000\n") == "hex"


def test_lines_left_out_of_a_dump_are_filled() -> None:
    text = "00000000  61 61 61 61 61 61 61 61  61 61 61 61 61 61 61 61  |aaaaaaaaaaaaaaaa|\n*\n00000040  62  |b|\n"
    assert bytes_of(text.encode(), "auto") == 64 * b"a" + b"b"


LINE_2 = "dump input: line 2: expected"


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("hex", "00 0g", "hex input: line 1, column 5: 'g' is not a hex digit"),
        ("hex", "0x00 0g", "hex input: line 1, column 7: 'g' is not a hex digit"),
        ("hex", "00\n0", "hex input: line 2, column 1: odd number of hex digits (3)"),
        ("dump", "0000: 00 01\n0003: 04", f"{LINE_2} offset 2, the number of bytes above this line, got 0x3"),
        ("auto", "0000000 1200 0300\n0000004\n", "dump input: expected bytes, got 16-bit words of unknown byte order"),
        ("auto", "0000000 022 \\0\n*\n0000020\n", "dump input: line 3: expected offset 0, the number of bytes"),
        ("auto", "0000000 00 12\n0000020 01\n0000021\n", f"{LINE_2} offset 2"),
        ("dump", "0000: 00\nhello", f"{LINE_2} an offset in hex, got 'hello'"),
        ("dump", "0000  \n", "dump input: there are no bytes after the offsets"),
        ("escaped", "x00", "escaped input:"),
        ("escaped", "b'x", "escaped input:"),
        ("base64", "AAA=A", "base64 input:"),
        ("base64", "\0", "base64 input: expected text, got binary data"),
        ("base64", "AAAA BBBB", "base64 input:"),
        ("auto", "hello world this is text", "the input is text, but not hex,"),
        ("auto", "abc", "the input is text"),
        ("auto", "tést", "the input is text"),
    ],
)
def test_rejected_input(form: str, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        bytes_of(text.encode(), form)
    assert str(caught.value).startswith(message)


def test_the_command_offers_all_of_them(tmp_path: Path) -> None:
    request = messages.registry.encode_request(messages.MetadataRequest(), 12, correlation_id=7, client_id="me")
    path = tmp_path / "pasted.txt"
    path.write_text(xxd(request))
    seen = [tagwire_result("explain", "--request", "--input", form, path) for form in ("dump", "auto")]
    assert seen[0].exit_code == 0 and seen[0].stdout == seen[1].stdout
    help_text = tagwire_result("explain", "--help").stdout
    assert all(form in help_text for form in ENCODINGS)
