"""What a `constat.yaml` says, as values."""

from __future__ import annotations

import re
from dataclasses import field, replace
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from constat.diagnostics import ConstatError, Span
from constat.frozen import frozen
from constat.project.document import Listing, Node, Table, Text, printable
from constat.project.places import inside
from constat.project.reading import expand, suggestion, unset

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from constat.project.apis import ApiSetting
    from constat.project.documents import DocumentsSetting
    from constat.project.files import RemoteSetting, TableFiles
    from constat.project.packages import Package
    from constat.project.reading import Expanded, Sections

# Without a word of the project no predicate is planned by a model, and every bound is finite.

STRICT: Final = "strict"
BARE: Final = "bare"
SPELLINGS: Final = (STRICT, BARE)


@frozen
class AuthoringSetting:
    """How `ask` drafts.

    After `rounds` proposals that do not pass the checks it gives up; `lookups` bounds what a model
    may look up for one question. `variables` is how a model spells them: `strict` is `?x`, `bare`
    is `x`. `context` tells the model about the domain. Without `queries` it may not write SQL;
    `query_rows` bounds the estimated rows of a query that it does write. With `facts` it may also
    look up facts, which then go to its provider.
    """

    rounds: int = 3
    lookups: int = 16
    variables: str = STRICT
    context: str = ""
    queries: bool = True
    query_rows: int = 1_000_000
    facts: bool = False


@frozen
class SubPlanSetting:
    """Which predicates a model may plan where nothing else answers them, and how deep plans go."""

    predicates: tuple[str, ...] = ()
    depth: int = 2


@frozen
class SparkSetting:
    """Which Spark Connect server computes where `--engine spark` asks for it.

    `remote` may hold a token. `folder` is where the server keeps what it computes, seen by all of
    its workers; empty stands for a temporary folder of this machine, if the server runs here.
    `tables` tells for predicates which table of Spark holds their rows, or which path of Parquet.
    Into `results`, which no configuration names, the server writes what is wanted, in place of
    sending it here.
    """

    remote: str = field(repr=False)
    folder: str = ""
    tables: Mapping[str, str] = field(default_factory=dict)
    results: str = ""


_ENGINES: Final = ("spark",)
_SPARK_KEYS: Final = ("remote", "folder", "tables")


def read_spark(
    node: Node | None, environment: Mapping[str, str], sections: Sections
) -> SparkSetting | None:
    """Read `engines: {spark: ...}`."""
    if node is None:
        return None
    given = sections.table(node, "`engines`", _ENGINES).get("spark")
    if given is None:
        return None
    found = sections.table(given, "`spark`", _SPARK_KEYS)
    texts = {}
    for key in ("remote", "folder"):
        one = expand(sections.text(found.get(key), f"`{key}`"), environment)
        if one.malformed or one.text is None:
            message = f"`{key}` names an environment variable that is not set"
            sections.complain("C0511", message, found[key])
        texts[key] = one.text or ""
    if "remote" not in found:
        hint = 'write `spark: {remote: "sc://localhost:15002"}`'
        sections.complain("C0504", "`spark` has no `remote`", given, hint=hint)
    listed = sections.entries(found["tables"], "`tables`") if "tables" in found else ()
    tables = {key.text: sections.text(value, f"`{key.text}`") for key, value in listed}
    return SparkSetting(texts["remote"], texts["folder"], tables)


# Without a configuration steps of Python run only where the machine can keep them in.

_KEYS: Final = (
    *("retries", "connection_retries", "rows", "seconds", "memory"),
    *("python", "sandbox", "store", "certificates"),
)
STRONG, WEAK = "strong", "weak"
_SANDBOXES: Final = (STRONG, WEAK)
_MEGABYTE: Final = 1 << 20
_MOST_RETRIES: Final = 20


@frozen
class ExploreSetting:
    """How exploring is done.

    `retries` are corrections by a model and `connection_retries` further tries, for each step;
    `rows`, `seconds` and `memory` (bytes) bound one step. `sandbox` is `strong`, or `weak` where
    code may run in spite of a machine that cannot keep it in, if whoever runs it says so as well:
    then `unconfined` is set, never by a configuration. `store` is the address of the tables,
    empty for a file in the state folder; it may hold a password. With `certificates` an answer is
    proved, and its certificate kept, where that takes less than a moment.
    """

    retries: int = 2
    connection_retries: int = 1
    rows: int = 2_000_000
    seconds: float = 60.0
    memory: int = 1 << 30
    python: bool = True
    sandbox: str = STRONG
    unconfined: bool = False
    store: str = field(default="", repr=False)
    certificates: bool = True


