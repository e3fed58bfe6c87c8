import json

from tagwire_generator.evolution.spec_sources import SpecData, SpecReader
from tagwire_generator.project.options import SpecOptions

SPEC = {"type": "data", "name": "Parcel", "validVersions": "0", "flexibleVersions": "none"}


def data(file: str, *fields: str) -> SpecData:
    spec = SPEC | {"fields": [{"name": name, "type": "int8", "versions": "0+"} for name in fields]}
    return SpecData(file, "", json.dumps(spec).encode())


def test_a_spec_in_two_sets_is_one_object() -> None:
    reader = SpecReader()
    old, new = (reader.read([data(file, "Weight")], SpecOptions()) for file in ("old/Parcel.json", "new/Parcel.json"))
    assert old.specs["Parcel"] is new.specs["Parcel"]


def test_errors_name_the_file_of_each_set() -> None:
    reader = SpecReader()
    for file in ("old/Parcel.json", "new/Parcel.json"):
        found = reader.read([data(file, "Weight", "Weight")], SpecOptions())
        assert not found.specs
        assert [problem.file for problems in found.invalid.values() for problem in problems] == [file]


def test_a_spec_is_read_again_if_its_enum_has_changed() -> None:
    spec = SPEC | {"dialect": "tagwire", "fields": [{"name": "A", "type": "int8", "versions": "0+", "enum": "State"}]}
    reader, names = SpecReader(), []
    for name in ("NEW", "OLD"):
        register = {"name": "State", "type": "register", "keys": "int8", "entries": [{"key": 0, "name": name}]}
        files = [SpecData(f"{each['name']}.json", "", json.dumps(each).encode()) for each in (register, spec)]
        enum = reader.read(files, SpecOptions()).specs["Parcel"].fields[0].enum
        names += [] if enum is None else [entry.name for entry in enum.entries]
    assert names == ["NEW", "OLD"]
