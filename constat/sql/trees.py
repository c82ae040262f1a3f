"""The forms of SQL that plans need, as sqlglot trees: queries, statements, functions."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final, Protocol

from constat.evaluation import StrategyError
from constat.logic import CONSTRUCTOR_OF, FIELD_OF, RECORD, Kind, Value, is_constructor
from constat.logic.arithmetic import bounds, unwrapped
from constat.logic.vocabulary import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sqlglot import exp

    from constat.plan.forward import Relation

# Every name is quoted and every constant is a literal that sqlglot writes, so no text from outside
# is ever read as SQL.

PLACES: Final = 12
"""How many places a Decimal column keeps; what needs more is refused, never rounded."""
_DIGITS: Final = 38
_TYPES: Final = (
    (Kind.NUMBER, "BIGINT"),
    (Kind.UNSIGNED, "UBIGINT"),
    (Kind.FLOAT, "DOUBLE"),
)


def name(text: str) -> exp.Identifier:
    """A quoted name."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Identifier(this=text, quoted=True)


def column(table: str, text: str) -> exp.Column:
    """A column of a table or of its alias."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Column(this=name(text), table=name(table))


def bare(text: str) -> exp.Column:
    """A column of the only table there is."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Column(this=name(text))


def table(text: str, alias: str = "") -> exp.Table:
    """A table, perhaps under another name."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    named = exp.TableAlias(this=name(alias)) if alias else None
    return exp.Table(this=name(text), alias=named)


def nested(query: exp.Query, alias: str) -> exp.Subquery:
    """A query in the place of a table."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Subquery(this=query, alias=exp.TableAlias(this=name(alias)))


def type_of(kind: Kind) -> exp.DataType:
    """The type of a column of that kind."""
    if kind is Kind.DECIMAL:
        return decimal_type(PLACES)
    return typed(dict(_TYPES).get(kind, "VARCHAR"))


def typed(text: str) -> exp.DataType:
    """A type without parameters."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.DataType(this=exp.DataType.Type[text])


def decimal_type(places: int) -> exp.DataType:
    """The widest decimal type with that many places."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    sizes = [exp.DataTypeParam(this=exp.Literal.number(size)) for size in (_DIGITS, places)]
    return exp.DataType(this=exp.DataType.Type.DECIMAL, expressions=sizes)


def cast(node: exp.Expr, to: exp.DataType) -> exp.Expr:
    """A value as another type; fails where it does not fit."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Cast(this=node, to=to)


def in_utc(node: exp.Expr) -> exp.Expr:
    """A moment with a time zone as the time of day there is in UTC then."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.AtTimeZone(this=node, zone=text("UTC"))


def try_cast(node: exp.Expr, to: exp.DataType) -> exp.Expr:
    """A value as another type, NULL where it does not fit."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.TryCast(this=node, to=to)


def integer(value: int) -> exp.Expr:
    """An integer as it is written."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if value < 0:
        return exp.Paren(this=exp.Neg(this=exp.Literal.number(-value)))
    return exp.Literal.number(value)


def text(value: str) -> exp.Expr:
    """A text."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Literal.string(value)


def null() -> exp.Expr:
    """No value."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Null()


def constant(value: Value, kind: Kind) -> exp.Expr:
    """A value of a kind, with the type of its columns."""
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return cast(integer(int(value)), type_of(kind))
        case Kind.FLOAT:
            # The shortest text that reads back as this float; read as text, it never is a decimal.
            return cast(text(repr(float(value))), type_of(kind))
        case Kind.DECIMAL:
            return cast(text(f"{checked_decimal(Decimal(value)):f}"), type_of(kind))
        case _:
            return text(str(value))


def checked_decimal(value: Decimal) -> Decimal:
    """Give a Decimal back, or raise where a column cannot hold it exactly."""
    exponent = value.as_tuple().exponent
    places = -exponent if isinstance(exponent, int) else _DIGITS
    if places > PLACES or value.adjusted() >= _DIGITS - PLACES:
        raise StrategyError(f"a Decimal needs more than {PLACES} places or is too large")
    return value


