"""Check the queries that a model wrote, before anything runs them.

In: a drafted predicate with its query, and a connection to the source. Out: what is wrong, as
diagnostics at the draft's place. Invariants: one read-only SELECT over tables that exist, with the
columns of the predicate, and of a size that the project allows; nothing but the preparing of the
query is run here. Example: `SELECT pg_sleep(9)` and `SELECT 'C001'` are refused.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from constat.catalog import (
    BulkConnection,
    Connection,
    QueryMistakeError,
    SourceFailureError,
    guard,
)
from constat.diagnostics import Diagnostic, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.catalog import Guarded, SourceTable
    from constat.logic import Predicate

_MOST_NAMED: Final = 8
_SECONDS_TO_EXPLAIN: Final = 5.0
_EXPLAIN: Final = MappingProxyType(
    {"postgres": "EXPLAIN (FORMAT JSON)", "mysql": "EXPLAIN FORMAT=JSON"}
)
_ROWS: Final = re.compile(r"\W(?:Plan Rows|rows|rows_examined_per_scan)\W+?([0-9]+)")


def check_query(predicate: Predicate, connection: Connection, most_rows: int) -> list[Diagnostic]:
    """Check one query of a draft; gives nothing where it may run."""
    source = predicate.source
    if source is None:
        return []
    try:
        guarded = guard(source.parameters.get("query", ""), connection.dialect)
        return _held_against(guarded, predicate, connection, most_rows)
    except QueryMistakeError as problem:
        return [refused(predicate, problem.reason, problem.help)]
    except SourceFailureError as problem:
        return [refused(predicate, f"the source does not answer: {problem.reason}", "")]


def _held_against(
    guarded: Guarded, predicate: Predicate, connection: Connection, most_rows: int
) -> list[Diagnostic]:
    if not guarded.tables:
        hint = "read the columns of a table; values alone are facts, which a draft may not state"
        return [refused(predicate, "it reads no table", hint)]
    known = connection.tables()
    unknown = sorted(one for one in guarded.tables if not _knows(known, one))
    if unknown:
        near = nearest(unknown[0], sorted(known))
        hint = f"read `{near}`" if near else f"tables are {_named(sorted(known))}"
        return [refused(predicate, f"the source has no table `{unknown[0][:60]}`", hint)]
    columns = connection.columns(guarded.text)
    if len(columns) != predicate.arity:
        wanted = ", ".join(column.name for column in predicate.columns)
        reason = f"it gives {len(columns)} columns, and `{predicate.name}` has {predicate.arity}"
        return [refused(predicate, reason, f"select one column for each of {wanted}")]
    guess = _estimate(guarded, connection)
    if guess is not None and guess > most_rows:
        # How many rows a condition lets through tells of values: the number goes to a model.
        reason = f"it reads more rows than the {most_rows:,} that `authoring: query_rows` allows"
        return [refused(predicate, reason, "narrow it with WHERE, or read a smaller table")]
    return []


@runtime_checkable
class _Looking(Connection, Protocol):
    """A connection to a server, which runs a statement of ours."""

    def look(self, statement: str, seconds: float) -> list[tuple[object, ...]]:
        """Run it for so long at most."""
        ...


def _estimate(guarded: Guarded, connection: Connection) -> float | None:
    """Ask the source how many rows its plan reads; `None` where it does not say."""
    if isinstance(connection, BulkConnection):
        return connection.estimate(guarded)
    explain = _EXPLAIN.get(guarded.dialect)
    if explain is None or not isinstance(connection, _Looking):
        return None
    # The largest number among the operators, as everywhere: a join may be guessed wildly.
    told = connection.look(f"{explain} {guarded.text}", _SECONDS_TO_EXPLAIN)
    return max(map(float, _ROWS.findall(str(told))), default=None)


def _knows(known: Mapping[str, SourceTable], name: str) -> bool:
    """Tell whether a source has a table; schemas of servers may stand before names."""
    return name in known or name.rpartition(".")[2] in known


def _named(names: list[str]) -> str:
    shown = ", ".join(f"`{one}`" for one in names[:_MOST_NAMED])
    return shown + (", ..." if len(names) > _MOST_NAMED else "") if names else "none"


def refused(predicate: Predicate, reason: str, hint: str) -> Diagnostic:
    """Say that a drafted query may not run."""
    return Diagnostic(
        "C0865",
        f"the query of `{predicate.name}` is refused: {reason}",
        None if predicate.source is None else predicate.source.span,
        note="a drafted query is one SELECT over tables of the source, read-only and bounded",
        help=hint,
    )
