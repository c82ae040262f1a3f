"""SELECTs over earlier steps: which relations they read, and that they say one thing only.

In: a step by `sql` without a `source`. Out: the relations it reads, and the query as it is run; or
a diagnostic. Invariants: the query passes the guard for DuckDB's SQL; it reads no clock, so the
same rows give the same answer; where it keeps some rows of several that are equal in their order,
the rest of their columns decides. Example: `SELECT region, total FROM totals ORDER BY total LIMIT
5` is run with `ORDER BY total, 1, 2`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.catalog import QueryMistakeError, guard
from constat.diagnostics import Diagnostic

if TYPE_CHECKING:
    from sqlglot import exp

    from constat.explore.plan import Step

DIALECT: Final = "duckdb"
_CLOCKS: Final = frozenset(
    {"CurrentDate", "CurrentTime", "CurrentTimestamp", "CurrentDatetime", "CurrentTimestampLTZ"}
    | {"Localtime", "Localtimestamp", "UnixSeconds"}
)
_CLOCK_NAMES: Final = frozenset({"now", "today", "current_localtime", "current_localtimestamp"})


def tables_of(step: Step) -> tuple[tuple[str, ...], Diagnostic | None]:
    """Name the relations that a step's SELECT reads, or say what is wrong with it."""
    try:
        guarded = guard(step.text, DIALECT)
        problem = _clock(_parsed(guarded.text))
    except QueryMistakeError as mistake:
        hint = mistake.help or "write one SELECT over the step's inputs"
        return (), _refused(step, mistake.reason, hint)
    if problem:
        hint = "read the relation `today(day)`, so that the answer can be found again"
        return (), _refused(step, f"`{problem}` reads the clock", hint)
    return tuple(sorted(guarded.tables)), None


def determined(text: str, columns: int) -> str:
    """Write a guarded SELECT so that LIMIT chooses among equal rows by their values."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    root = _parsed(text)
    if root.args.get("limit") is None and root.args.get("offset") is None:
        return text
    order = root.args.get("order")
    places = [exp.Ordered(this=exp.Literal.number(n)) for n in range(1, columns + 1)]
    listed = [*(order.expressions if order is not None else ()), *places]
    root.set("order", exp.Order(expressions=[one.copy() for one in listed]))
    return root.sql(dialect=DIALECT)


def at_most(text: str, rows: int) -> str:
    """Write a guarded SELECT that has no limit of its own so that it gives no more rows."""
    root = _parsed(text)
    if root.args.get("limit") is not None:
        return text
    return root.limit(rows, copy=False).sql(dialect=DIALECT)


def is_ordered(text: str) -> bool:
    """Whether a guarded SELECT says in which order its rows are to be seen."""
    return _parsed(text).args.get("order") is not None


def plain_columns(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Give the relation and the columns of a SELECT that lists columns of one, and no more.

    In which order it shows the rows is none of theirs. `*` stands for itself.
    """
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    root = _parsed(text)
    used = {name for name, value in root.args.items() if value} - {"expressions", "order"}
    tables = list(root.find_all(exp.Table))
    if not isinstance(root, exp.Select) or used - {"from", "from_"} or len(tables) != 1:
        return None
    extra = {name for name, value in tables[0].args.items() if value} - {"this", "alias"}
    known = {tables[0].alias_or_name.lower(), ""}
    columns = [one.this if isinstance(one, exp.Alias) else one for one in root.expressions]
    if len(columns) == 1 and type(columns[0]) is exp.Star and not any(columns[0].args.values()):
        return None if extra else (tables[0].name, ("*",))
    plain = all(
        isinstance(one, exp.Column)
        and isinstance(one.this, exp.Identifier)
        and one.table.lower() in known
        for one in columns
    )
    return (tables[0].name, tuple(one.name for one in columns)) if plain and not extra else None


def _parsed(text: str) -> exp.Query:
    import sqlglot  # noqa: PLC0415  heavy library, loaded on first use
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    found = sqlglot.parse_one(text, read=DIALECT)
    if not isinstance(found, exp.Query):
        raise QueryMistakeError("the query is not a SELECT", "C0516")
    return found


def _clock(root: exp.Query) -> str:
    """Name the function of a query that reads the clock, if there is one."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    for node in root.walk():
        if type(node).__name__ in _CLOCKS:
            return node.sql(dialect=DIALECT)[:40]
        if isinstance(node, exp.Anonymous) and str(node.this).lower() in _CLOCK_NAMES:
            return str(node.this).lower()
    return ""


def _refused(step: Step, reason: str, hint: str) -> Diagnostic:
    return Diagnostic("C0895", f"step `{step.name}`: {reason}", step.span, help=hint)
