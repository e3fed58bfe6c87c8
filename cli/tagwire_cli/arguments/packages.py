"""Find the generated package that a command uses, and the messages in it by name.

The default is the package of the current project's first spec set or, outside of a project, Kafka's package. An unknown
name is a usage error (exit status 2).
"""

import importlib
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import click

import tagwire
from tagwire.errors import TagwireError
from tagwire.frames.known_packages import KAFKA_MESSAGES, kafka_messages
from tagwire.text_format import suggestion, whole_number
from tagwire_cli.output.echo import say_verbose

if TYPE_CHECKING:
    from tagwire.frames.registry import Registry
    from tagwire.message import Message
    from tagwire.message.record_format import RecordFormat
    from tagwire_generator.project.settings import SpecSet


_ALL: Final = "`tagwire messages` lists all messages"


def find_registry(package: str | None) -> "Registry":
    """Return the message registry of `package`. None stands for the default package.

    The output folders of this project's spec sets are searched, so their packages needn't be installed. Raises
    click.BadParameter for a package that can't be imported or wasn't generated, and SettingsError for invalid settings.
    """
    from tagwire.frames.registry import Registry

    name = _located(package)
    if not all(map(str.isidentifier, name.split("."))):
        raise click.BadParameter(
            f"{name!r} is not an import name; give a name such as 'my_messages'", param_hint="--package"
        )
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):
            raise
        remedy = "generate it with `tagwire generate`, install it, or add it to PYTHONPATH"
        if package is None:
            remedy += f"; for Kafka's messages, add --package {KAFKA_MESSAGES}"
        raise click.BadParameter(f"{name!r} can't be imported; {remedy}", param_hint="--package") from None
    say_verbose(f"package {name} from {module.__file__}, engine {tagwire.engine()}")
    registry = getattr(module, "registry", None)
    if not isinstance(registry, Registry):
        raise click.BadParameter(
            f"{name!r} is not a generated package: it has no message registry; give a package from `tagwire generate`",
            param_hint="--package",
        )
    return registry


def _located(package: str | None) -> str:
    chosen = next((each for each in _project_sets() if package in (None, each.package)), None)
    if chosen is None:
        return KAFKA_MESSAGES if package is None else package
    # Put the output folder at the end of the import path, so that its modules don't hide installed packages.
    if str(chosen.output) not in sys.path:
        sys.path.append(str(chosen.output))
    return chosen.package


def _project_sets() -> "list[SpecSet]":
    """Return the spec sets of the current project, or none outside of a project."""
    # The website's playground imports this module, but loads the generator only to check specs.
    from tagwire_generator.project.root import is_in_project

    if not is_in_project():
        return []
    from tagwire_generator.project.settings import load_project

    return [each for each in load_project().sets if each.specs.is_dir()]


def find_message(registry: "Registry", name: str) -> "type[Message]":
    """Return the message with this name. Raises click.BadParameter with a hint for a record format or unknown name."""
    found: type[Any] = find_class(registry, name)
    if found.KIND == "format":
        text = f"{name} is a record format, not a message; use `tagwire explain --record-format {found.FORMAT}`"
        raise click.BadParameter(text, param_hint="MESSAGE")
    return found


def find_class(registry: "Registry", name: str) -> "type[Message] | type[RecordFormat]":
    """Return the message or record format with this name. Raises click.BadParameter with a hint for an unknown name."""
    if name not in registry:
        names = _messages_of_api(registry, name)
        if names:
            text = f"API {name} has two messages; give {names[0]} or {names[1]}"
            raise click.BadParameter(text, param_hint="MESSAGE")
        hint = _record_format_hint(name) or _suggestion(registry, name, registry.names())
        raise click.BadParameter(f"there is no message {name!r}; {hint}", param_hint="MESSAGE")
    return registry[name]


def _record_format_hint(name: str) -> str:
    """If `name` is a record format, such as `v2`, return a hint to use `tagwire show`; otherwise, return ""."""
    import tagwire_records

    for known in tagwire_records.registry.names():
        if name in (known, getattr(tagwire_records.registry[known], "FORMAT", None)):
            return f"for the record format, use `tagwire show {known} --package tagwire_records`"
    return ""


def _suggestion(registry: "Registry", name: str, names: list[str]) -> str:
    """Return a hint for an unknown message: similar names, or the option `--package` for Kafka's messages."""
    kafka = kafka_messages()
    if registry is not kafka and (name in kafka or _messages_of_api(kafka, name)):
        return f"the package is {registry.package}; for Kafka's messages, add --package {KAFKA_MESSAGES}"
    if other := _other_package(registry, name):
        return f"the package is {registry.package}; for {name}, add --package {other}"
    return suggestion(name, names, _ALL, most=3)


def _other_package(registry: "Registry", name: str) -> str:
    """Return the package of another spec set of this project that has a message with this name, or ""."""
    for spec_set in _project_sets():
        with suppress(click.BadParameter):  # the package may not be generated yet, or may be no Python package
            if spec_set.package != registry.package and name in find_registry(spec_set.package):
                return spec_set.package
    return ""


def _messages_of_api(registry: "Registry", text: str) -> list[str]:
    """Return the names of an API's request and response, or [] for an unknown API. `text` is the API's name or key."""
    key = whole_number(text)
    names = [f"{text}Request", f"{text}Response"] if key is None else []
    if key is not None:
        with suppress(TagwireError):
            names = [find(key).NAME for find in (registry.request, registry.response)]
    return names if names and all(name in registry for name in names) else []


def require_headers(registry: "Registry") -> None:
    """Raise click.UsageError if a package does not have headers for requests and responses."""
    for name in ("RequestHeader", "ResponseHeader"):
        if name not in registry:
            choices = [getattr(each.type, "choices", ()) for each in click.get_current_context().command.params]
            bare = ", or --frames message for bare messages" if any("message" in each for each in choices) else ""
            raise click.UsageError(f"{registry.package} defines no {name}; choose another --package{bare}.")


def require_version(message: "type[Message]", version: int) -> None:
    """Raise click.BadParameter if the message does not have this version. The error lists the versions that it has."""
    if version not in message.VERSIONS:
        supported = f"supported versions are {message.VERSIONS}"
        raise click.BadParameter(f"{message.NAME} has no version {version}; {supported}", param_hint="VERSION")


def find_response(registry: "Registry", text: str) -> "type[Message]":
    """Return an API's response. `text` is an API key or is like `Metadata`, `MetadataRequest` or `MetadataResponse`."""
    from tagwire.frames.message_index import UnknownMessageError

    api_key = whole_number(text)
    if api_key is not None:
        try:
            return registry.response(api_key)
        except UnknownMessageError as error:
            raise click.BadParameter(str(error), param_hint="API") from None
    name = text.removesuffix("Request").removesuffix("Response")
    if f"{name}Response" not in registry:
        names = [each.removesuffix("Response") for each in registry.names() if each.endswith("Response")]
        raise click.BadParameter(f"there is no API {text!r}; {_suggestion(registry, name, names)}", param_hint="API")
    return registry[f"{name}Response"]
