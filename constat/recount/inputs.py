"""Read the inputs of a check anew: whole relations, certain and complete, or nothing.

Whoever answers is asked for everything once more, in the read transaction of the run where there
is one. What is less than complete, assumed, possible, or holds cells without a value is refused:
the check has no clause for it yet, and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.evaluation import Demand, RelationPredicate
from constat.logic import Kind, has_null_cells
from constat.recount.statements import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.evaluation import Answer, ExternalPredicate, Readable
    from constat.logic import Predicate, Row
    from constat.recount.tables import Tables

# What costs as much is paid for by the question: nobody asks it for everything.
_DEAR: Final = 1_000
_MOST_ROWS: Final = 2_000_000_000
_EVERYTHING: Final = ((),)


def read(tables: Tables, predicate: Predicate, external: ExternalPredicate | None) -> str:
    """Give a table with all rows of a predicate, each once. Raises `RefusedError`."""
    table = tables.empty(predicate.kinds)
    if external is None:
        raise RefusedError(f"nobody gives the rows of {predicate.name}")
    if external.cost >= _DEAR:
        raise RefusedError(f"{predicate.name} is not asked for everything")
    demand = Demand(predicate, (), _EVERYTHING)
    stream = None
    if isinstance(external, RelationPredicate) and Kind.STRUCTURE not in predicate.kinds:
        stream = external.as_relation(demand, _MOST_ROWS)
    if stream is not None:
        _streamed(tables, table, stream)
    else:
        tables.add_rows(table, _rows(external.answer(demand), predicate), predicate.kinds)
    return _distinct(tables, table)


def _streamed(tables: Tables, table: str, stream: Readable) -> None:
    predicate = stream.predicate
    if stream.openings or stream.nulls:
        raise RefusedError(f"rows of {predicate.name} are not fully known")
    if stream.evidence.confidence != 1:
        raise RefusedError(f"the source of {predicate.name} has less than full confidence")
    tables.add_stream(table, stream.stream(), predicate.kinds)
    if stream.changed():
        raise RefusedError(f"the source of {predicate.name} changed while it was read")
    found = tables.count(table)
    if found != stream.rows:
        raise RefusedError(f"{predicate.name} has {found:,} rows, and {stream.rows:,} were told")


def _rows(answer: Answer, predicate: Predicate) -> Iterator[Row]:
    name = predicate.name
    if _EVERYTHING[0] not in answer.answered:
        raise RefusedError(f"not all rows of {name} were answered")
    if answer.openings:
        raise RefusedError(f"rows of {name} are not fully known")
    said = [*answer.authorities, *(one.evidence for one in answer.portions)]
    if any(one.confidence != 1 for one in said):
        raise RefusedError(f"the source of {name} has less than full confidence")
    for portion in answer.portions:
        if portion.assumption is not None:
            raise RefusedError(f"rows of {name} are assumed")
        for row in portion.rows:
            if has_null_cells(row):
                raise RefusedError(f"rows of {name} are not fully known")
            yield row


def _distinct(tables: Tables, table: str) -> str:
    """Give the table, or one with its rows each once."""
    rows = tables.count(table)
    each = tables.number("SELECT count(*) FROM (SELECT DISTINCT * FROM", table, ") AS each_one")
    if each == rows:
        return table
    once = tables.fresh()
    tables.run("CREATE TABLE", once, "AS SELECT DISTINCT * FROM", table)
    return once