def read_explore(
    node: Node | None, environment: Mapping[str, str], sections: Sections
) -> ExploreSetting:
    """Read `explore:`."""
    plain = ExploreSetting()
    if node is None:
        return plain
    found = sections.table(node, "`explore`", _KEYS)
    sandbox = sections.text(found.get("sandbox"), "`sandbox`", STRONG)
    if sandbox not in _SANDBOXES:
        message = "`sandbox` is neither strong nor weak"
        sections.complain("C0504", message, found["sandbox"], hint="write `sandbox: strong`")
        sandbox = STRONG
    address = expand(sections.text(found.get("store"), "`store`"), environment)
    if address.malformed or address.text is None:
        message = "`store` names an environment variable that is not set"
        sections.complain("C0511", message, found["store"])
    memory = sections.integer(found.get("memory"), "`memory`", plain.memory // _MEGABYTE)
    return ExploreSetting(
        _count(found, "retries", plain.retries, sections),
        _count(found, "connection_retries", plain.connection_retries, sections),
        sections.integer(found.get("rows"), "`rows`", plain.rows),
        sections.seconds(found.get("seconds"), "`seconds`", plain.seconds),
        memory * _MEGABYTE,
        sections.flag(found["python"], "`python`") if "python" in found else plain.python,
        sandbox,
        store=address.text or "",
        certificates=sections.flag(found["certificates"], "`certificates`")
        if "certificates" in found
        else plain.certificates,
    )


def _count(found: Mapping[str, Node], key: str, default: int, sections: Sections) -> int:
    """Read a number that may be zero."""
    node = found.get(key)
    if node is None or sections.text(node, f"`{key}`") == "0":
        return default if node is None else 0
    return min(sections.integer(node, f"`{key}`", default), _MOST_RETRIES)


# The folder of rules lies in the project.

_MEMORY_KEYS: Final = ("tokens", "rules")
_MOST: Final = 1_000_000


@frozen
class MemorySetting:
    """How conversations are remembered.

    `tokens` is what a question is told of what was said before it, at most. Files in the folder
    `rules` take the place of the rules of memory of the same name, or are added to them.
    """

    tokens: int = 4_000
    rules: Path | None = None


def read_memory(node: Node | None, folder: Path, sections: Sections) -> MemorySetting:
    """Read `memory:`."""
    plain = MemorySetting()
    if node is None:
        return plain
    found = sections.table(node, "`memory`", _MEMORY_KEYS)
    tokens = sections.integer(found.get("tokens"), "`tokens`", plain.tokens)
    if tokens > _MOST:
        message = f"`tokens` is more than {_MOST:,}"
        sections.complain("C0933", message, found["tokens"], hint=f"write a number up to {_MOST}")
        tokens = plain.tokens
    return MemorySetting(tokens, _rules(found.get("rules"), folder, sections))


def _rules(node: Node | None, folder: Path, sections: Sections) -> Path | None:
    if node is None:
        return None
    place = inside(sections.text(node, "`rules`"), folder)
    if place is None or not place.is_dir():
        message = "`rules` of `memory` is no folder inside the project"
        sections.complain("C0933", message, node, hint="write `memory: {rules: rules/memory}`")
        return None
    return place


# Without the section no value of a source is shown, kept or sent. Names are a database,
# `database.table` or `database.table.column`.

_CATALOG_KEYS: Final = ("samples", "hidden", "seconds")
_FLAGS: Final = frozenset({"true", "false"})
_SECONDS: Final = 30.0


@frozen
class CatalogSetting:
    """Whose values may be shown (`every` or `samples`), what is `hidden`, how long a look takes."""

    every: bool = False
    samples: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    seconds: float = _SECONDS

    def shows(self, database: str, table: str, column: str) -> bool:
        """Whether values of a column may be shown."""
        return self.every or not self.samples.isdisjoint(_names(database, table, column))

    def shows_all(self, databases: Iterable[str]) -> bool:
        """Whether values of all databases may be shown, and so whatever follows from them."""
        return self.every or all(name.casefold() in self.samples for name in databases)

    def hides(self, database: str, table: str = "", column: str = "") -> bool:
        """Whether a table or a column is left out of the catalog."""
        return not self.hidden.isdisjoint(_names(database, table, column))


def read_catalog(node: Node | None, databases: Iterable[str], sections: Sections) -> CatalogSetting:
    """Read `catalog:`; `databases` are the names of the project's databases and documents."""
    if node is None:
        return CatalogSetting()
    found = sections.table(node, "`catalog`", _CATALOG_KEYS)
    known = tuple(databases)
    samples = found.get("samples")
    flag = isinstance(samples, Text) and samples.text in _FLAGS
    return CatalogSetting(
        every=flag and sections.flag(samples, "`samples`"),
        samples=frozenset() if flag else _listed(samples, "`samples`", known, sections),
        hidden=_listed(found.get("hidden"), "`hidden`", known, sections),
        seconds=sections.seconds(found.get("seconds"), "`seconds`", _SECONDS),
    )


def _listed(
    node: Node | None, what: str, known: tuple[str, ...], sections: Sections
) -> frozenset[str]:
    """Read names; each begins with a database, so that a slip cannot show or hide nothing."""
    named = sections.texts(node, f"{what} of `catalog`")
    for one in named:
        if not any(one.text == name or one.text.startswith(f"{name}.") for name in known):
            first = one.text.partition(".")[0]
            hint = suggestion(first, known) or "write a database, or `database.table.column`"
            message = f"`{printable(one.text)}` in {what} begins with no database of the project"
            sections.complain("C0841", message, one, hint=hint)
    return frozenset(one.text.casefold() for one in named)


def _names(database: str, table: str, column: str) -> tuple[str, ...]:
    """Give the names under which a column may stand in the configuration."""
    parts = [database]
    if table:
        parts.append(f"{database}.{table}")
    if column:
        parts.append(f"{database}.{table}.{column}")
    return tuple(part.casefold() for part in parts)


# Invariants: a key is named by its environment variable and never held; an address may come from
# the environment and never appears in `repr`.

ANTHROPIC: Final = "anthropic"
OPENAI: Final = "openai"
PROVIDERS: Final = (ANTHROPIC, OPENAI)
EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
TASKS: Final = (
    *("draft", "knowledge", "heuristic", "sub-plan", "extract", "plan", "code", "narrate"),
)
"""What models are asked for; `constat.model.Task` has the same names."""

REPLAY: Final = "replay"
RECORD: Final = "record"


@frozen
class Prices:
    """What a million tokens cost: read at the full price, from and into the cache, written."""

    read: Decimal
    written: Decimal
    cached: Decimal
    stored: Decimal


@frozen
class ModelSetting:
    """A model under the name that tasks use.

    `key` names the environment variable with the key; empty where none is needed. `answers_as` are
    other names by which the provider may call the model. `seconds` bound one call.
    """

    name: str
    provider: str
    model: str
    key: str = ""
    address: Expanded | None = field(default=None, repr=False)
    prices: Prices | None = None
    effort: str = ""
    answers_as: tuple[str, ...] = ()
    seconds: float = 120.0
    span: Span | None = field(default=None, compare=False, repr=False)


@frozen
class Budget:
    """The most that may be spent: tokens, money, and seconds of waiting; `None` is no bound."""

    tokens: int | None = None
    money: Decimal | None = None
    seconds: float | None = None


@frozen
class TapeSetting:
    """A file of replies: `replay` asks no model, `record` asks those that are not in it."""

    file: Path
    mode: str = REPLAY


@frozen
class ModelsSetting:
    """All of it.

    `tasks` maps a task to a name, `default` is for the others. `confidence` is what a model's word
    has when it says nothing about it, and the most it ever has. `keep` are the seconds that paid
    replies are served again, `None` for ever, 0 never.
    """

    named: Mapping[str, ModelSetting] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)
    default: str = ""
    question: Budget = Budget(tokens=200_000, seconds=300.0)
    session: Budget = Budget(tokens=2_000_000)
    currency: str = "USD"
    tape: TapeSetting | None = None
    confidence: tuple[Decimal, Decimal] = (Decimal("0.6"), Decimal("0.8"))
    keep: int | None = None
    batch: int = 20

    def of(self, task: str) -> ModelSetting | None:
        """Give the model for a task; nothing where none is configured for it."""
        return self.named.get(self.tasks.get(task, self.default))


