"""Which columns of a query are columns of tables, and the rows of some keys only."""

from __future__ import annotations

import json
import re
from dataclasses import field, replace
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.catalog.connection import Question
from constat.frozen import frozen, slotted
from constat.logic import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from sqlglot import exp

    from constat.catalog.connection import Parameter
    from constat.catalog.guard import Guarded
    from constat.evaluation import Demand, Range
    from constat.logic import Row, Value

# Only of those does a NULL say something of one cell of a source. Elsewhere the query has made it:
# of rows that it merged, or of a row that an outer join found no partner for.

MERGED: Final = "the query merges rows"
JOINED: Final = "an outer join leaves it out where there is no partner"
COMPUTED: Final = "the query computes it"
UNCLEAR: Final = "the query does not say of which table it is"
STRANGE: Final = "where the query takes it from is not understood"


def origins(query: exp.Query) -> tuple[str, ...]:
    """Give for each output why it is no column of a table passed on; "" where it is.

    One reason stands for all outputs where a star hides how many there are, or rows are merged.
    """
    return tuple(reason for _, reason in _outputs(query, {}))


def origin(reasons: tuple[str, ...], position: int) -> str:
    """Give the reason for the output at a position."""
    return reasons[min(position, len(reasons) - 1)] if reasons else STRANGE


# A name of an output, lower case, and why it is none; a star has the name "*".
_Outputs = list[tuple[str, str]]


@slotted
class _Source:
    """What stands behind FROM under one name: a table without outputs, or a query with them."""

    outputs: _Outputs | None = None
    reason: str = ""

    def of(self, column: str) -> str:
        """Say why a column is none of a table passed on."""
        if self.reason or self.outputs is None:
            return self.reason
        found = dict(self.outputs)
        return found.get(column, found.get("*", STRANGE))

    def of_all(self) -> str:
        if self.reason or self.outputs is None:
            return self.reason
        return next((reason for _, reason in self.outputs if reason), "")


@slotted
class _Sources:
    """The sources of one SELECT by name."""

    by_name: dict[str, _Source] = field(default_factory=dict)

    def of(self, column: exp.Column) -> str:
        name = column.name.lower()
        if column.table:
            found = self.by_name.get(column.table.lower())
            return STRANGE if found is None else found.of(name)
        reasons = {one.of(name) for one in self.by_name.values()}
        if reasons == {""} or len(self.by_name) == 1:
            return next(iter(reasons))
        return UNCLEAR

    def of_star(self, table: str) -> str:
        strange = _Source(None, STRANGE)
        found = [self.by_name.get(table, strange)] if table else self.by_name.values()
        return next((reason for reason in (one.of_all() for one in found) if reason), "")


def _outputs(query: exp.Expr, common: Mapping[str, _Outputs]) -> _Outputs:
    """Give the outputs of a query; `common` are those of table expressions that it can name."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if isinstance(query, exp.Subquery) and isinstance(query.this, exp.Query):
        return _outputs(query.this, common)
    if not isinstance(query, exp.Select) or _merges(query):
        return [("*", MERGED)]
    known = {**common, **dict(_common(query, common))}
    sources = _sources(query, known)
    found = [_output(one, sources) for one in query.selects]
    if any(name == "*" for name, _ in found):
        # Behind a star nobody counts the columns here.
        return [("*", next((reason for _, reason in found if reason), ""))]
    return found


def _merges(query: exp.Select) -> bool:
    """Tell whether rows of the query may stand for several."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if any(query.args.get(part) for part in ("distinct", "group", "having")):
        return True
    folds = (fold for one in query.selects for fold in one.find_all(exp.AggFunc))
    return any(not isinstance(fold.parent, exp.Window) for fold in folds)


def _common(query: exp.Select, common: Mapping[str, _Outputs]) -> Iterator[tuple[str, _Outputs]]:
    listed = query.args.get("with_")
    if listed is None:
        return
    known = dict(common)
    for one in listed.expressions:
        name = one.alias.lower()
        outputs = [("*", MERGED)] if listed.args.get("recursive") else _outputs(one.this, known)
        renamed = [each.name.lower() for each in one.args["alias"].columns]
        if renamed and len(renamed) == len(outputs):
            outputs = [(new, reason) for new, (_, reason) in zip(renamed, outputs, strict=True)]
        known[name] = outputs
        yield name, outputs


