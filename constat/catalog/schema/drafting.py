"""Draft the declarations by which rules can speak of tables."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.catalog.file_tables import GUESSED
from constat.catalog.schema.checking import Decided, row_keys
from constat.catalog.schema.described import ColumnSchema
from constat.catalog.schema.samples import as_text, column_of, source_of, written
from constat.catalog.schema.words import (
    identifier,
    singular,
    spoken_words,
    words_of,
)
from constat.diagnostics import ConstatError
from constat.frozen import frozen
from constat.logic import Constant, Kind, NullPolicy, canonical_decimal
from constat.syntax.formatting import format_text
from constat.syntax.printing import print_term, print_text
from constat.syntax.words import BASE_TYPES, DIRECTIVES, RESERVED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sqlglot import exp

    from constat.catalog.schema.checking import Checked, NearKey
    from constat.catalog.schema.described import Relationship, TableSchema
    from constat.diagnostics import Diagnostic
    from constat.project.files import TableFiles

# Quoting a word that is not reserved does no harm, so one set serves all.

RESERVED_SQL: Final = frozenset(
    {
        *("accessible", "add", "admin", "after", "all", "alter", "analyse", "analyze", "and"),
        *("anti", "any", "array", "as", "asc", "asensitive", "asof", "asymmetric", "at", "attach"),
        *("authorization", "autoincrement", "backup", "before", "begin", "between", "bigint"),
        *("binary", "bit", "blob", "body", "boolean", "both", "break", "browse", "bulk", "by"),
        *("call", "cascade", "case", "cast", "change", "char", "character", "check", "checkpoint"),
        *("close", "cluster", "clustered", "coalesce", "collate", "collation", "column", "columns"),
        *("comment", "commit", "compress", "compute", "concurrently", "condition", "conflict"),
        *("connect", "constraint", "contains", "containstable", "continue", "convert", "create"),
        *("cross", "cube", "cume_dist", "current", "current_catalog", "current_date"),
        *("current_role", "current_schema", "current_time", "current_timestamp", "current_user"),
        *("cursor", "database", "databases", "date", "day_hour", "day_microsecond", "day_minute"),
        *("day_second", "dbcc", "deallocate", "dec", "decimal", "declare", "default", "deferrable"),
        *("deferred", "delayed", "delete", "dense_rank", "deny", "desc", "describe", "detach"),
        *("deterministic", "disk", "distinct", "distinctrow", "distributed", "div", "do"),
        *("do_domain_ids", "double", "drop", "dual", "dump", "each", "else", "elseif", "elsif"),
        *("empty", "enclosed", "end", "errlvl", "escape", "escaped", "except", "exclusive", "exec"),
        *("execute", "exists", "exit", "explain", "external", "extract", "fail", "false", "fetch"),
        *("file", "fillfactor", "first_value", "float", "for", "force", "foreign", "freetext"),
        *("freetexttable", "freeze", "from", "full", "fulltext", "function", "general"),
        *("generated", "get", "get_master_public_key", "glob", "goto", "grant", "group"),
        *("grouping", "grouping_id", "groups", "having", "high_priority", "history", "holdlock"),
        *("hour_microsecond", "hour_minute", "hour_second", "identified", "identity"),
        *("identity_insert", "identitycol", "if", "ignore", "ignore_domain_ids"),
        *("ignore_server_ids", "ilike", "immediate", "in", "index", "indexed", "infile"),
        *("initially", "inner", "inout", "insensitive", "insert", "instead", "int", "integer"),
        *("intersect", "interval", "into", "io_after_gtids", "io_before_gtids", "is", "isnull"),
        *("iterate", "join", "json_table", "key", "keys", "kill", "lag", "lambda", "last_value"),
        *("lateral", "lead", "leading", "leave", "left", "level", "like", "limit", "linear"),
        *("lineno", "lines", "load", "localtime", "localtimestamp", "lock", "long", "longblob"),
        *("longtext", "loop", "low_priority", "map", "master_bind", "master_heartbeat_period"),
        *("master_ssl_verify_server_cert", "match", "maxvalue", "mediumblob", "mediumint"),
        *("mediumtext", "member", "merge", "middleint", "minus", "minute_microsecond"),
        *("minute_second", "mod", "mode", "modifies", "national", "natural", "nchar", "new"),
        *("no_write_to_binlog", "nocheck", "nocompress", "nonclustered", "none", "not", "notnull"),
        *("nowait", "nth_value", "ntile", "null", "nullif", "number", "numeric", "of", "off"),
        *("offset", "offsets", "old", "on", "only", "open", "opendatasource", "openquery"),
        *("openrowset", "openxml", "optimize", "optimizer_costs", "option", "optionally", "or"),
        *("order", "others", "out", "outer", "outfile", "over", "overlaps", "overlay", "package"),
        *("page_checksum", "parallel", "parse_gcol_expr", "parse_vcol_expr", "partition"),
        *("pctfree", "percent", "percent_rank", "period", "persist", "persist_only", "pivot"),
        *("pivot_longer", "pivot_wider", "placing", "plan", "position", "positional", "pragma"),
        *("precision", "primary", "print", "prior", "proc", "procedure", "public", "purge"),
        *("qualify", "query", "raise", "raiserror", "range", "rank", "raw", "read", "read_write"),
        *("reads", "readtext", "real", "reconfigure", "recursive", "ref_system_id", "references"),
        *("regexp", "reindex", "release", "rename", "repeat", "replace", "replication", "require"),
        *("resignal", "resource", "restore", "restrict", "return", "returning", "revert", "revoke"),
        *("right", "rlike", "role", "rollback", "row", "row_number", "rowcount", "rowguidcol"),
        *("rows", "rowtype", "rule", "save", "schema", "schemas", "second_microsecond"),
        *("securityaudit", "select", "semi", "sensitive", "separator", "session_user", "set"),
        *("setof", "setuser", "share", "show", "shutdown", "signal", "similar", "size", "slow"),
        *("smallint", "some", "spatial", "specific", "sql", "sql_after_gtids", "sql_before_gtids"),
        *("sql_big_result", "sql_calc_found_rows", "sql_small_result", "sqlexception", "sqlstate"),
        *("sqlwarning", "ssl", "start", "starting", "statistics", "stats_auto_recalc"),
        *("stats_persistent", "stats_sample_pages", "stored", "straight_join", "struct"),
        *("substring", "summarize", "symmetric", "synonym", "system", "system_time", "system_user"),
        *("table", "tablesample", "temp", "temporary", "terminated", "textsize", "then", "time"),
        *("timestamp", "tinyblob", "tinyint", "tinytext", "to", "top", "trailing", "tran"),
        *("transaction", "treat", "trigger", "trim", "true", "truncate", "try_cast", "tsequal"),
        *("tuple", "uid", "undo", "union", "unique", "unlock", "unpack", "unpivot", "unsigned"),
        *("update", "updatetext", "usage", "use", "user", "using", "utc_date", "utc_time"),
        *("utc_timestamp", "vacuum", "values", "varbinary", "varchar", "varcharacter", "variadic"),
        *("varying", "verbose", "versioning", "view", "virtual", "waitfor", "when", "where"),
        *("while", "window", "with", "without", "write", "writetext", "xmlattributes", "xmlconcat"),
        *("xmlelement", "xmlexists", "xmlforest", "xmlnamespaces", "xmlparse", "xmlpi", "xmlroot"),
        *("xmlserialize", "xmltable", "xor", "year_month", "zerofill"),
    }
)


MOST_COLUMNS: Final = 40
TOO_MANY: Final = "too many"
"""Why a draft leaves a column out of a very wide table."""
_LONGEST_COMMENT: Final = 160
_LONGEST_REMARK: Final = 500
NO_REMARKS: Final[Mapping[str, Sequence[str]]] = MappingProxyType({})
_NAMING: Final = ("id", "ids", "key", "no", "nr", "number", "code", "zip")
_NAMED: Final = frozenset((word,) for word in (*_NAMING, "name", "title", "email"))
_HISSING: Final = ("s", "x", "ch", "sh")
_WHOLE: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})
_UNITS: Final = MappingProxyType(
    {
        **dict.fromkeys(("usd", "dollar", "dollars"), "$"),
        **dict.fromkeys(("eur", "euro", "euros"), "€"),
        **dict.fromkeys(("gbp",), "£"),
        **dict.fromkeys(("pct", "percent", "percentage"), "%"),
        **{name: name for name in ("mm", "cm", "km", "kg", "mg", "lb", "kwh", "mph", "ms")},
        "g": "g",
    }
)
"""Words that end a column's name and say what its numbers are counted in."""
_MONEY: Final = frozenset(
    {
        *("amount", "balance", "charge", "cost", "costs", "fee", "freight", "paid", "payment"),
        *("price", "revenue", "salary", "subtotal", "total", "usd", "eur", "gbp", "dollars"),
    }
)
_MONEY_PLACES: Final = "2"
_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*\Z")
_HEADER: Final = """\
.pragma "constat" "0.1"
.include "constat/prelude.dl"
.once

// Drafted by `constat catalog draft` from the tables of `{0}`. Look it over: names and sentences
// are those of the tables, kinds are those of the stored values. A cell that is NULL has a value or
// none: `maybe`. Where you know better write `none`, or `unknown` for a value that nobody knows.
"""
_CONSTRAINTS: Final = """\
// The foreign keys of the source. `constat check-data` tells which rows break them, or a key above.
// `@[null = none]`: a row that is NULL there refers to nothing, as in SQL.
"""


