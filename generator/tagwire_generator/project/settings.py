"""Read the settings `[tool.tagwire]` in pyproject.toml. docs/configuration.md describes them.

Absolute paths are rejected, because generated modules contain these paths and must be the same on every machine.
"""

import keyword
import os
import sys
import tomllib
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, Literal

from tagwire.errors import SpecError, TagwireError
from tagwire.text_format import suggestion
from tagwire_generator.project import resources
from tagwire_generator.project.options import SpecOptions, shown
from tagwire_generator.project.root import DEFAULT_SPECS, SETTINGS_FILE, WINDOWS_DEVICES, find_root, is_folder

if TYPE_CHECKING:
    from tagwire_generator.problems import Severity
    from tagwire_generator.project.exemptions import Exemption

_DEFAULT_SET: Final = {"specs": DEFAULT_SPECS, "package": "messages"}
_DEFAULT_OUTPUT: Final = "generated"
_RESERVED: Final = ("tagwire", "tagwire_cli", "tagwire_generator", "tagwire_spark", "tagwire_workbench")
"""tagwire's own packages, so no generated package can have these names."""
FORMATTERS: Final = ("black", "ruff")
_SECTION_KEYS: Final = ("sets", "templates", "formatter", "exceptions", "lint")
_SET_KEYS: Final = ("specs", "package", "output", "options", "templates", "lock", "registers")
_LINT_KEYS: Final = ("select", "ignore", "severity")


class SettingsError(SpecError):
    """Raised for invalid settings. `file` is the path of pyproject.toml."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecSet:
    """A folder of specs, and the package that is generated from these specs."""

    root: Path
    """The absolute path of the folder that contains pyproject.toml."""
    specs: Path
    """The absolute path of the folder of specs."""
    package: str
    """The package's import name, such as `tagwire_drafts.kip482`."""
    output: Path
    """The absolute path of the folder that contains the package's top-level folder."""
    options: SpecOptions
    templates: Path
    """The absolute path of the folder of templates."""
    lock: Path | None = None
    """The absolute path of the lock file, which contains the released specs."""
    registers: Path | None = None
    """The absolute path of the folder of registers (tables of named numbers), each of which becomes a module."""
    formatter: str = "black"
    """The formatter of generated Python: one of `FORMATTERS`."""

    @property
    def sources(self) -> tuple[Path, ...]:
        """The folder of specs and, if it is set, the folder of registers."""
        return (self.specs,) if self.registers is None else (self.specs, self.registers)

    @property
    def directory(self) -> Path:
        """The generated package's folder. All generated files in it belong to this spec set."""
        return self.output.joinpath(*self.package.split("."))

    def source_name(self, path: Path) -> str:
        """Return a path as generated headers and reports show it: relative to `root`, with forward slashes."""
        return Path(os.path.relpath(path, self.root)).as_posix()


