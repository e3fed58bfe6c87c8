"""Find flaws between messages: a request and its response, or an inflexible message among flexible ones."""

from collections.abc import Iterator, Sequence

from tagwire.versions import NONE, Versions
from tagwire_generator.model import MessageSpec
from tagwire_workbench.designs.findings import Finding


def lint_pairs(specs: Sequence[MessageSpec]) -> Iterator[Finding]:
    """Yield the findings about pairs of these messages. API keys are unique in a component."""
    alive = [spec for spec in specs if spec.valid_versions]
    requests = {(spec.component, spec.api_key): spec for spec in alive if spec.kind == "request"}
    for spec in alive:
        if spec.kind == "response" and spec.api_key is not None:
            request = requests.get((spec.component, spec.api_key))
            if request is not None:
                yield from _pair(request, spec)
    yield from _stiff(alive)


def _pair(request: MessageSpec, response: MessageSpec) -> Iterator[Finding]:
    for rule, key, one, other in (
        ("TL51", "validVersions", request.valid_versions, response.valid_versions),
        ("TL52", "flexibleVersions", *_in_common(request, response)),
        ("TL53", "deprecatedVersions", request.deprecated_versions, response.deprecated_versions),
    ):
        if one != other:
            text = f"{key} is {_shown(other)}, but {_shown(one)} in {request.name}"
            yield Finding.of(rule, response, "", text, key)


def _in_common(request: MessageSpec, response: MessageSpec) -> tuple[Versions, Versions]:
    """Return the flexible versions of both, within their common versions."""
    both = request.valid_versions & response.valid_versions
    return request.flexible_versions & both, response.flexible_versions & both


def _shown(versions: Versions) -> str:
    return str(versions) if versions else str(NONE)


def _stiff(specs: Sequence[MessageSpec]) -> Iterator[Finding]:
    """Yield findings for messages that are never flexible, in a set with flexible messages of their kind."""
    flexible = {spec.kind for spec in specs if spec.flexible_versions & spec.valid_versions}
    for spec in specs:
        if spec.kind in flexible and spec.kind != "header" and spec.dialect != "draft" and not spec.flexible_versions:
            yield Finding.of("TL55", spec, "", f"{spec.name} has no flexible version", "flexibleVersions")
