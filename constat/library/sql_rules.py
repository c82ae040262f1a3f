"""SQL that somebody knows as rules: views and queries over tables that the project declares.

In: the text of a file with `CREATE VIEW` or `SELECT`, and the project's program. Out: declarations
and rules as text. Invariant: what would mean something else is refused by name, at its place in
the file; nothing is asked of a database. Example: a join with `GROUP BY` becomes a relation of the
joined rows, with the keys of both tables, and a rule that counts them.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Never

from constat.catalog.schema.words import identifier
from constat.diagnostics import Diagnostic, Severity, Span, nearest
from constat.frozen import frozen, slotted
from constat.library.pydatalog_rules import Imported
from constat.logic import Column, Kind, Predicate
from constat.syntax.formatting import format_text
from constat.syntax.mistakes.habits import alike, one_of
from constat.syntax.printing import print_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


# Rows of SQL may be equal, and rows of a relation are not: where rows are counted or added up, the
# keys of all tables stand beside what is read, in a relation of its own. The tree is sqlglot's,
# which is loaded on first use: its nodes are told apart by the names of their classes.

_COMPARED: Final = MappingProxyType(
    {"EQ": "=", "NEQ": "!=", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
)
_DENIED: Final = MappingProxyType(
    {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
)
_CALCULATED: Final = MappingProxyType({"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%"})
_FOLDED: Final = MappingProxyType(
    {"Count": "count", "Sum": "sum", "Min": "min", "Max": "max", "Avg": "mean"}
)
_ORDERED: Final = frozenset({"LT", "LTE", "GT", "GTE", "Between"})
_WITHOUT_CASE: Final = frozenset({"sqlite", "mysql"})
"""Dialects in which LIKE takes letters of both cases."""
_DIVIDES_WHOLE: Final = frozenset({"sqlite", "postgres", "postgresql"})
"""Dialects in which the quotient of whole numbers is one; it is rounded towards zero."""
_INSTEAD: Final = MappingProxyType(
    {
        "LIMIT": 'ask for the first rows: `constat query "..." --order COLUMN --limit 10`',
        "OFFSET": "ask for the rows with `constat query`, which pages",
        "OUTER JOIN": "write one rule with the other table, and one with `!table(...)` for those"
        " that have no row there",
        "NULL": "`constat help nulls` says how what is missing is asked for",
        "a query inside of a query": "make the inner query a view before this statement, and join"
        " it, or write `column IN (SELECT column FROM view)`",
        "WINDOW": "`count`, `sum`, `min` and `max` over a group say most of it",
        "CASE": "write a rule for each case",
    }
)
_BY_HAND: Final = (
    "write a rule for it by hand (`constat help functions` lists what a rule calculates), and take"
    " it out of the file"
)
_GROUPED: Final = (
    "write a rule that gives each row's key with that value, such as `?month ="
    " substr(?arrived, 0, 7)` of a text or `month(?arrived)` of a day, and count over its rows"
)
_OF_INNER: Final = frozenset({"expressions", "from", "from_", "where", "distinct"})
"""The clauses of a query behind IN or EXISTS that one literal says."""
_OUTWARD: Final = (
    "only `=` may compare a column of the inner query with one of the outer: write a rule for it"
    " by hand"
)


_ALTERNATIVES: Final = (
    "make a view of each side before this statement, a UNION of two queries, and count its rows"
)
_MOST_ALTERNATIVES: Final = 16


class _RefusedError(Exception):
    """A part of a statement has no counterpart; the text names it, `node` is where it stands."""

    def __init__(self, what: str, hint: str = "", node: Any = None) -> None:  # noqa: ANN401  a node of sqlglot
        super().__init__(what)
        self.hint = hint or _INSTEAD.get(what, _BY_HAND)
        self.node = node


@frozen
class Stored:
    """A predicate and the table that its query reads: names of columns, by place.

    The query spells those that are `spelled` in another way than they are stored; SQL has NULL in
    those that are `nullable`. What the rules of the project give, `derived`, a view may replace.
    """

    predicate: Predicate
    table: str
    columns: tuple[str, ...]
    spelled: frozenset[int] = frozenset()
    nullable: frozenset[int] = frozenset()
    derived: bool = False


@slotted
class _Use:
    """A table of FROM: by its alias, with the variables of the columns that are read."""

    stored: Stored
    alias: str
    read: dict[int, str] = field(default_factory=dict)


def stored_tables(predicates: Sequence[Predicate], dialects: Mapping[str, str]) -> list[Stored]:
    """Find the predicates whose query reads columns of one table as they are."""
    import sqlglot  # noqa: PLC0415  heavy library, loaded on first use
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    found = []
    for one in predicates:
        source = one.source
        if source is None:
            names = tuple(column.name.casefold() for column in one.columns)
            # Whether a view of that name has NULL in SQL, its rules do not say.
            anywhere = frozenset(range(one.arity))
            table = one.name.casefold()
            found.append(Stored(one, table, names, nullable=anywhere, derived=True))
            continue
        query = source.parameters.get("query", "")
        if not query:
            continue
        try:
            tree = sqlglot.parse_one(query, dialect=dialects.get(source.name))
        except sqlglot.errors.SqlglotError:
            continue
        tables = list(tree.find_all(exp.Table))
        plain = isinstance(tree, exp.Select) and not tree.args.get("where")
        if plain and len(tables) == 1 and len(tree.expressions) == one.arity:
            names = tuple(column.alias_or_name.casefold() for column in tree.expressions)
            spelled = frozenset(
                place
                for place, column in enumerate(tree.expressions)
                if not isinstance(column.unalias(), exp.Column)
            )
            found.append(Stored(one, tables[0].name.casefold(), names, spelled, _nullable(one)))
    return found


def _nullable(predicate: Predicate) -> frozenset[int]:
    columns = enumerate(predicate.columns)
    return frozenset(place for place, one in columns if "null" in one.attributes)


def import_sql(text: str, file: str, stored: Sequence[Stored], dialect: str) -> Imported:
    """Write the views and queries of a text as rules."""
    import sqlglot  # noqa: PLC0415  heavy library, loaded on first use

    try:
        statements = [one for one in sqlglot.parse(text, dialect=dialect) if one is not None]
    except (sqlglot.errors.SqlglotError, RecursionError) as problem:
        message = str(problem).partition("\n")[0]
        place = Span(file, 1, 1, 1, 1)
        return Imported("", 0, 0, (Diagnostic("C0460", f"this is not SQL: {message}", place),))
    known = list(stored)
    diagnostics: list[Diagnostic] = []
    written: list[str] = []
    ids: list[str] = []
    rules = 0
    for statement in statements:
        place, before = _span(statement, file), len(known)
        try:
            taken = [one.predicate.name for one in known if not one.derived]
            view = _View(known, taken, statement, dialect, ids)
        except _RefusedError as refused:
            del known[before:]
            message = f"{refused} has no counterpart in a rule"
            where = place if refused.node is None else _span(refused.node, file)
            diagnostics.append(Diagnostic("C0461", message, where, help=refused.hint))
            continue
        written.append(view.text())
        rules += len(view.rules)
        diagnostics += (
            Diagnostic("C0463", one, place, severity=Severity.WARNING)
            for one in dict.fromkeys(view.remarks)
        )
    if not written:
        return Imported("", 0, 0, tuple(diagnostics))
    whole = '.pragma "constat" "0.1"\n.include "constat/prelude.dl"\n\n' + "\n".join(written)
    laid_out = format_text(whole, "<draft>", []) or whole
    return Imported(laid_out, whole.count(".decl "), rules, tuple(diagnostics))


def _span(node: Any, file: str) -> Span:  # noqa: ANN401  a node of sqlglot
    """Say where the first name within a part of a statement stands."""
    metas = (one.meta for one in node.walk() if one.meta)
    found: Mapping[str, int] = min(metas, key=_start, default={})
    line, last = found.get("line", 1), found.get("col", 1)
    return Span(file, line, max(1, last - found.get("end", 0) + _start(found)), line, last + 1)


def _start(meta: Mapping[str, int]) -> int:
    return meta.get("start", 0)


@frozen
class _Column:
    """A column of what is written: its name here and in SQL, the kind, the text of its value."""

    name: str
    called: str
    kind: Kind
    text: str
    nullable: bool


class _View:
    """One statement on its way into rules."""

    def __init__(
        self,
        known: list[Stored],
        taken: Sequence[str],
        statement: Any,  # noqa: ANN401  a node of sqlglot
        dialect: str,
        ids: list[str],
    ) -> None:
        from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

        self.dialect = dialect
        self.remarks: list[str] = []
        self.rules: list[str] = []
        self.declared: list[str] = []
        self.ids = ids
        self.name, named, target_name = "result", [], ""
        if isinstance(statement, exp.Create):
            if str(statement.args.get("kind")).upper() != "VIEW":
                raise _RefusedError(f"CREATE {statement.args.get('kind')}")
            target = statement.this
            target_name = target.find(exp.Table).name
            self.name = snake(target_name)
            if isinstance(target, exp.Schema):
                named = [one.name for one in target.expressions]
            statement = statement.expression
        # Whoever reads it calls it as SQL does.
        self.table = target_name or self.name
        self.name = unused(self.name, taken)
        self.inner: list[str] = []
        self.key: tuple[str, ...] = ()
        self._write(known, statement, named)

    def _write(self, known: list[Stored], statement: Any, named: Sequence[str]) -> None:  # noqa: ANN401  as above
        """Write a rule for each query of the statement, then the declaration."""
        columns: list[_Column] = []
        waiting, number = [*self._selects(statement)], 0
        while waiting:
            one = _Select(self, known, waiting.pop(0), number)
            if (sides := one.alternatives()) and number + len(waiting) < _MOST_ALTERNATIVES:
                waiting[:0] = sides
                continue
            if sides:
                raise _RefusedError("so many alternatives of columns that may be NULL")
            found, number = one.columns(named), number + 1
            columns = columns or found
            self.key = one.key(found) if number == 1 else ()
            if len(found) != len(columns):
                raise _RefusedError("a UNION of other columns")
            columns = [
                replace(one, nullable=one.nullable or other.nullable)
                for one, other in zip(columns, found, strict=True)
            ]
            head = f"{self.name}({', '.join(each.text for each in found)})"
            rule = once_read(f"{head} :- {', '.join(filter(None, one.body))}.")
            self.ids.append(unused(self.name, self.ids))
            self.rules.append(f"@[id = {self.ids[-1]}]\n{rule}")
        self._declare(columns)
        self._note(known, columns)

    def _declare(self, columns: Sequence[_Column]) -> None:
        """Declare the view, with what it says and how it is asked for."""
        said = ", ".join(f"{one.name.replace('_', ' ').strip()} {{{one.name}}}" for one in columns)
        asked = ", ".join(f"?{one.name}" for one in columns)
        declared = ", ".join(f"{one.name}: {one.kind.value}" for one in columns)
        self.declared += [
            f"// constat query '{self.name}({asked})'",
            f"@[says = {print_text(f'{self.name.replace(chr(95), chr(32)).strip()}: {said}')}]",
            f".decl {self.name}({declared})",
        ]

    def _note(self, known: list[Stored], columns: Sequence[_Column]) -> None:
        """Let later statements of the file read this view."""
        names = tuple(one.called.casefold() for one in columns)
        made = tuple(Column(one.name, one.kind.value, one.kind) for one in columns)
        nullable = frozenset(place for place, one in enumerate(columns) if one.nullable)
        key = {"key": ", ".join(self.key)} if self.key else {}
        predicate = Predicate(self.name, made, attributes=key)
        known.append(Stored(predicate, self.table.casefold(), names, nullable=nullable))

    def _selects(self, statement: Any) -> Iterator[Any]:  # noqa: ANN401  a node of sqlglot
        from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

        match statement:
            case exp.Union():
                if not statement.args.get("distinct", True):
                    self.remarks.append("of UNION ALL equal rows are one row here")
                yield from self._selects(statement.left)
                yield from self._selects(statement.right)
            case exp.Subquery() if not statement.args.get("alias"):
                yield from self._selects(statement.this)
            case exp.Select():
                yield statement
            case _:
                raise _RefusedError(str(statement.key).upper())

    def text(self) -> str:
        """Write declarations, then rules."""
        return "\n".join([*self.inner, *self.declared, *self.rules, ""])


class _Select:
    """One SELECT: the tables it joins, and the literals of its rule."""

    def __init__(self, view: _View, known: list[Stored], select: Any, number: int) -> None:  # noqa: ANN401  as above
        from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

        self.exp = exp
        self.view = view
        self.select = select
        self.number = number
        self.uses: list[_Use] = []
        self.known = known
        self.same: dict[tuple[int, int], tuple[int, int]] = {}
        self.names: dict[tuple[int, int], str] = {}
        self.body: list[str] = []
        self.folds: dict[str, tuple[str, Kind]] = {}
        self.gathers = False
        self.inside: list[str] = []
        self.rows: dict[str, tuple[str, ...]] = {}
        self._refuse()
        conditions = list(self._joined())
        where = select.args.get("where")
        conditions += [] if where is None else list(self._parts(where.this))
        self.conditions = [one for one in conditions if not self._equates(one)]

    def _refuse(self) -> None:
        """Refuse the clauses that a rule has no counterpart of."""
        arguments, exp = self.select.args, self.exp
        for part in ("limit", "offset"):
            if arguments.get(part):
                raise _RefusedError(part.upper(), node=arguments[part])
        if (
            arguments.get("with_")
            or arguments.get("with")
            or not all(map(self._is_asked, self.select.find_all(exp.Select)))
        ):
            raise _RefusedError("a query inside of a query")
        if self.select.find(exp.Window):
            raise _RefusedError("WINDOW")
        if arguments.get("order"):
            name = self.view.name
            self.view.remarks.append(
                f"ORDER BY is left out: `constat query` sorts, `--order COLUMN` of `{name}`"
            )

    def _is_asked(self, select: Any) -> bool:  # noqa: ANN401  a node of sqlglot
        """Tell whether a query is this one, or one that IN or EXISTS of its WHERE asks.

        What is further inside is looked at there.
        """
        exp, inside = self.exp, select.parent
        if select is self.select or select.find_ancestor(exp.Select) is not self.select:
            return True
        while isinstance(inside, exp.Subquery | exp.Union):
            inside = inside.parent
        where = inside.find_ancestor(exp.Where, exp.Select)
        return (
            isinstance(inside, exp.In | exp.Exists)
            and isinstance(where, exp.Where)
            and where.parent is self.select
        )

    def _joined(self) -> Iterator[Any]:
        """Take the tables; yield what they are joined by."""
        begun = self.select.args.get("from_") or self.select.args.get("from")
        if begun is None:
            raise _RefusedError("SELECT without FROM")
        self._use(begun.this)
        for join in self.select.args.get("joins") or ():
            if join.args.get("side") or join.args.get("method"):
                what = "OUTER JOIN" if join.args.get("side") else "NATURAL JOIN"
                raise _RefusedError(what, node=join)
            self._use(join.this)
            if join.args.get("on") is not None:
                yield from self._parts(join.args["on"])
            for column in join.args.get("using") or ():
                last = len(self.uses) - 1
                self._unite(self._place(column.name, last), self._first(column.name))

    def _use(self, table: Any) -> None:  # noqa: ANN401  a node of sqlglot
        self.uses.append(_Use(self._stored(table), (table.alias or table.name).casefold()))

    def _stored(self, table: Any) -> Stored:  # noqa: ANN401  a node of sqlglot
        if not isinstance(table, self.exp.Table):
            raise _RefusedError("a query inside of a query")
        wanted = table.name.casefold()
        called = snake(table.name)
        named = (
            one
            for one in self.known
            if one.table == wanted or (one.derived and one.table == called)
        )
        found = min(named, key=lambda one: one.derived, default=None)
        if found is None:
            near = nearest(wanted, [one.table for one in self.known])
            hint = f"there is `{near}`" if near else "`constat catalog draft` declares a table"
            raise _RefusedError(f"the table `{table.name}`, which no predicate reads,", hint, table)
        return found

    def _parts(self, condition: Any) -> Iterator[Any]:  # noqa: ANN401  as above
        """Take a conjunction apart."""
        return self._split(condition, self.exp.And)

    def _split(self, condition: Any, kind: Any) -> Iterator[Any]:  # noqa: ANN401  as above
        """Take apart what AND, or OR, joins."""
        while isinstance(condition, self.exp.Paren):
            condition = condition.this
        if isinstance(condition, kind):
            yield from self._split(condition.left, kind)
            yield from self._split(condition.right, kind)
        else:
            yield condition

    def alternatives(self) -> list[Any]:
        """Make a query of each side of OR, where a NULL that one side reads leaves the other.

        A rule that reads both columns has no row where one of them has no value.
        """
        where = self.select.args.get("where")
        parts = [] if where is None else list(self._parts(where.this))
        for condition in self.conditions:
            if not isinstance(condition, self.exp.Or):
                continue
            sides = [condition.left, condition.right]
            if (
                len({frozenset(self._nulls(one)) for one in self._split(condition, self.exp.Or)})
                == 1
            ):
                continue
            if condition not in parts or self._folds(self.select):
                raise _RefusedError("OR of columns that may be NULL", _ALTERNATIVES, condition)
            copies = [self.select.copy() for _ in sides]
            for copy, side in zip(copies, sides, strict=True):
                kept = [(side if one is condition else one).copy() for one in parts]
                copy.set("where", self.exp.Where(this=self.exp.and_(*kept)))
            return copies
        return []

    def _is_mine(self, column: Any) -> bool:  # noqa: ANN401  as above
        """Tell whether a column is, or may be, one of this query, though it stands further in."""
        if column.find_ancestor(self.exp.Select) is self.select:
            return True
        named = column.table.casefold()
        return any(
            _place_of(column.name, use.stored) >= 0 for use in self.uses if named in {"", use.alias}
        )

    def _nulls(self, condition: Any) -> set[tuple[int, int]]:  # noqa: ANN401  as above
        """Give the columns of a condition that may be NULL."""
        columns = condition.find_all(self.exp.Column)
        places = {self._root(self._of(one)) for one in columns if self._is_mine(one)}
        there = {self._root(one) for one in self._there()}
        return {one for one in places if one[1] in self.uses[one[0]].stored.nullable} - there

    # ------------------------------------------------------------------------- columns

    def _place(self, name: str, use: int) -> tuple[int, int]:
        place = _place_of(name, self.uses[use].stored)
        if place < 0:
            self._lacks(name, self.uses[use].stored.columns)
        return use, place

    def _lacks(self, name: str, columns: Sequence[str]) -> Never:
        near = nearest(name.casefold(), list(columns))
        hint = f"there is `{near}`" if near else ""
        raise _RefusedError(f"the column `{name}`, which no table of FROM has,", hint)

    def _first(self, name: str) -> tuple[int, int]:
        """Find the table that has a column that is named without one."""
        for number, use in enumerate(self.uses):
            if _place_of(name, use.stored) >= 0:
                return self._place(name, number)
        return self._lacks(name, [each for use in self.uses for each in use.stored.columns])

    def _of(self, column: Any) -> tuple[int, int]:  # noqa: ANN401  as above
        wanted = column.table.casefold()
        if not wanted:
            return self._first(column.name)
        for number, use in enumerate(self.uses):
            if use.alias == wanted:
                return self._place(column.name, number)
        raise _RefusedError(f"`{column.table}`, which FROM does not name,")

    def _root(self, place: tuple[int, int]) -> tuple[int, int]:
        while place in self.same:
            place = self.same[place]
        return place

    def _unite(self, one: tuple[int, int], other: tuple[int, int]) -> None:
        first, second = self._root(one), self._root(other)
        if first != second:
            self.same[max(first, second)] = min(first, second)
        for place in (one, other):
            self._variable(place)

    def _kind(self, place: tuple[int, int]) -> Kind:
        return self.uses[place[0]].stored.predicate.columns[place[1]].kind

    def _equates(self, condition: Any) -> bool:  # noqa: ANN401  as above
        """Unite two columns of one kind that have to be equal."""
        column = self.exp.Column
        if not isinstance(condition, self.exp.EQ):
            return False
        if not isinstance(condition.left, column) or not isinstance(condition.right, column):
            return False
        one, other = self._of(condition.left), self._of(condition.right)
        if self._kind(one) is not self._kind(other):
            sides = f"{self._kind(one).value} and {self._kind(other).value}"
            raise _RefusedError(f"`{condition.sql()}`, whose sides are {sides},", node=condition)
        self._unite(one, other)
        self._remark_letters(self._variable(one), self._kind(one))
        return True

    def _variable(self, place: tuple[int, int]) -> str:
        """Give the variable of a column, which is read from now on."""
        self.uses[place[0]].read.setdefault(place[1], "")
        root = self._root(place)
        if root not in self.names:
            wish = self.uses[root[0]].stored.predicate.columns[root[1]].name
            self.names[root] = unused(wish, list(self.names.values()))
        return self.names[root]

    # --------------------------------------------------------------------- expressions

    def _value(self, node: Any, *, outside: bool = False) -> tuple[str, Kind]:  # noqa: ANN401  as above
        """Write an expression; `outside` are those over groups."""
        exp = self.exp
        match node:
            case exp.Column():
                place = self._of(node)
                name = self._variable(place)
                if outside and self.gathers and name not in self.grouped:
                    raise _RefusedError(f"`{node.sql()}`, which is not in GROUP BY,")
                return f"?{name}", self._kind(place)
            case exp.Literal() if node.is_string:
                return print_text(node.this), Kind.SYMBOL
            case exp.Literal():
                return node.this, Kind.DECIMAL if "." in node.this else Kind.NUMBER
            case exp.Boolean():
                return print_text(str(node.this).lower()), Kind.BOOL
            case exp.Null() | exp.Coalesce():
                raise _RefusedError("NULL", node=node)
            case _ if outside and type(node).__name__ in _FOLDED:
                return self._folded(node)
            case _:
                return self._calculated(node, outside=outside)

    def _calculated(self, node: Any, *, outside: bool) -> tuple[str, Kind]:  # noqa: ANN401  as above
        exp, form = self.exp, type(node).__name__
        if form in _CALCULATED or isinstance(node, exp.DPipe):
            left, kind = self._value(node.left, outside=outside)
            right, other = self._value(node.right, outside=outside)
            if form == "DPipe":
                return f"cat({left}, {right})", Kind.SYMBOL
            whole = kind is other is Kind.NUMBER and self.view.dialect in _DIVIDES_WHOLE
            if form == "Div" and not whole:
                said = node.sql(dialect=self.view.dialect or None)[:60]
                raise _RefusedError(f"`{said}`, whose quotient may be no whole number,", node=node)
            both = other if isinstance(node.left, exp.Literal) else kind
            return f"{left} {_CALCULATED[form]} {right}", both
        if not isinstance(node, exp.Paren | exp.Neg | exp.Year | exp.Month | exp.Day):
            raise _RefusedError(f"`{node.sql()[:60]}`", _INSTEAD.get(form.upper(), ""), node)
        text, kind = self._value(node.this, outside=outside)
        if isinstance(node, exp.Paren):
            return f"({text})", kind
        if isinstance(node, exp.Neg):
            return f"-{text}", kind
        return f"{node.key}({text})", Kind.NUMBER

    def _condition(self, node: Any, *, outside: bool = False, denied: bool = False) -> str:  # noqa: ANN401  as above
        """Write a condition as a literal, or several with commas."""
        exp = self.exp
        if isinstance(node, exp.Paren):
            return self._condition(node.this, outside=outside, denied=denied)
        if isinstance(node, exp.Not) and not denied:
            return self._condition(node.this, outside=outside, denied=True)
        if isinstance(node, exp.Or) and not denied:
            sides = [self._condition(one, outside=outside) for one in (node.left, node.right)]
            # A side that says nothing more than that a column has a value is so in every row.
            return f"({'; '.join(sides)})" if all(sides) else ""
        if isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query")):
            return self._asked(node, outside=outside, denied=denied)
        if isinstance(node, exp.Is) and not (denied and isinstance(node.expression, exp.Null)):
            raise _RefusedError("NULL", node=node)
        return self._compared(node, outside=outside, denied=denied)

    def _asked(self, node: Any, *, outside: bool, denied: bool) -> str:  # noqa: ANN401  as above
        """Write what a query inside is asked for as an atom, or the negation of one."""
        exists = isinstance(node, self.exp.Exists)
        inner = (node.this if exists else node.args["query"]).unnest()
        outer = None if exists else node.this
        use, sides = self._of_table(inner, outer) or self._of_view(inner, outer)
        cells = {
            place: self._cell(other, use, place, outside=outside) for place, other in sides.items()
        }
        if denied:
            self._deny(node, use, cells)
        columns = use.stored.predicate.columns
        listed = ", ".join(f"{columns[place].name} = {text}" for place, text in cells.items())
        return f"{'!' if denied else ''}{use.stored.predicate.name}({listed})"

    def _of_table(self, inner: Any, outer: Any) -> tuple[_Use, Mapping[int, Any]] | None:  # noqa: ANN401  as above
        """Take what a query of one table asks for, where it is equal to something; else nothing."""
        if {name for name, value in inner.args.items() if value} - _OF_INNER:
            return None
        begun, where = inner.args.get("from_") or inner.args.get("from"), inner.args.get("where")
        items = [one.unalias() for one in inner.expressions]
        if begun is None or (outer is None) == (where is None) or self._folds(inner):
            return None
        use = _Use(self._stored(begun.this), begun.this.alias_or_name.casefold())
        if outer is not None:
            place = self._inner(items[0], use) if len(items) == 1 else -1
            return (use, {place: outer}) if place >= 0 else None
        found: dict[int, Any] = {}
        for condition in self._parts(where.this):
            place, other = self._sides(condition, use)
            plain = isinstance(other, self.exp.Column | self.exp.Literal)
            if place < 0 or place in found or not plain:
                return None
            found[place] = other
        return use, found

    def _of_view(self, inner: Any, outer: Any) -> tuple[_Use, Mapping[int, Any]]:  # noqa: ANN401  as above
        """Make a query inside a view of its own, with the columns that the outer one compares.

        Of each comparison with a column of the outer query the own side becomes a column of it.
        """
        exp = self.exp
        asked, pairs = inner.copy(), [] if outer is None else [(None, outer)]
        if isinstance(inner, exp.Select):
            asked, correlated = self._apart(inner)
            pairs += correlated
            items = [] if outer is None else [*asked.expressions]
            if (
                not pairs
                or len(items) != (outer is not None)
                or (correlated and self._folds(inner))
            ):
                raise _RefusedError("a query inside of a query", node=inner)
            names: list[str] = []
            for one in [*items, *(own for own, _ in correlated)]:
                names.append(unused(snake(_called(one, one.unalias())), names))
            chosen = [*(one.unalias() for one in items), *(own.copy() for own, _ in correlated)]
            listed = [exp.alias_(one, name) for one, name in zip(chosen, names, strict=True)]
            asked.set("expressions", listed)
            asked.set("distinct", exp.Distinct())
        elif outer is None:
            raise _RefusedError("a query inside of a query", node=inner)
        table = next(one.name for one in inner.find_all(exp.Table))
        taken = [self.view.name, *(one.predicate.name for one in self.known)]
        name = unused(f"{self.view.name}_{snake(table)}", taken)
        made = exp.Create(kind="VIEW", this=exp.to_table(name), expression=asked)
        view = _View(self.known, taken, made, self.view.dialect, self.view.ids)
        self.view.inner.append(view.text())
        self.view.remarks += view.remarks
        self.inside.append(name)
        return _Use(self.known[-1], name), {at: other for at, (_, other) in enumerate(pairs)}

    def _apart(self, inner: Any) -> tuple[Any, list[tuple[Any, Any]]]:  # noqa: ANN401  as above
        """Take the comparisons with columns of the outer query out of an inner one."""
        exp, arguments = self.exp, inner.args
        begun = arguments.get("from_") or arguments.get("from")
        if begun is None:
            raise _RefusedError("a query inside of a query", node=inner)
        tables = [begun.this, *(one.this for one in arguments.get("joins") or ())]
        uses = [_Use(self._stored(one), one.alias_or_name.casefold()) for one in tables]

        def own(column: Any) -> bool:  # noqa: ANN401  as above
            return any(self._inner(column, use) >= 0 for use in uses)

        kept, pairs, where = [], [], arguments.get("where")
        for condition in [] if where is None else self._parts(where.this):
            columns = condition.find_all(exp.Column)
            mine = [one for one in columns if one.find_ancestor(exp.Select) is inner]
            if all(map(own, mine)):
                kept.append(condition.copy())
                continue
            sides = [condition.left, condition.right] if isinstance(condition, exp.EQ) else []
            if len(sides) != 2 or sides[0] not in mine or sides[1] not in mine:  # noqa: PLR2004  two sides
                raise _RefusedError("a query inside of a query", _OUTWARD, condition)
            sides.sort(key=own, reverse=True)
            if not own(sides[0]):
                raise _RefusedError("a query inside of a query", _OUTWARD, condition)
            pairs.append((sides[0], sides[1]))
        asked = inner.copy()
        asked.set("where", exp.Where(this=exp.and_(*kept)) if kept else None)
        return asked, pairs

    def _folds(self, select: Any) -> bool:  # noqa: ANN401  as above
        """Tell whether a query gives totals."""
        folds = (
            type(each).__name__ in _FOLDED for one in select.expressions for each in one.walk()
        )
        return bool(select.args.get("group") or select.args.get("having")) or any(folds)

    def _inner(self, column: Any, use: _Use) -> int:  # noqa: ANN401  as above
        """Find the place of a column of a query that is asked; -1 where it is none of its table."""
        mine = isinstance(column, self.exp.Column) and column.table.casefold() in {"", use.alias}
        return _place_of(column.name, use.stored) if mine else -1

    def _sides(self, condition: Any, use: _Use) -> tuple[int, Any]:  # noqa: ANN401  as above
        """Take a column of a query that is asked, and what it is equal to, which is outside."""
        if isinstance(condition, self.exp.EQ):
            left, right = condition.left, condition.right
            for side, other in ((left, right), (right, left)):
                place = self._inner(side, use)
                if place >= 0 and self._inner(other, use) < 0:
                    return place, other
        return -1, None

    def _cell(self, node: Any, use: _Use, place: int, *, outside: bool) -> str:  # noqa: ANN401  as above
        """Write what a column of a query that is asked is equal to: a column, or a constant."""
        if not isinstance(node, self.exp.Column | self.exp.Literal):
            raise _RefusedError("a query inside of a query", node=node)
        text, kind = self._value(node, outside=outside)
        wanted = use.stored.predicate.columns[place].kind
        if kind is not wanted:
            sides = f"{kind.value} and {wanted.value}"
            raise _RefusedError(f"`{node.sql()}`, compared as {sides},", node=node)
        self._remark_letters(text.removeprefix("?"), kind)
        return text

    def _deny(self, node: Any, use: _Use, cells: Mapping[int, str]) -> None:  # noqa: ANN401  as above
        """Refuse NOT IN where a NULL inside would leave no row; say what NOT EXISTS keeps."""
        if isinstance(node, self.exp.In):
            place, table = next(iter(cells)), use.stored.table
            if place in use.stored.nullable:
                alias = unused(f"other_{table}", [one.alias for one in self.uses])
                column, outer = use.stored.columns[place], self._qualified(node.this)
                if use.stored.predicate.name in self.inside:
                    hint = f"write `{column} IS NOT NULL` into the inner query, if that is meant"
                    raise _RefusedError("NOT IN, where one NULL inside leaves no row,", hint, node)
                what = f"NOT IN, where one NULL in `{table}.{column}` leaves no row,"
                hint = "where NULL there should not count, write"
                hint += f" `NOT EXISTS (SELECT 1 FROM {table} {alias} WHERE"  # noqa: S608
                hint += f" {alias}.{column} = {outer})`"
                raise _RefusedError(what, hint, node)
        form = "NOT IN of no rows" if isinstance(node, self.exp.In) else "NOT EXISTS"
        for number, one in enumerate(self.uses):
            for place in sorted(one.stored.nullable & one.read.keys()):
                if f"?{self._variable((number, place))}" in cells.values():
                    name = one.stored.predicate.columns[place].name
                    self.view.remarks.append(
                        f"where `{one.alias}.{name}` is NULL, {form} keeps the row in SQL; here it"
                        " is left out, or not known"
                    )

    def _qualified(self, node: Any) -> str:  # noqa: ANN401  as above
        """Write what stands outside so that a query inside takes it for no column of its own."""
        alias = self.uses[self._of(node)[0]].alias if isinstance(node, self.exp.Column) else ""
        return f"{alias}.{node.name}" if alias else str(node.sql())

    def _compared(self, node: Any, *, outside: bool, denied: bool) -> str:  # noqa: ANN401  as above
        exp, form = self.exp, type(node).__name__
        operands = {
            "Between": ("this", "low", "high"),
            "In": ("this",),
            "Like": ("this",),
            "Is": ("this",),
        }.get(form, ("this", "expression") if form in _COMPARED else ())
        found = [self._value(node.args[one], outside=outside) for one in operands]
        for text, kind in found:
            self._remark_letters(text.removeprefix("?"), kind, ordered=form in _ORDERED)
        moments = any(kind is Kind.TIMESTAMP for _, kind in found)
        texts = [as_moment(text) if moments else text for text, _ in found]
        match form:
            case "Is":
                # A column that a rule reads has a value.
                return ""
            case "Between" if not denied:
                return f"{texts[0]} >= {texts[1]}, {texts[0]} <= {texts[2]}"
            case "In" if node.expressions:
                listed = [self._value(one, outside=outside)[0] for one in node.expressions]
                return one_of(texts[0], listed, denied=denied)
            case "Like" if isinstance(node.expression, exp.Literal):
                pattern = node.expression.this
                cased = self.view.dialect not in _WITHOUT_CASE
                if not cased and not pattern.isascii():
                    raise _RefusedError("LIKE with letters beyond ASCII, whose case may count,")
                return alike(texts[0], f"'{pattern}'", denied=denied, cased=cased)
            case _ if form in _COMPARED:
                operator = _COMPARED[form]
                return f"{texts[0]} {_DENIED[operator] if denied else operator} {texts[1]}"
            case _:
                raise _RefusedError(f"`{node.sql()[:60]}`", node=node)

    # ------------------------------------------------------------------- what is given

    def columns(self, named: Sequence[str]) -> list[_Column]:
        """Give the columns of the head; the body is made with them."""
        items = [each for one in self.select.expressions for each in self._starred(one)]
        group = self._group(items)
        if self._folds(self.select):
            self._gather(group)
        else:
            self.body = [self._condition(one) for one in self.conditions]
        outside = self.gathers
        found: list[_Column] = []
        for number, item in enumerate(items):
            inner = item.this if isinstance(item, self.exp.Alias) else item
            text, kind = self._value(inner, outside=outside)
            called = named[number] if number < len(named) else _called(item, inner)
            name = unused(snake(called), [one.name for one in found])
            found.append(_Column(name, called, kind, text, self._may_be_null(inner)))
        having = self.select.args.get("having")
        tests = [] if having is None else list(self._parts(having.this))
        after = [self._condition(one, outside=True) for one in tests]
        self._remark(items, merged=not outside)
        self._remark_nulls()
        self._remark_spelled()
        if outside:
            folds = [text for text, _ in self.folds.values()]
            self.body = [*self._grouped_atom(), *folds, *after]
        else:
            self.body = [*self._atoms(), *self.body]
        return found

    def key(self, columns: Sequence[_Column]) -> tuple[str, ...]:
        """Name the columns that tell the rows of what is written apart, as SQL has them."""
        named = {one.text: one.name for one in columns if not one.nullable}
        if self.gathers:
            wanted = [f"?{one}" for one in self.grouped]
        elif self.select.args.get("distinct"):
            wanted = [one.text for one in columns]
        else:
            keys = [(n, at) for n, use in enumerate(self.uses) for at in use.stored.predicate.key]
            given = [one for one in keys if f"?{self.names.get(self._root(one), '')}" in named]
            if self._undetermined(given) is not None:
                return ()
            wanted = [f"?{self.names[self._root(one)]}" for one in given]
            wanted = list(dict.fromkeys(wanted))
        return tuple(named[one] for one in wanted) if {*wanted} <= named.keys() else ()

    def _may_be_null(self, node: Any) -> bool:  # noqa: ANN401  as above
        """Tell whether SQL may have NULL as the value of an expression."""
        folds = {type(one).__name__ for one in node.walk()} & _FOLDED.keys()
        places = [self._of(one) for one in node.find_all(self.exp.Column)]
        there = {self._root(one) for one in self._there()}
        within = any(
            place in self.uses[use].stored.nullable and self._root((use, place)) not in there
            for use, place in places
        )
        return bool(folds - {"Count"}) or (within and not folds)

    def _there(self) -> Iterator[tuple[int, int]]:
        """Yield the columns that are NULL in no row that a condition of the query keeps."""
        exp = self.exp
        for one in self.conditions:
            there = isinstance(one, exp.Not) and isinstance(one.this, exp.Is)
            there = there and isinstance(one.this.expression, exp.Null)
            sides = [one.this.this] if there else []
            sides = [one.left, one.right] if type(one).__name__ in _COMPARED else sides
            yield from (self._of(side) for side in sides if isinstance(side, exp.Column))
        yield from self.same
        yield from self.same.values()

    def _remark(self, items: Sequence[Any], *, merged: bool) -> None:
        """Say where equal rows, which SQL tells apart, are one row here."""
        if not merged or self.select.args.get("distinct"):
            return
        given = [one.unalias() for one in items]
        chosen = [self._of(one) for one in given if isinstance(one, self.exp.Column)]
        lacking = self._undetermined(chosen)
        if lacking is not None:
            self.view.remarks.append(
                f"equal rows of `{self.view.name}` are one row: it has no key of"
                f" `{lacking.stored.predicate.name}`"
            )

    def _undetermined(self, chosen: Sequence[tuple[int, int]]) -> _Use | None:
        """Find a table of which several rows may go with one row of these columns.

        A key says which row it is, and what equals one of its columns is known with it.
        """
        known = {self._root(one) for one in (*chosen, *self._constant())}
        waiting = dict(enumerate(self.uses))
        while waiting:
            told = [
                number
                for number, use in waiting.items()
                if (key := use.stored.predicate.key)
                and known.issuperset(self._root((number, place)) for place in key)
            ]
            if not told:
                return next(iter(waiting.values()))
            for number in told:
                use = waiting.pop(number)
                known |= {self._root((number, at)) for at in range(use.stored.predicate.arity)}
        return None

    def _constant(self) -> Iterator[tuple[int, int]]:
        """Yield the columns that equal a constant."""
        exp = self.exp
        for one in self.conditions:
            sides = (one.left, one.right) if isinstance(one, exp.EQ) else ()
            if any(isinstance(side, exp.Literal) for side in sides):
                yield from (self._of(side) for side in sides if isinstance(side, exp.Column))

    def _remark_letters(self, said: str, kind: Kind, *, ordered: bool = False) -> None:
        """Say where texts are compared in another way: rules compare them letter by letter."""
        dialect = self.view.dialect
        if kind is not Kind.SYMBOL or said.startswith('"'):
            return
        if dialect == "mysql":
            self.view.remarks.append(
                f"MySQL may take letters of both cases, and with accents, for equal in `{said}`;"
                " rules do not"
            )
        elif ordered and dialect in {"postgres", "postgresql"}:
            self.view.remarks.append(
                f"PostgreSQL orders texts as its language does in `{said}`; rules by the numbers of"
                " their letters in Unicode"
            )

    def _remark_spelled(self) -> None:
        """Say what the declared query spells, where SQL has it as it is stored."""
        for use in self.uses:
            columns, name = use.stored.predicate.columns, use.stored.predicate.name
            for place in sorted(use.stored.spelled & use.read.keys()):
                self.view.remarks.append(
                    f"`{columns[place].name}` is {columns[place].kind.value} here, as the query of"
                    f" `{name}` spells it; SQL compares it as it is stored"
                )

    def _remark_nulls(self) -> None:
        """Say what SQL does with NULL: a rule leaves it out, or does not know it."""
        outputs = self._outputs()
        kept: dict[str, None] = {}
        open_: dict[str, None] = {}
        for use in self.uses:
            for place in sorted(use.read):
                column = use.stored.predicate.columns[place]
                name, null = f"`{column.name}`", column.attributes.get("null")
                if null and (outputs is None or use.stored.columns[place] in outputs):
                    kept[name] = None
                elif null in {"maybe", "unknown"}:
                    open_[name] = None
        if kept:
            self.view.remarks.append(
                f"SQL keeps a row, or a group, whose {', '.join(kept)} is NULL; here it is not"
                " known, or left out where `@[null = none]` stands before the column"
            )
        if open_:
            self.view.remarks.append(
                f"SQL leaves out what is NULL in {', '.join(open_)}; here it is not known, until"
                " `@[null = none]` stands before the column"
            )

    def _outputs(self) -> frozenset[str] | None:
        """Name the columns that are selected or grouped by, and not compared; `None` for `*`."""
        exp, args = self.exp, self.select.args
        if any(one.is_star for one in self.select.expressions):
            return None
        tested = [args.get("where"), args.get("having"), *args.get("joins", ())]
        compared = {
            one.name.casefold()
            for part in tested
            if part
            for one in part.find_all(exp.Column)
            if one.find_ancestor(exp.Select) is self.select
        }
        given = [*self.select.expressions, *filter(None, [args.get("group")])]
        found = (one for part in given for one in part.find_all(exp.Column))
        selected = (one for one in found if not one.find_ancestor(exp.AggFunc))
        return frozenset(one.name.casefold() for one in selected) - compared

    def _starred(self, item: Any) -> Iterator[Any]:  # noqa: ANN401  a node of sqlglot
        """Write out `*`."""
        exp = self.exp
        star = isinstance(item, exp.Star)
        if not star and not (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            yield item
            return
        for use in self.uses:
            if star or use.alias == item.table.casefold():
                for name in use.stored.columns:
                    yield exp.column(name, table=use.alias)

    def _group(self, items: Sequence[Any]) -> list[Any]:
        group = self.select.args.get("group")
        found = []
        for one in group.expressions if group is not None else ():
            if isinstance(one, self.exp.Literal) and one.this.isdigit():
                item = items[int(one.this) - 1]
                found.append(item.this if isinstance(item, self.exp.Alias) else item)
            else:
                aliased = {each.alias: each.this for each in items if each.alias}
                found.append(aliased.get(one.name, one))
        if not all(isinstance(one, self.exp.Column) for one in found):
            part = next(one for one in found if not isinstance(one, self.exp.Column))
            said = part.sql(dialect=self.view.dialect or None)[:60]
            raise _RefusedError(f"GROUP BY of `{said}`, which is no column,", _GROUPED, part)
        return found

    def _gather(self, group: Sequence[Any]) -> None:
        """Write the relation of the joined rows, which are counted and added up."""
        self.grouped = [self._variable(self._of(one)) for one in group]
        for one in group:
            self._remark_letters(self._variable(self._of(one)), self._kind(self._of(one)))
        kinds = {self._variable(self._of(one)): self._kind(self._of(one)) for one in group}
        self.keys: list[str] = []
        for number, use in enumerate(self.uses):
            key = use.stored.predicate.key
            if not key:
                table = use.stored.predicate.name
                hint = f"say what tells its rows apart: `@[key = ...]` before `.decl {table}`"
                raise _RefusedError(f"counting rows of `{table}`, which has no key,", hint)
            for place in key:
                variable = self._variable((number, place))
                kinds[variable] = self._kind((number, place))
                self.keys += [variable] if variable not in self.grouped else []
        self.kinds = kinds
        self.tests = [self._condition(one) for one in self.conditions]
        self.base = {number: {*use.read} for number, use in enumerate(self.uses)}
        self.gathers = True
        self._rows_with(())

    def _rows_with(self, places: Sequence[tuple[int, int]]) -> str:
        """Write the relation of the joined rows with what a total reads; give its name.

        What may be NULL is read for those totals only that are about it.
        """
        read = {self._variable(place): self._kind(place) for place in places}
        more = {name: kind for name, kind in read.items() if name not in self.kinds}
        wish = "_".join([self.view.name, "rows", *([str(self.number + 1)] if self.number else [])])
        name = "_".join([wish, *more])
        if name not in self.rows:
            kinds = {**self.kinds, **more}
            self.rows[name] = tuple(kinds)
            declared = ", ".join(f"{one}: {kind.value}" for one, kind in kinds.items())
            self.view.declared.append(f".decl {name}({declared})")
            head = ", ".join(f"?{one}" for one in kinds)
            columns = {number: {*found} for number, found in self.base.items()}
            for number, place in places:
                columns[number].add(place)
            body = ", ".join([*self._atoms(columns), *filter(None, self.tests)])
            self.view.rules.append(once_read(f"{name}({head}) :- {body}."))
        return name

    def _grouped_atom(self) -> list[str]:
        named = ", ".join(f"{name} = ?{name}" for name in self.grouped)
        return [f"{self._rows_with(())}({named})"] if self.grouped else []

    def _folded(self, node: Any) -> tuple[str, Kind]:  # noqa: ANN401  as above
        """Write a total over a group; give the variable that has it."""
        said = node.sql()
        if said in self.folds:
            return f"?{self._result([*self.folds].index(said))}", self.folds[said][1]
        function, argument = _FOLDED[type(node).__name__], node.this
        if isinstance(argument, self.exp.Distinct):
            raise _RefusedError(
                f"`{said}`", "import a view of the distinct values, and count these"
            )
        target, kind, places = "", Kind.NUMBER, list[tuple[int, int]]()
        if argument is not None and not isinstance(argument, self.exp.Star):
            target, kind = self._value(argument)
            places = [self._of(one) for one in argument.find_all(self.exp.Column)]
        read = [self._variable(one) for one in places]
        if function == "count":
            target, kind = "", Kind.NUMBER
        elif function == "mean" and kind is not Kind.DECIMAL:
            kind = Kind.FLOAT
        cells = {name: f"?{name}" for name in self.grouped}
        for name in (*self.keys, *read):
            mine = name in read and function != "count"
            cells.setdefault(name, f"?{name}" if mine else f"_{name}")
        cells |= {name: f"?{name}" for name in read if function != "count"}
        inside = ", ".join(f"{name} = {cell}" for name, cell in cells.items())
        self._remark_letters(said, kind, ordered=True)
        variable = self._result(len(self.folds))
        asked = f"{function} {target}".strip()
        rows = self._rows_with(places)
        literal = f"?{variable} = {asked} : {{ {rows}({inside}) }}"
        may_be_none = rows != self._rows_with(()) or not self.grouped
        if function != "count" and may_be_none:
            self.view.remarks.append(f"where `{said}` is NULL, as no row has a value, is no row")
        if function == "sum" and may_be_none:
            # The sum of nothing is NULL there, and 0 here.
            named = [f"{one} = ?{one}" for one in self.grouped] or [f"{self.rows[rows][0]} = _"]
            literal = f"{rows}({', '.join(named)}), {literal}"
        self.folds[said] = (literal, kind)
        return f"?{variable}", kind

    def _result(self, place: int) -> str:
        return f"total_{place + 1}"

    def _atoms(self, reading: Mapping[int, set[int]] | None = None) -> list[str]:
        """Write an atom for each table."""
        found = []
        for number, use in enumerate(self.uses):
            columns = use.stored.predicate.columns
            mine = {*use.read} if reading is None else reading[number]
            read = sorted(mine) or [*use.stored.predicate.key][:1] or [0]
            cells = ", ".join(
                f"{columns[place].name} = ?{self._variable((number, place))}"
                if place in mine
                else f"{columns[place].name} = _"
                for place in read
            )
            found.append(f"{use.stored.predicate.name}({cells})")
        return found


def _place_of(name: str, stored: Stored) -> int:
    """Find the place of a column by its name in SQL; -1 where a table has none."""
    wanted = (name.casefold(), snake(name)) if stored.derived else (name.casefold(),)
    return next((stored.columns.index(one) for one in wanted if one in stored.columns), -1)


def _called(item: Any, inner: Any) -> str:  # noqa: ANN401  nodes of sqlglot
    """Name a column as SQL does, and a total by what it is about."""
    read = [one.name for one in inner.walk() if type(one).__name__ == "Column"]
    if item.alias or type(inner).__name__ == "Column":
        return str(item.alias_or_name)
    return "_".join([inner.key, *read[:1]]) if read else "rows"


def once_read(rule: str) -> str:
    """Write `_x` for a variable that stands once in a rule: its column is read, and no more."""
    counted = Counter(_VARIABLE.findall(_QUOTED.sub("", rule)))
    return _CELL.sub(lambda one: f" = _{one[1]}" if counted[one[1]] == 1 else one[0], rule)


_VARIABLE: Final = re.compile(r"\?([A-Za-z_]\w*)")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_CELL: Final = re.compile(r" = \?([A-Za-z_]\w*)(?=[,)])")
_MOMENT: Final = re.compile(r'"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(:\d\d)?(?:\.0+)?Z?)?"')


def as_moment(text: str) -> str:
    """Write a text of SQL that is compared with a moment as one, in UTC."""
    found = _MOMENT.fullmatch(text)
    return f'"{found[1]}T{found[2] or "00:00"}{found[3] or ":00"}Z"' if found else text


def snake(name: str) -> str:
    """Write a name of SQL as a name of the language."""
    return identifier(name, (), "result")


def unused(wish: str, taken: Sequence[str]) -> str:
    """Give a name that is not taken yet."""
    return identifier(wish, taken, "result")
