"""The rows that several pipelines give to one relation, as one query.

In: pipelines. Out: a query of all their head rows, repeated ones included. Invariant: where a
pipeline computes a text whose column wants numbers, its rows are put into a table first, and its
new texts into the dictionary. Example: the two rules of `path` are one `UNION ALL`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.plan import Fold, Join
from constat.sql import changes, trees
from constat.sql.dictionary import numbered_rows
from constat.sql.layouts import columns_of
from constat.sql.storing import enter_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlglot import exp

    from constat.plan.forward import Pipeline, Relation
    from constat.sql.database import Database
    from constat.sql.pipelines import HeadRows


MOST_AT_ONCE: Final = 64
"""How many rules one statement unites."""


class Heads:
    """Collects the rows of pipelines; `close` drops the tables that were needed for it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tables: list[str] = []

    def rows(self, head: HeadRows, relation: Relation) -> exp.Query:
        """The rows of one pipeline, with numbers where they are wanted."""
        if not head.texts:
            return head.query
        table = self._database.fresh_name(f"texts {relation.name}")
        self._tables.append(table)
        self._database.connection.run(changes.create(table, head.query))
        enter_texts(self._database, table, head.texts)
        return numbered_rows(table, relation.arity, head.texts, distinct=False)

    def few(self, queries: Sequence[exp.Query], relation: Relation) -> Sequence[exp.Query]:
        """The same rows from few queries: those of many are put into a table, part by part.

        Each part of a union has buffers of its own, so thousands of them need gigabytes.
        """
        if len(queries) <= MOST_AT_ONCE:
            return queries
        table = self._database.fresh_name(f"parts {relation.name}")
        self._tables.append(table)
        connection = self._database.connection
        connection.run(changes.create_empty(table, columns_of(relation)))
        for start in range(0, len(queries), MOST_AT_ONCE):
            part = queries[start : start + MOST_AT_ONCE]
            rows = all_rows(part, relation=relation, distinct=True)
            connection.run(changes.insert(table, rows))
        return [trees.everything(trees.table(table))]

    def close(self) -> None:
        """Drop what was needed."""
        for table in self._tables:
            self._database.connection.run(changes.drop(table))
        self._tables.clear()


def all_rows(queries: Sequence[exp.Query], *, relation: Relation, distinct: bool) -> exp.Select:
    """The rows of all queries, perhaps each once."""
    labels = [label for label, _ in columns_of(relation)]
    source = trees.nested(trees.union([standing_alone(one) for one in queries]), "u")
    outputs = [(label, trees.column("u", label)) for label in labels]
    return trees.select(outputs, source=source, distinct=distinct)


def standing_alone(query: exp.Query) -> exp.Query:
    """A query that may stand inside a union: common tables of its own are hidden."""
    if query.args.get("with_") is None:
        return query
    return trees.everything(trees.nested(query, "w"))


def nothing(relation: Relation) -> exp.Select:
    """No rows, with the columns of a relation."""
    never = trees.binary("=", trees.integer(0), trees.integer(1))
    outputs = [(label, trees.cast(trees.null(), kind)) for label, kind in columns_of(relation)]
    return trees.select(outputs, where=[never])


def need_distinct(database: Database, pipelines: Iterable[Pipeline]) -> None:
    """Make the relations sets that aggregates count the rows of."""
    for pipeline in pipelines:
        for step in pipeline.plan.steps:
            if isinstance(step, Fold):
                for inner in step.steps:
                    if isinstance(inner, Join):
                        database.make_distinct(inner.predicate)
