from functools import partial
from pathlib import Path

import pytest
from command import tagwire_outcome
from spec_projects import read_tree

corpus = partial(tagwire_outcome, "fuzz", "corpus")


def test_seeds_of_a_message(tmp_path: Path) -> None:
    out = tmp_path / "new" / "seeds"
    done = corpus("HeartbeatRequest", "HeartbeatRequest", "--versions", "4", "--output", out)  # a name counts once
    assert done == (0, "", f"wrote 6 seeds, 447 bytes, to {out}\n")
    written = read_tree(out)
    shapes = ("empty", "high", "long", "low", "null", "tagged")
    assert list(written) == [f"HeartbeatRequest-v4-{shape}" for shape in shapes]
    assert written["HeartbeatRequest-v4-low"] == bytes.fromhex("01 80000000 01 01 00")


@pytest.mark.parametrize(
    ("words", "before"),
    [
        (["--prefix", "size"], "00000008"),
        (["--prefix", "key"], "000c 0004"),
        (["--frames"], "000c 0004 00000000 ffff 00"),
        (["--frames", "--prefix", "size"], "00000013  000c 0004 00000000 ffff 00"),
    ],
)
def test_header_before_a_message(tmp_path: Path, words: list[str], before: str) -> None:
    """Request header 2 is an API key, an API version, a correlation ID, a null client ID, and an empty tag section."""
    assert corpus("HeartbeatRequest", "--versions", "4+", "--output", tmp_path, *words)[0] == 0
    assert read_tree(tmp_path)["HeartbeatRequest-v4-low"] == bytes.fromhex(before + "01 80000000 01 01 00")


def test_all_messages_of_a_kind_with_a_dictionary(tmp_path: Path) -> None:
    seeds, tokens = tmp_path / "seeds", tmp_path / "tokens.dict"
    code, _, output = corpus("--kind", "response", "--versions", "0", "--output", seeds, "--dictionary", tokens)
    assert code == 0 and output.splitlines()[1] == f"wrote {len(tokens.read_text().splitlines())} tokens to {tokens}"
    names = {name.partition("-")[0] for name in read_tree(seeds)}
    assert len(names) > 50 and all(name.endswith("Response") for name in names)


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (["--frames", "--kind", "response"], []),
        (["--frames"], ["HeartbeatRequest_v4"]),
        (["--kind", "response", "--prefix", "key"], ["HeartbeatResponse_v4"]),
        (["--kind", "request"], []),
    ],
)
def test_api_keys_and_versions_in_seeds(tmp_path: Path, words: list[str], keys: list[str]) -> None:
    """The dictionary tokens must be Heartbeat's API key (12) and version 4, each as an int16."""
    tokens = tmp_path / "tokens.dict"
    kinds = ["Request", "Response"] if "--kind" not in words else [words[words.index("--kind") + 1].title()]
    names = [f"Heartbeat{kind}" for kind in kinds]
    out = tmp_path / "seeds"
    assert corpus(*names, "--versions", "4", "--output", out, "--dictionary", tokens, *words)[0] == 0
    found = [line for line in tokens.read_text().splitlines() if line.startswith("Heartbeat")]
    assert found == [rf'{key}="\x00\x0c\x00\x04"' for key in keys]


def test_the_same_files_each_time(tmp_path: Path) -> None:
    words = ["--package", "tagwire_drafts.kip482", "--output", tmp_path / "a"]
    assert corpus(*words)[0] == 0
    before = read_tree(tmp_path / "a")
    assert corpus(*words)[0] == 0
    assert read_tree(tmp_path / "a") == before


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["--prefix", "key"], "has no API key, so --prefix key can't be used; choose other messages, or give --kind"),
        (
            ["MetadataRequest", "MetadataResponse", "--prefix", "key"],
            "inputs of MetadataRequest and MetadataResponse begin with the same API key, 3; choose one",
        ),
        (["LeaderChangeMessage", "--frames"], "LeaderChangeMessage is data, not a request or response"),
        (["RequestHeader", "--frames"], "RequestHeader is a header, not a request or response"),
        (["MetadataRequest", "--kind", "response"], "MetadataRequest is a request, not a response"),
        (["MetadataReqest"], "there is no message 'MetadataReqest'; did you mean 'MetadataRequest'"),
        (["MetadataRequest", "--versions", "99"], "nothing to write"),
        (["MetadataRequest", "--dictionary", "."], "File '.' is a directory"),
        (["MetadataRequest", "--versions", "x"], "numbers from 0 to 32767), got 'x'"),
        (["--package", "tagwire_records"], "nothing to write"),
        (["--package", "tagwire_records", "--frames"], "no RequestHeader"),
    ],
)
def test_rejected_input(tmp_path: Path, words: list[str], output: str) -> None:
    code, out, err = corpus(*words, "--output", tmp_path / "seeds")
    assert (code, out) == (2, "") and output in " ".join(err.split())
    assert not (tmp_path / "seeds").exists()


@pytest.mark.parametrize(
    ("file", "message"),
    [("/dev/null/tokens", "can't be written: Not a directory"), ("seeds/MetadataRequest-v0-many", "also a seed")],
)
def test_nothing_is_written_if_the_dictionary_can_not_be_written(tmp_path: Path, file: str, message: str) -> None:
    paths = ("--output", tmp_path / "seeds", "--dictionary", tmp_path / file)
    code, _, err = corpus("MetadataRequest", "--versions", "0", *paths)
    assert code in (1, 2) and message in " ".join(err.split()) and list(tmp_path.glob("seeds/*")) == []