_LINE: Final = ColumnSchema("rowid", "BIGINT", nullable=False, generated=True)
"""Which row of a file it is: without it equal rows would be one."""


@frozen
class DraftedColumn:
    """A column of a predicate and the column of the source that it is read from.

    `unit` is what stands beside its numbers in the source, where the configuration says so.
    """

    name: str
    decided: Decided
    kind: Kind
    cast: bool
    unit: str = ""

    @property
    def numbers_lines(self) -> bool:
        """Whether it numbers the rows of a file, from 1 on."""
        return self.decided.column is _LINE


@frozen
class DraftedPredicate:
    """A predicate for a table. `left_out` are columns that it lacks, with the reason.

    `remarks` are what nothing decides about how its file is written; `called` is what columns that
    point to it call a row of it; `english` is whether its name may be a word of English.
    """

    name: str
    checked: Checked
    columns: tuple[DraftedColumn, ...]
    key: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    english: bool = True

    @property
    def table(self) -> TableSchema:
        """The table."""
        return self.checked.table


def drafted(
    tables: Sequence[Checked],
    taken: Collection[str],
    wanted: Mapping[str, Sequence[str]],
    files: Mapping[str, TableFiles],
    remarks: Mapping[str, Sequence[str]] = NO_REMARKS,
) -> tuple[DraftedPredicate, ...]:
    """Choose names, columns and kinds.

    `taken` are names of predicates that exist; `wanted` gives the columns of a table by its path,
    where somebody has chosen them; `files` says by table how files are written, and `remarks` what
    nothing decides about that.
    """
    names = set(taken)
    found = []
    for checked in tables:
        setting = files.get(checked.table.name)
        predicate = _predicate(checked, names, wanted.get(checked.table.path, ()), setting)
        names.add(predicate.name)
        found.append(replace(predicate, remarks=tuple(remarks.get(checked.table.name, ()))))
    return _named(_alike(found))


