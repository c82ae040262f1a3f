"""What bulk evaluation gives: relations in a database, and outcomes for what is open."""

from __future__ import annotations

from dataclasses import field
from decimal import Decimal
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Self

from constat.evaluation import CERTAIN, POSSIBLE
from constat.forward.ways import Labels, open_row
from constat.frozen import slotted
from constat.logic import OPEN, Atom, Constant, Kind, NullCell, Variable, canonical_decimal
from constat.sql.postgres import RECURSION, STATEMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType

    import duckdb

    from constat.evaluation import Call, Outcome, StageReport
    from constat.forward.erring import Erring
    from constat.forward.grading import GradedProgram
    from constat.forward.ways import Grade
    from constat.logic import OpenRow, Row, Slot
    from constat.plan.forward import ForwardPlan
    from constat.sql import Database

# A relation is complete before it is looked at, so that what is read once stays right. Small
# relations are indexed here; in large ones DuckDB looks for many keys at once.

Columns = tuple[int, ...]
_SOUGHT: Final = frozenset({Kind.NUMBER, Kind.SYMBOL, Kind.STRUCTURE})
_MANY: Final = 300_000
_SHARE: Final = 1_000


class StoredRelations:
    """Looks rows up; an index is built when its columns are first asked for."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._indexes: dict[tuple[str, Columns], dict[object, list[Row]]] = {}

    def all(self, relation: str) -> Iterator[Row]:
        """Yield all rows of a relation."""
        for batch in self._database.rows(relation):
            yield from batch

    def matching(self, relation: str, columns: Columns, keys: tuple[Row, ...]) -> list[Row]:
        """Give the rows with one of these keys in the columns."""
        if not columns:
            return list(self.all(relation)) if keys else []
        index = self._indexes.get((relation, columns))
        if index is None and self._is_large(relation, columns[0]):
            return [row for part in _shares(keys) for row in self._found(relation, columns, part)]
        if index is None:
            index = self._indexes[relation, columns] = self._index(relation, columns)
        wanted = keys if len(columns) > 1 else [key[0] for key in keys]
        return [row for key in wanted for row in index.get(key, ())]

    def _is_large(self, relation: str, column: int) -> bool:
        """Whether the rows are too many to index here, and keys can be looked for in DuckDB."""
        kind = self._database.relation(relation).kinds[column]
        return kind in _SOUGHT and self._database.count(relation) > _MANY

    def _found(self, relation: str, columns: Columns, keys: tuple[Row, ...]) -> Iterator[Row]:
        """Look for some keys in one pass over the relation; its first column narrows it there."""
        from duckdb import ColumnExpression, ConstantExpression  # noqa: PLC0415  heavy library, loaded on first use

        every = Atom(
            relation,
            tuple(Variable(f"v{n}") for n in range(self._database.relation(relation).arity)),
        )
        wanted, first = frozenset(keys), dict.fromkeys(key[0] for key in keys)
        column = ColumnExpression(f"c{columns[0]}")
        chosen = self._database.select(relation, every).filter(
            column.isin(*map(ConstantExpression, first))
        )
        decimals = [
            n
            for n, kind in enumerate(self._database.relation(relation).kinds)
            if kind is Kind.DECIMAL
        ]
        for row in chosen.fetchall():
            if tuple([row[n] for n in columns]) in wanted:
                yield _canonical(row, decimals)

    def forget(self, relation: str) -> None:
        """Drop what was read of a relation that has grown."""
        for known in [one for one in self._indexes if one[0] == relation]:
            del self._indexes[known]

    def _index(self, relation: str, columns: Columns) -> dict[object, list[Row]]:
        key: Callable[[Row], object] = itemgetter(*columns)
        found: dict[object, list[Row]] = {}
        for row in self.all(relation):
            found.setdefault(key(row), []).append(row)
        return found


def _shares(keys: tuple[Row, ...]) -> Iterator[tuple[Row, ...]]:
    for start in range(0, len(keys), _SHARE):
        yield keys[start : start + _SHARE]


def _canonical(row: Row, decimals: Sequence[int]) -> Row:
    if not decimals:
        return row
    cells = list(row)
    for place in decimals:
        cells[place] = canonical_decimal(Decimal(cells[place]))
    return tuple(cells)


@slotted
class Results:
    """The results of one evaluation, a context manager.

    `plan` and `database` are those of what was computed in bulk. `wanted` are the atoms that were
    asked for, `outcomes` the open ones among them. `calls` are the demands that went outside for
    whole relations; those of open atoms are in their outcomes. `left` names the predicates that
    bulk evaluation has left to the reference engine, with reasons; `below` those that what was
    computed in bulk rests on, `erring` the relations that list the instances of their rules that
    err. `loose` names predicates below of which the reference engine may decide more. `elsewhere`
    counts the rows of relations that were written where they were computed, and are not here.
    `here` says of rules and inputs why the server that has the relations did not compute with them.
    """

    wanted: tuple[Atom, ...]
    plan: ForwardPlan
    database: Database
    reports: tuple[StageReport, ...]
    outcomes: Mapping[Atom, Outcome]
    calls: tuple[Call, ...]
    graded: GradedProgram | None = None
    left: Mapping[str, str] = field(default_factory=dict)
    below: frozenset[str] = frozenset()
    erring: Mapping[str, Erring] = field(default_factory=dict)
    loose: Mapping[str, str] = field(default_factory=dict)
    labels: Labels = field(default_factory=Labels)
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    here: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_from_server(self) -> bool:
        """Whether the database that has the relations has computed with them."""
        return any(one.strategy in {RECURSION, STATEMENT} for one in self.reports)

    def is_closed(self, place: int) -> bool:
        """Whether the rows of a wanted atom are all there are, for certain, and hold no labels."""
        return self.is_in_bulk(place) and not self.grades(place)

    def is_in_bulk(self, place: int) -> bool:
        """Whether a wanted atom was computed in bulk, closed or graded."""
        return self.wanted[place] not in self.outcomes

    def grades(self, place: int) -> dict[Grade, str]:
        """Name the relations with the rows of a wanted atom that are not certain or hold labels."""
        if self.graded is None or not self.is_in_bulk(place):
            return {}
        atoms = self.graded.atoms(self.wanted[place])
        relations = {one.atom: one.relation for one in self.plan.wanted}
        return {grade: relations[atom] for grade, atom in atoms.items()}

    def weak_rows(self, place: int) -> Iterator[tuple[OpenRow, int]]:
        """Yield the rows of a graded atom that are not certain, some perhaps at two strengths.

        Certain ones with labels are among them. A label that meets a constant of the atom, or what
        is not that label, leaves a row possible.
        """
        atom = self.wanted[place]
        for grade, relation in self.grades(place).items():
            for batch in self.database.rows(relation):
                for row in batch:
                    found = open_row(grade, row, self.labels)
                    if may_match(atom, found):
                        sure = not grade.labels or matches(atom, found)
                        yield found, grade.strength if sure else min(grade.strength, POSSIBLE)

    def outcome(self, place: int) -> Outcome:
        """Give the outcome of an open atom; raises `KeyError` for one that was computed in bulk."""
        return self.outcomes[self.wanted[place]]

    def relation(self, place: int) -> str:
        """Name the relation of the plan that holds the certain rows of an atom."""
        atom = self.wanted[place]
        return next(one.relation for one in self.plan.wanted if one.atom == atom)

    def count(self, place: int) -> int:
        """How many certain rows match a wanted atom."""
        if self.elsewhere:
            return self.elsewhere[self.relation(place)]
        if not self.is_in_bulk(place):
            return sum(len(batch) for batch in self.batches(place))
        if _is_free(self.wanted[place]):
            return self.database.count(self.relation(place))
        return int(str(self.select(place).aggregate("count(*)").fetchall()[0][0]))

    def batches(self, place: int) -> Iterator[list[Row]]:
        """Yield the certain rows that match a wanted atom, in canonical form, without an order."""
        atom = self.wanted[place]
        if self.is_in_bulk(place):
            for batch in self.database.rows(self.relation(place)):
                kept = batch if _is_free(atom) else [row for row in batch if matches(atom, row)]
                if kept:
                    yield kept
            return
        rows = self.outcome(place).rows(atom.predicate, CERTAIN)
        certain: list[Row] = [row for row in rows if matches(atom, row)]  # type: ignore[misc]
        if certain:
            yield certain

    def select(self, place: int) -> duckdb.DuckDBPyRelation:
        """Give the certain rows of an atom as a relation of DuckDB, texts and not numbers."""
        return self.database.select(self.relation(place), self.wanted[place])

    def close(self) -> None:
        """Close the database; nothing is left behind."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def matches(atom: Atom, row: OpenRow) -> bool:
    """Whether a row has the constants of an atom, and equal values where a variable comes again."""
    known: dict[str, object] = {}
    for term, value in zip(atom.terms, row, strict=True):
        match term:
            case Constant(wanted):
                if value != wanted:
                    return False
            case Variable(name):
                if known.setdefault(name, value) != value:
                    return False
            case _:
                return False
    return True


def may_match(atom: Atom, row: OpenRow) -> bool:
    """Whether a row, which may have placeholders, may be a row that an atom asks for."""
    known: dict[str, Slot] = {}
    for term, value in zip(atom.terms, row, strict=True):
        cell: object = value
        if cell is OPEN or isinstance(cell, NullCell):
            continue
        match term:
            case Constant(wanted) if value != wanted:
                return False
            case Variable(name) if known.setdefault(name, value) != value:
                return False
            case _:
                pass
    return True


def _is_free(atom: Atom) -> bool:
    names = [term.name for term in atom.terms if isinstance(term, Variable)]
    return len(set(names)) == len(atom.terms)
