"""External predicates that repeat what was answered before, with other assumptions accepted.

In: the recorded calls and the set of accepted assumptions.  Out: externals for another evaluation
that asks nobody.  What rests on an accepted assumption is plain; rows under another one are only
possible, openings under another one stay open.  Supposed rows and closed openings let a caller ask
"what if".  Invariant: a demand that was not recorded, and that no wider answer serves, is left
unanswered, so it is open.

Example: with ``tier("C009", "gold")`` resting on a user's word that is not accepted, the replay
gives no such row, but an opening of exactly that shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.evaluation import Answer, Evidence, Opening, Origin, Portion, is_accepted
from constat.logic import OPEN
from constat.proof.answers import AnswerBook
from constat.proof.relation import Columns, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.evaluation import Assumption, Call, Demand, ExternalPredicate, Externals
    from constat.logic import OpenRow, Row
    from constat.proof.answers import Answers

Gap = tuple[str, "OpenRow"]
"""A predicate and the shape of a row that may exist."""

_SUPPOSED = Evidence("supposed", Origin.CONFIG, "supposed", "")


@dataclass(frozen=True, slots=True)
class Supposition:
    """What a replay takes for granted besides the recorded answers.

    ``accepted`` are the accepted assumptions; openings in ``closed`` are left out (nothing of that
    shape exists), and the ground ones in ``present`` are facts instead.
    """

    accepted: frozenset[Assumption] = frozenset()
    closed: frozenset[Gap] = frozenset()
    present: frozenset[Gap] = frozenset()


class RecordedExternals(dict[str, "ExternalPredicate"]):
    """Recorded answers as external predicates, ready for an engine."""

    def __init__(
        self,
        calls: Iterable[Call],
        supposition: Supposition | None = None,
        costs: Externals | None = None,
    ) -> None:
        super().__init__()
        book = AnswerBook(calls)
        for predicate in {*book.predicates(), *(costs or ())}:
            cost = 1 if costs is None or predicate not in costs else costs[predicate].cost
            self[predicate] = _Replay(
                predicate, book.of(predicate), supposition or Supposition(), cost
            )


class _Replay:
    """One predicate, answered from the record."""

    def __init__(
        self, predicate: str, answers: Answers, supposition: Supposition, cost: int
    ) -> None:
        self.cost = cost
        self._predicate = predicate
        self._answers = answers
        self._accepted = supposition.accepted
        self._openings: dict[OpenRow, Opening] = {}
        self._plain: dict[Row, Evidence] = {}
        self._closed = supposition.closed
        self._present = supposition.present
        self._sort_rows()
        self._sort_openings()
        self._suppose()
        self._open_rows = Relation(self._openings)
        self._rows = Relation(self._plain)

    def _holds(self, assumption: Assumption | None) -> bool:
        return is_accepted(assumption, self._accepted)

    def _sort_rows(self) -> None:
        for row, grounds in self._answers.rows.items():
            held = next((one for one in grounds if self._holds(one.assumption)), None)
            unfilled = grounds[0].evidence.fills
            if held is not None:
                self._plain[row] = held.evidence
            elif unfilled is not None:
                self._plain[unfilled.row] = unfilled.evidence
            else:
                self._openings[row] = Opening(row, "rests on what is not accepted", "")

    def _sort_openings(self) -> None:
        for row, by_assumption in self._answers.openings.items():
            for assumption, opening in by_assumption.items():
                if assumption is None or assumption not in self._accepted:
                    self._openings[row] = Opening(row, opening.reason, opening.tier)

    def _suppose(self) -> None:
        for predicate, row in self._closed:
            if predicate == self._predicate:
                self._openings.pop(row, None)
        for predicate, row in self._present:
            if predicate == self._predicate:
                self._openings.pop(row, None)
                self._plain[row] = _SUPPOSED  # type: ignore[index]  # only ground rows are supposed

    def _is_answered(self, columns: Columns, key: Row, arity: int) -> bool:
        if next(self._answers.serving(columns, key), None) is not None:
            return True
        places = dict(zip(columns, key, strict=True))
        gap = (self._predicate, tuple(places.get(column, OPEN) for column in range(arity)))
        return gap in self._closed or gap in self._present

    def answer(self, demand: Demand) -> Answer:
        """Answer what the record answers; wider answers are filtered to the keys."""
        columns = demand.columns
        arity = demand.predicate.arity
        answered = [key for key in demand.keys if self._is_answered(columns, key, arity)]
        # Grouped by identity: an evidence may name thousands of parameters.
        portions: dict[int, tuple[Evidence, dict[Row, None]]] = {}
        for row in self._found(self._rows, columns, demand.keys):
            evidence = self._plain[row]  # type: ignore[index]  # plain rows are ground
            portions.setdefault(id(evidence), (evidence, {}))[1][row] = None  # type: ignore[index]
        openings = dict.fromkeys(self._found(self._open_rows, columns, demand.keys))
        return Answer(
            tuple(Portion(tuple(rows), evidence) for evidence, rows in portions.values()),
            tuple(self._openings[row] for row in openings),
            frozenset(answered),
        )

    @staticmethod
    def _found(relation: Relation, columns: Columns, keys: Iterable[Row]) -> Iterator[OpenRow]:
        for key in keys:
            yield from relation.matching(columns, key)
