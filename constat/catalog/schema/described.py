"""What is known of the tables of a source, and what the catalog answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from constat.frozen import frozen
from constat.logic import Kind
from constat.patterns import regex

# An unknown type gives no kind and no family, and is then decided by the stored values.

_WORD: Final = regex(r"[a-z][a-z0-9]*")
_ONE_BIT: Final = regex(r"(?:tinyint|bit)\(1\)")

_INTEGER: Final = (Kind.NUMBER, Kind.DECIMAL, Kind.SYMBOL)
_EXACT: Final = (Kind.DECIMAL, Kind.SYMBOL)
_BINARY: Final = (Kind.DECIMAL, Kind.FLOAT, Kind.SYMBOL)
_TEXT: Final = (Kind.SYMBOL,)
_DAY: Final = (Kind.DATE, Kind.TIMESTAMP, Kind.SYMBOL)
_MOMENT: Final = (Kind.TIMESTAMP, Kind.SYMBOL)
_TRUTH: Final = (Kind.BOOL, Kind.NUMBER, Kind.SYMBOL)
# No kind of the language is like these: a query casts them to text.
_FOREIGN: Final = frozenset(
    {"uuid", "json", "jsonb", "xml", "inet", "interval", "time", "struct", "map", "list", "union"}
)

_KINDS: Final[Mapping[str, tuple[Kind, ...]]] = MappingProxyType(
    {
        **dict.fromkeys(
            [
                *("int", "integer", "bigint", "smallint", "mediumint", "tinyint", "hugeint"),
                *("serial", "bigserial", "smallserial", "int2", "int4", "int8", "year", "long"),
                *("ubigint", "uinteger", "usmallint", "utinyint", "uhugeint", "counter"),
            ],
            _INTEGER,
        ),
        **dict.fromkeys(("decimal", "numeric", "money", "number", "currency", "dec"), _EXACT),
        **dict.fromkeys(("float", "double", "real", "float4", "float8", "single"), _BINARY),
        **dict.fromkeys(
            [
                *("char", "varchar", "text", "string", "nvarchar", "nchar", "character", "clob"),
                *("tinytext", "mediumtext", "longtext", "bpchar", "enum", "set", "citext"),
                *("name", "varchar2", "nvarchar2", "longchar"),
            ],
            _TEXT,
        ),
        "date": _DAY,
        **dict.fromkeys(("datetime", "timestamp", "timestamptz", "smalldatetime"), _MOMENT),
        **dict.fromkeys(("bool", "boolean", "bit", "logical"), _TRUTH),
        **dict.fromkeys(_FOREIGN, _TEXT),
    }
)
_BYTES: Final = frozenset({"blob", "bytea", "binary", "varbinary", "longblob", "mediumblob"})


def kinds_of(declared: str) -> tuple[Kind, ...]:
    """Give the kinds that values of a declared type could have; nothing for an unknown type."""
    lowered = declared.lower()
    if _ONE_BIT.match(lowered):
        return _TRUTH
    found = _KINDS.get(_first(lowered), ())
    if found is _INTEGER and ("unsigned" in lowered or _first(lowered) in {"ubigint", "uinteger"}):
        return (Kind.NUMBER, Kind.UNSIGNED, Kind.DECIMAL, Kind.SYMBOL)
    return found


def is_bytes(declared: str) -> bool:
    """Whether a declared type holds bytes, which are never values."""
    return _first(declared.lower()) in _BYTES


def is_foreign(declared: str) -> bool:
    """Whether values have to be cast to text in the query."""
    lowered = declared.lower()
    return "[" in lowered or _first(lowered) in _FOREIGN


def family_of(declared: str) -> str:
    """Name what a column can be compared with: `number`, `text`, `time`, or nothing."""
    kinds = kinds_of(declared)
    if not kinds:
        return "bytes" if is_bytes(declared) else ""
    if kinds[0].numeric:
        return "number"
    return {Kind.SYMBOL: "text", Kind.BOOL: "truth"}.get(kinds[0], "time")


def _first(lowered: str) -> str:
    found = _WORD.search(lowered)
    return found[0] if found else ""


OPERATION: Final = "operation"
"""The kind of a table that is an operation of an API."""
OF_DOCUMENTS: Final = "document"
"""The kind of a table that documents hold."""
MOST_TABLES: Final = 50_000
MOST_COLUMNS: Final = 5_000
LONGEST_NAME: Final = 256
LONGEST_COMMENT: Final = 1_000
_LONGEST_TYPE: Final = 200


@frozen
class ColumnSchema:
    """A column: its type in the source's words (empty where it has none), whether NULL may stand.

    `generated` where the source computes it. `kind` is what a draft declares it as, where that is
    known without reading rows.
    """

    name: str
    declared: str = ""
    nullable: bool = True
    comment: str = ""
    generated: bool = False
    kind: str = ""


@frozen
class Relationship:
    """Rows of one table point to rows of another one of the same source.

    `declared` where the source says so; else `evidence` says what it was inferred from.
    """

    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]
    declared: bool = True
    evidence: str = ""


@frozen
class TableSchema:
    """A table, view or file. `name` is as a query may spell it within the source, unquoted.

    `schema` is set where the query has to name it. `rows` is an estimate unless `counted`.
    `key` is the declared primary key, `unique` what else is declared to be one. `problems` say
    what could not be found out. `accepted` gives columns with all values that they may have.
    """

    database: str
    name: str
    schema: str = ""
    kind: str = "table"
    columns: tuple[ColumnSchema, ...] = ()
    key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    relationships: tuple[Relationship, ...] = ()
    rows: int | None = None
    counted: bool = False
    comment: str = ""
    problems: tuple[str, ...] = ()
    accepted: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def label(self) -> str:
        """The name within the source."""
        return f"{self.schema}.{self.name}" if self.schema else self.name

    @property
    def path(self) -> str:
        """The name within the project."""
        return f"{self.database}.{self.label}"

    def column(self, name: str) -> ColumnSchema | None:
        """Find a column by its name, in any case where only one fits."""
        exact = [one for one in self.columns if one.name == name]
        alike = exact or [one for one in self.columns if one.name.casefold() == name.casefold()]
        return alike[0] if len(alike) == 1 else None


@frozen
class SourceSchema:
    """All tables of a source, in the order of their names; `problems` say what is left out."""

    database: str
    dialect: str
    tables: tuple[TableSchema, ...]
    problems: tuple[str, ...] = ()


def shortened(text: object, most: int = LONGEST_COMMENT) -> str:
    """Give a text of a source for keeping: bounded, and without half characters."""
    found = "" if text is None else str(text)
    found = found if len(found) <= most else found[: most - 1] + "…"
    return found.encode("utf-8", "replace").decode("utf-8")


def column_of(
    name: object, declared: object, *, nullable: bool, comment: object = None
) -> ColumnSchema:
    """Make a column of what a source says about it."""
    return ColumnSchema(str(name), shortened(declared, _LONGEST_TYPE), nullable, shortened(comment))


def to_json(table: TableSchema) -> dict[str, Any]:
    """Give a table as JSON values; columns and relationships as lists, because there are many."""
    return {
        "database": table.database,
        "name": table.name,
        "schema": table.schema,
        "kind": table.kind,
        "columns": [
            [one.name, one.declared, one.nullable, one.comment, one.generated, one.kind]
            for one in table.columns
        ],
        "key": table.key,
        "unique": table.unique,
        "relationships": [
            [one.columns, one.target, one.target_columns, one.declared, one.evidence]
            for one in table.relationships
        ],
        "rows": table.rows,
        "counted": table.counted,
        "comment": table.comment,
        "problems": table.problems,
        "accepted": table.accepted,
    }


def from_json(value: Mapping[str, Any]) -> TableSchema:
    """Read what `to_json` gave."""
    return TableSchema(
        **{
            **value,
            "columns": tuple(ColumnSchema(*one) for one in value["columns"]),
            "key": tuple(value["key"]),
            "unique": tuple(tuple(one) for one in value["unique"]),
            "relationships": tuple(
                Relationship(tuple(columns), target, tuple(targets), *rest)
                for columns, target, targets, *rest in value["relationships"]
            ),
            "problems": tuple(value["problems"]),
            "accepted": tuple((name, tuple(few)) for name, few in value.get("accepted", ())),
        }
    )


def changes(before: Iterable[TableSchema], after: Iterable[TableSchema]) -> Iterator[str]:
    """Tell how tables differ from what they were: columns, types, NULL, keys, what they point to.

    Of a table whose columns are not known now nothing is said but that; guesses are left out.
    """
    old, new = ({one.label: one for one in tables} for tables in (before, after))
    yield from (f"{_called(old[name])} is gone" for name in sorted(old.keys() - new.keys()))
    yield from (f"{_called(new[name])} is new" for name in sorted(new.keys() - old.keys()))
    for name in sorted(old.keys() & new.keys()):
        called = _called(new[name])
        if new[name].columns or new[name].kind == OPERATION:
            yield from (f"{called}: {one}" for one in _table_changes(old[name], new[name]))
        elif old[name].columns:
            yield f"{called}: its columns are not known now"


def _called(table: TableSchema) -> str:
    return f"{'operation' if table.kind == OPERATION else 'table'} `{table.label}`"


_PARTLY: Final = regex(r"\bin [0-9,]+ of [0-9,]+ read\b")
"""What the comment of a column says where a store has documents without it."""


def _table_changes(old: TableSchema, new: TableSchema) -> Iterator[str]:
    was, now_is = ({one.name: one for one in table.columns} for table in (old, new))
    yield from (f"column `{name}` is gone" for name in was if name not in now_is)
    for name, column in now_is.items():
        if name not in was:
            yield f"column `{name}` is new"
            continue
        types = [
            one.kind if new.kind == OF_DOCUMENTS else one.declared for one in (was[name], column)
        ]
        if types[0] != types[1]:
            types = [f"`{one or 'of no type'}`" for one in types]
            yield "column `{}` was {}, and is {}".format(name, *types)
        if was[name].nullable is not column.nullable:
            yield f"column `{name}` may {'' if column.nullable else 'not '}be NULL now"
        before, now = (bool(_PARTLY.search(one.comment)) for one in (was[name], column))
        if before is not now:
            yield f"column `{name}` is {'no longer' if now else 'now'} in every row that is read"
    yield from _constraint_changes(old, new)


def loosened(old: TableSchema, new: TableSchema) -> Iterator[str]:
    """Tell what a declaration of a table may rest on that is otherwise now: NULL, keys, links.

    Columns and types are held against rows.
    """
    was = {one.name: one for one in old.columns}
    for one in new.columns:
        if one.nullable and one.name in was and not was[one.name].nullable:
            yield f"column `{one.name}` may be NULL now"
    yield from _constraint_changes(old, new)


def _constraint_changes(old: TableSchema, new: TableSchema) -> Iterator[str]:
    if old.key != new.key:
        yield f"its key was {_listed(old.key)}, and is {_listed(new.key)}"
    said, says = set(_constraints(old)), set(_constraints(new))
    yield from (f"{one} is no longer declared" for one in sorted(said - says))
    yield from (f"{one} is declared now" for one in sorted(says - said))


def _constraints(table: TableSchema) -> Iterator[str]:
    yield from (f"that {_listed(unique)} repeats no value" for unique in table.unique)
    for one in table.relationships:
        if one.declared:
            yield f"that {_listed(one.columns)} points to `{one.target}`"
    yield from (f"that `{name}` is one of {_listed(few)}" for name, few in table.accepted)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


# A source that was not reached is told apart from one without tables.


@frozen
class DatabaseSummary:
    """A database of the project. `failure` is why it could not be looked at just now.

    `seen_at` is when its tables were read; empty where that never succeeded.
    """

    name: str
    kind: str
    tables: int
    seen_at: str = ""
    failure: str = ""
    problems: tuple[str, ...] = ()


@frozen
class Link:
    """A relationship with both its ends, `table` pointing to `target`; names within `database`.

    Where `target_database` is another one, names alone suggest it.
    """

    database: str
    table: str
    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]
    declared: bool
    evidence: str
    target_database: str = ""

    def ends(self) -> tuple[str, str]:
        """Name both tables, with their databases where these are two."""
        if self.target_database in {"", self.database}:
            return self.table, self.target
        return f"{self.database}.{self.table}", f"{self.target_database}.{self.target}"


@frozen
class Hit:
    """Something that fits a search: a `table`, `column`, `predicate` or `rule`.

    `place` is the database, or the file of a rule; `about` a comment, a sentence or a description.
    """

    kind: str
    name: str
    place: str
    about: str = ""


@frozen
class SearchResult:
    """The best hits first; where there is none, words of the catalog that were perhaps meant."""

    hits: tuple[Hit, ...]
    meant: tuple[str, ...] = ()


@frozen
class Sample:
    """Values of a column as text, the most frequent of those that were looked at first."""

    column: str
    values: tuple[tuple[str, int], ...]
    cut: bool = False


@frozen
class Refreshed:
    """What a look at a source found: whether anything has changed, and how many tables it has.

    `problems` say what could not be found out, and what is otherwise than when it was last read.
    """

    name: str
    changed: bool
    tables: int
    failure: str = ""
    problems: tuple[str, ...] = ()
