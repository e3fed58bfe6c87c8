"""Publish the JSON Schema of specs, so that specs can refer to its URL in `$schema`."""

from importlib.resources import files

__all__ = ["schema_files"]


def schema_files() -> dict[str, str | bytes]:
    """Return the schema file, by path in the site."""
    return {"spec.schema.json": (files("tagwire_generator.syntax") / "spec.schema.json").read_bytes()}