def call(function: str, *arguments: exp.Expr) -> exp.Expr:
    """A function by the name that the dialect has for it."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Anonymous(this=function, expressions=list(arguments))


def binary(operator: str, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """An operator between two values, in parentheses."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    operators: dict[str, type[exp.Binary]] = {
        "+": exp.Add,
        "-": exp.Sub,
        "*": exp.Mul,
        "/": exp.Div,
        "//": exp.IntDiv,
        "%": exp.Mod,
        "&": exp.BitwiseAnd,
        "|": exp.BitwiseOr,
        "||": exp.DPipe,
        "=": exp.EQ,
        "!=": exp.NEQ,
        "<": exp.LT,
        "<=": exp.LTE,
        ">": exp.GT,
        ">=": exp.GTE,
        "and": exp.And,
        "or": exp.Or,
    }
    return exp.Paren(this=operators[operator](this=left, expression=right))


def opposite(condition: exp.Expr) -> exp.Expr:
    """The negation."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Not(this=exp.Paren(this=condition))


def is_null(node: exp.Expr) -> exp.Expr:
    """Whether there is no value."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Paren(this=exp.Is(this=node, expression=exp.Null()))


def choose(condition: exp.Expr, then: exp.Expr, otherwise: exp.Expr) -> exp.Expr:
    """One of two values; only that one is computed."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Case(ifs=[exp.If(this=condition, true=then)], default=otherwise)


def exists(query: exp.Query) -> exp.Expr:
    """Whether a query has a row."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Exists(this=query)


def conjunction(conditions: Sequence[exp.Expr]) -> exp.Expr | None:
    """All of the conditions, or nothing where there are none."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    found: exp.Expr | None = None
    for one in conditions:
        found = one if found is None else exp.And(this=found, expression=one)
    return found


def select(
    outputs: Iterable[tuple[str, exp.Expr]],
    *,
    source: exp.Expr | None = None,
    where: Sequence[exp.Expr] = (),
    distinct: bool = False,
) -> exp.Select:
    """A query: its outputs by name, where its rows come from, which of them."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    listed = [exp.Alias(this=node, alias=name(label)) for label, node in outputs]
    query = exp.Select(expressions=listed)
    if source is not None:
        query.set("from_", exp.From(this=source))
    condition = conjunction(where)
    if condition is not None:
        query.set("where", exp.Where(this=condition))
    if distinct:
        query.set("distinct", exp.Distinct())
    return query


def add_join(
    query: exp.Select, source: exp.Expr, on: Sequence[exp.Expr], *, outer: bool = False
) -> None:
    """Join one more source to a query; without conditions, each row with each."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    condition = conjunction(on)
    if condition is None:
        join = exp.Join(this=source, kind="CROSS")
    else:
        join = exp.Join(this=source, on=condition, side="LEFT" if outer else None)
    query.append("joins", join)


def group(query: exp.Select, keys: Sequence[exp.Expr]) -> None:
    """Group the rows of a query."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if keys:
        query.set("group", exp.Group(expressions=list(keys)))


def union(queries: Sequence[exp.Query], *, distinct: bool = False) -> exp.Query:
    """The rows of all queries; balanced, so that the tree stays flat."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    found = list(queries)
    while len(found) > 1:
        pairs = [found[at : at + 2] for at in range(0, len(found), 2)]
        found = [
            exp.Union(this=pair[0], expression=pair[1], distinct=distinct)
            if len(pair) == 2  # noqa: PLR2004  the last may stand alone
            else pair[0]
            for pair in pairs
        ]
    return found[0]


def with_table(query: exp.Query, label: str, rows: exp.Query, *, kept: bool = True) -> None:
    """Give a query a common table; `kept` says that it is computed once."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    entry = exp.CTE(this=rows, alias=exp.TableAlias(this=name(label)), materialized=kept or None)
    known = query.args.get("with_")
    if known is None:
        query.set("with_", exp.With(expressions=[entry]))
    else:
        known.append("expressions", entry)


def recursive(query: exp.Query, label: str, columns: Sequence[str], rows: exp.Query) -> None:
    """Give a query a recursive common table."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    alias = exp.TableAlias(this=name(label), columns=[name(one) for one in columns])
    entry = exp.CTE(this=rows, alias=alias)
    query.set("with_", exp.With(expressions=[entry], recursive=True))


def everything(source: exp.Expr) -> exp.Select:
    """All columns of all rows of a source."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Select(expressions=[exp.Star()]).from_(source)