@dataclass(frozen=True, slots=True, kw_only=True)
class LintSettings:
    """The settings in `[tool.tagwire.lint]`, which enable design rules and set their severities.

        [tool.tagwire.lint]
        select = ["TL"]                       # optional: only these; default: the rules for each spec's dialect
        ignore = ["TL43", "TL8"]              # optional: none of these
        severity = { TL51 = "error", TL7 = "note" }

    Each entry is a rule ID, or a prefix of rule IDs. If several entries match a rule, the longest entry applies, as in
    ruff. Raises SpecError for a prefix that matches no rule, or an unknown severity.
    """

    select: tuple[str, ...] = ()
    """The rules to enable, as rule IDs or prefixes of IDs. If empty, the rules that are on by default are enabled."""
    ignore: tuple[str, ...] = ()
    severity: "Mapping[str, Severity]" = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (self.select or self.ignore or self.severity):
            return  # loading the rules would slow down every command
        from tagwire_generator.problems import DESIGN_RULES, DESIGN_SEVERITIES

        for prefix in (*self.select, *self.ignore, *self.severity):
            if not prefix or not any(rule.startswith(prefix) for rule in DESIGN_RULES):
                hint = suggestion(prefix, list(DESIGN_RULES), "its rules begin with TL, and `tagwire rule` lists them")
                raise SpecError(f"no rule of `tagwire lint` begins with {prefix!r}; {hint}")
        for prefix, severity in self.severity.items():
            if severity not in DESIGN_SEVERITIES:
                known = ", ".join(DESIGN_SEVERITIES)
                raise SpecError(f"the severity of {prefix} is {severity!r}; it must be one of {known}")

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> "LintSettings":
        """Parse the settings from a table. Raises SpecError for an unknown key or an invalid value."""
        for key in table:
            if key not in _LINT_KEYS:
                raise SpecError(f"the lint settings have no key {key!r}; {suggestion(key, _LINT_KEYS)}")
        for key in ("select", "ignore"):
            value = table.get(key, [])
            if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
                raise SpecError(f'`{key}` is {value!r}; it must be a list such as ["TL5", "TL43"]')
        severity = table.get("severity", {})
        if not isinstance(severity, dict):
            raise SpecError(f'`severity` is {severity!r}; it must be a table such as {{ TL51 = "error" }}')
        return cls(select=tuple(table.get("select", ())), ignore=tuple(table.get("ignore", ())), severity=severity)

    def with_options(self, select: Iterable[str], ignore: Iterable[str]) -> "LintSettings":
        """Apply command-line options. `select` replaces both lists of rules, and `ignore` adds rules to ignore."""
        chosen = tuple(select)
        return replace(self, select=chosen or self.select, ignore=(*(() if chosen else self.ignore), *ignore))

    def enables(self, rule: str, *, is_default: bool) -> bool:
        """Return whether a rule is enabled. If the settings select no rules, `is_default` decides."""
        chosen = _longest(self.select, rule)
        if (self.select and not chosen) or (not self.select and not is_default):
            return False
        rejected = _longest(self.ignore, rule)
        return not rejected or len(rejected) < len(chosen)

    def severity_of(self, rule: str, own: "Severity") -> "Severity":
        """Return the severity of a rule in these settings. `own` is the rule's default severity."""
        return self.severity.get(_longest(self.severity, rule), own)


