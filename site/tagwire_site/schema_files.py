"""The JSON Schema of specs, published so that a spec can name it by its URL in `$schema`."""

from importlib.resources import files

__all__ = ["schema_files"]


def schema_files() -> dict[str, str | bytes]:
    """Return the schema by its path on the site."""
    return {"spec.schema.json": (files("tagwire_generator.syntax") / "spec.schema.json").read_bytes()}