def draft_text(predicates: Sequence[DraftedPredicate], database: str, dialect: str) -> str:
    """Write the file."""
    blocks = [_HEADER.format(_comment(database))]
    blocks += ["\n".join(_block(one, dialect)) + "\n" for one in predicates]
    constraints = list(_constraints(predicates))
    if constraints:
        blocks.append("\n".join([_CONSTRAINTS, *constraints]) + "\n")
    blocks += _lists(predicates)
    found: list[Diagnostic] = []
    text = format_text("\n".join(blocks), "<draft>", found)
    if text is None:
        raise ConstatError(found)
    return text


def _constraints(predicates: Sequence[DraftedPredicate]) -> Iterator[str]:
    """Write the foreign keys that the source declares, between predicates of the draft.

    Where a column of one may be NULL, the constraint says what SQL does: such a row refers to
    nothing, whatever else it may mean.
    """
    targets = {one.table.label: one for one in predicates}
    taken: set[str] = set()
    for one in predicates:
        for link in one.table.relationships:
            target = targets.get(link.target)
            pairs = _pairs(one, target, link) if target is not None and link.declared else []
            if not pairs or target is None:
                continue
            name = identifier(f"{one.name} {' '.join(own for own, _ in pairs)}", taken, "c")
            taken.add(name)
            left = ", ".join(f"{own} = ?{own}" for own, _ in pairs)
            right = ", ".join(f"{other} = ?{own}" for own, other in pairs)
            if _may_be_missing(one, [own for own, _ in pairs]):
                yield "@[null = none]"
            yield f".constraint {name}: {one.name}({left}) => {target.name}({right})."


def _lists(predicates: Sequence[DraftedPredicate]) -> Iterator[str]:
    """Write the lists of values that columns may have, and that they have one of these."""
    taken = {one.name for one in predicates}
    for one in predicates:
        for stored, values in one.table.accepted:
            column = next((c for c in one.columns if c.decided.column.name == stored), None)
            facts = [] if column is None or column.decided.folded else _facts(values, column.kind)
            if column is None or not facts:
                continue
            name = identifier(f"{one.name} {column.name} values", taken, "v")
            taken.add(name)
            what = f"{column.name} of {one.name}"
            left = f"{one.name}({column.name} = ?value)"
            lines = [
                f"/// The values that {what} may have, by a test of dbt.",
                f'@[says = "{what} may be {{value}}"]',
                f".decl {name}(value: {column.kind.value})",
                *(f"{name}({fact})." for fact in facts),
                "",
                "// A row that is NULL there has no value that could be another, as in SQL.",
                *(["@[null = none]"] if _may_be_missing(one, [column.name]) else []),
                f".constraint {one.name}_{column.name}_accepted: {left} => {name}(?value).",
            ]
            yield "\n".join(lines) + "\n"


def _facts(values: Sequence[str], kind: Kind) -> list[str]:
    """Write values as the language spells them; none where one of them is not of the kind."""
    try:
        match kind:
            case Kind.SYMBOL:
                return [print_text(one) for one in values]
            case Kind.NUMBER:
                return [str(int(one)) for one in values]
            case Kind.DECIMAL:
                numbers = [canonical_decimal(Decimal(one)) for one in values]
                return [print_term(Constant(one, kind)) for one in numbers]
            case _:
                return []
    except (ValueError, ArithmeticError):
        return []


def _pairs(
    one: DraftedPredicate, target: DraftedPredicate, link: Relationship
) -> list[tuple[str, str]]:
    """Give the columns of a foreign key by their names in the draft; none where one is missing."""
    here = {column.decided.column.name: column for column in one.columns}
    there = {column.decided.column.name: column for column in target.columns}
    found = []
    for own, other in zip(link.columns, link.target_columns, strict=False):
        if own not in here or other not in there or here[own].kind is not there[other].kind:
            return []
        found.append((here[own].name, there[other].name))
    return found