def row_number() -> exp.Expr:
    """The place of a row, from 1, in no particular order."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Window(this=exp.RowNumber())


def distinct_rows(query: exp.Select) -> exp.Select:
    """The same query without repeated rows."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    query.set("distinct", exp.Distinct())
    return query


def renamed(source: str, alias: str, columns: Sequence[str]) -> exp.Table:
    """A table under another name, and with other names for its columns."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    labels = [name(one) for one in columns]
    return exp.Table(this=name(source), alias=exp.TableAlias(this=name(alias), columns=labels))


def with_outputs(query: exp.Select, outputs: Iterable[tuple[str, exp.Expr]]) -> exp.Select:
    """A query with further outputs."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    for label, node in outputs:
        query.append("expressions", exp.Alias(this=node, alias=name(label)))
    return query


def scalar(query: exp.Query) -> exp.Expr:
    """The one value of a query."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Subquery(this=query)


def wide_integer(digits: int) -> exp.DataType:
    """A decimal without places, for integers that a dialect has no type for."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    sizes = [exp.DataTypeParam(this=exp.Literal.number(size)) for size in (digits, 0)]
    return exp.DataType(this=exp.DataType.Type.DECIMAL, expressions=sizes)


# As in `trees`, names are quoted and constants are literals.


def create(target: str, query: exp.Query, *, replace: bool = False) -> exp.Expr:
    """Make a table of the rows of a query."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Create(this=table(target), kind="TABLE", expression=query, replace=replace)


def create_empty(target: str, columns: Sequence[tuple[str, exp.DataType]]) -> exp.Expr:
    """Make a table without rows."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    listed = [exp.ColumnDef(this=name(label), kind=kind) for label, kind in columns]
    return exp.Create(this=exp.Schema(this=table(target), expressions=listed), kind="TABLE")


def insert(target: str, query: exp.Query) -> exp.Expr:
    """Add the rows of a query to a table."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Insert(this=table(target), expression=query)


def drop(target: str) -> exp.Expr:
    """Take a table away."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Drop(tables=[table(target)], kind="TABLE", exists=True)


def empty(target: str) -> exp.Expr:
    """Take all rows of a table away."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Delete(this=table(target))


def rename(target: str, to: str) -> exp.Expr:
    """Give a table another name."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Alter(this=table(target), kind="TABLE", actions=[exp.AlterRename(this=table(to))])


def setting(label: str, value: exp.Expr) -> exp.Expr:
    """Change a setting of the whole database."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    assigned = exp.EQ(this=exp.Column(this=exp.Identifier(this=label)), expression=value)
    return exp.Set(expressions=[exp.SetItem(this=assigned, kind="GLOBAL")])


def truth(value: bool) -> exp.Expr:  # noqa: FBT001  a constant
    """A truth value."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Boolean(this=value)


def texts(values: Iterable[str]) -> exp.Expr:
    """A list of texts."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Array(expressions=[text(one) for one in values])


def read_csv(
    path: str, columns: Sequence[str], options: Sequence[tuple[str, exp.Expr]]
) -> exp.Expr:
    """The lines of a file of separated texts, all columns as texts."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    kinds = exp.Struct(
        expressions=[exp.PropertyEQ(this=name(one), expression=text("VARCHAR")) for one in columns]
    )
    listed = [*options, ("columns", kinds)]
    named = [exp.EQ(this=exp.Column(this=exp.Identifier(this=a)), expression=b) for a, b in listed]
    return exp.Table(this=exp.ReadCSV(this=text(path), expressions=named))


def attach(path: str, label: str) -> exp.Expr:
    """Open a DuckDB file, for reading only."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    option = exp.AttachOption(this=exp.Var(this="read_only"))
    file = exp.Alias(this=text(path), alias=name(label))
    return exp.Attach(this=file, exists=False, expressions=[option])


def detach(label: str) -> exp.Expr:
    """Close a DuckDB file."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Detach(this=name(label), exists=False)


# A relation without columns has one that is always 0, because a table must have one.


def columns_of(relation: Relation) -> list[tuple[str, exp.DataType]]:
    """The columns of a relation's table."""
    if not relation.arity:
        return [("c0", type_of(Kind.NUMBER))]
    return [
        (f"c{place}", type_of(Kind.NUMBER if encoded else kind))
        for place, (kind, encoded) in enumerate(zip(relation.kinds, relation.encoded, strict=True))
    ]


