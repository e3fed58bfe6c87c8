"""A message and a record format, for tests of the features for editors; offsets and lines in such specs."""

SPEC = """{ "name": "Foo", "type": "data", "validVersions": "0-1", "flexibleVersions": "1+",
  "fields": [
    { "name": "A", "type": "[]Inner", "versions": "0+", "fields": [
      { "name": "Pic", "type": "Picture", "versions": "0+" } ] },
    { "name": "Pic", "type": " [] Picture ", "versions": "0+" } ],
  "commonStructs": [
    { "name": "Picture", "versions": "0+", "fields": [ { "name": "Size", "type": "int8", "versions": "0+" } ] } ] }
"""
FORMAT = """{ "type": "format", "name": "Foo", "format": "foo", "discriminator": "Magic", "fields": [
    { "name": "Length", "type": "int32", "lengthOf": "rest" },
    { "name": "Magic", "type": "int8", "equals": 9 },
    { "name": "Flags", "type": "int16", "bits": [ { "name": "HasStamp", "bits": 0 } ] },
    { "name": "Stamp", "type": "int64", "when": { "field": "Flags.HasStamp" } },
    { "name": "Count", "type": "int32", "countOf": "Items" },
    { "name": "Items", "type": "[]Item", "ascending": "Key", "fields": [
      { "name": "Key", "type": "int32" },
      { "name": "Size", "type": "varint", "deltaOf": "Key" },
      { "name": "Value", "type": "bytes", "length": "varint" },
      { "name": "Odd", "type": "int8", "when": { "field": "Flags.HasStamp" } } ] } ] }
"""


def at(text: str, needle: str, inside: int = 1) -> int:
    """Return the offset of a character in the first occurrence of `needle`."""
    return text.index(needle) + inside


def lines(text: str, offsets: list[int]) -> list[int]:
    return [text.count("\n", 0, offset) + 1 for offset in offsets]
