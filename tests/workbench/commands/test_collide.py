from pathlib import Path

from command import tagwire_outcome

SPECS = Path(__file__).parents[3] / "message_specs"


def test_collide() -> None:
    drafts = SPECS / "drafts"
    code, out, _ = tagwire_outcome("collide", str(drafts / "kip82_int"), str(drafts / "kip87"))
    assert code == 1 and "TL21" in out and "both have version 3 of ProduceRequest" in out
    found = tagwire_outcome("collide", str(drafts / "kip87"), str(SPECS / "records" / "MessageV1.json"))
    assert found == (0, "", "no problems in 2 designs\n")
    assert tagwire_outcome("collide", str(drafts / "kip87"))[0] == 2


def test_collide_needs_designs_that_it_can_judge() -> None:
    design, register = str(SPECS / "drafts/kip87"), str(SPECS / "registries/kip82_int")
    for words, message in (
        ([design, design], "give at least two designs, and each design only once"),
        ([design, f"{design}/../kip87"], "give at least two designs"),
        ([design, register], f"{register} has only registers, but collide checks messages and record formats;"),
    ):
        code, out, err = tagwire_outcome("collide", *words)
        assert (code, out) == (2, "") and message in " ".join(err.split())
