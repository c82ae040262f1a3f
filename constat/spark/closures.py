"""The closure of edges on Spark, in as few rounds as are worth it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.evaluation import ResourceError, RoundFinished
from constat.sql import trees
from constat.sql.stages import Names, new_rows

if TYPE_CHECKING:
    from sqlglot import exp

    from constat.evaluation import Observer, Resources
    from constat.plan.forward import EdgeClosure
    from constat.spark.relations import Part, SparkRelations

# P holds the pairs whose shortest path has at most L edges; its frontier F those of exactly L. A
# round adds one edge to F, which gives the pairs of L + 1; or it doubles L: F with what is older
# than F gives those of L + 1 to 2 L - 1, F with itself those of 2 L, for the beginning of a
# shortest path is a shortest path. Where F is empty no shortest path is longer, and all pairs are
# found. Each pair of a chain is so found once, where squaring all of P would find it once for each
# of its middles. On a dense graph doubling joins far more than one edge more does, so it is done
# while the pairs to join are fewer than the rounds that it saves are worth.
# See Ioannidis, On the computation of the transitive closure of relational operators (1986).

_ROUND: Final = 1_000_000
"""How many pairs are joined in the time that a round takes by itself, at least."""


@dataclass(slots=True)
class Doubling:
    """Computes the relation of one stage; `rounds` are those that added something."""

    relations: SparkRelations
    name: str
    closure: EdgeClosure
    resources: Resources
    observe: Observer
    rounds: int = 0
    doubled: int = 0

    def compute(self) -> None:
        """Compute the relation."""
        relations = self.relations
        edges = trees.everything(trees.table(relations.tables.table(self.closure.edge)))
        frontier = relations.keep(self.name, edges)
        nodes = self._nodes()
        length = 1
        while frontier.rows:
            older = relations.stored(self.name).rows
            pairs = frontier.rows * (older + frontier.rows) / max(nodes, 1)
            self._show(frontier)
            if older and pairs <= length * _ROUND:
                between = self._found(self._delta, self._view, self._all)
                self._show(frontier, between)
                following = self._found(self._delta, self._delta, self._all)
                added = between.rows + following.rows
                relations.add(self.name, frontier)
                relations.add(self.name, between)
                length *= 2
                self.doubled += 1
            else:
                following = self._found(self._delta, self._edge, self._all)
                added = following.rows
                relations.add(self.name, frontier)
                length += 1
            frontier = following
            self._tell(added)
        relations.add(self.name, frontier)

    @property
    def _view(self) -> str:
        return self.relations.tables.table(self.name)

    @property
    def _delta(self) -> str:
        return f"{self._view}_delta"

    @property
    def _all(self) -> str:
        return f"{self._view}_all"

    @property
    def _edge(self) -> str:
        return self.relations.tables.table(self.closure.edge)

    def _show(self, frontier: Part, *more: Part) -> None:
        """Let one view read the frontier, and another everything."""
        stored = self.relations.stored(self.name)
        self.relations.show(self._delta, stored.relation, (frontier,))
        self.relations.show(self._all, stored.relation, (*stored.parts, frontier, *more))

    def _found(self, first: str, second: str, known: str) -> Part:
        """Keep what two relations compose to and is not known."""
        relation = self.relations.stored(self.name).relation
        query = new_rows(relation, [self._composed(first, second)], Names(known, "", ""))
        return self.relations.keep(self.name, query, distinct=False)

    def _composed(self, first: str, second: str) -> exp.Select:
        closure = self.closure
        arity = self.relations.stored(self.name).relation.arity
        outputs = [
            (f"c{place}", trees.column("b" if place == closure.target else "a", f"c{place}"))
            for place in range(arity)
        ]
        query = trees.select(outputs, source=trees.table(first, "a"))
        end, start = (
            trees.column("a", f"c{closure.target}"),
            trees.column("b", f"c{closure.source}"),
        )
        on = [trees.binary("=", end, start)]
        on += [
            trees.binary("=", trees.column("a", f"c{place}"), trees.column("b", f"c{place}"))
            for place in closure.groups
        ]
        trees.add_join(query, trees.table(second, "b"), on)
        return query

    def _nodes(self) -> int:
        """How many nodes an edge leaves."""
        places = (self.closure.source, *self.closure.groups)
        outputs = [(f"c{place}", trees.bare(f"c{place}")) for place in places]
        listed = trees.select(outputs, source=trees.table(self._edge), distinct=True)
        count = [("n", trees.call("count", trees.integer(1)))]
        query = trees.select(count, source=trees.nested(listed, "q"))
        return int(str(self.relations.connection.rows(query)[0][0]))

    def _tell(self, added: int) -> None:
        self.relations.connection.check()
        if added:
            self.rounds += 1
            self.observe(RoundFinished((self.name,), self.rounds, added))
        if self.rounds > self.resources.rounds:
            raise ResourceError(f"the limit of {self.resources.rounds:,} rounds was reached")
        if self.relations.stored(self.name).rows > self.resources.rows:
            raise ResourceError(f"the limit of {self.resources.rows:,} rows was reached", "rows")
