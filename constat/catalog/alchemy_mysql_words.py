"""Say what errors of MySQL and MariaDB mean, without what they quote.

In: an exception of PyMySQL. Out: `QueryMistakeError` where the query cannot be right for this
source, `SourceFailureError` otherwise. Invariant (semantics 29): messages of the server hold
values, addresses and accounts; only the number is told, and the column that the query names.
Example: 1062 becomes "the server says: error 1062". Reference:
https://mariadb.com/kb/en/mariadb-error-code-reference/
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import pymysql
from pymysql.constants import CR, ER

from constat.catalog.failure import QueryMistakeError, SourceFailureError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.catalog.alchemy_reading import Trouble

_NO_COLUMN: Final = re.compile(r"Unknown column '([^'\s]{1,120})'")
# Numbers stand here for what PyMySQL has no name for: mostly MariaDB's own errors.
_CLOSED: Final = frozenset({
    CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST, CR.CR_SERVER_LOST_EXTENDED,
    ER.SERVER_SHUTDOWN, ER.NEW_ABORTING_CONNECTION, 1927, 4031,
})  # fmt: skip
_STOPPED: Final = frozenset({ER.QUERY_INTERRUPTED, 1028, 1969, 3024})
_MIXED: Final = frozenset({ER.CANT_AGGREGATE_2COLLATIONS, ER.CANT_AGGREGATE_3COLLATIONS,
                           ER.CANT_AGGREGATE_NCOLLATIONS})  # fmt: skip
_MIXED_REASON: Final = ("C0520", "it compares texts of different collations; cast them")
_TURNED_AWAY: Final[Mapping[int, tuple[str, str]]] = MappingProxyType({
    ER.ACCESS_DENIED_ERROR: ("C0554", "the server does not accept the account"),
    1698: ("C0554", "the server does not accept the account"),
    ER.DBACCESS_DENIED_ERROR: (
        "C0554", "the server has no such database, or not for this account"
    ),
    ER.BAD_DB_ERROR: ("C0554", "the server has no such database, or not for this account"),
    ER.TABLEACCESS_DENIED_ERROR: ("C0554", "the account may not read what the query reads"),
    ER.COLUMNACCESS_DENIED_ERROR: ("C0554", "the account may not read what the query reads"),
    **dict.fromkeys(_MIXED, _MIXED_REASON),
    ER.CON_COUNT_ERROR: ("C0553", "the server has no connection to spare"),
    CR.CR_CONN_HOST_ERROR: ("C0553", "the server cannot be reached"),
    CR.CR_CONNECTION_ERROR: ("C0553", "the server cannot be reached"),
})  # fmt: skip
_WRITES: Final = frozenset({1792, ER.OPTION_PREVENTS_STATEMENT})
# Syntax, unknown names, wrong numbers of columns or arguments.
_MISTAKES: Final = frozenset({
    ER.PARSE_ERROR, ER.NO_SUCH_TABLE, ER.SP_DOES_NOT_EXIST, ER.NON_UNIQ_ERROR,
    ER.WRONG_NUMBER_OF_COLUMNS_IN_SELECT, ER.OPERAND_COLUMNS, ER.MIX_OF_GROUP_FUNC_AND_FIELDS,
    ER.WRONG_FIELD_WITH_GROUP, ER.INVALID_GROUP_FUNC_USE, ER.UNKNOWN_TABLE, ER.NONUNIQ_TABLE,
    1582, ER.WRONG_COLUMN_NAME, ER.VIEW_WRONG_LIST,
})  # fmt: skip


def number_of(problem: Exception) -> int:
    """Give the number of an error; 0 where it has none."""
    found = problem.args[0] if problem.args else 0
    return found if isinstance(found, int) else 0


def is_lost(problem: Exception) -> bool:
    """Tell whether the server, or the way to it, is gone."""
    return isinstance(problem, pymysql.err.InterfaceError) or number_of(problem) in _CLOSED


def meaning(problem: Exception) -> Trouble:
    """Give the error to raise."""
    number = number_of(problem)
    told = f"the server says: error {number}"
    if number in _STOPPED:
        return SourceFailureError("the query was stopped", "C0521")
    if number in _TURNED_AWAY:
        code, reason = _TURNED_AWAY[number]
        return SourceFailureError(reason, code)
    if number in _WRITES:
        return QueryMistakeError("the query writes, and it may only read", "C0516")
    if number == ER.BAD_FIELD_ERROR:
        found = _NO_COLUMN.search(str(problem.args[-1]))
        return QueryMistakeError(f"no such column: {found[1]}" if found else told)
    if is_lost(problem):
        return SourceFailureError("the server closed the connection", "C0555")
    if number in _MISTAKES:
        return QueryMistakeError(told)
    return SourceFailureError(told if number else f"the driver says: {type(problem).__name__}")