def _may_be_missing(one: DraftedPredicate, names: Collection[str]) -> bool:
    words = (null_word(one, column) for column in one.columns if column.name in names)
    return any(word not in {"", NullPolicy.NONE.value} for word in words)


def _predicate(
    checked: Checked, taken: Collection[str], wanted: Sequence[str], setting: TableFiles | None
) -> DraftedPredicate:
    table = checked.table
    left_out: list[tuple[str, str]] = []
    chosen: list[Decided] = []
    for one in _in_order(checked):
        name = one.column.name
        if wanted and name not in wanted:
            left_out.append((name, "not chosen"))
        elif one.kind is None:
            left_out.append((name, "it holds bytes"))
        elif not wanted and len(chosen) >= MOST_COLUMNS:
            left_out.append((name, TOO_MANY))
        else:
            chosen.append(one)
    columns: dict[str, DraftedColumn] = {}
    if checked.repeated and checked.is_of_texts:
        columns["line"] = DraftedColumn(
            "line", Decided(_LINE, Kind.NUMBER, full=True), Kind.NUMBER, cast=False
        )
    for one in chosen:
        name = identifier(one.column.name, columns, "c")
        label = one.column.name.lower()
        unit = setting.unit.get(label, "") if setting is not None else ""
        unit = one.reading.unit if one.reading is not None else unit
        kind = Kind.SYMBOL if _is_open(one, setting) else one.kind or Kind.SYMBOL
        columns[name] = DraftedColumn(name, one, kind, one.cast, unit)
    name = identifier(table.name, (), "t")
    if name in taken:
        name = identifier(f"{table.database} {table.schema} {table.name}", taken, "t")
    key = _key(checked, tuple(columns.values()))
    return DraftedPredicate(name, checked, tuple(columns.values()), key, tuple(left_out))


def _is_open(one: Decided, setting: TableFiles | None) -> bool:
    """Whether nothing says if a point stands between thousands or before a fraction."""
    if setting is None or setting.ending not in GUESSED:
        return False
    return one.grouped and one.column.name.lower() not in setting.locale


def _in_order(checked: Checked) -> Iterator[Decided]:
    """Give the key first, then what points elsewhere where there is too much, then the rest."""
    table = checked.table
    first = dict.fromkeys(table.key)
    if len(checked.columns) > MOST_COLUMNS:
        first.update(dict.fromkeys(name for one in table.relationships for name in one.columns))
    by_name = {one.column.name: one for one in checked.columns}
    yield from (by_name[name] for name in first if name in by_name)
    yield from (one for one in checked.columns if one.column.name not in first)


def _key(checked: Checked, columns: Sequence[DraftedColumn]) -> tuple[str, ...]:
    """Give the key in the predicate's own names, if it is one and all of it is there."""
    if any(one.code == "C0847" for one in checked.findings):
        return ()
    names = {one.decided.column.name: one.name for one in columns}
    key = checked.table.key
    return tuple(names[name] for name in key) if key and set(key) <= names.keys() else ()


def _alike(predicates: Sequence[DraftedPredicate]) -> tuple[DraftedPredicate, ...]:
    """Give columns that point to each other one kind: text, where they differ.

    A key that is stored as a number here and as text there could not be compared.
    """
    found = {one.table.label: one for one in predicates}
    changed = True
    while changed:
        changed = False
        for label, one in list(found.items()):
            for relationship in one.table.relationships:
                other = found.get(relationship.target)
                if other is not None and _differ(found[label], other, relationship):
                    found[label] = _as_text(found[label], relationship.columns[0])
                    target = found[relationship.target]
                    found[relationship.target] = _as_text(target, relationship.target_columns[0])
                    changed = True
    return tuple(found.values())


def _differ(one: DraftedPredicate, other: DraftedPredicate, relationship: Relationship) -> bool:
    if len(relationship.columns) != 1 or len(relationship.target_columns) != 1:
        return False
    first = _kind_of(one, relationship.columns[0])
    second = _kind_of(other, relationship.target_columns[0])
    return first is not None and second is not None and first is not second


def _kind_of(predicate: DraftedPredicate, column: str) -> Kind | None:
    found = (one.kind for one in predicate.columns if one.decided.column.name == column)
    return next(found, None)


def _as_text(predicate: DraftedPredicate, column: str) -> DraftedPredicate:
    columns = tuple(
        replace(one, kind=Kind.SYMBOL, cast=one.cast or one.kind is not Kind.SYMBOL)
        if one.decided.column.name == column
        else one
        for one in predicate.columns
    )
    return replace(predicate, columns=columns)