def _sources(query: exp.Select, common: Mapping[str, _Outputs]) -> _Sources:
    """Give what the query reads from; what an outer join may leave out is none of a table."""
    found = _Sources()
    first = query.args.get("from_")
    if first is None:
        return found
    found.by_name[first.this.alias_or_name.lower()] = _source(first.this, common)
    for join in query.args.get("joins") or ():
        before = list(found.by_name.values())
        new = _source(join.this, common)
        side = (join.side or "").upper()
        if side in {"RIGHT", "FULL"}:
            for one in before:
                one.reason = one.reason or JOINED
        if side in {"LEFT", "FULL"}:
            new.reason = new.reason or JOINED
        found.by_name[join.this.alias_or_name.lower()] = new
    return found


def _source(source: exp.Expr, common: Mapping[str, _Outputs]) -> _Source:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if source.args.get("joins") or source.args.get("pivots"):
        return _Source(None, STRANGE)
    if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
        return _Source(None if source.db else common.get(source.name.lower()))
    alias = source.args.get("alias")
    if isinstance(source, exp.Subquery) and not (alias is not None and alias.columns):
        return _Source(_outputs(source, common))
    return _Source(None, STRANGE)


def _output(expression: exp.Expr, sources: _Sources) -> tuple[str, str]:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    name = expression.alias_or_name.lower()
    inner = expression.unalias()
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Star):
        return "*", sources.of_star("")
    column = _spelled(inner)
    if column is None:
        return name, COMPUTED
    if isinstance(column.this, exp.Star):
        return "*", sources.of_star(column.table.lower())
    return name, sources.of(column)


def _spelled(expression: exp.Expr) -> exp.Column | None:
    """Give the column of which an expression spells the value in some way, or takes a member.

    It is NULL where the column is, and nowhere else; a member of an object is a cell of its own.
    """
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    match expression:
        case exp.Column():
            return expression
        case exp.Paren():
            return _spelled(expression.this)
        case exp.Cast() if isinstance(expression.to, exp.DataType):
            texts = expression.to.this in exp.DataType.TEXT_TYPES
            return _spelled(expression.this) if texts else None
        case exp.JSONExtract() | exp.JSONExtractScalar():
            return None if expression.expression.find(exp.Column) else _spelled(expression.this)
        case exp.Case() if expression.this is None and expression.args.get("default"):
            ways = [one.args["true"] for one in expression.args["ifs"]]
            return _same(*map(_spelled, (*ways, expression.args["default"])))
        case exp.DPipe():
            sides = (one for one in (expression.this, expression.expression) if not one.is_string)
            return _same(*map(_spelled, sides))
        case exp.Substring() | exp.Replace():
            text = _spelled(expression.this)
            others = [one for one in expression.iter_expressions() if one is not expression.this]
            return text if all(_is_known(one, text) for one in others) else None
    return None


def _same(*columns: exp.Column | None) -> exp.Column | None:
    """Give the column that all of them are."""
    return columns[0] if columns and all(one == columns[0] for one in columns) else None


