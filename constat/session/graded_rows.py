"""The answers of a query whose rows have grades: which are listed, and what each is called.

In: results of the forward engine for one goal, graded. Out: `GradedRows`: the listed rows where
they lie, the verdicts of those that are not proved, counts of the others. Invariant: the same as
`querying` says of an outcome: a row counts at its greatest strength, one that a stronger open shape
covers is as possible as the shape, and what is conceivable only is excluded. Rows are compared in
DuckDB; only weak rows that somebody asks for become Python values. Example: of a million customers
twelve have an unknown turnover: a million rows are listed, twelve shapes counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE, Verdict
from constat.session.stored_rows import StoredRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import duckdb

    from constat.forward import Results
    from constat.logic import Atom, Kind, Row

_STRENGTH: Final = "strength"
_UNPROVED: Final = "unproved"


@dataclass(frozen=True, slots=True)
class GradedRows:
    """What a graded query found.

    `listed` are the rows in the order of their values, `accepted` and `possible` count those that
    are not proved, `excluded` the ground rows that only an assumption rules out. `shapes` counts
    the open shapes by strength.
    """

    listed: Sequence[Row]
    accepted: int
    possible: int
    excluded: int
    shapes: Mapping[int, int]
    verdicts: Verdicts


@dataclass(slots=True)
class Verdicts(Mapping["Row", Verdict]):
    """The verdicts of the rows that are not proved; read when somebody asks for one."""

    rows: Callable[[], Iterator[tuple[Row, int]]]
    total: int
    _read: dict[Row, Verdict] | None = field(default=None, init=False)

    def __len__(self) -> int:
        return self.total

    def __iter__(self) -> Iterator[Row]:
        return iter(self._found())

    def __getitem__(self, row: Row) -> Verdict:
        return self._found()[row]

    def of(self, verdict: Verdict) -> Iterator[Row]:
        """Yield the rows with a verdict."""
        return (row for row, one in self._found().items() if one is verdict)

    def _found(self) -> dict[Row, Verdict]:
        if self._read is None:
            self._read = {
                row: Verdict.PROVED_UNDER if strength == ACCEPTED else Verdict.UNRESOLVED
                for row, strength in self.rows()
            }
        return self._read


def graded_rows(
    results: Results, goal: Atom, places: Sequence[int], kinds: tuple[Kind, ...]
) -> GradedRows:
    """Compare the rows of all grades of a goal; `places` are the columns of the answer."""
    if not places:
        return _ground(results)
    comparison = _Comparison(results, goal, tuple(places), kinds)
    # One piece of work, which Ctrl-C and the time limit can end.
    return results.database.guarded(comparison.run)


def _ground(results: Results) -> GradedRows:
    """Say what is known of a goal without variables: one row, or none."""
    strengths = [strength for _, strength in results.weak_rows(0)]
    best = CERTAIN if results.count(0) else max(strengths, default=ABSENT)
    weak = [((), best)] if CONCEIVABLE < best < CERTAIN else []
    verdicts = Verdicts(lambda: iter(weak), len(weak))
    listed: list[Row] = [()] * (best > CONCEIVABLE)
    counts = {strength: int(best == strength) for strength in (ACCEPTED, POSSIBLE, CONCEIVABLE)}
    return GradedRows(listed, counts[ACCEPTED], counts[POSSIBLE], counts[CONCEIVABLE], {}, verdicts)


@dataclass(frozen=True, slots=True)
class _Shapes:
    """Open shapes: the columns of the answer that they know, their rows, their strength."""

    known: tuple[int, ...]
    rows: duckdb.DuckDBPyRelation
    strength: int


@dataclass(frozen=True, slots=True)
class _Comparison:
    results: Results
    goal: Atom
    places: tuple[int, ...]
    kinds: tuple[Kind, ...]

    def run(self) -> GradedRows:
        """Compare all rows."""
        database = self.results.database
        certain = self._certain()
        weak, shapes = self._graded(certain)
        for one in shapes:
            if one.strength > CONCEIVABLE:
                weak = self._covered(weak, one)
        kept = self._kept(weak, "weak answers")
        counts = dict(kept.aggregate(f"{_STRENGTH}, count(*)").fetchall())
        held = kept.filter(f"{_STRENGTH} > {CONCEIVABLE}")
        sure = int(certain.aggregate("count(*)").fetchall()[0][0])
        found = counts.get(ACCEPTED, 0) + counts.get(POSSIBLE, 0)
        every = self._marked(certain, unproved=False).union(self._marked(held, unproved=True))
        listed = StoredRows(every, self.kinds, sure + found, database, unproved=_UNPROVED)
        by_row = StoredRows(held, self.kinds, found, database)

        def rows() -> Iterator[tuple[Row, int]]:
            for batch in by_row.batches(held):
                for row in batch:
                    yield by_row.canonical(row[:-1]), int(str(row[-1]))

        return GradedRows(
            listed,
            counts.get(ACCEPTED, 0),
            counts.get(POSSIBLE, 0),
            counts.get(CONCEIVABLE, 0),
            self._counted(shapes),
            Verdicts(rows, found),
        )

    def _certain(self) -> duckdb.DuckDBPyRelation:
        from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

        relation = self.results.select(0)
        names = relation.columns
        return relation.select(
            *(ColumnExpression(names[n]).alias(f"v{k}") for k, n in enumerate(self.places))
        )

    def _marked(self, rows: duckdb.DuckDBPyRelation, *, unproved: bool) -> duckdb.DuckDBPyRelation:
        from duckdb import ConstantExpression  # noqa: PLC0415  heavy library, loaded on first use

        return rows.select(*self._columns(), ConstantExpression(unproved).alias(_UNPROVED))

    def _columns(self, known: Sequence[int] | None = None) -> list[duckdb.Expression]:
        from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

        numbers = range(len(self.places)) if known is None else known
        return [ColumnExpression(f"v{k}") for k in numbers]

    def _graded(
        self, certain: duckdb.DuckDBPyRelation
    ) -> tuple[duckdb.DuckDBPyRelation, list[_Shapes]]:
        """Give the ground rows that are not certain, and the shapes."""
        ground: duckdb.DuckDBPyRelation | None = None
        shapes: list[_Shapes] = []
        for one in self._parts():
            if len(one.known) < len(self.places):
                shapes.append(one)
            else:
                told = self._told(one)
                ground = told if ground is None else ground.union(told)
        if ground is None:
            return self._nothing(certain), shapes
        every = ", ".join(f"v{k}" for k in range(len(self.places)))
        best = ground.aggregate(f"{every}, max({_STRENGTH}) AS {_STRENGTH}")
        return self._beside(best, certain, range(len(self.places)), "anti"), shapes

    def _parts(self) -> Iterator[_Shapes]:
        from duckdb import ColumnExpression  # noqa: PLC0415  heavy library, loaded on first use

        results = self.results
        atoms = {} if results.graded is None else results.graded.atoms(self.goal)
        for grade, name in results.grades(0).items():
            relation = results.database.select(name, atoms[grade])
            names = dict(zip(grade.known(len(self.goal.terms)), relation.columns, strict=False))
            known = tuple(k for k, n in enumerate(self.places) if n in names)
            chosen = [ColumnExpression(names[self.places[k]]).alias(f"v{k}") for k in known]
            rows = relation.select(*chosen) if chosen else relation
            yield _Shapes(known, rows, grade.strength)

    def _told(self, one: _Shapes) -> duckdb.DuckDBPyRelation:
        from duckdb import ConstantExpression  # noqa: PLC0415  heavy library, loaded on first use

        strength = ConstantExpression(one.strength).cast("BIGINT").alias(_STRENGTH)
        return one.rows.select(*self._columns(one.known), strength)

    def _nothing(self, certain: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
        from duckdb import ConstantExpression  # noqa: PLC0415  heavy library, loaded on first use

        strength = ConstantExpression(CONCEIVABLE).cast("BIGINT").alias(_STRENGTH)
        return certain.select(*self._columns(), strength).limit(0)

    def _beside(
        self,
        rows: duckdb.DuckDBPyRelation,
        others: duckdb.DuckDBPyRelation,
        known: Sequence[int],
        how: str,
    ) -> duckdb.DuckDBPyRelation:
        """Give the rows that are (`semi`) or are not (`anti`) among others, by some columns."""
        same = " AND ".join(f"a.v{k} = b.v{k}" for k in known) or "true"
        return rows.set_alias("a").join(others.set_alias("b"), same, how)

    def _covered(self, weak: duckdb.DuckDBPyRelation, shapes: _Shapes) -> duckdb.DuckDBPyRelation:
        """Raise the rows that a stronger shape covers."""
        below = weak.filter(f"{_STRENGTH} < {shapes.strength}")
        covered = self._beside(below, shapes.rows, shapes.known, "semi")
        raised = self._told(_Shapes(tuple(range(len(self.places))), covered, shapes.strength))
        rest = self._beside(below, shapes.rows, shapes.known, "anti")
        above = weak.filter(f"{_STRENGTH} >= {shapes.strength}")
        return above.union(raised).union(rest)

    def _counted(self, shapes: Sequence[_Shapes]) -> dict[int, int]:
        """Count the shapes, each at its greatest strength."""
        found: dict[int, int] = {}
        for known in dict.fromkeys(one.known for one in shapes):
            same = [one for one in shapes if one.known == known]
            for strength, count in self._sizes(known, same):
                found[strength] = found.get(strength, 0) + count
        return found

    def _sizes(
        self, known: tuple[int, ...], shapes: Sequence[_Shapes]
    ) -> Iterator[tuple[int, int]]:
        if not known:
            strengths = [one.strength for one in shapes if one.rows.limit(1).fetchall()]
            yield from [(max(strengths), 1)] if strengths else []
            return
        every = self._told(shapes[0])
        for one in shapes[1:]:
            every = every.union(self._told(one))
        columns = ", ".join(f"v{k}" for k in known)
        best = every.aggregate(f"{columns}, max({_STRENGTH}) AS {_STRENGTH}")
        yield from best.aggregate(f"{_STRENGTH}, count(*)").fetchall()

    def _kept(self, rows: duckdb.DuckDBPyRelation, hint: str) -> duckdb.DuckDBPyRelation:
        """Compute rows once, for all who read them."""
        database = self.results.database
        name = database.fresh_name(hint)
        database.guarded(lambda: rows.create(name))
        return database.connection.driver.table(name)