def _block(one: DraftedPredicate, dialect: str) -> Iterator[str]:
    """Write a predicate with what a reader has to know of its table."""
    yield from (f"/// {about}" for about in _about(one))
    yield from _names(one)
    for name, reason in one.left_out[:MOST_COLUMNS]:
        yield f"// Left out: {_comment(name)} ({reason})."
    if len(one.left_out) > MOST_COLUMNS:
        yield f"// Left out: {len(one.left_out) - MOST_COLUMNS:,} further columns."
    for remark in one.remarks:
        yield f"// CHECK: {_comment(remark, _LONGEST_REMARK)}."
    for finding in one.checked.findings:
        yield f"// {finding.code}: {_comment(finding.message)}."
    if any(column.numbers_lines for column in one.columns):
        yield "// `line` numbers the rows of the file, so that each of them counts in a sum."
    elif one.checked.repeated:
        yield "// Equal rows are one row here: a sum takes each of their values once."
    yield from _near_key(one)
    yield from (line for each in one.columns for line in _read_so(each))
    yield from map(_almost, filter(lambda each: each.decided.almost, one.columns))
    yield from _folded(one)
    yield from _without_null(one)
    for column in one.columns:
        if null_word(one, column) == NullPolicy.NONE.value:
            name = f"`{column.name}`"
            yield f"// {name} is none where nothing is above: every row leads to one without."
    yield f"@[says = {print_text(_sentence(one))}]"
    if one.key:
        yield f"@[key = {one.key[0] if len(one.key) == 1 else print_text(', '.join(one.key))}]"
    near = near_key_of(one)
    naming = {*one.key, *_pointing(one), *((near[1],) if near is not None else ())}
    columns = (
        _column(column, null_word(one, column), names=column.name in naming)
        for column in one.columns
    )
    yield f".decl {one.name}({', '.join(columns)})"
    yield _input(one, dialect)


def _names(one: DraftedPredicate) -> Iterator[str]:
    """Say why a name is not the one of the source."""
    plain = identifier(one.table.name, (), "t")
    if one.name not in {plain, one.table.name.lower()} and plain != one.name.rstrip("_"):
        yield f"// Named `{one.name}`, because there is a `{plain}` already."
    for name, source in (
        (one.name, f"table {_comment(one.table.name)}"),
        *((each.name, f"column {_comment(each.decided.column.name)}") for each in one.columns),
    ):
        if name.endswith("_") and name.rstrip("_") in RESERVED | BASE_TYPES | DIRECTIVES:
            word = name.rstrip("_")
            yield f"// `{name}` is the {source}; `{word}` is a word of the language."


def _without_null(one: DraftedPredicate) -> Iterator[str]:
    """Name columns that a table lets be NULL, and that are not in any row: how that was found."""
    if one.checked.table.kind != "table":
        return
    names = [
        each.name
        for each in one.columns
        if each.decided.full and each.decided.column.nullable and not null_word(one, each)
    ]
    names = [name for name in names if name not in one.key]
    if names:
        more = [f"{len(names) - _MOST_WITHOUT:,} more"] if len(names) > _MOST_WITHOUT else []
        listed = _listed([*(f"`{name}`" for name in names[:_MOST_WITHOUT]), *more])
        yield f"// All rows were counted: none has NULL in {listed}, which may hold it."
        yield "// A row with NULL there would be unknown until `@[null = maybe]` stands before it."


_MOST_WITHOUT: Final = 3


_STORED: Final = MappingProxyType(
    {Kind.DATE: "DATE", Kind.TIMESTAMP: "DATETIME", Kind.NUMBER: "BIGINT", Kind.DECIMAL: "DECIMAL"}
)


def _read_so(column: DraftedColumn) -> Iterator[str]:
    """Say how the query reads what is stored in another way, or the edits that would."""
    name, reading = column.name, column.decided.reading
    if reading is not None and column.kind is reading.kind:
        plain = written(_plain(column_of(column.decided.column.name)), "sqlite")
        kind, stored = reading.kind.value, reading.stored.value
        yield f"// `{name}` is stored like {_comment(reading.way)}, and made a {kind} by the query:"
        yield "// a cell that is not so leaves its row unknown. To have it as it stands"
        yield f"// write `{name}: {stored}`, and `{plain}` in the query."
    left = column.decided.left
    if left is not None:
        what = "numbers" if left.kind.numeric else "days"
        stays = "a text" if left.stored is Kind.SYMBOL else "a number"
        yield f"// CHECK: `{name}` holds {what}, such as {_comment(left.way)}, and stays {stays}:"
        yield "// MySQL and MariaDB do not say of what a query computes why it is NULL. To compare"
        wanted = _STORED.get(left.kind, "DOUBLE")
        yield f"// it, or count with it, have the database give it as a column of {wanted}."
    if column.decided.ways:
        yield f"// CHECK: `{name}` means other values in other countries, so it is left a text."
        yield "// Where it is known which, write one of these in place of its name in the query:"
        for way in column.decided.ways:
            yield f"//   {way.sql}"
            yield f"//   and `{name}: {way.kind.value}`, where it is like {_comment(way.way)}"


def _almost(column: DraftedColumn) -> str:
    """Say how a column is read of which a few values are of another kind than all others."""
    kind = column.decided.almost
    if column.kind is kind:
        text = f"where texts are meant, write `{column.name}: symbol`"
        return f"// Other rows are not known until the source is mended; {text}."
    other = kind.value if kind else ""
    return (
        f"// `{column.name}` is text, then; with `{column.name}: {other}` such a row is not known."
    )


def folded_columns(one: DraftedPredicate) -> tuple[str, ...]:
    """Name the columns whose values the source compares without regard to upper and lower case."""
    return tuple(each.name for each in one.columns if each.decided.folded)


