"""A stage that is not recursive: one statement for each of its relations.

In: a stage whose inputs are in the database. Out: its relations, rows distinct. Invariant: the
relation is replaced as a whole at the end, so a failure leaves it as it was. Example: three rules
of one predicate are `CREATE TABLE ... AS SELECT DISTINCT ... FROM (... UNION ALL ...)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.sql import changes
from constat.sql.heads import Heads, all_rows, need_distinct, nothing
from constat.sql.pipelines import PipelineText

if TYPE_CHECKING:
    from sqlglot import exp

    from constat.plan.forward import Stage
    from constat.sql.database import Database


def compute(database: Database, stage: Stage) -> None:
    """Compute all relations of the stage."""
    need_distinct(database, stage.base)
    for name in stage.predicates:
        rows = stage.stated.get(name, ())
        if rows:
            database.load_rows(name, rows)
        _compute_one(database, stage, name)


def _compute_one(database: Database, stage: Stage, name: str) -> None:
    relation = database.relation(name)
    stored = database.stored(name)
    heads = Heads(database)
    queries: list[exp.Query] = []
    if database.estimate(name):
        queries.append(database.whole(stored))
    for pipeline in stage.base:
        if pipeline.head == name:
            written = PipelineText(database, database)
            queries.append(heads.rows(written.head(pipeline), relation))
    table = database.fresh_name(name)
    try:
        queries = list(heads.few(queries, relation))
        query = all_rows(queries or [nothing(relation)], relation=relation, distinct=True)
        rows = database.connection.change(changes.create(table, query))
    finally:
        heads.close()
    database.replace(name, table, rows)
