"""The databases of a step: a question goes out over the step's socket, a table comes back.

In: a SELECT and its parameters. Out: a data frame. Invariants: no address and no credential is
here; whatever is asked is checked where it runs. Example:
`db.sql("SELECT id FROM orders WHERE amount > ?", [100])`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from constat.store.table_forms import decode
from constat.store.tables_frames import to_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from constat.explore.sandbox.wire import Frame


class QueryRefusedError(ValueError):
    """The query cannot be right; another one may be."""


class SourceUnavailableError(ConnectionError):
    """The database did not answer."""


class Database:
    """A database, read-only."""

    def __init__(self, name: str, ask: Callable[[str, dict[str, Any]], Frame]) -> None:
        self._name = name
        self._ask = ask

    def sql(self, text: str, params: Sequence[object] = ()) -> pd.DataFrame:
        """Run one SELECT, each `?` of it standing for a parameter, and give its rows."""
        plain = [_parameter(one) for one in params]
        told = {"database": self._name, "text": str(text), "parameters": plain}
        answer = self._ask("query", told)
        if answer.told.get("error"):
            message = str(answer.told.get("message", ""))
            if answer.told["error"] == "connection":
                raise SourceUnavailableError(message)
            raise QueryRefusedError(message)
        return to_frame(decode(answer.body))

    query = sql

    def __repr__(self) -> str:
        return f"<database {self._name}, read-only: .sql(text, params)>"


def reading(original: Callable[..., Any]) -> Callable[..., Any]:
    """Give `read_sql` of pandas for databases of steps, as people write it."""

    def read_sql(sql: str, con: object, *rest: object, **options: Any) -> Any:  # noqa: ANN401
        if isinstance(con, Database):
            return con.sql(sql, options.get("params") or ())
        return original(sql, con, *rest, **options)

    return read_sql


def _parameter(value: object) -> int | str:
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, bool):
        return int(plain)
    if isinstance(plain, int):
        return plain
    return str(plain)