def _folded(one: DraftedPredicate) -> Iterator[str]:
    """Say which texts are compared here otherwise than in the source, with the edits."""
    names = folded_columns(one)
    if not names:
        return
    listed = _listed(f"`{name}`" for name in names)
    yield f"// In {listed} the source takes `a` and `A` for equal, and rules do not."
    yield f'// `match("[Aa]bc", ?{names[0]})` in a rule takes `Abc` and `abc`.'
    whole = [each for each in one.columns if each.decided.folded and not null_word(one, each)]
    if whole:
        name = written(_plain(column_of(whole[0].decided.column.name)), "sqlite")
        yield f"// `lower({name})` in place of `{name}` in the query makes that column lower case."


def near_key_of(one: DraftedPredicate) -> tuple[NearKey, str] | None:
    """Give what would be a key, with its name in the draft, where the source declares none."""
    near = one.checked.near
    named = (each.name for each in one.columns if near and each.decided.column.name == near.column)
    name = next(named, "")
    return (near, name) if near is not None and name else None


def _near_key(one: DraftedPredicate) -> Iterator[str]:
    found = near_key_of(one)
    if found is None:
        return
    near, name = found
    if near.is_key:
        yield f"// {near.said(name)}."
        yield f"// Where that has to be so, write `@[key = {name}]` before `.decl`."
    else:
        yield f"// `@[key = {name}]` before `.decl` has `constat check-data` list these rows: none"
        yield "// of them counts until they are mended in the source."


def _about(one: DraftedPredicate) -> Iterator[str]:
    """Say what the table is, and what the source says of its columns."""
    table = one.table
    rows = "" if table.rows is None else f", {'' if table.counted else 'about '}{table.rows:,} rows"
    if rows and not table.counted:
        rows += " as the source guesses"
    looked = "all" if one.checked.every else f"the first {one.checked.rows:,}"
    comment = f" {_comment(table.comment)}" if table.comment else ""
    yield f"The {table.kind} {_comment(table.path)}{rows}; {looked} were looked at.{comment}"
    told = ((column.name, column.decided.column.comment) for column in one.columns)
    yield from (f"{name}: {_comment(text)}" for name, text in told if text)


_GERMAN: Final = (
    *((ending, "en") for ending in ("ung", "heit", "keit", "schaft")),
    *((ending, "n") for ending in ("kunde", "adresse", "stelle", "gruppe", "filiale", "ware")),
    *((ending, "e") for ending in ("beleg", "produkt", "termin", "betrieb")),
)
"""How German names of tables end, and what makes several of them."""
_NO_ENGLISH: Final = frozenset(
    {
        *("nummer", "datum", "kunde", "kunden", "bezeichnung", "preis", "menge", "betrag", "stadt"),
        *("ort", "orte", "plz", "strasse", "anzahl", "vorname", "nachname", "und", "von", "gehalt"),
        *("artikel", "lieferant", "mitarbeiter", "auftrag", "gewicht", "farbe", "kosten", "titel"),
        *("nom", "prenom", "adresse", "ville", "nombre", "apellido", "fecha", "cliente", "pedido"),
    }
)
"""Words in names of tables and columns that are none of English."""
_NO_ENGLISH_ENDS: Final = ("ungen", "ung", "heit", "keit", "schaft", "nummer", "datum", "preis")
_OF_TABLES: Final = frozenset({"tbl", "tab", "table", "tabelle"})
_SHORT: Final = 3
_ENDINGS: Final = frozenset({"s", "es", "e", "n", "en", "er", "nen", "se"})
_SEVERAL: Final = frozenset(
    {
        *("axes", "leaves", "lives", "bases", "data", "equipment", "information", "media", "means"),
        *("news", "personnel", "series", "species", "staff"),
    }
)
"""Words of English that are several already."""


def _named(found: Sequence[DraftedPredicate]) -> tuple[DraftedPredicate, ...]:
    """Say of each table what others call a row of it, and whether the names are English."""
    names = [one.table.name for one in found]
    names += [column.decided.column.name for one in found for column in one.columns]
    english = not any(map(_is_not_english, names))
    calling: dict[str, tuple[str, ...]] = {}
    for one in found:
        for link in one.table.relationships:
            if len(link.columns) == 1:
                calling.setdefault(link.target, _without_naming(link.columns[0]))
    return tuple(
        replace(one, called=calling.get(one.table.label, ()), english=english) for one in found
    )


def _is_not_english(name: str) -> bool:
    words = words_of(name)
    marked = not _NO_ENGLISH.isdisjoint(words)
    return marked or not name.isascii() or any(word.endswith(_NO_ENGLISH_ENDS) for word in words)


def _without_naming(name: str) -> tuple[str, ...]:
    """Give a column's words as they are spoken, without `id`."""
    words = spoken_words(name)
    return words[:-1] if len(words) > 1 and words[-1] in _NAMING else words


def _table_words(one: DraftedPredicate) -> tuple[str, ...]:
    """Give the words of a table's name without what says that it is one: `tblBikes_V2` is bikes."""
    words, spoken = words_of(one.name.rstrip("_")), spoken_words(one.table.name)
    if words_of(one.table.name) == words:
        words = spoken
    if len(words) > 1 and words[0] in _OF_TABLES:
        words = words[1:]
    says = any(word.isalpha() and len(word) >= _SHORT for word in words)
    if not says and one.table.name.replace("_", "").isalnum():
        # `T017` says nothing; it is that table's own spelling that people know.
        return (one.table.name,)
    if len(words) > 2 and words[-2] == "v" and words[-1].isdigit():  # noqa: PLR2004  a word, v, 2
        words = words[:-2]
    return words or (one.name,)


