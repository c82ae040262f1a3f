"""Hold what a source declares against what it stores, and decide of which kind columns are."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import field, replace
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.connection import (
    OfFiles,
    QueryMistakeError,
    ReadBounds,
    SourceFailureError,
    read_cell,
    read_column,
)
from constat.catalog.file_tables import (
    century_said,
    guess_cells,
    is_grouped,
    null_said,
    short_days,
    ways_of,
)
from constat.catalog.guard import guard
from constat.catalog.schema.described import is_bytes, is_foreign, kinds_of, shortened
from constat.catalog.schema.introspection import reading
from constat.catalog.schema.samples import (
    as_text,
    ask,
    beginning,
    column_of,
    count,
    source_of,
    unanswered,
    written,
)
from constat.catalog.schema.words import singular, words_of
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.frozen import frozen
from constat.logic import PLAIN, Kind, format_value, null_words
from constat.project.files import TableFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlglot import exp

    from constat.catalog.connection import Cell, Connection, RawRow
    from constat.catalog.guard import Guarded, Output
    from constat.catalog.schema.described import ColumnSchema, Relationship, TableSchema
    from constat.logic import Column, Locale, Predicate
    from constat.project import Project

_GUESSED: Final = (Kind.NUMBER, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL)
_TRIED: Final = (*_GUESSED[:2], Kind.FLOAT, *_GUESSED[2:], Kind.SYMBOL)
_FEW: Final = 4
"""Where so many cells or more have one value, on an average, it is that of a group."""
_LIKE_A_KEY: Final = frozenset(
    {"id", "key", "code", "no", "nr", "number", "zip", "phone", "fax", "sku", "isbn", "account"}
)
_NAMING: Final = frozenset(
    {"id", "key", "code", "no", "nr", "num", "number", "nummer", "numero", "sku", "isbn", "uuid"}
)
_MOST: Final = 0.5
_NEARLY_ALL: Final = 0.9
"""Which share of the rows has a value of its own, in a column called a key, and in another."""
_EXAMPLES: Final = 3
_LEAST_SEEN: Final = 4
_LEAST_DAYS: Final = 2
"""Two days are none by chance: of numbers with eight digits one in a thousand looks like one."""
_STORED: Final = frozenset({"table", "view"})
_STRANGE: Final = 20
"""Of so many values one may be of another kind than all others; of four values one."""


@frozen
class Decided:
    """How the values of a column are read. `kind` is `None` where no kind can hold them.

    With `cast` a query has to spell them as text. `nulls` tells whether NULL was among the cells,
    `seen` how many others there were; `wrong` how many of those the declared type does not fit.
    `places` is how many digits stand behind the point at most, of decimals; `repeated` tells that
    most cells have one of a few values, `full` that all rows were counted and none has NULL. All
    texts but those at the places `strange` spell a value of the kind `almost`. Where they are
    `grouped` each may be a fraction, or a thousand and more; where they are `folded` the source
    takes upper and lower case for equal. `reading` spells values of the kind in the source; where
    several `ways` to read them differ, none of these is taken; `left` is what the source cannot
    spell, and stays as it stands.
    """

    column: ColumnSchema
    kind: Kind | None
    cast: bool = False
    nulls: bool = False
    seen: int = 0
    wrong: int = 0
    places: int = 0
    repeated: bool = False
    full: bool = False
    strange: tuple[int, ...] = ()
    almost: Kind | None = None
    grouped: bool = False
    folded: bool = False
    reading: Reading | None = None
    ways: tuple[Reading, ...] = ()
    left: Reading | None = None


@frozen
class Reading:
    """How a source spells what it stores in another way: `sql` in its own dialect.

    `way` says what that looks like, `stored` is the kind that it has as it stands; `unit` stands
    beside each of the numbers.
    """

    kind: Kind
    sql: str
    way: str
    unit: str = ""
    stored: Kind = Kind.SYMBOL


def decide(column: ColumnSchema, cells: Sequence[Cell], *, typed: bool) -> Decided:
    """Decide by the cells; `typed` where the source declares types, as files do not."""
    values = [cell for cell in cells if cell is not None]
    nulls = len(values) < len(cells)
    if is_bytes(column.declared) or any(isinstance(cell, bytes) for cell in values):
        return Decided(column, None, nulls=nulls, seen=len(values))
    if is_foreign(column.declared):
        return Decided(column, Kind.SYMBOL, cast=True, nulls=nulls, seen=len(values))
    likely = kinds_of(column.declared) if typed else ()
    wrong = 0
    if likely and likely[0] is not Kind.SYMBOL:
        wrong = min(_unreadable(values, kind) for kind in likely if kind is not Kind.SYMBOL)
    for kind in _candidates(column, likely, values):
        if _unreadable(values, kind) == 0:
            if kind is Kind.TIMESTAMP and values and _unreadable(values, Kind.DATE) == 0:
                kind = Kind.DATE  # noqa: PLW2901  what has no time of day is a day
            cast = False
            break
    else:
        kind, cast = Kind.SYMBOL, True
    almost, strange = _almost(column, likely, cells) if kind is Kind.SYMBOL else (None, ())
    # A word among numbers or days is none of them; what has a digit may be meant as it stands.
    if almost and not any(letter.isdigit() for n in strange for letter in str(cells[n])):
        kind, cast = almost, False
        values = [cell for n, cell in enumerate(cells) if cell is not None and n not in strange]
    return Decided(
        column,
        kind,
        cast,
        nulls,
        len(values) + (len(strange) if kind is almost else 0),
        wrong,
        places=_places(values) if kind is Kind.DECIMAL else 0,
        repeated=len({*values}) * _FEW <= len(values),
        strange=strange,
        almost=almost,
        grouped=not typed and is_grouped([str(one) for one in values]),
    )


def _almost(
    column: ColumnSchema, likely: Sequence[Kind], cells: Sequence[Cell]
) -> tuple[Kind | None, tuple[int, ...]]:
    """Find a kind that all texts but a few spell, and the places of these few."""
    values = [(place, cell) for place, cell in enumerate(cells) if cell is not None]
    if len(values) < _LEAST_SEEN:
        return None, ()
    declared = bool(likely) and likely[0] is not Kind.SYMBOL
    if not declared and not all(isinstance(cell, str) for _, cell in values):
        return None, ()
    found: tuple[Kind | None, tuple[int, ...]] = (None, ())
    named = set(words_of(column.name)[-1:]) & _LIKE_A_KEY
    for kind in likely if declared else _GUESSED:
        if kind is Kind.SYMBOL or (kind.numeric and named and not declared):
            continue
        wrong = tuple(
            place
            for place, cell in values
            if (_unreadable((cell,), kind) if declared else not _spells((cell,), kind))
        )
        few = len(wrong) == 1 or len(wrong) * _STRANGE <= len(values)
        if few and (found[0] is None or len(wrong) < len(found[1])):
            found = kind, wrong
    return found


def _places(values: Sequence[Cell]) -> int:
    """Count the digits behind the point, of the value that has most."""
    texts = (format_value(read_cell(one, Kind.DECIMAL), Kind.DECIMAL) for one in values)
    return max((len(text.partition(".")[2]) for text in texts), default=0)


def _candidates(
    column: ColumnSchema, likely: Sequence[Kind], values: Sequence[Cell]
) -> Sequence[Kind]:
    """Give the kinds to try, the likeliest first."""
    if likely and likely[0] is not Kind.SYMBOL:
        return likely
    if not values or not all(isinstance(cell, str) for cell in values):
        # Nothing to judge by, or numbers where nothing is declared: a text among them, such as 07,
        # is one of them only where it is written as they are.
        texts = [cell for cell in values if isinstance(cell, str)]
        numeric = (kind for kind in (Kind.NUMBER, Kind.DECIMAL, Kind.FLOAT) if _spells(texts, kind))
        return tuple(numeric) if values else (Kind.SYMBOL,)
    guessed = [kind for kind in _GUESSED if _spells(values, kind)]
    if likely and set(words_of(column.name)[-1:]) & _LIKE_A_KEY:
        # The source keeps it as text on purpose: an account number is not counted with.
        guessed = [kind for kind in guessed if not kind.numeric]
    return (*guessed, Kind.SYMBOL)


def _spells(values: Sequence[Cell], kind: Kind) -> bool:
    """Tell whether texts are what values of a kind look like, to the letter where they count."""
    for cell in values:
        try:
            value = read_cell(cell, kind)
        except ValueError:
            return False
        if kind.numeric and not _written_alike(str(cell), format_value(value, kind)):
            return False
    return True


def _written_alike(text: str, canonical: str) -> bool:
    """Tell whether a numeral has no leading zeros or signs; zeros behind the point may stand."""
    whole, _, fraction = text.partition(".")
    return canonical == (f"{whole}.{fraction.rstrip('0')}".rstrip(".") if fraction else whole)


def _unreadable(values: Sequence[Cell], kind: Kind) -> int:
    count = 0
    for cell in values:
        try:
            read_cell(cell, kind)
        except ValueError:
            count += 1
    return count


NOTHING: Final[Mapping[str, TableSchema]] = MappingProxyType({})
_ROWS: Final = 2_000
_SECONDS: Final = 10.0
_FEW_SECONDS: Final = 2.0
# Their keys are indexes without repetitions; only NULL may stand in some.
_ENFORCING: Final = frozenset({"sqlite", "duckdb", "postgres", "mysql"})
# Their foreign keys hold. SQLite checks one only where whoever writes has asked for that.
_POINTING: Final = frozenset({"duckdb", "postgres", "mysql"})
_VALUES: Final = 10_000
_LONGEST: Final = 80
_MOST_COLUMNS: Final = 400
_LIKELY: Final = 0.95
NAMING_KINDS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED, Kind.SYMBOL})
"""Kinds of columns that may name a row; an amount or a day names none."""


@frozen
class Checked:
    """What was found. `rows` were read for the kinds, `every` where those are all there are.

    `repeated` tells whether some rows are equal in all columns that can be read; `None` where that
    is not known. `tops` are columns that point to rows of the same table, and are NULL in exactly
    the rows that stand at the top. `near` is a column that nobody declares to be a key;
    `strange` shows by column the first values that are not of its kind, and where they stand, `odd`
    gives these values.
    """

    table: TableSchema
    columns: tuple[Decided, ...]
    rows: int
    every: bool
    repeated: bool | None
    findings: tuple[Diagnostic, ...]
    tops: frozenset[str] = frozenset()
    near: NearKey | None = None
    strange: Mapping[str, str] = field(default_factory=dict, hash=False)
    odd: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    @property
    def is_of_texts(self) -> bool:
        """Whether it is a file that declares no types."""
        declared = {one.declared for one in self.table.columns}
        return self.table.kind == "file" and declared == {"VARCHAR"}


@frozen
class NearKey:
    """A column without which no row is named, where the source declares no key.

    Of `rows` rows `shared` have a value that another has, too, and `empty` have none: it is a key
    where both are 0. `examples` are values that rows share, each with their number.
    """

    column: str
    rows: int
    shared: int
    empty: int
    examples: tuple[tuple[str, int], ...] = ()

    @property
    def is_key(self) -> bool:
        """Whether every row has a value of its own."""
        return not self.shared and not self.empty

    def said(self, name: str) -> str:
        """Say it of the column by the name that rules have for it; no value is shown."""
        if self.is_key:
            return f"`{name}` is different in every row, and nothing declares it to be a key"
        told = [f"{self.shared:,} of {self.rows:,} rows share its values"] if self.shared else []
        told += [f"{self.empty:,} of {self.rows:,} rows have none"] if self.empty else []
        return f"`{name}` is nearly a key: {', and '.join(told)}"

    def shown(self) -> str:
        """Show values that rows share: `9 (3 rows)`."""
        return ", ".join(f"{value} ({times:,} rows)" for value, times in self.examples)


def likely_keys(table: str, columns: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Name the columns that may be keys by their names, with the share of rows that makes it so."""
    noun = singular(words_of(table))
    for place, name in enumerate(columns):
        words = words_of(name)
        *before, last = words or ("",)
        named = last in _NAMING and tuple(before) in {noun[n:] for n in range(len(noun) + 1)}
        if named or words == noun:
            yield name, _MOST
        elif place == 0 and last in _NAMING:
            yield name, _NEARLY_ALL