# A class of retention that is used is one that is configured, or `kept`, which is for ever.

FOREVER: Final = "forever"
KEPT: Final = "kept"
# Who may read the log of decisions beside its owner, and the rights of its files for that.
READERS: Final = MappingProxyType({"owner": 0o600, "group": 0o640, "everyone": 0o644})


@frozen
class KeySetting:
    """A public key that the project trusts for some roles; `expires` and `revoked` are dates."""

    name: str
    file: Path
    roles: tuple[str, ...]
    expires: str | None = None
    revoked: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@frozen
class LogSetting:
    """Whether each decision is written down, where, and for how long each class is kept.

    `retention` is the class of new entries; `classes` gives days, `None` for ever. `file_mode` are
    the rights of its files, by which an auditor's account can read and verify them.
    """

    on: bool = False
    folder: Path | None = None
    retention: str = KEPT
    classes: Mapping[str, int | None] = field(default_factory=dict, hash=False)
    file_mode: int = READERS["owner"]

    def days(self, retention: str) -> int | None:
        """Give for how many days a class is kept; raises `KeyError` for an unknown class."""
        return None if retention == KEPT else self.classes[retention]


# Each name is a source of the project.

CONFIG: Final = "config"
_RECORDED_KEYS: Final = ("sources", "keep")
_DAYS: Final = re.compile(r"([1-9][0-9]{0,5})d\Z", re.ASCII)


