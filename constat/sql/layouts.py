"""How relations lie in tables: names and types of columns.

In: a relation of a plan. Out: its columns `c0`, `c1`, and so on, each with its type. Invariant: a
relation without columns has one that is always 0, because a table must have one. Example: an
encoded column of texts is a `BIGINT`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.logic import Kind
from constat.sql import trees

if TYPE_CHECKING:
    from sqlglot import exp

    from constat.plan.forward import Relation


def columns_of(relation: Relation) -> list[tuple[str, exp.DataType]]:
    """The columns of a relation's table."""
    if not relation.arity:
        return [("c0", trees.type_of(Kind.NUMBER))]
    return [
        (f"c{place}", trees.type_of(Kind.NUMBER if encoded else kind))
        for place, (kind, encoded) in enumerate(zip(relation.kinds, relation.encoded, strict=True))
    ]
