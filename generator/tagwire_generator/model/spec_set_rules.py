"""Rules for a set of specs: names, API keys, and requests with their responses.

API keys must be unique within a component. Names must be unique in the whole set, because the modules of all components
are in one package.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

from tagwire.text_format import near
from tagwire.versions import Versions
from tagwire_generator.model.message_spec import MessageSummary
from tagwire_generator.problems import RULES, Problem, quoted
from tagwire_generator.project.options import SpecOptions

_DEFAULT_OPTIONS: Final = SpecOptions()
_KEYED: Final = ("request", "response", "metadata")
"""The kinds of messages that must have an API key."""
_HALVES: Final = (
    ("request", "response", "TW804"),
    ("response", "request", "TW805"),
    ("coordinator-key", "coordinator-value", "TW823"),
    ("coordinator-value", "coordinator-key", "TW823"),
)
"""The kinds of messages that need another message of the same API key: kind, kind of the other one, rule."""


def check_set(
    summaries: Iterable[MessageSummary],
    options: SpecOptions = _DEFAULT_OPTIONS,
    registers: Iterable[Mapping[str, Any]] = (),
) -> tuple[Problem, ...]:
    """Check a set of specs, given as summaries. Return the problems, sorted by file and line."""
    messages = sorted(summaries, key=lambda summary: (summary.file, summary.line, summary.name))
    found = [*_name_problems(messages), *_alias_problems(messages), *_file_problems(messages)]
    found += _register_problems(messages, registers)
    components: defaultdict[str, list[MessageSummary]] = defaultdict(list)
    for message in messages:
        components[message.component].append(message)
    for members in components.values():
        found += _key_problems(members)
        found += _api_problems(members, options)
    return tuple(sorted(found, key=lambda problem: (problem.file, problem.line, problem.column, problem.rule)))


def _problem(rule: str, message: MessageSummary, text: str) -> Problem:
    return _problem_at(rule, message.file, message.line, message.column, text)


def _problem_at(rule: str, file: str, line: int, column: int, text: str) -> Problem:
    return Problem(rule=rule, severity=RULES[rule].severity, file=file, line=line, column=column, message=text)


def _register_problems(messages: Sequence[MessageSummary], registers: Iterable[Mapping[str, Any]]) -> Iterator[Problem]:
    known = {f"{message.name}.{path}" for message in messages for path in message.numbers}
    known |= {f"*.{path.rpartition('.')[2]}" for path in known}
    for register in registers:
        for path, line, column in register["named"]:
            if path not in known:
                text = f"the set has no integer field {path}, or the field already has an enum{near(path, known)}"
                yield _problem_at("TW016", register["file"], line, column, text)


def _name_problems(messages: Sequence[MessageSummary]) -> Iterator[Problem]:
    first: dict[str, MessageSummary] = {}
    for message in messages:
        other = first.setdefault(message.name.lower(), message)
        if other is not message:
            how = "" if other.name == message.name else f" as {other.name}, which differs only in case"
            yield _problem("TW801", message, f"{message.name} already exists in {other.file}{how}; rename one of them")


def _alias_problems(messages: Sequence[MessageSummary]) -> Iterator[Problem]:
    owners = {message.name.lower(): message for message in messages}
    for message in messages:
        for alias in message.aliases:
            other = owners.setdefault(alias.lower(), message)
            if other is not message:
                how = "the name" if other.name.lower() == alias.lower() else "an alias"
                text = f"the alias {alias} of {message.name} is {how} of {other.name} in {other.file}; remove the alias"
                yield _problem("TW807", message, text)


def _file_problems(messages: Sequence[MessageSummary]) -> Iterator[Problem]:
    for message in messages:
        path = PurePath(message.file)
        if path.suffix == ".json" and path.stem != message.name:
            text = f"the message is {message.name}, but the file is {quoted(path.name)}"
            text += f"; rename the file to {message.name}.json"
            yield _problem("TW824", message, text)


def _key_problems(messages: Sequence[MessageSummary]) -> Iterator[Problem]:
    first: dict[tuple[str, int], MessageSummary] = {}
    for message in messages:
        if message.api_key is None:
            if message.kind in _KEYED:
                text = f"{message.name} is a {message.kind}, but has no apiKey; give it an unused apiKey"
                yield _problem("TW802", message, text)
        elif message.kind not in ("header", "data"):
            other = first.setdefault((message.kind, message.api_key), message)
            if other is not message:
                text = f"{message.name} and {other.name} are both {message.kind}s with apiKey {message.api_key}"
                yield _problem("TW803", message, f"{text}; give one of them another `apiKey`")


def _by_key(messages: Iterable[MessageSummary], kind: str) -> dict[int, MessageSummary]:
    found: dict[int, MessageSummary] = {}
    for message in messages:
        if message.kind == kind and message.api_key is not None:
            found.setdefault(message.api_key, message)
    return found


def _api_problems(messages: Sequence[MessageSummary], options: SpecOptions) -> Iterator[Problem]:
    requests, responses = _by_key(messages, "request"), _by_key(messages, "response")
    for message in messages:
        if message.kind == "request" and not message.name.endswith("Request"):
            text = f"the name of a request must end in Request; rename {message.name} to {message.name}Request"
            yield _problem("TW806", message, text)
    for key, request in requests.items():
        if key in responses:
            yield from _pair_problems(request, responses[key], options)
    for kind, other, rule in _HALVES:
        partners = _by_key(messages, other)
        for key, message in _by_key(messages, kind).items():
            if key not in partners:
                missing = f"a {other}"
                if kind in ("request", "response"):
                    missing = f"{message.name.removesuffix(kind.capitalize())}{other.capitalize()}"
                what = f"{message.name} has no {other.removeprefix('coordinator-')}"
                yield _problem(rule, message, f"{what}: no {other} in this set has apiKey {key}; add {missing}")


def _pair_problems(request: MessageSummary, response: MessageSummary, options: SpecOptions) -> Iterator[Problem]:
    name = f"{request.name.removesuffix('Request')}Response"
    if response.name != name:
        text = f"{response.name} has the apiKey of {request.name}; rename the response to {name}"
        yield _problem("TW822", response, text)
    valid, answered = (Versions.parse(each.valid_versions) for each in (request, response))
    if valid != answered:
        text = f"{response.name} has versions {answered}, but {request.name} has {valid}"
        if valid <= answered or options.unanswered_versions:
            yield _problem("TW820", response, f"{text}; give both the same versions")
        else:
            missing = next(version for version in valid if version not in answered)
            text += f": a request of version {missing} can't be answered; give both the same versions"
            yield _problem("TW808", response, text)
        return
    ours, theirs = (Versions.parse(each.flexible_versions) & valid for each in (response, request))
    if ours != theirs:
        text = f"{response.name} is flexible in {ours}, but {request.name} is in {theirs}"
        text += "; give both the same flexible versions"
        yield _problem("TW821", response, text)
