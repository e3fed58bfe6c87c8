"""Every rule about specs: its id, whether it stops generation, and why it is there.

The ids are stable: people put them into settings and search for them. The
first digit groups them: 1 text and keys, 2 message and versions, 3 structs,
4 fields, 5 defaults, 6 tags, 7 the draft dialect, 8 a directory of specs. From
20 on in a group stand the warnings, which never stop generation.
"""

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["RULES", "Rule", "Severity"]

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: `title` says what is found, in one line; `explanation` why it matters and what to do."""

    id: str
    severity: Severity
    title: str
    explanation: str


_ERRORS: Final = (
    # text and keys
    ("TW101", "the file can't be read", "It is missing, a directory, or not ours to read."),
    (
        "TW102",
        "the file is not plain UTF-8",
        "Specs are UTF-8 without a byte order mark, so that they mean the same on every machine.",
    ),
    (
        "TW103",
        "the text is not JSON",
        "A spec is JSON; // and /* */ comments are the one addition. Nothing can be checked until it can be read.",
    ),
    (
        "TW104",
        "something follows the spec",
        "A file holds one JSON object. A second one would be ignored by many readers.",
    ),
    (
        "TW105",
        "a comma is followed by nothing",
        "JSON has no trailing commas, and Kafka's generator refuses them. The draft dialect, whose own example has them, allows them.",
    ),
    ("TW106", "a key stands twice in an object", "Readers differ in which of the two counts. Keep one."),
    (
        "TW107",
        "the spec is nested too deep",
        "Such a file is an accident or an attack. Declare the structs in commonStructs, side by side.",
    ),
    (
        "TW108",
        "a text holds half a character",
        "An escape such as \\ud800 alone is half of a surrogate pair. It can't be written as UTF-8.",
    ),
    ("TW109", "the spec is no object", "The outermost value of a spec is an object with the keys of a message."),
    (
        "TW110",
        "an unknown key",
        "A key that nobody reads is a misspelled one: what its author wanted would silently not happen.",
    ),
    (
        "TW111",
        "a value of the wrong kind",
        "A text, number, boolean, list or object stands where another kind must. Numbers for texts, decimal texts for "
        'numbers, "true" and "false", and a single item for a list are accepted, since real specs have them.',
    ),
    ("TW112", "an unknown word", "The key takes one of a few words, spelled exactly so."),
    ("TW113", "a required key is missing", "The object means nothing without it. A null counts as missing."),
    (
        "TW114",
        "not a whole number in range",
        "The value must be a decimal number that the wire can carry: int16 for API keys and error codes, 0 to 2147483647 for tags.",
    ),
    # message and versions
    (
        "TW201",
        "not a version range",
        "Ranges are written none, N, N+ or N-M, N and M from 0 to 32767 without signs or inner blanks.",
    ),
    (
        "TW202",
        "validVersions has no upper bound",
        "Each valid version has a serializer of its own. Name the highest one; open ranges are for fields.",
    ),
    (
        "TW203",
        "validVersions is empty",
        "A range such as 3-1 has no version in it. Write none if the API is gone and its key stays reserved.",
    ),
    (
        "TW204",
        "flexibleVersions is missing",
        "Whether lengths are compact and structs have tag sections must be said, not guessed. Write none if no version is flexible.",
    ),
    (
        "TW205",
        "flexibleVersions has an upper bound",
        "Once flexible, a message stays so: the range is none or N+.",
    ),
    (
        "TW206",
        "the message's name is no plain identifier",
        "It becomes a class and a module: an ASCII letter, then ASCII letters and digits.",
    ),
    (
        "TW207",
        "the message's name is taken by the package",
        "The generated package has an attribute or a module of that name itself.",
    ),
    (
        "TW208",
        "listeners on something other than a request",
        "Listeners say who accepts a request. Nothing else is accepted by anyone.",
    ),
    (
        "TW209",
        "latestVersionUnstable on something other than a request",
        "The request decides which versions are offered; its response follows.",
    ),
    (
        "TW210",
        "a coordinator record without apiKey",
        "A coordinator's keys are told apart by their type, which is the apiKey; values are found through it.",
    ),
    (
        "TW211",
        "a coordinator key with versions",
        "The key's version field on disk holds its type, so a key has version 0 alone and is never flexible.",
    ),
    (
        "TW212",
        "a metadata record with a negative apiKey",
        "The frame of a metadata record holds the apiKey as an unsigned varint.",
    ),
    (
        "TW213",
        "headerVersions where there is no such header",
        "Only requests and responses have headers: request headers 0, 1 and 2, response headers 0 and 1.",
    ),
    (
        "TW214",
        "headerVersions does not give each version one header",
        "Its ranges start at 0, follow each other without gap or overlap, and the last is open. None begins above the "
        "highest valid version.",
    ),
    (
        "TW215",
        "headerVersions gives a flexible version an old header",
        "A flexible request needs header 2 and a flexible response header 1, which have tag sections of their own.",
    ),
    (
        "TW216",
        "a response that negotiates needs header 0",
        "Its reader does not know yet what the peer speaks, so the header must be the same in all versions.",
    ),
    (
        "TW217",
        "fallback where it can't apply",
        "It names the valid version in which a response answers a peer that asked for a version nobody here has.",
    ),
    (
        "TW218",
        "fallback without an error code in front",
        "The answer is told by its error code, so the first field of that version must be the int16 ErrorCode.",
    ),
    # structs
    (
        "TW301",
        "a struct's name is no plain identifier",
        "It becomes a class: an upper-case ASCII letter, then ASCII letters and digits.",
    ),
    (
        "TW302",
        "two fields of a struct have one name",
        "Even in different versions they would be one attribute of one class.",
    ),
    (
        "TW303",
        "two fields of a struct differ only in case",
        "In snake_case and in JSON they would become the same name.",
    ),
    (
        "TW304",
        "a struct is declared twice",
        "Struct names share one namespace in a message. Declare a struct once, in commonStructs if several fields use it.",
    ),
    ("TW305", "a struct has the message's name", "Both would be the same class in the same module."),
    (
        "TW306",
        "a struct is declared nowhere",
        "A misspelled type would silently become an empty struct. Give the field its fields ([] for none), or declare the struct in commonStructs.",
    ),
    (
        "TW307",
        "a common struct declares another struct inline",
        "Kafka's generator can't find such a struct. Declare it in commonStructs too.",
    ),
    ("TW308", "a struct contains itself", "It would have no end on the wire, and no default."),
    (
        "TW309",
        "a common struct lacks versions in which it is used",
        "Widen the struct's versions or narrow those of the field.",
    ),
    ("TW310", "a struct field shares no version with its parent", "The struct could never be written."),
    (
        "TW311",
        "an array element takes no bytes",
        "In some version all members are absent: a count without bytes behind it can't be checked against the input, "
        "and a few bytes could ask for billions of elements.",
    ),
    (
        "TW312",
        "structs contain each other too deep or too often",
        "Every default object holds its default structs. The nesting or their number would be out of hand.",
    ),
    (
        "TW313",
        "a struct is named like a serializer class",
        "The serializer of version 2 of Foo is FooV2; a struct can't have that name.",
    ),
    # fields
    (
        "TW401",
        "a field's name is no plain identifier",
        "It becomes an attribute: an ASCII letter, then ASCII letters and digits.",
    ),
    (
        "TW402",
        "an unknown type",
        "Types are the primitives, struct names (which begin with an upper-case letter), and arrays of them.",
    ),
    ("TW403", "an array of nothing, or of arrays", "An array is [] and one element type, which is no array itself."),
    ("TW404", "an array of records", "Records are one run of bytes to the end of a batch; there is no array of them."),
    (
        "TW405",
        "a field without versions",
        "Say in which versions the field exists; taggedVersions is enough for a tagged field.",
    ),
    (
        "TW406",
        "nullable, but of a type without null",
        "Strings, bytes, records, arrays and structs have a null on the wire, numbers and uuids have none.",
    ),
    (
        "TW407",
        "entityType does not fit the type",
        "An entity has one wire type: names are strings, producer ids int64, broker ids int32.",
    ),
    (
        "TW408",
        "members on a field that is no struct",
        "fields, optionalFields and reservedTags describe a struct. A primitive would ignore them.",
    ),
    (
        "TW409",
        "a field's flexibleVersions on a type other than string or bytes",
        "It changes how the length is written, which only these two support.",
    ),
    ("TW410", "a field's flexibleVersions is blank", "Leave the key out, or write none."),
    (
        "TW411",
        "a field's flexibleVersions exceeds the message's",
        "A field can stay behind its message, not run ahead of it.",
    ),
    ("TW412", "zeroCopy on a type other than bytes", "Only plain bytes can be given as a view of the input."),
    (
        "TW413",
        "mapKey outside a struct",
        "A map key tells the elements of a struct array apart. The message itself is no element.",
    ),
    # defaults
    ("TW501", "the default is no boolean", "Write true or false."),
    (
        "TW502",
        "the default is no whole number",
        "Write a decimal number without leading zeros (some readers take them for octal) or 0x with hexadecimal digits.",
    ),
    (
        "TW503",
        "the default is out of the type's range",
        "The wire type can't hold it. Hexadecimal is a value, not a bit pattern.",
    ),
    ("TW504", "the default is no floating-point number", "Write a decimal number, NaN, Infinity or -Infinity."),
    ("TW505", "the default is no uuid", "A uuid is written as 22 characters of URL-safe base64."),
    (
        "TW506",
        "the default of bytes, an array or a struct has content",
        "They are empty by default, or null where that is allowed.",
    ),
    (
        "TW507",
        "the default is null where null is not allowed",
        "nullableVersions must hold all of versions, as ranges: 0+ is not within 0-3.",
    ),
    ("TW508", "the default is no text that a string can hold", "A string has at most 32767 bytes in UTF-8."),
    # tags
    ("TW601", "a tag is out of range", "Tags are unsigned varints on the wire, 0 to 2147483647."),
    ("TW602", "a tag without taggedVersions", "Say in which versions the field is tagged, or leave the tag out."),
    (
        "TW603",
        "taggedVersions without a tag",
        "The tag is what stands on the wire; readers know the field by it alone.",
    ),
    (
        "TW604",
        "taggedVersions has an upper bound",
        "Once tagged, a field stays so. Retire its tag with reservedTags when it goes.",
    ),
    ("TW605", "taggedVersions exceeds versions", "A field can't be tagged in a version that lacks it."),
    (
        "TW606",
        "nullable in some tagged versions only",
        "A reader knows the field by its tag, whatever the version; so null is allowed in all or none.",
    ),
    (
        "TW607",
        "a tagged map key",
        "A key must stand in every element; a tagged field is left out when it has its default.",
    ),
    ("TW608", "a tag is used twice", "A tag means one field of its struct, in all versions together."),
    (
        "TW609",
        "tags are not counted up from 0",
        "Tags of a struct are 0, 1, 2 ... over all versions; retired ones stand in reservedTags. The option tag_gaps of a spec set lifts this.",
    ),
    ("TW610", "a retired tag is used", "Old peers know the tag with its old meaning. Take the next free one."),
    ("TW611", "taggedVersions exceeds the flexible versions", "Only flexible versions have a place for tagged fields."),
    ("TW612", "tagged records", "Records have no compact form that a tagged field could hold."),
    ("TW613", "reservedTags names a tag twice", "A list of retired tags names each once."),
    (
        "TW614",
        "reservedTags on a field that only refers to a struct",
        "Retired tags belong to the struct's declaration in commonStructs.",
    ),
    # the draft dialect
    (
        "TW701",
        "two dialects in one spec",
        "versionsWithOptional and optionalFields belong to the first draft of KIP-482, flexibleVersions and tagged fields to the released form.",
    ),
    ("TW702", "optional fields in no version", "optionalFields need versionsWithOptional, which says where they are."),
    (
        "TW703",
        "versionsWithOptional has an upper bound",
        "All later versions have optional fields too: the range is none or N+.",
    ),
    (
        "TW704",
        "a key that optional fields do not have",
        "Their versions are those of versionsWithOptional; nullable is true or false for all of them.",
    ),
    (
        "TW705",
        "an optional array of structs",
        "The draft excludes it, since lengths come first and would need a second pass. The option allow_struct_arrays allows it.",
    ),
    ("TW706", "an optional struct that is nullable", "Structs had no null when the draft was written."),
    ("TW707", "a tag of more than 16 bits", "The draft's tags take two bytes, 0 to 65535."),
    (
        "TW708",
        "a hexadecimal tag in the released dialect",
        "Only the draft writes tags so. Kafka's generator wants decimal ones.",
    ),
    # a directory
    (
        "TW801",
        "two messages of one name",
        "They would be one class and one module; names that differ only in case become one module too.",
    ),
    ("TW802", "no apiKey", "Requests, responses and metadata records are found by their apiKey."),
    ("TW803", "two messages of one kind with one apiKey", "A reader could not tell which one it has."),
    ("TW804", "a request without response", "Give the API its response, with the same apiKey."),
    ("TW805", "a response without request", "Give the API its request, with the same apiKey."),
    (
        "TW806",
        "a request whose name does not end in Request",
        "The API is named after its request, without that ending.",
    ),
)

_WARNINGS: Final = (
    ("TW220", "a reversed range is empty", "3-1 has no version in it. Write none if that is meant."),
    ("TW221", "deprecatedVersions outside validVersions", "A version that does not exist can't be deprecated."),
    ("TW222", "a negative apiKey", "API keys count from 0; -1 often means that there is none."),
    ("TW223", "an apiKey on a header or data message", "Nothing looks these up by key."),
    ("TW320", "a common struct that nothing uses", "It is generated all the same. Remove it if it is a leftover."),
    (
        "TW420",
        "a field that is in no valid version",
        "It is not on the wire in any version that its message and parents have.",
    ),
    ("TW421", "nullableVersions outside versions", "The field is never null in a version that has it."),
    (
        "TW422",
        "ignorable, but in every version",
        "ignorable says what happens in a version that lacks the field; every version has it.",
    ),
    ("TW423", "zeroCopy on a tagged field", "Kafka's generator writes code for this that does not compile."),
    ("TW520", "the default of records is not used", "Records are null by default, whatever the spec says."),
    (
        "TW521",
        "an optional field that may be null but is not by default",
        'Absent means the default, here an empty value. Write "default": "null" if absent shall mean null.',
    ),
    ("TW820", "request and response differ in versions", "A request's version is its response's version."),
    (
        "TW821",
        "request and response differ in flexible versions",
        "All of Kafka's agree; peers choose both headers by the request.",
    ),
    ("TW822", "a response that is not named after its request", "The response of FooRequest is FooResponse."),
    (
        "TW823",
        "a coordinator key without value, or a value without key",
        "The two halves of a record share their apiKey.",
    ),
    ("TW824", "a file that is not named after its message", "People look for Foo in Foo.json."),
)

RULES: Final[dict[str, Rule]] = {
    id: Rule(id, severity, title, explanation)
    for severity, rows in (("error", _ERRORS), ("warning", _WARNINGS))
    for id, title, explanation in rows
}  # type: ignore[assignment]