def near_key(
    connection: Connection,
    source: exp.Expr,
    candidates: Iterable[tuple[str, float]],
    seconds: float,
) -> NearKey | None:
    """Count what keeps a column from being a key; the first that is one, or nearly.

    `source` stands behind FROM. Raises `SourceFailureError` and `QueryMistakeError`.
    """
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    nothing = exp.null()
    for name, share in candidates:
        column, number, value = column_of(name), exp.column("n", "g"), exp.column("k", "g")
        groups = (
            exp.select(exp.alias_(column, "k"), exp.alias_(exp.Count(this=exp.Star()), "n"))
            .from_(source.copy())
            .group_by(column.copy())
            .subquery("g")
        )
        own = exp.and_(
            exp.EQ(this=number, expression=exp.Literal.number(1)), value.is_(nothing).not_()
        )
        more = exp.and_(
            exp.GT(this=number, expression=exp.Literal.number(1)), value.is_(nothing).not_()
        )
        sums = [
            exp.Sum(this=exp.Case().when(which, number).else_(exp.Literal.number(0)))
            for which in (own, more, value.is_(nothing))
        ]
        (found,) = ask(connection, exp.select(*sums).from_(groups), seconds)
        single, shared, empty = (int(str(one or 0)) for one in found)
        rows = single + shared + empty
        if not rows or single < rows * share:
            continue
        listed = exp.select(as_text(value), number).from_(groups.copy()).where(more.copy())
        listed = listed.order_by(exp.Ordered(this=number.copy(), desc=True), as_text(value.copy()))
        examples = ask(connection, listed.limit(_EXAMPLES), seconds) if shared else []
        told = tuple((shortened(one, _LONGEST), int(str(times))) for one, times in examples)
        return NearKey(name, rows, shared, empty, told)
    return None