@frozen
class RecordSetting:
    """The sources whose answers are recorded, and for how many days; `None` is for ever."""

    every: bool = False
    sources: frozenset[str] = frozenset()
    days: int | None = None

    def covers(self, source: str) -> bool:
        """Whether answers of a source are recorded."""
        return self.every or source in self.sources


def read_record(node: Node | None, names: Iterable[str], sections: Sections) -> RecordSetting:
    """Read `record:`; `names` are the sources there are besides the configuration."""
    known = (CONFIG, *names)
    if node is None:
        return RecordSetting()
    if isinstance(node, Text) and node.text in _FLAGS:
        return RecordSetting(every=sections.flag(node, "`record`"))
    if not isinstance(node, Table):
        return RecordSetting(sources=_sources(node, known, sections))
    found = sections.table(node, "`record`", _RECORDED_KEYS)
    listed = found.get("sources")
    every = listed is None or (isinstance(listed, Text) and listed.text == "true")
    return RecordSetting(
        every=every,
        sources=frozenset() if every else _sources(listed, known, sections),
        days=_days(found.get("keep"), sections),
    )


def _sources(node: Node | None, known: tuple[str, ...], sections: Sections) -> frozenset[str]:
    named = sections.texts(node, "`record`")
    for one in named:
        if one.text not in known:
            hint = suggestion(one.text, known)
            sections.complain("C0725", "`record` names no source of the project", one, hint=hint)
    return frozenset(one.text for one in named)


def _days(node: Node | None, sections: Sections) -> int | None:
    if node is None:
        return None
    written = sections.text(node, "`keep`")
    days = _DAYS.match(written)
    if days is None:
        hint = "write days, such as `400d`"
        sections.complain("C0725", "`keep` is no number of days", node, hint=hint)
        return None
    return int(days[1])


# Without a configuration an approval is one person's recorded word.

APPROVER: Final = "approver"
"""The role in which rules are approved."""


@frozen
class ReviewSetting:
    """How many different approvers a rule needs, and whether they may have asked for it.

    With `four_eyes` whoever asked does not count. With `signed` only signatures by keys that the
    project trusts as approver count; `None` means so where there is such a key. Where
    `approved` is `required`, a rule that a person wrote counts for certain only once it is
    approved, too; where it is `recorded`, certificates name who approved it, or that nobody did.
    `owners` names who decides about the rules of an owner (`@[owner = finance]`, at a rule or its
    predicate); about those of another, every approver.
    """

    four_eyes: bool = False
    approvers: int = 1
    signed: bool | None = None
    approved: str = "recorded"
    owners: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    @property
    def required(self) -> bool:
        """Whether rules of people have to be approved."""
        return self.approved == "required"


ROLES: Final = ("viewer", "analyst", "approver", "admin")
"""The roles of callers over HTTP; each may do what those before it may."""
CALLER: Final = "$caller"
"""What stands for the name of whoever asks among the values of `rows`."""


@frozen
class SightOf:
    """What a role sees of a relation: rows with one of these values each, and these columns.

    Without `columns`, all of them.
    """

    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None

    @property
    def everything(self) -> bool:
        """Whether nothing of the relation is hidden."""
        return not self.rows and self.columns is None


