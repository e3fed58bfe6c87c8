"""Make small specs as text, for tests of changes to specs. A § before a value marks the position that tests expect."""

from tagwire_generator.model import MessageSpec
from tagwire_generator.project.options import SpecOptions
from tagwire_generator.reading.spec import read_spec

OPTIONS = SpecOptions(tag_gaps=True, dialect="tagwire")


def q(text: str) -> str:
    """Return the text in JSON quotes. A § at the start of the text moves before the quotes."""
    return f'§"{text[1:]}"' if text.startswith("§") else f'"{text}"'


def spec(
    fields: str = "", more: str = "", *, name: str = "R", kind: str = "data", valid: str = "0-2", flexible: str = "1+"
) -> str:
    """Return a spec in the released dialect. By default, version 0 is not flexible, and later versions are."""
    return (
        f'{{"name": {q(name)}, "type": {q(kind)}, "validVersions": {q(valid)}, "flexibleVersions": {q(flexible)},\n'
        f'  {more}\n  "fields": [{fields}]}}'
    )


def draft(
    optional: str = "", fields: str = "", more: str = "", *, name: str = "R", since: str = "1+", valid: str = "0-2"
) -> str:
    """Return a spec in the draft dialect. By default, it has optional fields starting with version 1."""
    listed = f'"optionalFields": [{optional}],' if optional else ""
    return (
        f'{{"name": {q(name)}, "type": "data", "validVersions": {q(valid)}, "versionsWithOptional": {q(since)},\n'
        f'  {more} {listed}\n  "fields": [{fields}]}}'
    )


def field(name: str = "A", type: str = "int32", more: str = "", *, versions: str = "0+") -> str:
    return f'{{"name": {q(name)}, "type": {q(type)}, "versions": {q(versions)}{more}}}'


def tagged(name: str = "T", tag: str = "0", type: str = "int32", more: str = "", *, since: str = "1+") -> str:
    ranges = f'"versions": "{since}", "taggedVersions": "{since}"'
    return f'{{"name": {q(name)}, "type": {q(type)}, {ranges}, "tag": {tag}{more}}}'


def optional(name: str = "T", tag: str = "0", type: str = "int32", more: str = "") -> str:
    return f'{{"name": {q(name)}, "type": {q(type)}, "tag": {tag}{more}}}'


def struct(fields: str, type: str = "[]S", name: str = "L", more: str = "") -> str:
    return f'{{"name": {q(name)}, "type": {q(type)}, "versions": "0+"{more}, "fields": [{fields}]}}'


def request(more: str = "", fields: str = "", *, valid: str = "0-2", name: str = "FooRequest") -> str:
    return spec(fields or field(), more, name=name, kind="request", valid=valid)


def read(text: str, file: str = "R.json", component: str = "") -> MessageSpec:
    result = read_spec(text.replace("§", ""), file=file, options=OPTIONS, component=component)
    assert result.message is not None, result.problems
    return result.message