def misfits(
    predicate: Predicate, query: Guarded, connection: Connection, seconds: float, *, shown: bool
) -> Iterator[Diagnostic]:
    """Hold a declaration against the rows that its query gives, as they are now.

    Every value that is not of its column's kind is told, one as well as all: what rests on its row
    is unknown. Behind the first rows they are looked for in files and SQLite alone, where nothing
    else keeps them away. A value stands there where it may be `shown`. Raises `SourceFailureError`
    and `QueryMistakeError`.
    """
    import sqlglot  # noqa: PLC0415  heavy library, loaded on first use

    whole = query.text
    tree: Any = sqlglot.parse_one(whole, dialect=query.dialect)
    if not (tree.args.get("limit") or tree.args.get("fetch")):
        query = guard(written(tree.limit(_ROWS), query.dialect), query.dialect)
    question = connection.whole(query, predicate.arity)
    bounds = ReadBounds(min(seconds, _FEW_SECONDS), _ROWS)
    rows = [row for batch in connection.read(question, bounds) for row in batch]
    words = null_words(predicate)
    names = connection.columns(query.text)
    read = {name: each.kind for name, each in zip(names, predicate.columns, strict=False)}
    later: dict[str, list[Cell]] = {}
    if len(rows) == _ROWS and len(read) == predicate.arity and Kind.STRUCTURE not in read.values():
        with suppress(SourceFailureError, QueryMistakeError):
            later = beyond(connection, f"({whole})", read, seconds)
    for place, column in enumerate(predicate.columns):
        cells = [row[place] for row in rows]
        more = later.get(names[place], ()) if later else ()
        base = query.outputs[place] if query.outputs else None
        yield from _misfits(
            _Wrong(column, cells, more, base, shown), connection, accounted=words[place] != "error"
        )
    key = predicate.key
    different = {row for row in rows if all(row[place] is not None for place in key)}
    if key and len({tuple(row[place] for place in key) for row in different}) < len(different):
        keyed = ", ".join(f"`{predicate.columns[place].name}`" for place in key)
        message = f"different rows have the same {keyed}, which is declared"
        hint = f"take `@[key]` from `{predicate.name}`, or mend the rows: `constat check-data`"
        yield _misfit(f"{message} to be the key", hint, "C0847")


@frozen
class _Wrong:
    """A column with its first cells, and with `later` ones behind them that may be no values.

    `base` is the table and the column of the source that it comes from, where it is one.
    """

    column: Column
    cells: Sequence[Cell]
    later: Sequence[Cell]
    base: Output | None
    shown: bool

    @property
    def wrong(self) -> list[Cell]:
        """The cells that are no values of the column, in their order."""
        every = (cell for cell in (*self.cells, *self.later) if cell is not None)
        return [cell for cell in every if not _is_of(cell, self.column)]

    def said(self, connection: Connection) -> tuple[str, str]:
        """Say which value is the first wrong one and where, and the edit that takes it for none."""
        wrong, base = self.wrong, self.base
        value = f"`{shortened(wrong[0], _LONGEST)}`" if self.shown else ""
        place = none = ""
        if base is not None and isinstance(connection, OfFiles):
            place = connection.place(base.tables[0], base.column, str(wrong[0]))
            words = list(dict.fromkeys(map(str, wrong)))[:_EXAMPLES]
            none = f"; where that is no value, `{null_said(base.column, words)}` beside `file`"
        text = " in ".join(filter(None, (value, place)))
        return f": {text}" if text else "", none if self.shown else ""


def _misfits(one: _Wrong, connection: Connection, *, accounted: bool) -> Iterator[Diagnostic]:
    column, cells = one.column, one.cells
    values = [cell for cell in cells if cell is not None]
    name, kind = column.name, column.type_name
    if len(values) < len(cells) and not accounted:
        none = f"{len(cells) - len(values):,} of {len(cells):,} rows have no value in `{name}`"
        hint = f"write `@[null = maybe] {name}: {kind}`; `constat help nulls` lists the words"
        yield _misfit(f"{none}, and its declaration does not say what that means", hint)
    wrong = one.wrong
    if not wrong:
        return
    first = [cell for cell in values if not _is_of(cell, column)]
    fitting = next((each for each in _TRIED if not _unreadable([*values, *one.later], each)), None)
    other = f"write `{name}: {fitting.value}`" if fitting else "cast it to text in the query"
    if column.kind is Kind.DATE and (form := short_days([str(cell) for cell in wrong])):
        other = f"{century_said(name, form)}; or {other}"
    if len(first) == len(values):
        yield _misfit(f"no value of `{name}` is {_a(kind)}, as it is declared", other)
        return
    later = len(wrong) - len(first)
    text = f"{len(first):,} of {len(values):,} values of `{name}` are no {kind}, as it is declared"
    if not first:
        many = "a value" if later == 1 else f"{later:,} values"
        text = f"{many} of `{name}` behind the first {_ROWS:,} rows {_is(later)} no {kind}"
    elif later:
        text += f", and {later:,} more behind them"
    said, none = one.said(connection)
    mend = f"mend {'it' if len(wrong) == 1 else 'them'} in the source, or {other}"
    yield _misfit(text + said, mend + none)


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