def _is_known(number: exp.Expr, column: exp.Column | None) -> bool:
    """Tell whether an argument is NULL only where the column is: of literals and its length."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    counted = (exp.Literal, exp.Neg, exp.Add, exp.Sub, exp.Paren, exp.Length, exp.Identifier)
    return all(one == column or isinstance(one, counted) for one in number.walk()) or (
        isinstance(number, exp.Substring | exp.Replace) and _spelled(number) == column
    )


# The user's query stands verbatim inside `WITH q(c0, ...) AS (...)`; values are parameters, never
# text; equality in the source includes ours, so no row is lost, and the caller filters exactly.
# Example, one key of a text column: `WITH q(c0) AS (SELECT id FROM t) SELECT c0 FROM q WHERE c0 =
# ?`.

_LARGEST_INTEGER: Final = (1 << 63) - 1


class Comparand(Enum):
    """What is compared with a key. A bare column can use an index, a cast one cannot.

    The traps are all about stored types: the text `012` is the number 12, and SQLite finds it by
    `c0 = 12` only if the column's affinity made a number of it when it was stored.
    """

    BARE = "bare"
    AS_INTEGER = "INTEGER"
    AS_TEXT = "TEXT"


@frozen
class Push:
    """A column (its position) whose keys are sent to the source.

    `nullable` when rows with NULL there must come too, because the null policy speaks of them.
    Many keys are an array where `array` names the type of its elements. `besides` says by `{0}`
    which cells may be no values: such a cell may be any value, so that its row must come as well.
    """

    position: int
    comparand: Comparand
    nullable: bool
    array: str = ""
    besides: str = ""

    def open_rows(self) -> list[str]:
        """Give the conditions of rows that come whatever is asked for."""
        column = f"c{self.position}"
        besides = [self.besides.format(column)] if self.besides else []
        return [*besides, *([f"{column} IS NULL"] if self.nullable else [])]


def pushable(kind: Kind, keys: Sequence[Row], place: int) -> bool:
    """Tell whether keys of that kind may be sent: integers of 64 signed bits, and text."""
    if kind is Kind.SYMBOL or kind is Kind.NUMBER:
        return True
    return kind is Kind.UNSIGNED and all(int(key[place]) <= _LARGEST_INTEGER for key in keys)


def whole_query(guarded: Guarded, arity: int) -> str:
    """Give the SQL that reads all rows."""
    return query_prefix(guarded, arity) + _outer(guarded, arity)


def keyed_query(guarded: Guarded, arity: int, pushes: Sequence[Push], *, single: bool) -> str:
    """Give the SQL for one key (a parameter per column), or for many (one parameter, JSON)."""
    if single:
        condition = " AND ".join(f"{_operand(push)} = ?" for push in pushes)
    else:
        operands = ", ".join(map(_operand, pushes))
        left = operands if len(pushes) == 1 else f"({operands})"
        condition = f"{left} IN ({_listed(len(pushes))})"
    beside = [one for push in pushes for one in push.open_rows()]
    if beside and single and len(pushes) > 1:
        condition = f"({condition})"
    where = " OR ".join([condition, *beside])
    return f"{whole_query(guarded, arity)} WHERE {where}"


def key_parameters(keys: Sequence[Row], *, single: bool) -> tuple[str | int, ...]:
    """Give the parameters: the values of the one key, or all keys as a JSON text.

    A number is sent as a number. As text it would count on the column's affinity, which an
    expression as slight as `+n` has lost.
    """
    if single:
        return tuple(value if isinstance(value, int) else str(value) for value in keys[0])
    plain: list[object] = [key[0] if len(key) == 1 else list(key) for key in keys]
    return (json.dumps(plain, ensure_ascii=False, separators=(",", ":")),)


def query_prefix(guarded: Guarded, arity: int) -> str:
    """Give what every query on this one begins with: the user's text, verbatim, with its name."""
    # The line breaks keep a closing comment of the user's from swallowing the parenthesis.
    names = ", ".join(f"c{position}" for position in range(arity))
    return f"WITH {query_name(guarded)}({names}) AS (\n{guarded.text}\n)\n"


def query_name(guarded: Guarded) -> str:
    """Give the name of a query in those around it: `q`, or what none of its tables is called."""
    return unused_name("q", guarded.text)


def unused_name(name: str, text: str) -> str:
    """Lengthen a name until a text of SQL has no such word."""
    while re.search(rf"\b{name}\b", text, re.IGNORECASE):
        name += "_"
    return name


def _outer(guarded: Guarded, arity: int) -> str:
    unread = guarded.unread
    columns = ", ".join(f"c{place}" if place not in unread else "NULL" for place in range(arity))
    return f"SELECT {columns} FROM {query_name(guarded)}"  # noqa: S608  positions alone