@frozen
class Sight:
    """What a caller sees: of the relations named what they say, and nothing of any other.

    Without `relations` everything that sources tell this caller.
    """

    role: str
    caller: str
    relations: Mapping[str, SightOf] | None = field(hash=False)

    def of(self, relation: str) -> SightOf | None:
        """Give what is seen of a relation; `None` is nothing."""
        return SightOf() if self.relations is None else self.relations.get(relation)

    def value(self, text: str) -> str:
        """Give a value that a row has to have."""
        return self.caller if text == CALLER else text


@frozen
class RightsSetting:
    """What each role sees over HTTP. Without roles everybody sees everything.

    `None` is everything; a role that is not named sees nothing.
    """

    roles: Mapping[str, Mapping[str, SightOf] | None] = field(default_factory=dict)

    def sight(self, role: str, caller: str) -> Sight | None:
        """Give what a caller sees; `None` is everything."""
        found = self.roles.get(role, {}) if self.roles else None
        if found is None:
            return None
        own = any(CALLER in texts for one in found.values() for texts in one.rows.values())
        return Sight(role, caller if own else "", found)


@frozen
class LoginSetting:
    """An issuer of OpenID Connect, whose tokens a server takes as it takes its own.

    `audience` is what the issuer calls this server. `name` is the claim that names a caller,
    `claim` the one that lists their groups (dots lead into it), and `roles` gives each group its
    role. `people` are the clients that people log in with: tokens of any other client are those of
    programs, which approve and state nothing.
    """

    issuer: str
    audience: str
    roles: Mapping[str, str] = field(default_factory=dict, hash=False)
    people: tuple[str, ...] = ()
    name: str = "sub"
    claim: str = "roles"


APPROVALS_FILE: Final = "approvals.jsonl"
"""The records of approvals, beside the rule files that they speak about."""


# Texts are as written, typed later by the declarations of the rules; whatever came from an
# environment variable of a connection is kept out of `repr`.

BUILT_IN_TIERS: Final = ("cache", "config", "database", "model", "sub-plan")
NO_NAMES_OF_SOURCES: Final = (*BUILT_IN_TIERS, "api", "document", "certificates")
"""What no source of a project is called: a trace would have two of that name."""
"""The chain of every predicate, highest first (semantics 6)."""


@frozen
class Cell:
    """One value of a configured fact. `text` is `None` where `missing` names unset variables.

    A list of values is one, too: the fields of a record, as `parts`, and no text.
    """

    text: str | None
    variables: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)
    parts: tuple[Cell, ...] | None = None


@frozen
class FactRow:
    """One configured fact; `columns` names the cells' columns where the file does."""

    cells: tuple[Cell, ...]
    columns: tuple[str, ...] | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@frozen