# For all values of these kinds SQL gives the value that `constat.logic` gives, or fails; nothing
# becomes NULL, wraps or is rounded. Where SQL has no such function, or one that differs, the tree
# calls the Python function itself (`Outside.function`).
# A `Let` names an intermediate value that is read more than once: without it, nested functions
# would double the text with each level.

if TYPE_CHECKING:
    Let = Callable[[exp.Expr], exp.Expr]
    Arguments = Sequence[exp.Expr]

_LONGEST: Final = 1 << 20
_INTEGERS: Final = (Kind.NUMBER, Kind.UNSIGNED)
_NUMERIC: Final = (*_INTEGERS, Kind.FLOAT, Kind.DECIMAL)
# How a column holds a Decimal or a float tells nothing of how a certificate spells it.
_SPELLED: Final = frozenset(Kind) - {Kind.FLOAT, Kind.DECIMAL}
_PARTS: Final = ("year", "month", "day", "quarter")
_NEVER_FAIL: Final = frozenset({name for name, word in FUNCTIONS.items() if word.total}) | {
    CONSTRUCTOR_OF
}


FEW: Final = 0.05


class Outside(Protocol):
    """What trees need of the database that will run them."""

    @property
    def careful(self) -> bool:
        """Whether nothing may be computed for rows that an earlier step removes."""
        ...

    @property
    def few(self) -> float:
        """The share of a relation's rows below which bindings are told an aggregate over it."""
        ...

    def function(self, function: str, parameters: tuple[Kind, ...], result: Kind) -> str:
        """The name of a SQL function that calls the implementation."""
        ...

    def test(self, operator: str, kind: Kind) -> str:
        """The name of a SQL function that decides a comparison."""
        ...

    def fold(self, function: str, kind: Kind, result: Kind) -> str:
        """The name of a SQL function that folds a list of values."""
        ...

    def text_number(self, value: str) -> exp.Expr:
        """The number of a text in the dictionary."""
        ...

    def functions(self, let: Let) -> Functions:
        """What writes calls and aggregates as the database computes them exactly."""
        ...


def may_fail(function: str, parameters: tuple[Kind, ...], result: Kind) -> bool:
    """Whether there are values for which the function errs."""
    if function == "as":
        return parameters[0] is not result and result is not Kind.SYMBOL
    if function == FIELD_OF:
        # A column of Decimals has not all the places that a field may have.
        return result is Kind.DECIMAL
    return function not in _NEVER_FAIL