_PLAINLY: Final = MappingProxyType(
    {
        Kind.NUMBER: ("^-?[0-9]{1,18}$", "*[^0-9-]*", ""),
        Kind.UNSIGNED: ("^[0-9]{1,18}$", "*[^0-9]*", ""),
        Kind.DECIMAL: ("^-?[0-9]{1,18}([.][0-9]{1,12})?$", "*[^0-9.-]*", ""),
        Kind.FLOAT: ("^-?[0-9]{1,18}([.][0-9]{1,12})?$", "*[^0-9.-]*", ""),
        Kind.DATE: ("^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "*[^0-9-]*", "DATE"),
        Kind.TIMESTAMP: (
            "^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}Z?$",
            "*[^0-9:. TZ-]*",
            "TIMESTAMP",
        ),
    }
)
"""How values of a kind are written, for DuckDB and for SQLite, and what else has to read them."""


def beyond(
    connection: Connection, source: str, columns: Mapping[str, Kind], seconds: float
) -> dict[str, list[Cell]]:
    """Find cells that may be no values of their columns' kinds, in all rows of files and SQLite.

    `source` is what stands behind FROM. What is written in a usual way is left out by the source;
    whoever calls reads the others. Gives nothing of other sources, which keep kinds themselves.
    Raises `SourceFailureError` and `QueryMistakeError`.
    """
    import sqlglot  # noqa: PLC0415  heavy library, loaded on first use

    dialect = connection.dialect
    if dialect not in {"duckdb", "sqlite"}:
        return {}
    found: dict[str, list[Cell]] = {}
    for name, kind in columns.items():
        if kind not in _PLAINLY:
            continue
        label = written(column_of(name), dialect)
        odd = _in_files(label, kind) if dialect == "duckdb" else _in_sqlite(label, kind)
        text = f"SELECT {label} FROM {source} AS q WHERE {odd} LIMIT {_ROWS}"  # noqa: S608  quoted
        rows = ask(connection, sqlglot.parse_one(text, dialect=dialect), seconds)
        if rows:
            found[name] = [cell for (cell,) in rows]
    return found


def _in_files(label: str, kind: Kind) -> str:
    pattern, _, cast = _PLAINLY[kind]
    text = f"CAST({label} AS VARCHAR)"
    odd = f"NOT regexp_matches({text}, '{pattern}')"
    return f"{odd} OR TRY_CAST({text} AS {cast}) IS NULL AND {label} IS NOT NULL" if cast else odd


def _in_sqlite(label: str, kind: Kind) -> str:
    _, letters, _ = _PLAINLY[kind]
    odd = f"typeof({label}) IN ('text', 'blob') AND ({label} GLOB '{letters}' OR {label} = '')"
    if kind in {Kind.NUMBER, Kind.UNSIGNED}:
        return f"{odd} OR typeof({label}) = 'real'"
    if kind in {Kind.DATE, Kind.TIMESTAMP}:
        return f"{odd} OR typeof({label}) = 'text' AND date({label}) IS NULL"
    return odd


def _reading(
    one: Decided, texts: Sequence[str], way: Locale, unit: str, dialect: str
) -> tuple[Reading, dict[str, str]] | None:
    """Write what spells texts of a locale plainly, and what it has to give for each of them."""
    expected = {text: way.read(text, unit) for text in texts}
    spelled = decide(one.column, tuple(expected.values()), typed=True)
    if spelled.kind in {None, Kind.SYMBOL, Kind.BOOL}:
        return None
    days = spelled.kind in {Kind.DATE, Kind.TIMESTAMP}
    sql = _days(one, texts, way) if days else _numbers(one, texts, way, dialect)
    if not sql:
        return None
    said = way.day.replace("Y", "YYYY").replace("m", "MM").replace("d", "DD")
    said += " hh:mm" if spelled.kind is Kind.TIMESTAMP else ""
    if not days:
        grouped = any(way.group in text for text in texts)
        said = " ".join(filter(None, (way.number(_LARGE if grouped else _SMALL), unit)))
    return Reading(spelled.kind, _in_dialect(sql, dialect), said, unit), expected


_SMALL: Final = Decimal("234.50")
_LARGE: Final = Decimal("1234.50")


def _in_dialect(sql: str, dialect: str) -> str:
    """Give an expression that is written in PostgreSQL's words, or SQLite's own, as a source's."""
    import sqlglot  # noqa: PLC0415  heavy library, loaded on first use

    read = "sqlite" if dialect == "sqlite" else "postgres"
    return written(sqlglot.parse_one(sql, dialect=read), dialect)


def _label(one: Decided) -> str:
    return written(column_of(one.column.name), "postgres")


def _days(one: Decided, texts: Sequence[str], way: Locale) -> str:
    """Put the parts of a day in order, by where they stand; what is no day stays as it is.

    Digits are not looked at: parts that are none make no day, and whoever reads it sees that.
    """
    x = _label(one)
    digits = {"Y": r"\d{4}", "m": r"(\d+)", "d": r"(\d+)"}
    form = re.compile("".join(digits.get(letter, re.escape(letter)) for letter in way.day))
    short = any(found and 1 in map(len, found.groups()) for found in map(form.match, texts))
    cases = []
    for month, day in ((2, 2), (1, 2), (2, 1), (1, 1)) if short else ((2, 2),):
        widths = {"Y": 4, "m": month, "d": day}
        pattern = "".join("_" * widths.get(letter, 0) or letter for letter in way.day)
        at = {
            letter: sum(widths.get(each, 1) for each in way.day[: way.day.index(letter)]) + 1
            for letter in widths
        }
        parts = [
            ("'0' || " if width == 1 else "") + f"substr({x}, {at[letter]}, {width})"
            for letter, width in widths.items()
        ]
        spelled = " || '-' || ".join(parts)
        timed = f"{spelled} || substr({x}, {len(pattern) + 1})"
        if any(len(text) > len(pattern) for text in texts) and any(":" in text for text in texts):
            cases.append(f"WHEN {x} LIKE '{pattern} %' THEN {timed}")
        else:
            cases.append(f"WHEN {x} LIKE '{pattern}' THEN {spelled}")
    return f"CASE {' '.join(cases)} ELSE {x} END"


def _numbers(one: Decided, texts: Sequence[str], way: Locale, dialect: str) -> str:
    """Take groups and unit away from numbers that are written so; what is not so becomes none.

    A text that another country writes may be a number as it stands, and another one.
    """
    x = value = _label(one)
    digits = [re.split(r"(\d(?:.*\d)?)", text, maxsplit=1) for text in texts]
    before = {parts[0].rstrip("+-") for parts in digits}
    behind = {parts[-1] for parts in digits}
    if len(before) > 1 or len(behind) > 1:
        return ""
    conditions = []
    (front,), (end,) = before, behind
    if front:
        conditions.append(f"substr({x}, 1, {len(front)}) = {_literal(front)}")
        value = f"substr({x}, {len(front) + 1})"
    if end:
        conditions.append(f"substr({x}, length({x}) - {len(end) - 1}) = {_literal(end)}")
        value = f"substr({value}, 1, length({value}) - {len(end)})"
    spelled = f"replace({value}, {_literal(way.group)}, '')" if way.group else value
    if way.mark != ".":
        spelled = f"replace({spelled}, {_literal(way.mark)}, '.')"
    numbers = [text[len(front) : len(text) - len(end)] for text in texts]
    conditions += filter(None, [_grouped_so(value, spelled, numbers, way, dialect)])
    none = f"{x} || ' is not written so'"
    return f"CASE WHEN {' AND '.join(conditions)} THEN {spelled} ELSE {none} END"


def _grouped_so(value: str, spelled: str, numbers: Sequence[str], way: Locale, dialect: str) -> str:
    """Write that groups stand where they have to, and the mark once.

    SQLite has no patterns: there a number is written anew, as it has to be.
    """
    group, mark = _literal(way.group), _literal(way.mark)
    if dialect != "sqlite":
        some = f"([1-9][0-9]{{0,2}}([{way.group}][0-9]{{3}})+|[0-9]+)" if way.group else "[0-9]+"
        return f"{value} ~ " + _literal(f"^-?{some}([{way.mark}][0-9]+)?$")
    if not way.group:
        return ""
    if not any(way.group in one for one in numbers):
        return f"instr({value}, {group}) = 0"
    places = {len(one.partition(way.mark)[2]) for one in numbers}
    if len(places) == 1 and all(way.number(_number(one, way)) == one for one in numbers):
        anew = f"printf('%,d', {spelled})"
        anew = anew if way.group == "," else f"replace({anew}, ',', {group})"
        end = f"substr({spelled}, -{max(places) + 1})" if max(places) else "''"
        end = f"replace({end}, '.', {mark})" if way.mark != "." else end
        return f"{value} = {anew} || {end}"
    at = f"instr({value} || {mark}, {mark})"
    whole, rest = f"substr({value}, 1, {at} - 1)", f"substr({value}, {at})"
    anew = f"replace(printf('%,d', replace({whole}, {group}, '')), ',', {group})"
    return f"instr({rest}, {group}) = 0 AND {whole} IN (replace({whole}, {group}, ''), {anew})"


def _number(text: str, way: Locale) -> Decimal:
    return Decimal(way.read_number(text) or "0")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_DAY_OF_DIGITS: Final = re.compile(r"(?:19|20)\d{6}\Z", re.ASCII)


def _numbered_days(
    one: Decided, cells: Sequence[Cell], dialect: str
) -> tuple[Reading, dict[str, str]] | None:
    """Read 20250131 as a day, where all numbers of a column that names nothing are such."""
    values = {str(cell) for cell in cells if cell is not None}
    if one.kind is not Kind.NUMBER or len(values) < _LEAST_DAYS:
        return None
    if set(words_of(one.column.name)[-1:]) & (_LIKE_A_KEY | _NAMING):
        return None
    if not all(map(_DAY_OF_DIGITS.match, values)):
        return None
    expected = {text: f"{text[:4]}-{text[4:6]}-{text[6:]}" for text in values}
    if _unreadable(tuple(expected.values()), Kind.DATE):
        return None
    x = f"CAST({_label(one)} AS TEXT)"
    parts = f"substr({x}, 1, 4) || '-' || substr({x}, 5, 2) || '-' || substr({x}, 7, 2)"
    sql = f"CASE WHEN {x} LIKE '________' THEN {parts} ELSE {x} END"
    reading = Reading(Kind.DATE, _in_dialect(sql, dialect), "YYYYMMDD", stored=Kind.NUMBER)
    return reading, expected


def _is_of(cell: Cell, column: Column) -> bool:
    try:
        read_column(cell, column)
    except ValueError:
        return False
    return True


def _a(kind: str) -> str:
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


def _misfit(message: str, hint: str, code: str = "C0854") -> Diagnostic:
    return Diagnostic(code, message, help=hint, severity=Severity.WARNING)


def check(
    project: Project,
    table: TableSchema,
    columns: Sequence[ColumnSchema] = (),
    *,
    targets: Mapping[str, TableSchema] = NOTHING,
    thorough: bool = True,
) -> Checked:
    """Look at the rows of a table. Raises `ConstatError` (C0844) where the source does not answer.

    `columns` are those of interest: all by default, the first hundreds of a very wide table.
    `targets` are the tables that it points to, by their labels. If not `thorough`, the word of
    sources that enforce it is taken for keys and relationships, and names suggest nothing.
    """
    chosen = tuple(columns) or table.columns[:_MOST_COLUMNS]
    try:
        with reading(project.databases[table.database], project) as connection:
            looking = _Checking(connection, table, chosen, _bound(project, thorough=thorough))
            return looking.checked(targets, thorough=thorough)
    except (SourceFailureError, QueryMistakeError) as problem:
        raise ConstatError([unanswered(table, problem.reason)]) from None


def _bound(project: Project, *, thorough: bool) -> float:
    return min(project.catalog.seconds, _SECONDS if thorough else _FEW_SECONDS)


class _Checking:
    """One look at one table, on one connection."""

    def __init__(
        self,
        connection: Connection,
        table: TableSchema,
        columns: tuple[ColumnSchema, ...],
        seconds: float,
    ) -> None:
        self._connection = connection
        self._table = table
        self._columns = columns
        self._seconds = seconds
        self._typed = table.kind != "file" or any(
            one.declared != "VARCHAR" for one in table.columns
        )
        self._findings: list[Diagnostic] = []
        self._strange: dict[str, list[str]] = {}
        self._odd: dict[str, dict[str, None]] = {}
        self._letters: dict[str, str] = {}

    def checked(self, targets: Mapping[str, TableSchema], *, thorough: bool) -> Checked:
        """Look at columns first, then at keys and relationships."""
        decided, rows = self._decide()
        every = rows < _ROWS
        if not every:
            decided = tuple(map(self._day_or_moment, decided))
            decided = self._full(decided)
            decided = self._beyond(decided)
        elif self._is_measured:
            decided = tuple(replace(one, full=not one.nulls) for one in decided)
        self._tell_of_types(decided)
        if thorough or self._connection.dialect not in _ENFORCING:
            for key in dict.fromkeys((self._table.key, *self._table.unique)):
                if key:
                    self._check_key(key)
        for one in self._table.relationships:
            asked = thorough or (one.declared and self._connection.dialect not in _POINTING)
            if one.target in targets and asked:
                self._check_relationship(one, targets[one.target])
        decided = self._folded(decided)
        repeated = self._repeats(decided)
        tops = frozenset(self._tops(decided))
        near = self._near_key(decided)
        findings = tuple(self._findings)
        table = self._counted(rows, every=every)
        strange = {name: ", ".join(told) for name, told in self._strange.items()}
        odd = {name: tuple(said) for name, said in self._odd.items()}
        return Checked(table, decided, rows, every, repeated, findings, tops, near, strange, odd)

    def _near_key(self, decided: Sequence[Decided]) -> NearKey | None:
        """Find what would be a key, where the source declares none; say what keeps it from it."""
        table = self._table
        if table.key or table.unique or table.kind == "view":
            return None
        pointing = {one.columns[0] for one in table.relationships if len(one.columns) == 1}
        names = [one.column.name for one in decided if one.kind in NAMING_KINDS]
        likely = [one for one in likely_keys(table.name, names) if one[0] not in pointing]
        try:
            found = near_key(self._connection, source_of(table), likely, self._seconds)
        except (SourceFailureError, QueryMistakeError):
            # Nothing is declared, and so nothing has to be known.
            return None
        if found is not None and not found.is_key:
            self._find("C0847", found.said(found.column))
        return found

    def _counted(self, rows: int, *, every: bool) -> TableSchema:
        """Give the table with its exact number of rows, where counting them is quick."""
        from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

        if self._table.counted:
            return self._table
        if not every:
            query = exp.select(exp.Count(this=exp.Star())).from_(source_of(self._table))
            try:
                rows = count(self._connection, query, self._seconds)
            except (SourceFailureError, QueryMistakeError):
                # What the source guesses is said to be a guess.
                return self._table
        return replace(self._table, rows=rows, counted=True)

    def _day_or_moment(self, one: Decided) -> Decided:
        """Keep a declared moment a day only where every cell is a midnight, looked at or not."""
        from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

        declared = kinds_of(one.column.declared)[:1] == (Kind.TIMESTAMP,)
        if one.kind is not Kind.DATE or not declared:
            return one
        text = as_text(column_of(one.column.name))
        midnight = exp.Like(this=text, expression=exp.Literal.string("%00:00:00"))
        query = exp.select(exp.Count(this=exp.Star())).from_(source_of(self._table))
        try:
            others = count(self._connection, query.where(exp.not_(midnight)), self._seconds)
        except (SourceFailureError, QueryMistakeError):
            others = 1
        return replace(one, kind=Kind.TIMESTAMP) if others else one

    def _folded(self, decided: tuple[Decided, ...]) -> tuple[Decided, ...]:
        """Ask the source whether a value equals itself in other letters, as rules never say."""
        from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

        names = [one.column.name for one in decided if one.kind is Kind.SYMBOL and not one.cast]
        said = {one: self._letters[one] for one in names if one in self._letters}
        if self._table.kind == "file" or not said:
            return decided
        both = [
            exp.Case().when(
                exp.and_(
                    *(
                        exp.EQ(this=column_of(name, "q"), expression=exp.Literal.string(text))
                        for text in (value, value.swapcase())
                    )
                ),
                exp.Literal.number(1),
            )
            for name, value in said.items()
        ]
        first = beginning(self._table, list(said), _ROWS).subquery("q")
        query = exp.select(*(exp.Count(this=one) for one in both)).from_(first)
        try:
            (counts,) = ask(self._connection, query, self._seconds)
        except (SourceFailureError, QueryMistakeError):
            # Nothing rests on it: rules compare as they say.
            return decided
        folded = {name for name, times in zip(said, counts, strict=True) if times}
        return tuple(replace(one, folded=one.column.name in folded) for one in decided)

    @property
    def _is_measured(self) -> bool:
        """Whether the rows say where NULL stands: hardly anybody writes NOT NULL in SQLite."""
        return self._table.kind != "table" or self._connection.dialect == "sqlite"

    def _full(self, decided: tuple[Decided, ...]) -> tuple[Decided, ...]:
        """Count the cells of files and views, which declare nothing about NULL, and of SQLite."""
        from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

        looked = [one for one in decided if one.kind is not None and not one.nulls]
        if not self._is_measured or not looked:
            return decided
        counts = [exp.Count(this=column_of(one.column.name)) for one in looked]
        query = exp.select(exp.Count(this=exp.Star()), *counts).from_(source_of(self._table))
        try:
            ((rows, *cells),) = ask(self._connection, query, self._seconds)
        except (SourceFailureError, QueryMistakeError):
            # Then a NULL may be anywhere.
            return decided
        full = {one.column.name for one, cell in zip(looked, cells, strict=True) if cell == rows}
        return tuple(replace(one, full=one.column.name in full) for one in decided)

    def _beyond(self, decided: tuple[Decided, ...]) -> tuple[Decided, ...]:
        """Look behind the first rows for what is no value of a kind that all of these have."""
        looked = {
            one.column.name: one.kind
            for one in decided
            if one.kind and not (one.cast or one.almost or one.reading)
        }
        try:
            found = beyond(self._connection, self._source(), looked, self._seconds)
        except (SourceFailureError, QueryMistakeError):
            # The first rows decide then, and the draft says that these were looked at.
            return decided
        return tuple(self._with_later(one, found.get(one.column.name, ())) for one in decided)

    def _source(self) -> str:
        return written(source_of(self._table), self._connection.dialect)

    def _with_later(self, one: Decided, cells: Sequence[Cell]) -> Decided:
        """Tell of cells behind the first rows; where there are many, the column is one of texts."""
        kind, name = one.kind, one.column.name
        wrong = [cell for cell in cells if kind is not None and _unreadable((cell,), kind)]
        if not wrong:
            return one
        if len(wrong) * _STRANGE > one.seen:
            return replace(one, kind=Kind.SYMBOL, cast=self._typed, places=0)
        shown = dict.fromkeys(map(str, wrong))
        self._odd[name] = shown
        self._strange[name] = [f"`{shortened(cell, _LONGEST)}`" for cell in shown][:_EXAMPLES]
        places = tuple(range(_ROWS, _ROWS + len(wrong)))
        return replace(one, strange=places, almost=kind, seen=max(one.seen, self._rows()))

    def _rows(self) -> int:
        return int(self._counted(_ROWS, every=False).rows or 0)

    def _decide(self) -> tuple[tuple[Decided, ...], int]:
        readable = [one for one in self._columns if not is_bytes(one.declared)]
        rows = self._beginning(readable)
        cells = dict(zip((one.name for one in readable), zip(*rows, strict=True), strict=False))
        decided = tuple(
            decide(one, cells.get(one.name, ()), typed=self._typed) for one in self._columns
        )
        if self._table.kind in _STORED and self._connection.dialect in _ENFORCING:
            decided = tuple(self._read_in_source(decided, cells))
        self._letters = {
            name: found for name, column in cells.items() if (found := _lettered(column))
        }
        naming = readable[0].name if readable else ""
        for one in decided:
            for place in one.strange[:_EXAMPLES]:
                shown = shortened(cells[one.column.name][place], _LONGEST)
                self._odd.setdefault(one.column.name, {})[str(cells[one.column.name][place])] = None
                where = shortened(cells[naming][place], _LONGEST)
                told = f"`{shown}`" + (
                    f" where {naming} is {where}" if naming != one.column.name else ""
                )
                said = self._strange.setdefault(one.column.name, [])
                if told not in said:
                    said.append(told)
        return decided, len(rows)

    def _read_in_source(
        self, decided: Sequence[Decided], cells: Mapping[str, Sequence[Cell]]
    ) -> Iterator[Decided]:
        """Have the source spell days and numbers that it stores in another way, where it can.

        MySQL tells of no computed cell where its NULL is from, and MariaDB lacks its patterns: what
        would be spelled is only told.
        """
        texts: dict[str, list[str]] = {}
        for one in decided:
            values = [cell for cell in cells.get(one.column.name, ()) if cell is not None]
            if (
                one.kind is Kind.SYMBOL
                and not one.cast
                and all(isinstance(cell, str) for cell in values)
            ):
                texts[one.column.name] = [str(cell) for cell in values]
        texts = {name: one for name, one in texts.items() if len({*one}) >= _LEAST_DAYS}
        guessed, _ = guess_cells(TableFiles(""), texts)
        dialect = "postgres" if self._spells_nothing else self._connection.dialect
        linked = {name for one in self._table.relationships for name in one.columns}
        linked.update(self._table.key if len(self._table.key) == 1 else ())
        for one in decided:
            name, label = one.column.name, one.column.name.lower()
            if name in linked or label in guessed.null:
                yield one
            elif name not in texts:
                days = _numbered_days(one, cells.get(name, ()), dialect)
                yield self._proven(one, days) if days else one
            elif ways := ways_of(texts[name]):
                listed = [_reading(one, texts[name], way, "", dialect) for way in ways]
                if self._spells_nothing:
                    yield self._proven(one, next(filter(None, listed), None))
                    continue
                yield replace(one, ways=tuple(each for each, _ in filter(None, listed)))
            elif label in guessed.locale or label in guessed.unit:
                unit, way = guessed.unit.get(label, ""), guessed.locale.get(label, PLAIN)
                yield self._proven(one, _reading(one, texts[name], way, unit, dialect))
            else:
                yield one

    def _proven(self, one: Decided, found: tuple[Reading, Mapping[str, str]] | None) -> Decided:
        """Take a reading that gives each of these texts what it has to give, as the source says."""
        if found is None:
            return one
        reading, expected = found
        if reading.kind.numeric and len(expected) < _LEAST_SEEN:
            return one
        if self._spells_nothing:
            return replace(one, left=reading)
        try:
            told = self._spelled(one.column.name, reading.sql)
        except (SourceFailureError, QueryMistakeError):
            return one
        if any(expected.get(str(was), now) != now for was, now in told):
            return one
        spelled = decide(one.column, tuple(expected.values()), typed=True)
        return replace(
            one, kind=reading.kind, places=spelled.places, reading=reading, almost=None, strange=()
        )

    @property
    def _spells_nothing(self) -> bool:
        return self._connection.dialect == "mysql"

    def _spelled(self, name: str, sql: str) -> list[RawRow]:
        import sqlglot  # noqa: PLC0415  heavy library, loaded on first use
        from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

        dialect = self._connection.dialect
        spelling = sqlglot.parse_one(sql, dialect=dialect)
        first = exp.select(column_of(name), exp.alias_(spelling, "spelled", quoted=True))
        first = first.from_(source_of(self._table)).limit(_ROWS)
        rows = ask(self._connection, first, self._seconds)
        return [row for row in rows if row[0] is not None]

    def _beginning(self, columns: Sequence[ColumnSchema]) -> list[RawRow]:
        """Read some rows as an evaluation would; columns of foreign types as text."""
        from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

        if not columns:
            return []
        dialect = self._connection.dialect
        listed = [
            exp.alias_(as_text(column_of(one.name)), one.name, quoted=True)
            if is_foreign(one.declared) or (dialect == "duckdb" and not kinds_of(one.declared))
            else column_of(one.name)
            for one in columns
        ]
        query = exp.select(*listed).from_(source_of(self._table)).limit(_ROWS)
        guarded = guard(written(query, dialect), dialect)
        self._connection.columns(guarded.text)
        question = self._connection.whole(guarded, len(columns))
        bounds = ReadBounds(self._seconds, _ROWS)
        return [row for batch in self._connection.read(question, bounds) for row in batch]

    def _tell_of_types(self, decided: Sequence[Decided]) -> None:
        for one in decided:
            if one.almost is not None:
                self._find(
                    "C0846",
                    f"all but {len(one.strange):,} of {one.seen:,} values of column"
                    f" `{one.column.name}` spell a {one.almost.value}",
                )
            elif one.wrong:
                column = one.column
                self._find(
                    "C0846",
                    f"column `{column.name}` is declared {column.declared}, and {one.wrong:,} of"
                    f" {one.seen:,} values are not of that type",
                    "the stored values count, whatever the declaration says",
                )
            if one.nulls and not one.column.nullable:
                self._find(
                    "C0846", f"column `{one.column.name}` is declared NOT NULL and holds NULL"
                )
            if one.nulls and one.column.name in self._table.key:
                self._find("C0847", f"the key column `{one.column.name}` holds NULL")

    def _check_key(self, key: Sequence[str]) -> None:
        names = ", ".join(f"`{name}`" for name in key)
        repeated = self._asked(_repeated(self._table, key), f"whether {names} is a key")
        if repeated:
            self._find(
                "C0847",
                f"{names} is declared to be a key, and rows repeat it",
                "a predicate with that key would have conflicting rows: UNRESOLVED",
            )

    def _check_relationship(self, one: Relationship, other: TableSchema) -> None:
        """Look for values that point nowhere; how many there are decides about a guess."""
        if len(one.columns) != len(one.target_columns):
            return
        name = ", ".join(one.columns)
        target = ", ".join(f"{one.target}.{column}" for column in one.target_columns)
        what = f"whether `{name}` points to `{target}`"
        found = self._counts(one, other, what)
        if found is None:
            return
        values, there = found
        if one.declared and there < values:
            self._find(
                "C0848",
                f"`{name}` is declared to point to `{target}`, and {values - there:,} of"
                f" {values:,} values are not there",
            )
        elif not one.declared and values and there < values * _LIKELY:
            self._find(
                "C0848",
                f"`{name}` does not point to `{target}`, as its name suggests: {there:,} of"
                f" {values:,} values are there",
            )

    def _tops(self, decided: Sequence[Decided]) -> Iterator[str]:
        """Give the columns whose NULL means that nothing is above, by what the rows show."""
        holding = {one.column.name for one in decided if one.nulls}
        for one in self._table.relationships:
            plain = len(one.columns) == len(one.target_columns) == 1
            if plain and one.target == self._table.label and one.columns[0] in holding:
                query = beginning(self._table, [one.target_columns[0], one.columns[0]], _VALUES + 1)
                try:
                    rows = ask(self._connection, query, self._seconds)
                except (SourceFailureError, QueryMistakeError):
                    # Then it is not known, and nothing is said of it.
                    continue
                if len(rows) <= _VALUES and _is_forest(rows):
                    yield one.columns[0]

    def _counts(self, one: Relationship, other: TableSchema, what: str) -> tuple[int, int] | None:
        """Count the first different values, and those of them that are there."""
        from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

        first = beginning(self._table, list(one.columns), _VALUES).distinct()
        for column in one.columns:
            first = first.where(column_of(column).is_(exp.null()).not_())
        targets = [column_of(column) for column in one.target_columns]
        pairs = zip(one.columns, one.target_columns, strict=True)
        alike = [
            exp.EQ(this=column_of(column, "q"), expression=column_of(target, "u"))
            for column, target in pairs
        ]
        here = exp.Count(this=column_of(one.target_columns[0], "u"))
        query = (
            exp.select(exp.Count(this=exp.Star()), here)
            .from_(first.subquery("q"))
            .join(
                exp.select(*targets).distinct().from_(source_of(other)).subquery("u"),
                on=exp.and_(*alike),
                join_type="left",
            )
        )
        try:
            ((values, there),) = ask(self._connection, query, self._seconds)
        except (SourceFailureError, QueryMistakeError) as problem:
            self._not_known(what, problem.reason)
            return None
        return int(str(values)), int(str(there))

    def _repeats(self, decided: Sequence[Decided]) -> bool | None:
        """Tell whether rows are equal in all columns; a key that is one says no."""
        keys = row_keys(self._table)
        names = [one.column.name for one in decided if one.kind is not None]
        sound = not any(one.code == "C0847" for one in self._findings)
        if sound and any(key <= set(names) for key in keys):
            return False
        if not names:
            return None
        found = self._asked(_repeated(self._table, names, nulls=True), "whether rows are equal")
        if found:
            self._find(
                "C0849",
                "some rows are equal in all columns",
                "equal rows merge; a query that would merge any is an error without `@[distinct]`",
            )
        return None if found is None else bool(found)

    def _asked(self, query: exp.Select, what: str) -> int | None:
        try:
            return count(self._connection, query, self._seconds)
        except (SourceFailureError, QueryMistakeError) as problem:
            self._not_known(what, problem.reason)
            return None

    def _not_known(self, what: str, reason: str) -> None:
        message = f"it is not known {what}: {reason}"
        self._findings.append(Diagnostic("C0844", message, severity=Severity.NOTE))

    def _find(self, code: str, message: str, note: str = "") -> None:
        said = f"{self._table.path}: {message}"
        self._findings.append(Diagnostic(code, said, note=note, severity=Severity.WARNING))


def _lettered(cells: Sequence[Cell]) -> str:
    """Give a short value of plain letters, if there is one."""
    texts = (one for one in cells if isinstance(one, str) and len(one) <= _LONGEST)
    return next((one for one in texts if one.isascii() and one.swapcase() != one), "")


def _is_forest(rows: Sequence[RawRow]) -> bool:
    """Tell of keys, and what they point to, whether all lead to tops that have something below."""
    above: dict[object, object] = {key: one for key, one in rows}  # noqa: C416  two cells each
    pointed = {one for one in above.values() if one is not None}
    tops = {key for key, one in above.items() if one is None}
    if len(above) < len(rows) or None in above or not tops <= pointed <= above.keys():
        return False
    below: dict[object, list[object]] = {}
    for key, one in above.items():
        below.setdefault(one, []).append(key)
    reached = list(tops)
    for key in reached:
        reached += below.get(key, ())
    return bool(tops) and len(reached) == len(above)


def _repeated(table: TableSchema, columns: Sequence[str], *, nulls: bool = False) -> exp.Select:
    """Count whether any values of the columns stand in two rows: one such group is enough."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    names = [column_of(name) for name in columns]
    query = exp.select(exp.alias_(exp.Count(this=exp.Star()), "n")).from_(source_of(table))
    for name in () if nulls else names:
        # NULL is equal to nothing: rows without a key do not repeat one.
        query = query.where(name.copy().is_(exp.null()).not_())
    more = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    groups = query.group_by(*names).having(more).limit(1).subquery("q")
    return exp.select(exp.Count(this=exp.Star())).from_(groups)


def row_keys(table: TableSchema) -> list[set[str]]:
    """Give the declared keys that tell every two rows apart.

    What is unique, and may be NULL, does not: NULL is equal to nothing.
    """
    nullable = {one.name for one in table.columns if one.nullable}
    unique = [set(key) for key in table.unique if nullable.isdisjoint(key)]
    return [set(table.key), *unique] if table.key else unique