def _operand(push: Push) -> str:
    column = f"c{push.position}"
    bare = push.comparand is Comparand.BARE
    return column if bare else f"CAST({column} AS {push.comparand.value})"


def _listed(width: int) -> str:
    """Give `SELECT value FROM json_each(?)`, or the members of each value where keys are wide."""
    members = (f"json_extract(value, '$[{place}]')" for place in range(width))
    chosen = "value" if width == 1 else ", ".join(members)
    return f"SELECT {chosen} FROM json_each(?)"  # noqa: S608  places alone


# Equality in the source includes ours, so no row is lost: integers against numeric columns, text
# against text columns whatever the collation. Columns of other types are not sent; their rows are
# filtered here. Example, two keys: `WITH q(c0, c1) AS (...) SELECT c0, c1 FROM q WHERE c0 IN (?,
# ?)`.


class Family(Enum):
    """What an output column can be compared with."""

    SIGNED = "signed"
    """Integers of at most 64 bits with a sign."""
    NUMERIC = "numeric"
    TEXT = "text"
    # Its values are read as the text that a cast gives, and that text is what is compared.
    CAST = "cast"
    OTHER = "other"


# A fraction, an infinity, what is no number, and an integer of another range are no values. What is
# compared has 19 digits, so that it can be compared with a decimal of 19 places.
_BEYOND: Final = "NOT ({{0}} >= {} AND {{0}} < 9223372036854775808) OR {{0}} <> FLOOR({{0}})"
_NO_INTEGERS: Final = MappingProxyType(
    {
        (Family.SIGNED, Kind.UNSIGNED): "{0} < 0",
        (Family.NUMERIC, Kind.NUMBER): _BEYOND.format("-9223372036854775808"),
        (Family.NUMERIC, Kind.UNSIGNED): _BEYOND.format("0"),
    }
)


def typed_pushes(
    families: Sequence[Family], demand: Demand, nulls_matter: Collection[int]
) -> tuple[Push, ...]:
    """Choose the columns to send; `families` has one entry per output column."""
    kinds = demand.predicate.kinds
    found = []
    for place, position in enumerate(demand.columns):
        family, text = families[position], kinds[position] is Kind.SYMBOL
        wanted = {Family.TEXT, Family.CAST} if text else {Family.SIGNED, Family.NUMERIC}
        if family in wanted and pushable(kinds[position], demand.keys, place):
            comparand = Comparand.AS_TEXT if family is Family.CAST else Comparand.BARE
            besides = _NO_INTEGERS.get((family, kinds[position]), "")
            nullable = position in nulls_matter
            found.append(Push(position, comparand, nullable, besides=besides))
    return tuple(found)


def typed_whole(
    guarded: Guarded,
    arity: int,
    *,
    outputs: Sequence[str] = (),
    spelled: frozenset[int] = frozenset(),
) -> Question:
    """Ask for all rows. `outputs` says how each column is selected, `spelled` which as text."""
    text = query_prefix(guarded, arity) + _selection(guarded, arity, outputs)
    return Question(text, spelled=spelled, tables=guarded.tables)


def typed_question(
    guarded: Guarded,
    arity: int,
    pushes: Sequence[Push],
    keys: Sequence[Row],
    *,
    outputs: Sequence[str] = (),
    spelled: frozenset[int] = frozenset(),
) -> Question:
    """Ask for some keys (distinct, one value per push), each value or array a parameter."""
    operands = [_compared(push, guarded.dialect) for push in pushes]
    sent: Sequence[Parameter] = [_parameter(value) for key in keys for value in key]
    arrays = [push.array for push in pushes]
    if all(arrays) and len(keys) > 1:
        wanted = _among(operands, arrays)
        sent = [_array(column) for column in zip(*keys, strict=True)]
    elif len(keys) == 1:
        wanted = " AND ".join(f"{operand} = ?" for operand in operands)
    else:
        # Written here and not by a tree of thousands of nodes, which takes twenty times as long.
        wide = len(operands) > 1
        one = _tuple(["?"] * len(operands)) if wide else "?"
        left = _tuple(operands) if wide else operands[0]
        wanted = f"{left} IN {_tuple([one] * len(keys))}"
    beside = [f" OR {one}" for push in pushes for one in push.open_rows()]
    if beside and len(operands) > 1 and len(keys) == 1:
        wanted = f"({wanted})"
    before = query_prefix(guarded, arity) + _selection(guarded, arity, outputs)
    text = f"{before} WHERE {wanted}{''.join(beside)}"
    return Question(text, tuple(sent), spelled, guarded.tables)


