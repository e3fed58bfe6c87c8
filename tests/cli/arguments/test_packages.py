import pytest
from command import rejected
from command import tagwire_result as run


@pytest.mark.parametrize("words", [["show"], ["encode", "0"], ["decode", "0"], ["explain", "0"]])
def test_an_unknown_message_is_wrong_usage_with_near_names(words: list[str]) -> None:
    command, *rest = words
    result = run(command, "LeaveGroupRequst", *rest)
    rejected(result, "MESSAGE", "there is no message 'LeaveGroupRequst'; did you mean 'LeaveGroupRequest'", code=2)


@pytest.mark.parametrize("words", ["show {} --version 99", "encode {} 99", "decode {} 99", "explain {} 99"])
def test_version_that_does_not_exist_is_wrong_usage(words: str) -> None:
    result = run(*words.format("LeaveGroupRequest").split())
    rejected(result, "LeaveGroupRequest has no version 99; supported versions are 0-5", code=2)


@pytest.mark.parametrize("package", ["nosuch_package", "tagwire_messages.nosuch", "json"])
def test_a_package_must_be_a_generated_one(package: str) -> None:
    reason = "is not a generated package" if package == "json" else "can't be imported"
    rejected(run("messages", "--package", package), "--package", repr(package), reason, code=2)


def test_name_without_near_names_leads_to_the_list() -> None:
    rejected(run("show", "Zzz"), "`tagwire messages` lists all messages", code=2)


def test_package_chooses_another_protocol() -> None:
    result = run("encode", "FooResponse", "9", "--hex", "--package", "tagwire_drafts.kip482", stdin='{"foos": []}')
    assert (result.exit_code, result.stdout) == (0, "0000000000\n")
