"""Say what PostgreSQL's errors mean, without what they quote.

In: an exception of psycopg. Out: `QueryMistakeError` where the query cannot be right for this
source, `SourceFailureError` otherwise. Invariant (semantics 29): messages of the server hold
values, addresses and accounts; only the condition behind the SQLSTATE is told, and the column that
the query itself names. Example: `22012` becomes "PostgreSQL says: division by zero (22012)".
Reference: https://www.postgresql.org/docs/current/errcodes-appendix.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import psycopg

from constat.catalog.failure import QueryMistakeError, SourceFailureError

if TYPE_CHECKING:
    from constat.catalog.alchemy_reading import Trouble

_NO_COLUMN: Final = re.compile(r'column "?([^"\s]{1,120})"? does not exist')
_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CLOSED: Final = ("08", "57P")
_WRITES: Final = "25006"
_UNREACHABLE: Final = (
    ("password", "C0554", "the server does not accept the account"),
    ("authentication", "C0554", "the server does not accept the account"),
    ("pg_hba.conf", "C0554", "the server does not accept the account from here"),
    ("role ", "C0554", "the server does not accept the account"),
    ("database ", "C0554", "the server has no such database, or not for this account"),
    ("too many", "C0553", "the server has no connection to spare"),
    ("starting up", "C0553", "the server is starting"),
    ("shutting down", "C0553", "the server is shutting down"),
    ("timeout", "C0553", "the server did not answer in time"),
)


def is_lost(problem: Exception) -> bool:
    """Tell whether the server, or the way to it, is gone."""
    state = problem.sqlstate if isinstance(problem, psycopg.Error) else None
    if state is not None:
        return state.startswith(_CLOSED)
    return isinstance(problem, psycopg.OperationalError)


def meaning(problem: Exception) -> Trouble:
    """Give the error to raise."""
    state = problem.sqlstate if isinstance(problem, psycopg.Error) else None
    if not isinstance(problem, psycopg.Error) or state is None:
        return _without_state(problem)
    told = f"PostgreSQL says: {_condition(state)} ({state})"
    if state == "57014":
        return SourceFailureError("the query was stopped", "C0521")
    if state == _WRITES:
        return QueryMistakeError("the query writes, and it may only read", "C0516")
    if state == "42501":
        return SourceFailureError("the account may not read what the query reads", "C0554")
    if state == "42703":
        found = _NO_COLUMN.search(problem.diag.message_primary or "")
        return QueryMistakeError(f"no such column: {found[1]}" if found else told)
    if state.startswith("28"):
        return SourceFailureError("the server does not accept the account", "C0554")
    if state.startswith(_CLOSED):
        return SourceFailureError("the server closed the connection", "C0555")
    # What a query says wrongly is a mistake; what it meets in the data is not.
    return QueryMistakeError(told) if state.startswith("42") else SourceFailureError(told)


def _without_state(problem: Exception) -> Trouble:
    """Explain what did not come from the server's own mouth: mostly that it was not reached."""
    if isinstance(problem, psycopg.OperationalError):
        said = str(problem).lower()
        for word, code, reason in _UNREACHABLE:
            if word in said:
                return SourceFailureError(reason, code)
        return SourceFailureError("the server cannot be reached", "C0553")
    if isinstance(problem, psycopg.ProgrammingError):
        return SourceFailureError("the driver does not accept the uri or the query", "C0553")
    return SourceFailureError(f"the driver cannot read it ({type(problem).__name__})")


def _condition(state: str) -> str:
    """Give the name of a condition in words: `UndefinedFunction` is `undefined function`."""
    try:
        name = psycopg.errors.lookup(state).__name__
    except KeyError:
        return "an error"
    return _CAPITAL.sub(" ", name).lower()