def _among(operands: Sequence[str], arrays: Sequence[str]) -> str:
    """Say that columns have the values of arrays: one by itself, several side by side."""
    if len(operands) == 1:
        return f"{operands[0]} = ANY (?::{arrays[0]}[])"
    names = ", ".join(f"k{place}" for place in range(len(operands)))
    side_by_side = ", ".join(f"?::{one}[]" for one in arrays)
    return f"{_tuple(operands)} IN (SELECT {names} FROM unnest({side_by_side}) AS k({names}))"  # noqa: S608  names of this module's own


def _array(values: Sequence[Value]) -> str:
    """Spell an array as PostgreSQL reads it: `{1,2}`, or `{"a","b"}` with escapes."""
    spelled = (
        str(one)
        if isinstance(one, int)
        else '"' + str(one).replace("\\", "\\\\").replace('"', '\\"') + '"'
        for one in values
    )
    return "{" + ",".join(spelled) + "}"


# A range is sent where the source compares as it is done here. A cell that is no value, such as NaN
# or a day that has no number of years, is neither inside nor outside: its row comes along, as one
# that is NULL does where that is no reason to leave it out.


@frozen
class Compared:
    """How a column is compared with values of its declared kind.

    `operand` stands for a value, `besides` says which of its cells are no values, by `{0}`;
    `ordered` where the source also orders them as it is done here. `above` and `below` say which of
    those cells a range with one end leaves out, where it has the others.
    """

    operand: str = "?"
    besides: str = ""
    ordered: bool = True
    above: str = ""
    below: str = ""

    def beside(self, operator: str) -> str:
        """Say which cells are no values and outside of a range."""
        ends = {">": self.above, "<": self.below}
        return ends.get(operator[0]) or self.besides


def ranged(question: Question, ranges: Sequence[tuple[Range, Compared, bool]]) -> Question:
    """Leave out rows outside of some ranges; each says whether the column may hold NULL."""
    conditions: list[str] = []
    sent: list[Parameter] = []
    for one, compared, nullable in ranges:
        column = f"c{one.column}"
        condition = f"{column} {one.operator} {compared.operand}"
        no_values = compared.beside(one.operator)
        beside = [no_values.format(column)] if no_values else []
        beside += [f"{column} IS NULL"] if nullable else []
        conditions.append(f"({' OR '.join([condition, *beside])})" if beside else condition)
        sent.append(_ranging(one.value))
    if not conditions:
        return question
    text = f"{question.text} WHERE {' AND '.join(conditions)}"
    return replace(question, text=text, parameters=(*question.parameters, *sent))


def _ranging(value: Value) -> Parameter:
    """Spell a value of a range; a decimal in full, as with an exponent it would be a float."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value if isinstance(value, int | float) else str(value)


def _parameter(value: Value) -> Parameter:
    return value if isinstance(value, int) else str(value)


def _selection(guarded: Guarded, arity: int, outputs: Sequence[str]) -> str:
    read = outputs or [f"c{position}" for position in range(arity)]
    listed = [one if place not in guarded.unread else "NULL" for place, one in enumerate(read)]
    return f"SELECT {', '.join(listed)} FROM {query_name(guarded)}"  # noqa: S608  names of this module's own


def _compared(push: Push, dialect: str) -> str:
    column = f"c{push.position}"
    if push.comparand is Comparand.BARE:
        return column
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.cast(exp.column(column), push.comparand.value).sql(dialect=dialect)


def _tuple(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)})"