class FactTable:
    """The facts under one key of `facts:`. A `scalar` closes its predicate, `rows` do not."""

    name: str
    form: str
    rows: tuple[FactRow, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@frozen(eq=False)
class Frame:
    """A frame of the running program, by reference, and the types of its columns by their names."""

    value: object = field(repr=False)
    columns: Mapping[str, str]


@frozen
class Asker:
    """Who a database is told that it answers: a value of a setting of its, a role of its, or both.

    Empty texts are not told.
    """

    setting: str
    value: str
    role: str


@frozen
class CallerSetting:
    """How PostgreSQL is told on whose behalf a server asks, so that its row security counts.

    `setting` gets the caller's name. `roles` name, for each role of callers, the role of the
    database that reads for them. Callers whose role is in `account` are not told: for them the
    account of the address reads.
    """

    setting: str = ""
    roles: Mapping[str, str] = field(default_factory=dict, hash=False)
    account: tuple[str, ...] = ()

    def asker(self, role: str, name: str) -> Asker | None:
        """Say who is told; nothing where the account itself reads."""
        if role in self.account:
            return None
        return Asker(self.setting, name if self.setting else "", self.roles.get(role, ""))


class Opened(Protocol):
    """Has connections that are open and idle."""

    def take(self, database: Database) -> Any | None:  # noqa: ANN401  a connection, which is below
        """Give one to this database, and have it no more."""

    def give(self, database: Database, connection: Any) -> None:  # noqa: ANN401  as above
        """Keep one for whoever takes it next."""


@frozen
class Database:
    """A connection. `address` may hold a password and never appears in `repr`.

    `seconds` and `rows` bound a single query. `immutable` promises that nobody writes the file.
    With `files` it is a folder of tables: each name's files in the project.
    `manifest` is the `manifest.json` of dbt that describes its tables.
    With `frames` its tables are frames of the running program; no configuration says that.
    `caller` says how it is told who asks, `asker` who does.
    `tables` are patterns of a store's keys by the names of tables.
    `remote` says how files behind an address are fetched; `private`, `bytes` and `auth` stand
    beside `files`. `description` is what certificates and pages may say of it to anybody.
    """

    name: str
    kind: str
    address: Expanded = field(repr=False)
    description: str = ""
    seconds: float | None = None
    rows: int | None = None
    immutable: bool = False
    files: Mapping[str, TableFiles] = field(default_factory=dict, hash=False)
    options: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    manifest: str = ""
    caller: CallerSetting | None = None
    asker: Asker | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    frames: Mapping[str, Frame] = field(default_factory=dict, hash=False)
    tables: Mapping[str, str] = field(default_factory=dict, hash=False)
    remote: RemoteSetting | None = None
    opened: Opened | None = field(default=None, compare=False, repr=False)
    """Has connections to it that are idle, while several things are looked up one by one."""

    def uri(self) -> str:
        """Give the expanded address; `ConstatError` names a missing environment variable."""
        if self.address.text is not None:
            return self.address.text
        names = ", ".join(self.address.missing)
        message = f"database `{self.name}` needs the environment variable {names}, which is not set"
        raise ConstatError([unset(message, self.address.missing, self.span)])


@frozen
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
ALWAYS: Final = "always"
BACKGROUND: Final = "background"
OFF: Final = "off"
CHECKS: Final = (BACKGROUND, ALWAYS, OFF)
"""When answers in bulk are counted again: beside what comes next where that takes long, before they
are given out, or never (semantics 38)."""


@frozen
class Bounds:
    """Limits: `seconds` of a question in total, `rows` and `calls` of an evaluation.

    The others are of a single query. A question's plans, and what models say for it, take of its
    seconds as well.
    """

    seconds: float = 60.0
    rows: int = 20_000_000
    calls: int = 10_000
    query_seconds: float = 30.0
    query_rows: int = 1_000_000


@frozen
class Project:
    """A folder with a configuration.

    `rules` are files, `rule_roots` the folders they and what they include may lie in,
    `rule_folders` those that `rules` names, so that a new file in them is read too. `closed`
    tells for each predicate who declares that nothing is missing, `set_by` who set its values under
    `facts`, when and by what, `conflicts` which of different
    values for one key counts, `check` when answers in bulk are counted again. `state` is where
    Constat writes.
    `rights` say what each role sees over HTTP, `login` whose tokens let somebody in.
    `keys` are trusted for their roles; `log` says whether decisions are written down, `record`
    whose answers are recorded. `locale` is that of numbers and days in sentences. `packages` are
    libraries of others whose copies are as locked; their files are among `rules`.
    """

    folder: Path
    name: str
    databases: Mapping[str, Database] = field(default_factory=dict)
    apis: Mapping[str, ApiSetting] = field(default_factory=dict)
    documents: Mapping[str, DocumentsSetting] = field(default_factory=dict)
    rules: tuple[Path, ...] = ()
    rule_roots: tuple[Path, ...] = ()
    facts: Mapping[str, FactTable] = field(default_factory=dict)
    closed: Mapping[str, str] = field(default_factory=dict)
    set_by: Mapping[str, str] = field(default_factory=dict)
    conflicts: str = PREFER_SOURCE
    check: str = BACKGROUND
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
    rights: RightsSetting = field(default_factory=RightsSetting)
    login: LoginSetting | None = None
    catalog: CatalogSetting = field(default_factory=CatalogSetting)
    explore: ExploreSetting = field(default_factory=ExploreSetting)
    memory: MemorySetting = field(default_factory=MemorySetting)
    spark: SparkSetting | None = None
    rule_folders: tuple[Path, ...] = ()
    packages: tuple[Package, ...] = ()
    config_name: str = "constat.yaml"

    def reads(self, file: Path) -> bool:
        """Tell whether a file is one of its rule files, or a new one in a folder of them."""
        found = file.resolve()
        folders = {one.resolve() for one in self.rule_folders}
        return found in map(Path.resolve, self.rules) or (
            found.parent in folders and found.suffix == ".dl"
        )


def sight_of(project: Project, role: str, caller: str) -> Sight | None:
    """Give what a caller sees of a project; `None` is everything, as the project's accounts do."""
    found = project.rights.sight(role, caller)
    told = (one.caller for one in project.databases.values() if one.caller is not None)
    if not any(role not in one.account for one in told):
        return found
    return Sight(role, caller, None if found is None else found.relations)


def asked_by(project: Project, sight: Sight) -> Project:
    """Give a project whose databases are told who asks, where they want to know."""
    databases = {
        name: one
        if one.caller is None
        else replace(one, asker=one.caller.asker(sight.role, sight.caller))
        for name, one in project.databases.items()
    }
    return replace(project, databases=databases)


# A cell without a text names the variables that are missing.


def read_facts(
    node: Node, environment: Mapping[str, str], sections: Sections
) -> dict[str, FactTable]:
    """Read all of `facts:`."""
    return {
        key.text: _table(key, value, environment, sections)
        for key, value in sections.entries(node, "`facts`")
    }


def read_closed(node: Node, sections: Sections, config_name: str) -> dict[str, str]:
    """Read `closed:`: predicate to who declares it; a plain list is declared by the file."""
    if isinstance(node, Listing):
        return {one.text: config_name for one in sections.texts(node, "`closed`")}
    return {
        key.text: sections.text(value, f"who declares `{printable(key.text)}` closed", config_name)
        for key, value in sections.entries(node, "`closed`")
    }


def read_set_by(node: Node, facts: Mapping[str, FactTable], sections: Sections) -> dict[str, str]:
    """Read `set_by:`: a key of `facts` to who set its values, when and by what."""
    found: dict[str, str] = {}
    for key, value in sections.entries(node, "`set_by`"):
        if key.text not in facts:
            said = f"`facts` has no `{printable(key.text)}`"
            sections.complain("C0504", said, key, hint=suggestion(key.text, list(facts)))
        found[key.text] = sections.text(value, f"who set `{printable(key.text)}`")
    return found


def _table(key: Text, node: Node, environment: Mapping[str, str], sections: Sections) -> FactTable:
    match node:
        case Text():
            row = FactRow((_cell(node, environment, sections),), None, node.span)
            return FactTable(key.text, "scalar", (row,), key.span)
        case Table():
            row = _row(node, environment, sections)
            return FactTable(key.text, "rows", (row,), key.span)
        case Listing(entries=entries):
            rows = tuple(_row(entry, environment, sections) for entry in entries)
            return FactTable(key.text, "rows", rows, key.span)


def _row(node: Node, environment: Mapping[str, str], sections: Sections) -> FactRow:
    match node:
        case Text():
            return FactRow((_cell(node, environment, sections),), None, node.span)
        case Table(entries=entries):
            cells = tuple(_cell(value, environment, sections) for _, value in entries)
            return FactRow(cells, tuple(key.text for key, _ in entries), node.span)
        case Listing(entries=nodes):
            cells = tuple(_cell(value, environment, sections) for value in nodes)
            return FactRow(cells, None, node.span)


def _cell(node: Node, environment: Mapping[str, str], sections: Sections) -> Cell:
    if isinstance(node, Listing):
        return joined_cells([_cell(one, environment, sections) for one in node.entries], node.span)
    if not isinstance(node, Text):
        sections.complain("C0504", "a value in `facts` is a table inside a row", node)
        return Cell("", span=node.span)
    if node.bare and not node.text:
        sections.complain(
            "C0504", "a value in `facts` is missing", node, hint='an empty text is written `""`'
        )
    expanded = expand(node.text, environment)
    if expanded.malformed:
        sections.complain(
            "C0504",
            "a `${` that is not followed by a name and `}`",
            node,
            hint="write `${NAME}`, or `$${` for the characters themselves",
        )
        return Cell("", span=node.span)
    return Cell(expanded.text, expanded.names, expanded.missing, node.span)


def joined_cells(parts: Sequence[Cell], span: Span | None) -> Cell:
    """Make a cell of a list, which depends on what its parts depend on."""
    variables = dict.fromkeys(name for one in parts for name in one.variables)
    missing = dict.fromkeys(name for one in parts for name in one.missing)
    return Cell(None if missing else "", tuple(variables), tuple(missing), span, tuple(parts))