def _named_by_key(one: DraftedPredicate) -> tuple[str, ...]:
    """Give the noun that a key is the number of: of `Tiere` with the key `TierNr` it is `tier`.

    What a column that points to the table is called says it, too: `kunde` of `Kunden`.
    """
    *first, last = _table_words(one)
    keys = [each.decided.column.name for each in one.columns if (each.name,) == one.key]
    words = spoken_words(keys[0]) if keys else ()
    said = [words[:-1]] if len(words) > 1 and words[-1] in _NAMING else []
    for *_, noun in [*said, one.called] if one.called else said:
        if len(noun) > _SHORT and _bare(last).removeprefix(_bare(noun)) in _ENDINGS:
            return (*first, noun)
    return ()


def _bare(word: str) -> str:
    """Spell a word without accents: `häuser` begins as `haus` does."""
    return "".join(words_of(word))


def noun_of(one: DraftedPredicate) -> str:
    """Name one row of a table: `order line` for the table `order_lines`.

    The name stays as it is where nothing says how one row is called.
    """
    single = singular(_table_words(one), english=one.english)
    return " ".join(_named_by_key(one) or single)


def plural_of(one: DraftedPredicate) -> str:
    """Name several rows of a table: `order lines`, also where the table is called `OrderLine`."""
    *first, last = _table_words(one)
    if noun_of(one) != " ".join([*first, last]):
        return " ".join([*first, last])
    german = next((more for end, more in _GERMAN if last.endswith(end)), "")
    if german:
        last += german
    elif one.english and last not in _SEVERAL:
        consonant = last.endswith("y") and last[-2:-1] not in {"a", "e", "i", "o", "u"}
        ending = "ies" if consonant else "es" if last.endswith(_HISSING) else "s"
        last = (last[:-1] if consonant else last) + ending
    return " ".join([*first, last])


def _sentence(one: DraftedPredicate) -> str:
    """Say every column once: the key as the subject, then what it belongs to, then the rest."""
    called = words_of(noun_of(one))
    itself = [
        name
        for name in one.key or _columns_of(one)
        if words_of(name) == called or (one.key and _without_naming(name) == called)
    ][:1]
    subject = one.key or tuple(itself or _columns_of(one)[:1])
    told = one.key or itself or words_of(subject[0])[-1:] in _NAMED
    if not told and len(one.columns) > 1:
        # Nothing says that its first column is what a row is known by.
        every = ", ".join(f"{_label(one, name)} {{{name}}}" for name in _columns_of(one))
        return f"{noun_of(one)}: {every}"
    pointing = _pointing(one)
    if not itself and len(subject) == 1 and subject[0] not in pointing:
        itself = [*subject]
    further = [name for name in subject if name not in itself]
    owners = [name for name in pointing if name not in subject and not _may_lack(one, name)]
    rest = [name for name in _columns_of(one) if name not in {*subject, *owners}]
    text = noun_of(one) + "".join(f" {{{name}}}" for name in itself)
    if further:
        text += " of " + _listed(_worded(one, name) for name in further)
    if owners:
        text += (", of " if further else " of ") + _listed(_worded(one, name) for name in owners)
    if not rest:
        return text
    return f"{text}: " + ", ".join(f"{_label(one, name)} {{{name}}}" for name in rest)


def _columns_of(one: DraftedPredicate) -> list[str]:
    return [column.name for column in one.columns]


def _worded(one: DraftedPredicate, name: str) -> str:
    """Put a column's name, without `id`, before its value: of `cust_id` what it points to."""
    words = _without_naming(_spoken(one, name))
    stored = next(each.decided.column.name for each in one.columns if each.name == name)
    for link in one.table.relationships:
        table = singular(spoken_words(link.target.rpartition(".")[2]), english=one.english)
        if link.columns == (stored,) and words and _is_short_for(words[-1], _bare(table[-1])):
            words = (*words[:-1], *table)
            break
    return f"{' '.join(words) or name} {{{name}}}"


def _is_short_for(short: str, word: str) -> bool:
    """Tell whether a few letters stand for a word that they point to: `kd` for `kunden`."""
    letters = iter(word)
    few = 1 < len(short) <= _SHORT + 1 < len(word) and short[0] == word[0]
    return few and all(letter in letters for letter in short)


def _spoken(one: DraftedPredicate, name: str) -> str:
    """Give a column's name, as the source spells it where it has letters that no name here has."""
    stored = next(each.decided.column.name for each in one.columns if each.name == name)
    if stored.isascii() or words_of(stored) != words_of(name):
        return name
    return "_".join(spoken_words(stored))