def _longest(prefixes: Iterable[str], rule: str) -> str:
    return max((prefix for prefix in prefixes if rule.startswith(prefix)), key=len, default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a project: spec sets, exceptions and lint settings."""

    root: Path
    sets: tuple[SpecSet, ...]
    exemptions: "tuple[Exemption, ...]" = ()
    lint: LintSettings = field(default_factory=LintSettings)
    is_declared: bool = True
    """Whether pyproject.toml lists the sets. If not, there is one default set."""

    def project_sets(self) -> tuple[SpecSet, ...]:
        """Return all spec sets, for commands called without arguments. Raises SettingsError if there is no project."""
        if not self.is_declared and not any(is_folder(spec_set.specs) for spec_set in self.sets):
            text = f"no [[tool.tagwire.sets]] in {SETTINGS_FILE}, and no folder {_DEFAULT_SET['specs']}"
            raise settings_error(self.root, f"no project found: {text}; `tagwire init` creates one")
        for number, spec_set in enumerate(self.sets, 1):
            if not is_folder(spec_set.specs):
                text = f"`specs` is {spec_set.source_name(spec_set.specs)!r}, which is not a folder"
                raise settings_error(self.root / SETTINGS_FILE, f"[[tool.tagwire.sets]] number {number}: {text}")
        return self.sets

    def exemptions_for(self, prefix: Literal["TW", "TL"]) -> "tuple[Exemption, ...]":
        """Return the exceptions for the rules about changes, whose IDs begin with TW, or about designs (TL)."""
        return tuple(each for each in self.exemptions if each.rule.startswith(prefix))

    def set_of(self, path: Path) -> SpecSet | None:
        """Return the first set whose spec or register folder contains a path, or None if there is none."""
        return next(iter(self.sets_of(path)), None)

    def sets_of(self, path: Path) -> list[SpecSet]:
        """Return all sets whose spec or register folder contains a path. The folders may be links."""
        resolved = Path(os.path.realpath(path))  # Path.resolve fails if links form a loop
        return [each for each in self.sets if any(map(resolved.is_relative_to, map(os.path.realpath, each.sources)))]

    def options_of(self, path: Path) -> SpecOptions:
        """Return the options of the set that contains a path, or the default options if there is none."""
        spec_set = self.set_of(path)
        return spec_set.options if spec_set else SpecOptions()


def load_project() -> Settings:
    """Read the settings of the project around the working directory. Raises SettingsError as `load` does."""
    return load(find_root(Path.cwd()))


def load(root: Path) -> Settings:
    """Read the settings of the project in the folder `root`.

    Raises SettingsError for unreadable files, unknown keys, invalid values, and overlapping packages.
    """
    root = root.resolve()
    file = root / SETTINGS_FILE
    section = _section(file)
    _reject_unknown(file, "[tool.tagwire]", section, _SECTION_KEYS)
    rows = _tables(file, section, "sets")
    sets = tuple(_spec_set(file, section, number, row) for number, row in enumerate(rows or [_DEFAULT_SET], 1))
    _reject_overlaps(file, sets)
    exceptions = enumerate(_tables(file, section, "exceptions"), 1)
    lint = _table(file, section.get("lint", {}), "tool.tagwire.lint")
    exemptions = tuple(_exemption(file, number, row) for number, row in exceptions)
    with _located(file, "[tool.tagwire.lint]"):
        lint_settings = LintSettings.from_mapping(lint)
    return Settings(root=root, sets=sets, exemptions=exemptions, lint=lint_settings, is_declared=bool(rows))


def _section(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise settings_error(file, f"the file can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise settings_error(
            file, f"byte {error.start} of the file, 0x{byte:02x}, is not valid UTF-8; save the file as UTF-8"
        ) from error
    tool = parsed_toml(file, text).get("tool", {})
    return _table(file, tool.get("tagwire", {}) if isinstance(tool, dict) else tool, "tool.tagwire")


def parsed_toml(file: Path, text: str) -> dict[str, Any]:
    """Parse the text of a TOML file. Raises SettingsError, which names the file, for invalid TOML."""
    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))  # editors on Windows may write a byte order mark
        repr(document)  # so that errors can quote each value: Python converts no int of more than 4300 digits to text
        return document
    except tomllib.TOMLDecodeError as error:
        reason = str(error)
    except ValueError:
        reason = "a number has more digits than TOML allows"
    except RecursionError:
        reason = "its values are nested too deeply"
    raise settings_error(file, f"the file is not valid TOML: {reason}")


def _table(file: Path, value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise settings_error(file, f"{name} is not a table; write [{name}]")
    return value


def _tables(file: Path, section: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    rows = section.get(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        name = f"tool.tagwire.{key}"
        raise settings_error(
            file, f"{name} is not a list of tables; write [[{name}]] above each {key.removesuffix('s')}"
        )
    return rows


@contextmanager
def _located(file: Path, where: str) -> Generator[None]:
    """Raise errors about a value in a table of the settings as SettingsErrors that name the file and the table."""
    try:
        yield
    except TagwireError as error:
        raise settings_error(file, f"{where}: {error}") from error


def _spec_set(file: Path, section: Mapping[str, Any], number: int, row: Mapping[str, Any]) -> SpecSet:
    where = f"[[tool.tagwire.sets]] number {number}"
    _reject_unknown(file, where, row, _SET_KEYS)
    formatter = section.get("formatter", FORMATTERS[0])
    if formatter not in FORMATTERS:
        known = ", ".join(FORMATTERS)
        raise settings_error(file, f"[tool.tagwire]: `formatter` is {shown(formatter)}; it must be one of {known}")
    root = file.parent
    with _located(file, where):
        return SpecSet(
            root=root,
            specs=_path(root, "specs", row.get("specs")),
            package=_package(row.get("package")),
            output=_output(root, row.get("output", _DEFAULT_OUTPUT)),
            options=_options(row.get("options", {})),
            templates=_templates(root, row.get("templates", section.get("templates"))),
            lock=None if row.get("lock") is None else _path(root, "lock", row["lock"], "file"),
            registers=None if row.get("registers") is None else _path(root, "registers", row["registers"]),
            formatter=formatter,
        )


def _templates(root: Path, value: object) -> Path:
    if value is None:
        return resources.folder("templates")
    if isinstance(value, str) and value.startswith("@"):
        return resources.templates(value)
    return _path(root, "templates", value)


def _path(root: Path, key: str, value: object, what: str = "folder") -> Path:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise SpecError(f"`{key}` is {shown(value)}; it must be the path of a {what}")
    if PurePath(value).is_absolute():
        raise SpecError(f"`{key}` is the absolute path {value!r}; write it relative to {SETTINGS_FILE}")
    return Path(os.path.normpath(root / value))


def _output(root: Path, value: object) -> Path:
    """Return a folder inside the project. Any other folder is an error, because stale files in it would be deleted."""
    folder = _path(root, "output", value)
    if not folder.is_relative_to(root):
        text = f"`output` is {shown(value)}, outside of the folder of {SETTINGS_FILE}"
        raise SpecError(f"{text}; give a folder within it, or use --output on the command line")
    return folder


def _package(value: object) -> str:
    if not isinstance(value, str) or not all(map(_is_module_name, value.split("."))):
        raise SpecError(f"`package` is {shown(value)}; it must be an import name such as 'my_messages'")
    error = package_error(value)
    if error:
        raise SpecError(f"`package` is {value!r}, but {error}")
    return value


def package_error(name: str) -> str:
    """Return why a package can't have this import name, for an error message, or "" if the name is allowed."""
    if special := [part for part in name.lower().split(".") if part in WINDOWS_DEVICES or part.startswith("__")]:
        return f"{special[0]!r} has a special meaning for Windows or Python; choose another name"
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names:
        return f"{top!r} is a Python module that the package would hide; choose another name"
    if top in _RESERVED:
        return f"{top!r} is a package of tagwire that this package would hide; choose another name"
    return ""


def _is_module_name(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def _options(value: object) -> SpecOptions:
    if not isinstance(value, dict):
        raise SpecError(f"`options` is {shown(value)}; it must be a table such as {{ tag_gaps = true }}")
    return SpecOptions.from_mapping(value)


def _exemption(file: Path, number: int, row: Mapping[str, Any]) -> "Exemption":
    # Few projects have exceptions, so this module is not imported for every command.
    from tagwire_generator.project.exemptions import EXCEPTION_KEYS, Exemption

    where = f"[[tool.tagwire.exceptions]] number {number}"
    _reject_unknown(file, where, row, EXCEPTION_KEYS)
    with _located(file, where):
        return Exemption.from_mapping(row)


def _reject_unknown(file: Path, where: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            hint = suggestion(key, known, f"the keys are {', '.join(known)}")
            raise settings_error(file, f"{where} has an unknown key {key!r}; {hint}")


def _reject_overlaps(file: Path, sets: tuple[SpecSet, ...]) -> None:
    # If one package were inside another, generating one of them would delete the other's files as stale.
    folders = [(each.package, each.directory) for each in sets]
    for number, (one, folder) in enumerate(folders):
        for other, around in folders[:number]:
            if folder.is_relative_to(around) or around.is_relative_to(folder):
                raise settings_error(
                    file,
                    f"the folders of the packages {other!r} and {one!r} overlap; give each spec set its own folder",
                )


def settings_error(file: Path, message: str) -> SettingsError:
    """Return an error that begins with the name of a file."""
    return SettingsError(f"{file}: {message}", file=str(file))
