"""What SQLAlchemy's inspector says about the tables of any other source.

In: a connection. Out: a `SourceSchema`. There is no fingerprint: nothing that all dialects have
tells cheaply whether a table has changed. What a dialect cannot tell (comments, keys) is left out
and said. Reference: https://docs.sqlalchemy.org/en/21/core/reflection.html
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from constat.catalog.schema.assembling import Assembly
from constat.catalog.schema.described import column_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Inspector

    from constat.catalog.alchemy_other import OtherConnection
    from constat.catalog.schema.described import SourceSchema


def introspect(connection: OtherConnection, database: str, seconds: float) -> SourceSchema:
    """Read all tables and views of the default schema."""
    return connection.inspected(lambda looking: _inspect(connection, looking, database), seconds)


def _inspect(connection: OtherConnection, looking: Inspector, database: str) -> SourceSchema:
    found = Assembly(database, connection.dialect)
    listed = [(name, "table") for name in looking.get_table_names()]
    listed += [(name, "view") for name in looking.get_view_names()]
    for name, kind in listed:
        comment = _known(found, name, partial(looking.get_table_comment, name))
        found.table(name, name, kind=kind, comment=(comment or {}).get("text"))
        for one in _known(found, name, partial(looking.get_columns, name)) or ():
            column = column_of(
                one["name"],
                _type_text(one["type"]),
                nullable=bool(one.get("nullable", True)),
                comment=one.get("comment"),
            )
            found.column(name, column)
        if kind == "table":
            _add_keys(found, looking, name)
    return found.finished()


def _add_keys(found: Assembly, looking: Inspector, name: str) -> None:
    key = _known(found, name, partial(looking.get_pk_constraint, name)) or {}
    found.key(name, [str(one) for one in key.get("constrained_columns") or ()], primary=True)
    for unique in _known(found, name, partial(looking.get_unique_constraints, name)) or ():
        found.key(name, [str(one) for one in unique["column_names"]], primary=False)
    for one in _known(found, name, partial(looking.get_foreign_keys, name)) or ():
        if not one.get("referred_schema"):
            columns, targets = one["constrained_columns"], one["referred_columns"]
            found.pointing(name, columns, one["referred_table"], targets)


def _known(found: Assembly, name: str, ask: Callable[[], Any]) -> Any:  # noqa: ANN401  what an inspector gives
    """Ask for something that not every dialect, and not for every table, can tell."""
    try:
        return ask()
    except (NotImplementedError, ValueError, KeyError, _no_such_table()) as problem:
        if not isinstance(problem, NotImplementedError):
            found.problem(name, f"the dialect could not tell all of it ({type(problem).__name__})")
        return None


def _no_such_table() -> type[Exception]:
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415  heavy library, loaded on first use

    return SQLAlchemyError


def _type_text(kind: object) -> str:
    try:
        return str(kind)
    except Exception:  # noqa: BLE001  a dialect's own type may not know its name without a dialect
        return type(kind).__name__