def _listed(parts: Iterable[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def _pointing(one: DraftedPredicate) -> list[str]:
    """Name the columns that point to another table, in the predicate's own names."""
    single = {link.columns[0] for link in one.table.relationships if len(link.columns) == 1}
    return [each.name for each in one.columns if each.decided.column.name in single]


def _may_lack(one: DraftedPredicate, name: str) -> bool:
    return any(null_word(one, each) for each in one.columns if each.name == name)


def null_word(predicate: DraftedPredicate, column: DraftedColumn) -> str:
    """Give the word for nulls: what the rows show, else what says least."""
    decided, checked = column.decided, predicate.checked
    if decided.column.name in checked.tops:
        return NullPolicy.NONE.value
    if column.name in predicate.key:
        return ""
    # Files and views declare nothing: there a NULL was seen, or not every row was looked at.
    declares = checked.table.kind == "table"
    looked = decided.full or (checked.every and not declares)
    possible = decided.column.nullable and not looked
    return NullPolicy.MAYBE.value if decided.nulls or possible else ""


def _column(column: DraftedColumn, policy: str, *, names: bool) -> str:
    """Write a column; with `names` its numbers name something and are never written in groups."""
    said = "@[id] " if names and column.kind in _WHOLE and _is_bare(column.name) else ""
    said += f"@[null = {policy}] " if policy else ""
    if not names:
        unit, places = _unit(column), _MONEY_PLACES if _is_money(column) else ""
        said += f"@[unit = {print_text(unit)}] " if unit else ""
        said += f"@[places = {places}] " if places else ""
    return f"{said}{column.name}: {column.kind.value}"


def _unit(column: DraftedColumn) -> str:
    """Give the unit of a number: what the configuration says, else what its name ends with."""
    return (column.unit if column.kind.numeric else "") or _unit_of_name(column)


def _unit_of_name(column: DraftedColumn) -> str:
    words = words_of(column.name)
    return _UNITS.get(words[-1], "") if column.kind.numeric and len(words) > 1 else ""


def _is_money(column: DraftedColumn) -> bool:
    """Whether a number is an amount of money, written with cents."""
    words = {*words_of(column.name)}
    cents = column.kind is Kind.DECIMAL and column.decided.places <= int(_MONEY_PLACES)
    return cents and column.decided.seen > 0 and not words.isdisjoint(_MONEY)


def _label(one: DraftedPredicate, name: str) -> str:
    """Give the words before a column's value; a unit stands behind it."""
    column = next(each for each in one.columns if each.name == name)
    text = _spoken(one, name).replace("_", " ").strip()
    return (
        text.rpartition(" ")[0]
        if name not in one.key and _unit_of_name(column) and " " in text
        else text
    )


def _is_bare(name: str) -> bool:
    """Whether the name itself does not say that its numbers name something."""
    return words_of(name)[-1:] not in {(word,) for word in (*_NAMING, "year")}


def _input(one: DraftedPredicate, dialect: str) -> str:
    source, query = print_text(one.table.database), print_text(_query(one, dialect))
    distinct = ', distinct = "true"' if _may_repeat(one) else ""
    return f".input {one.name}(source = {source}, query = {query}{distinct})"


def _may_repeat(one: DraftedPredicate) -> bool:
    """Whether rows could be equal in the columns that are taken."""
    names = {column.decided.column.name for column in one.columns}
    if any(column.numbers_lines for column in one.columns):
        return False
    if any(key <= names for key in row_keys(one.table)) and not _unsound(one.checked.findings):
        return False
    return one.checked.repeated is not False or len(names) < len(one.table.columns)


def _unsound(findings: Sequence[Diagnostic]) -> bool:
    return any(one.code == "C0847" for one in findings)


def _query(one: DraftedPredicate, dialect: str) -> str:
    import sqlglot  # noqa: PLC0415  heavy library, loaded on first use
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    columns = []
    for column in one.columns:
        if column.numbers_lines:
            number = exp.Add(this=exp.column("rowid"), expression=exp.Literal.number(1))
            columns.append(exp.alias_(number, column.name))
            continue
        reading = column.decided.reading
        if reading is not None and column.kind is reading.kind:
            spelled = sqlglot.parse_one(reading.sql, dialect=dialect)
            for found in spelled.find_all(exp.Column):
                _plain(found)
            columns.append(exp.alias_(spelled, column.name, quoted=not is_plain(column.name)))
            continue
        read = _plain(column_of(column.decided.column.name))
        columns.append(as_text(read) if column.cast else read)
    source = source_of(one.table)
    for part in ("this", "db"):
        name = source.args.get(part)
        if name is not None and is_plain(name.name):
            name.set("quoted", False)  # noqa: FBT003  an argument of the parser's own
    return written(exp.select(*columns).from_(source), dialect)


def _plain(column: exp.Column) -> exp.Column:
    """Take the quotes off where they make no difference."""
    if is_plain(column.name):
        column.this.set("quoted", False)  # noqa: FBT003  as above
    return column


def is_plain(name: str) -> bool:
    """Tell whether every dialect reads the bare name as the quoted one."""
    return _PLAIN.match(name) is not None and name not in RESERVED_SQL


def _comment(text: str, most: int = _LONGEST_COMMENT) -> str:
    """Give a text of a source for one line of a comment."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text[: most + 1])
    return shown if len(shown) <= most else shown[:most] + "…"
