"""What SQLAlchemy's inspector says about the tables of any other source.

In: a connection. Out: a `SourceSchema`. There is no fingerprint: nothing that all dialects have
tells cheaply whether a table has changed. What a dialect cannot tell (comments, keys) is left out
and said. Reference: https://docs.sqlalchemy.org/en/21/core/reflection.html
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from constat.catalog.schema.assembling import Assembly
from constat.catalog.schema.described import column_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Inspector
    from sqlalchemy.types import TypeEngine

    from constat.catalog.alchemy_other import OtherConnection
    from constat.catalog.schema.described import SourceSchema


def introspect(connection: OtherConnection, database: str, seconds: float) -> SourceSchema:
    """Read all tables and views of the default schema."""
    until = time.monotonic() + seconds
    return connection.inspected(
        lambda looking: _Inspection(connection, looking, database, until).schema(), seconds
    )


class _Inspection:
    """One look at all tables, until a moment of `time.monotonic`."""

    def __init__(
        self, connection: OtherConnection, looking: Inspector, database: str, until: float
    ) -> None:
        self._connection = connection
        self._looking = looking
        self._until = until
        self._found = Assembly(database, connection.dialect)

    def schema(self) -> SourceSchema:
        looking = self._looking
        listed = [(name, "table") for name in looking.get_table_names()]
        listed += [(name, "view") for name in looking.get_view_names()]
        for name, kind in listed:
            comment = self._asked(name, "comments", looking.get_table_comment) or {}
            self._found.table(name, name, kind=kind, comment=comment.get("text"))
            for one in self._asked(name, "columns", looking.get_columns) or ():
                column = column_of(
                    one["name"],
                    self._type_text(one["type"]),
                    nullable=bool(one.get("nullable", True)),
                    comment=one.get("comment"),
                )
                self._found.column(name, column)
            if kind == "table":
                self._add_keys(name)
        return self._found.finished()

    def _add_keys(self, name: str) -> None:
        found, looking = self._found, self._looking
        key = self._asked(name, "keys", looking.get_pk_constraint) or {}
        found.key(name, [str(one) for one in key.get("constrained_columns") or ()], primary=True)
        for unique in self._asked(name, "unique columns", looking.get_unique_constraints) or ():
            found.key(name, [str(one) for one in unique["column_names"]], primary=False)
        for one in self._asked(name, "relationships", looking.get_foreign_keys) or ():
            if not one.get("referred_schema"):
                columns, targets = one["constrained_columns"], one["referred_columns"]
                found.pointing(name, columns, one["referred_table"], targets)

    def _asked(self, name: str, what: str, ask: Callable[[str], Any]) -> Any:  # noqa: ANN401  what an inspector gives
        """Ask for something that not every dialect, and not for every table, can tell.

        Raises what ends the whole look: a connection that is lost, the time that is up.
        """
        from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415  heavy library, loaded on first use

        try:
            return ask(name)
        except NotImplementedError:
            self._found.left_out(f"the dialect does not tell {what}")
        except SQLAlchemyError as problem:
            if time.monotonic() > self._until or not self._connection.goes_on(problem):
                raise
            self._found.problem(name, f"its {what} are not known ({type(problem).__name__})")
        except (ValueError, KeyError) as problem:
            # Dialects read definitions with expressions of their own, and stumble over odd ones.
            self._found.problem(name, f"its {what} are not known ({type(problem).__name__})")
        return None

    def _type_text(self, kind: TypeEngine[Any]) -> str:
        """Spell a type in the source's words; one that its dialect cannot spell by its name."""
        from sqlalchemy.exc import CompileError  # noqa: PLC0415  heavy library, loaded on first use
        from sqlalchemy.types import NullType  # noqa: PLC0415  heavy library, loaded on first use

        if isinstance(kind, NullType):
            return ""
        try:
            return kind.compile(self._looking.dialect)
        except (CompileError, NotImplementedError):
            return type(kind).__name__
