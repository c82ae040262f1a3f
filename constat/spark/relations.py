"""The relations of a plan on a Spark server: folders of Parquet, and the views that name them."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from constat.frozen import slotted
from constat.spark.functions import SparkFunctions, written
from constat.sql import trees
from constat.sql.stages import nothing
from constat.sql.trees import columns_of
from constat.sql.written import PlanTables, typed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlglot import exp

    from constat.plan.forward import ForwardPlan, Relation
    from constat.spark.connection import SparkConnection

_MOST_PARTS: Final = 24


@slotted
class Part:
    """A folder of Parquet files, and how many rows it holds."""

    path: str
    rows: int


class SparkTables(PlanTables):
    """Where statements find the relations of a plan, and what of the language they may call."""

    server = "Spark"

    def functions(self, let: Callable[[exp.Expr], exp.Expr]) -> SparkFunctions:
        """What writes calls for Spark."""
        return SparkFunctions(self, let)


def schema_of(relation: Relation) -> str:
    """The columns of a relation as Spark declares them."""
    listed = columns_of(relation)
    return ", ".join(f"{label} {_type(kind)}" for label, kind in listed)


def _type(kind: exp.DataType) -> str:
    text = written(trees.cast(trees.null(), kind))
    return text.removeprefix("CAST(NULL AS ").removesuffix(")")


@slotted
class Stored:
    """A relation as it lies on the server; without `parts` its view reads something in place."""

    relation: Relation
    view: str
    schema: str
    parts: list[Part] = field(default_factory=list)
    in_place: bool = False

    @property
    def rows(self) -> int:
        """How many rows the parts have."""
        return sum(one.rows for one in self.parts)


class SparkRelations:
    """One evaluation's relations. Rows that are kept are kept once; no row is in two parts."""

    def __init__(self, plan: ForwardPlan, connection: SparkConnection) -> None:
        self.plan = plan
        self.connection = connection
        self.tables = SparkTables(plan)
        self._stored: dict[str, Stored] = {}
        self._last = 0

    def stored(self, name: str) -> Stored:
        """The place of a relation, which is empty at first."""
        if name not in self._stored:
            relation = self.plan.relations[name]
            found = Stored(relation, self.tables.table(name), schema_of(relation))
            self._stored[name] = found
            self.show(found.view, found.relation, ())
        return self._stored[name]

    def fresh_path(self, hint: str) -> str:
        """A folder that nothing is in."""
        self._last += 1
        return f"{self.connection.folder}/{self._last:05d}-{hint}"

    def keep(self, name: str, query: exp.Query, *, distinct: bool = True) -> Part:
        """Compute the rows of a query for a relation and keep them, not yet as rows of it."""
        stored = self.stored(name)
        path = self.fresh_path(stored.view)
        rows = self.connection.save(
            typed(stored.relation, query, distinct=distinct), path, stored.schema
        )
        return Part(path, rows)

    def add(self, name: str, part: Part) -> None:
        """Make kept rows, which are new, rows of a relation."""
        stored = self.stored(name)
        if part.rows:
            stored.parts.append(part)
        if len(stored.parts) > _MOST_PARTS:
            self._merge(stored)
        self.show(stored.view, stored.relation, stored.parts)

    def replace(self, name: str, part: Part) -> None:
        """Make kept rows the only ones of a relation."""
        self.stored(name).parts.clear()
        self.stored(name).in_place = False
        self.add(name, part)

    def show(self, view: str, relation: Relation, parts: Sequence[Part]) -> None:
        """Let a view read these parts."""
        paths = [one.path for one in parts if one.rows]
        if paths:
            self.connection.view(view, paths, schema_of(relation))
            return
        text = written(nothing(relation))
        self.connection.frame(lambda session: session.sql(text), view)

    def show_given(self, name: str) -> None:
        """Let a view of its own read what a relation has now, before its rules add to it."""
        stored = self.stored(name)
        view = f"{stored.view}_given"
        if stored.in_place:
            self.make_distinct(name)
        self.show(view, stored.relation, stored.parts)

    def count(self, name: str) -> int:
        """How many rows a relation has."""
        stored = self.stored(name)
        if not stored.in_place:
            return stored.rows
        count = [("n", trees.call("count", trees.integer(1)))]
        query = trees.select(count, source=trees.table(stored.view))
        return int(str(self.connection.rows(query)[0][0]))

    def make_distinct(self, name: str) -> None:
        """Keep a relation that is read in place as a set."""
        stored = self.stored(name)
        if stored.in_place:
            query = trees.everything(trees.table(stored.view))
            self.replace(name, self.keep(name, query))

    def _merge(self, stored: Stored) -> None:
        """Keep the rows of small parts together: many files are slow to open."""
        ordered = sorted(stored.parts, key=lambda one: -one.rows)
        large: list[Part] = []
        while ordered and ordered[0].rows * 2 > sum(one.rows for one in ordered):
            large.append(ordered.pop(0))
        if len(ordered) < _MOST_PARTS // 2:
            large, ordered = [], stored.parts
        view = f"{stored.view}_small"
        self.show(view, stored.relation, ordered)
        query = trees.everything(trees.table(view))
        path = self.fresh_path(f"{stored.view}-merged")
        rows = self.connection.save(query, path, stored.schema)
        stored.parts = [*large, Part(path, rows)]
