"""Aggregates over groups whose rows may be uncertain.

In: the assignments of all groups, in one batch. Out: for a group, its values with their
strengths. The value is exact in a reading iff the certain and the possible assignments of that
reading coincide (semantics 8); otherwise it is the placeholder.

Example: certain assignments {1, 2} and one more of strength 2 give the sum over three in the
accepted reading (strength 2), and the placeholder with strength 0 for the hard reading.
"""

from __future__ import annotations

from collections.abc import Callable

from constat.engine.batch import Batch, Binding, strongest
from constat.engine.expressions import values_of
from constat.engine.null_cells import are_distinct
from constat.engine.relation import tuple_getter
from constat.engine.texts import Texts
from constat.evaluation import ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE, UNTIMED, Clock
from constat.logic import OPEN, EvaluationError, Slot, Value, fold
from constat.plan import Fold

Fail = Callable[[str], None]


class Groups:
    """The assignments of an aggregate, by group."""

    def __init__(  # noqa: PLR0913  what an aggregate is folded from
        self,
        step: Fold,
        groups: set[tuple[Value, ...]],
        inner: Batch,
        fail: Fail,
        texts: Texts,
        *,
        nulls: bool = False,
        clock: Clock = UNTIMED,
    ) -> None:
        self._nulls = nulls
        self._step = step
        self._fail = fail
        self._texts = texts
        self._over = clock.over
        self._width = len(step.group)
        self._sure: dict[Binding, dict[Binding, Binding]] = {group: {} for group in groups}
        self._weak: dict[Binding, dict[Binding, tuple[Binding, int]]] = {}
        self._folded: dict[Binding, list[tuple[Slot, int]]] = {}
        self._sort(inner)

    def _sort(self, inner: Batch) -> None:
        width = self._width
        distinct = tuple_getter(self._step.distinct)
        if len(self._sure) == 1:
            # All assignments are those of the one group, so nobody has to look for theirs.
            (only,) = self._sure.values()
            only.update(zip(map(distinct, self._over(inner.sure)), inner.sure, strict=True))
        else:
            for binding in self._over(inner.sure):
                self._sure[binding[:width]][distinct(binding)] = binding
        for binding, strength in strongest(self._over(inner.weak)).items():
            group, assignment = binding[:width], distinct(binding)
            if assignment in self._sure[group]:
                continue
            weak = self._weak.setdefault(group, {})
            if assignment not in weak or weak[assignment][1] < strength:
                weak[assignment] = (binding, strength)

    def values(self, group: Binding) -> list[tuple[Slot, int]]:
        """The aggregate's values for a group with their strengths.

        None where an exact value does not exist.
        """
        folded = self._folded.get(group)
        if folded is None:
            folded = self._folded[group] = self._fold_group(group)
        return folded

    def _fold_group(self, group: Binding) -> list[tuple[Slot, int]]:
        sure = list(self._sure[group].values())
        weak = list(self._weak.get(group, {}).values())
        if not weak:
            return self._exact(sure, CERTAIN)
        if any(strength == POSSIBLE for _, strength in weak):
            return [(OPEN, POSSIBLE)]
        accepted = sure + [binding for binding, strength in weak if strength == ACCEPTED]
        # The hard reading does not know the assumed rows; the accepted one does.
        return [*self._exact(accepted, ACCEPTED), (OPEN, CONCEIVABLE)]

    def _is_exact(self, bindings: list[Binding]) -> bool:
        """Whether bindings with null cells are as many in every case, or their number is no matter.

        What nobody knows may make two of them one.
        """
        if self._step.function in {"min", "max"}:
            return True
        return are_distinct(list(map(tuple_getter(self._step.distinct), bindings)))

    def _exact(self, bindings: list[Binding], strength: int) -> list[tuple[Slot, int]]:
        target = self._step.target
        try:
            values: list[Value] | None = [1] * len(bindings)
            if target is not None:
                values = values_of(target, bindings, self._texts, nulls=self._nulls)
            if values is None or (self._nulls and not self._is_exact(bindings)):
                return [(OPEN, POSSIBLE)]
            value = fold(self._step.function, self._step.kind, values)
        except EvaluationError as error:
            self._fail(str(error))
            return [(OPEN, POSSIBLE)]
        return [] if value is None else [(value, strength)]