class Functions:
    """Writes calls; `let` gives a name to what is read twice."""

    def __init__(self, outside: Outside, let: Let) -> None:
        self._outside = outside
        self._let = let

    def call(
        self, function: str, parameters: tuple[Kind, ...], result: Kind, arguments: Arguments
    ) -> exp.Expr:
        """The value of a function."""
        plain, width = unwrapped(function)
        found = (
            self._wrapping(plain, width, result, arguments)
            if width
            else self._native(plain, parameters, result, arguments)
        )
        if found is not None:
            return found
        return call(self._outside.function(function, parameters, result), *arguments)

    def compare(self, operator: str, kind: Kind, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        """The truth of a comparison."""
        match operator:
            case "match" | "!match":
                found = call(self._outside.test("match", kind), left, right)
            case "contains" | "!contains":
                found = call("contains", right, left)
            case _:
                return binary(operator, left, right)
        return opposite(found) if operator.startswith("!") else found

    def _wrapping(
        self, plain: str, width: int, result: Kind, arguments: Arguments
    ) -> exp.Expr | None:
        """Arithmetic of machine words; 128 bits hold every intermediate result but one."""
        if result is Kind.FLOAT and width == 64:  # noqa: PLR2004  as the language has it
            return self._native(plain, (result,) * len(arguments), result, arguments)
        small = plain in {"+", "-"} or (plain == "*" and result is Kind.NUMBER)
        if result not in _INTEGERS or not small:
            return None
        wide = [cast(one, typed("INT128")) for one in arguments]
        return self.wrapped(binary(plain, *wide), result, width)

    def wrapped(self, wide: exp.Expr, kind: Kind, width: int) -> exp.Expr:
        """An integer of 128 bits brought into the range of a machine word."""
        huge = typed("INT128")
        mask = cast(integer((1 << width) - 1), huge)
        low = self._let(binary("&", wide, mask))
        if kind is Kind.NUMBER:
            top = bounds(kind, width)[1]
            turned = binary("-", low, cast(integer(1 << width), huge))
            above = binary(">", low, cast(integer(top), huge))
            low = choose(above, turned, low)
        return cast(low, type_of(kind))

    def _native(
        self, function: str, parameters: tuple[Kind, ...], result: Kind, arguments: Arguments
    ) -> exp.Expr | None:
        match function:
            case "+" | "-" | "*" | "/" | "%" | "neg":
                return self._arithmetic(function, result, arguments)
            case "min" | "max":
                return call("least" if function == "min" else "greatest", *arguments)
            case "band" | "bor":
                return binary("&" if function == "band" else "|", *arguments)
            case "cat":
                return self._concatenated(arguments)
            case "strlen":
                return call("strlen", *arguments)
            case "as":
                return self._conversion(parameters[0], result, arguments[0])
            case "to_string":
                return _text(parameters[0], arguments[0])
            case _:
                made = is_constructor(function)
                return (
                    self._structure(function, parameters, arguments)
                    if made
                    else self._time(function, arguments)
                )

    def _time(self, function: str, arguments: Arguments) -> exp.Expr | None:
        match function:
            case "year":
                return _digits(arguments[0], 1, 4)
            case "month":
                return _digits(arguments[0], 6, 2)
            case "day":
                return _digits(arguments[0], 9, 2)
            case "quarter":
                ahead = binary("+", _digits(arguments[0], 6, 2), integer(2))
                return binary("//", ahead, integer(3))
            case "date_of":
                return call("substring", arguments[0], integer(1), integer(10))
            case "days_between":
                days = [cast(one, typed("DATE")) for one in arguments]
                return call("date_diff", text("day"), *days)
            case _:
                return None

    def _arithmetic(self, function: str, kind: Kind, arguments: Arguments) -> exp.Expr | None:
        match kind:
            case Kind.FLOAT:
                return self._floating(function, arguments)
            case Kind.DECIMAL:
                return self._decimal(function, arguments)
            case _:
                return self._integral(function, kind, arguments)

    def _integral(self, function: str, kind: Kind, arguments: Arguments) -> exp.Expr:
        zero = constant(0, kind)
        match function:
            case "neg" if kind is Kind.UNSIGNED:
                value = self._let(arguments[0])
                return choose(binary("=", value, zero), zero, _failure("overflow"))
            case "neg":
                # DuckDB's own minus turns the constant of the least number into a wider one.
                return binary("-", zero, arguments[0])
            case "/":
                return binary("//", *arguments)
            case "%" if kind is Kind.NUMBER:
                left, right = arguments[0], self._let(arguments[1])
                minus_one = binary("=", right, integer(-1))
                return choose(minus_one, zero, binary("%", left, right))
            case _:
                return binary(function, *arguments)

    def _floating(self, function: str, arguments: Arguments) -> exp.Expr:
        zero = constant(0.0, Kind.FLOAT)
        match function:
            case "neg":
                found = binary("-", zero, arguments[0])
            case "/":
                left, right = arguments[0], self._let(arguments[1])
                nothing = binary("=", right, zero)
                quotient = binary("/", left, right)
                found = choose(nothing, _failure("division by zero"), quotient)
            case _:
                found = binary(function, *arguments)
        return self.canonical_float(found)

    def canonical_float(self, node: exp.Expr) -> exp.Expr:
        """A finite float with one zero."""
        value = self._let(node)
        zero = constant(0.0, Kind.FLOAT)
        one_zero = choose(binary("=", value, zero), zero, value)
        return choose(call("isfinite", value), one_zero, _failure("no finite float"))

    def _decimal(self, function: str, arguments: Arguments) -> exp.Expr | None:
        match function:
            case "neg":
                return binary("-", constant(0, Kind.DECIMAL), arguments[0])
            case "+" | "-":
                return binary(function, *arguments)
            case "*":
                product = self._let(binary("*", *arguments))
                narrow = cast(product, type_of(Kind.DECIMAL))
                again = cast(narrow, decimal_type(2 * PLACES))
                same = binary("=", again, product)
                return choose(same, narrow, _failure("too many places"))
            case _:
                return None

    def _structure(
        self, function: str, parameters: tuple[Kind, ...], arguments: Arguments
    ) -> exp.Expr | None:
        if not arguments or not _SPELLED.issuperset(parameters):
            return None
        record = function == RECORD
        pieces = [text("[" if record else f"{function}(")]
        for place, (one, kind) in enumerate(zip(arguments, parameters, strict=True)):
            pieces += [text(", ")] * bool(place) + _field(one, kind)
        return self._concatenated([*pieces, text("]" if record else ")")])

    def _concatenated(self, arguments: Arguments) -> exp.Expr:
        # In one call: a chain of operators would nest as deep as there are arguments.
        joined = self._let(call("concat", *arguments))
        fits = binary("<=", call("strlen", joined), integer(_LONGEST))
        return choose(fits, joined, _failure("the text is too long"))

    def _conversion(self, source: Kind, target: Kind, value: exp.Expr) -> exp.Expr | None:
        if source is target or target is Kind.SYMBOL:
            return value
        if source in _INTEGERS and target in {*_INTEGERS, Kind.DECIMAL}:
            return cast(value, type_of(target))
        if source in _INTEGERS and target is Kind.FLOAT:
            whole = self._let(value)
            near = self._let(cast(whole, type_of(target)))
            huge = typed("INT128")
            same = binary("=", cast(near, huge), cast(whole, huge))
            return choose(same, near, _failure("no float has exactly this value"))
        return None

    def folded(
        self, function: str, kind: Kind | None, result: Kind, target: exp.Expr | None
    ) -> exp.Expr:
        """The aggregate of a group; `target` is evaluated for each row."""
        plain, width = unwrapped(function)
        if plain == "count":
            return call("count", integer(1))
        if target is None or kind is None:
            raise AssertionError("only count has no target")
        if plain in {"min", "max"}:
            return call(plain, target)
        if plain == "sum" and kind in {*_INTEGERS, Kind.DECIMAL}:
            total = self.total(kind, target)
            if width and kind in _INTEGERS:
                return type(self)(self._outside, lambda node: node).wrapped(total, kind, width)
            return self.narrowed(total, kind)
        return call(self._outside.fold(function, kind, result), call("list", target))

    def total(self, kind: Kind, target: exp.Expr) -> exp.Expr:  # noqa: ARG002  for other databases
        """The exact sum of a group, in a type that is wider than the kind's."""
        return call("sum", target)

    def narrowed(self, wide: exp.Expr, kind: Kind) -> exp.Expr:
        """A wide value as one of its kind; fails where it does not fit."""
        return cast(wide, type_of(kind))


def has_constructor(structure: exp.Expr, wanted: str, told: exp.Expr) -> exp.Expr:
    """Whether a structure has a constructor, which `told` says by a call of Python.

    Most structures of other branches are told by how they begin, without the call.
    """
    name, _, arity = wanted.rpartition("/")
    if arity == "0":
        return binary("=", structure, text(name))
    beginning = text("[" if name == RECORD else f"{name}(")
    begins = call("starts_with", structure, beginning)
    return choose(begins, told, binary("=", integer(0), integer(1)))


def _field(value: exp.Expr, kind: Kind) -> list[exp.Expr]:
    """The spelling of a field, in pieces; see `structure_text`."""
    if kind is Kind.STRUCTURE:
        return [value]
    if kind in _INTEGERS:
        return [cast(value, typed("VARCHAR"))]
    escaped = call("replace", value, text("\\"), text("\\\\"))
    escaped = call("replace", escaped, text('"'), text('\\"'))
    return [text('"'), escaped, text('"')]


def _digits(moment: exp.Expr, start: int, length: int) -> exp.Expr:
    part = call("substring", moment, integer(start), integer(length))
    return cast(part, type_of(Kind.NUMBER))


def _text(kind: Kind, value: exp.Expr) -> exp.Expr | None:
    if kind in _INTEGERS:
        return cast(value, typed("VARCHAR"))
    return None if kind in _NUMERIC else value


def _failure(reason: str) -> exp.Expr:
    return call("error", text(reason))
