"""What a `constat.yaml` says, as values.

Invariant: texts are as written, typed later by the declarations of the rules; whatever came from
an environment variable of a connection is kept out of `repr`. Example: `facts: {limit: 10}` is
`FactTable("limit", "scalar", (FactRow((Cell("10"),)),))`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, Span
from constat.project.authoring import AuthoringSetting, SubPlanSetting
from constat.project.catalog_setting import CatalogSetting
from constat.project.explore import ExploreSetting
from constat.project.memory_setting import MemorySetting
from constat.project.models import ModelsSetting
from constat.project.recorded_sources import RecordSetting
from constat.project.records import LogSetting
from constat.project.review import ReviewSetting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.project.records import KeySetting
    from constat.project.variables import Expanded

BUILT_IN_TIERS: Final = ("cache", "config", "database", "model", "sub-plan")
"""The chain of every predicate, highest first (semantics 6)."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a configured fact. `text` is `None` where `missing` names unset variables.

    A list of values is one, too: the fields of a record, as `parts`, and no text.
    """

    text: str | None
    variables: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)
    parts: tuple[Cell, ...] | None = None


@dataclass(frozen=True, slots=True)
class FactRow:
    """One configured fact; `columns` names the cells' columns where the file does."""

    cells: tuple[Cell, ...]
    columns: tuple[str, ...] | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FactTable:
    """The facts under one key of `facts:`. A `scalar` closes its predicate, `rows` do not."""

    name: str
    form: str
    rows: tuple[FactRow, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Database:
    """A connection. `address` may hold a password and never appears in `repr`.

    `seconds` and `rows` bound a single query. `immutable` promises that nobody writes the file.
    With `files` it is a folder of tables: each name's file, or pattern of files, in the project.
    """

    name: str
    kind: str
    address: Expanded = field(repr=False)
    seconds: float | None = None
    rows: int | None = None
    immutable: bool = False
    files: Mapping[str, str] = field(default_factory=dict, hash=False)
    options: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    span: Span | None = field(default=None, compare=False, repr=False)

    def uri(self) -> str:
        """Give the expanded address; `ConstatError` names a missing environment variable."""
        if self.address.text is not None:
            return self.address.text
        names = ", ".join(self.address.missing)
        message = f"database `{self.name}` needs the environment variable {names}, which is not set"
        raise ConstatError([Diagnostic("C0511", message, self.span)])


@dataclass(frozen=True, slots=True)
class CustomTier:
    """A tier that the project adds: `factory` is `module:callable`, or empty for an entry point.

    It is asked behind the tier `after`. Without `predicates` the tier says itself which it knows.
    """

    name: str
    factory: str
    after: str = "database"
    cost: int = 100
    predicates: tuple[str, ...] | None = None
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    span: Span | None = field(default=None, compare=False, repr=False)


PREFER_SOURCE: Final = "source"
PREFER_USER: Final = "user"
UNRESOLVED: Final = "unresolved"
CONFLICTS: Final = (PREFER_SOURCE, PREFER_USER, UNRESOLVED)
"""What may count where tiers give different values for one key (semantics 40)."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits: `seconds`, `rows` and `calls` of an evaluation, the others of a single query."""

    seconds: float = 60.0
    rows: int = 20_000_000
    calls: int = 10_000
    query_seconds: float = 30.0
    query_rows: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with a configuration.

    `rules` are files, `rule_roots` the folders they and what they include may lie in,
    `rule_folders` those that `rules` names, so that a new file in them is read too. `closed`
    tells for each predicate who declares that nothing is missing, `conflicts` which of different
    values for one key counts. `state` is where Constat writes.
    `keys` are trusted for their roles; `log` says whether decisions are written down, `record`
    whose answers are recorded. `locale` is that of numbers and days in sentences.
    """

    folder: Path
    name: str
    databases: Mapping[str, Database] = field(default_factory=dict)
    rules: tuple[Path, ...] = ()
    rule_roots: tuple[Path, ...] = ()
    facts: Mapping[str, FactTable] = field(default_factory=dict)
    closed: Mapping[str, str] = field(default_factory=dict)
    conflicts: str = PREFER_SOURCE
    tiers: Mapping[str, CustomTier] = field(default_factory=dict)
    limits: Bounds = field(default_factory=Bounds)
    state: Path = Path(".constat")
    keys: Mapping[str, KeySetting] = field(default_factory=dict)
    log: LogSetting = field(default_factory=LogSetting)
    record: RecordSetting = field(default_factory=RecordSetting)
    locale: str = ""
    models: ModelsSetting = field(default_factory=ModelsSetting)
    authoring: AuthoringSetting = field(default_factory=AuthoringSetting)
    sub_plans: SubPlanSetting = field(default_factory=SubPlanSetting)
    review: ReviewSetting = field(default_factory=ReviewSetting)
    catalog: CatalogSetting = field(default_factory=CatalogSetting)
    explore: ExploreSetting = field(default_factory=ExploreSetting)
    memory: MemorySetting = field(default_factory=MemorySetting)
    rule_folders: tuple[Path, ...] = ()
    config_name: str = "constat.yaml"
